//! Who may hold a connection: places for logins, for sessions, and a few that only administrators get.
//!
//! ```text
//!   accepted ──▶ logging in (few places, the oldest is pushed out) ──▶ open: max_connections
//!                                                                      └─ administrators: 1 + ADMINISTRATORS_MORE beyond
//! ```
//!
//! A connection that has not proved who it is never takes the place of one that has. When the places for logins are
//! taken, the oldest login ends instead of the newest: an honest client is done in milliseconds, and ten thousand
//! half-open connections only push each other out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use sql_api::login::Standing;
use types::{ErrorKind, SqlError, SqlResult};

use crate::backend::Limits;

/// Connections that log in at the same time.
const LOGINS_MAX: usize = 2_000;
/// Those of one address, or of the Unix socket.
const LOGINS_OF_ADDRESS_MAX: usize = 1_000;
/// A login is not pushed out before this age.
const LOGIN_AGE_MIN: Duration = Duration::from_secs(1);
/// Administrators get one place beyond `max_connections`, as in MySQL, and these.
const ADMINISTRATORS_MORE: usize = 4;

/// User and host of an account.
pub type AccountName = (String, String);

/// Places taken now.
#[derive(Debug, Default)]
pub struct Places {
    next_arrival: u64,
    logins: BTreeMap<u64, Login>,
    logins_of: HashMap<Option<IpAddr>, usize>,
    open: usize,
    open_of_account: HashMap<AccountName, usize>,
    open_of_address: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct Login {
    connection_id: u32,
    network: Option<IpAddr>,
    since: Instant,
}

/// A connection's place.
#[derive(Debug)]
pub struct Place {
    network: Option<IpAddr>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Login(u64),
    Open(AccountName),
}

impl Place {
    /// Of who needs none.
    pub fn outside() -> Place {
        Place {
            network: None,
            kind: Kind::Login(u64::MAX),
        }
    }
}

/// What an arriving connection gets.
#[derive(Debug)]
pub enum Arrival {
    Welcome {
        place: Place,
        /// The connection whose login ends for it.
        pushed_out: Option<u32>,
    },
    Full,
}

impl Places {
    /// A place for a login.
    pub fn arrive(&mut self, connection_id: u32, network: Option<IpAddr>, now: Instant) -> Arrival {
        let own = self.logins_of.get(&network).copied().unwrap_or(0);
        let mut candidates = self.logins.iter();
        let oldest = match () {
            () if own >= LOGINS_OF_ADDRESS_MAX => Some(candidates.find(|(_, login)| login.network == network)),
            () if self.logins.len() >= LOGINS_MAX => Some(candidates.next()),
            () => None,
        };
        let pushed_out = match oldest {
            None => None,
            Some(Some((arrival, login))) if now.saturating_duration_since(login.since) >= LOGIN_AGE_MIN => {
                Some(*arrival)
            }
            Some(_) => return Arrival::Full,
        };
        let pushed_out = pushed_out.and_then(|arrival| self.end_login(arrival));
        let arrival = self.next_arrival;
        self.next_arrival += 1;
        self.logins.insert(
            arrival,
            Login {
                connection_id,
                network,
                since: now,
            },
        );
        *self.logins_of.entry(network).or_default() += 1;
        Arrival::Welcome {
            place: Place {
                network,
                kind: Kind::Login(arrival),
            },
            pushed_out,
        }
    }

    /// A session's place for who has proved to be `account`, instead of `place`. 1040, 1203, 1226 where there is none.
    pub fn open(
        &mut self,
        place: &mut Place,
        account: AccountName,
        standing: &Standing,
        limits: &Limits,
    ) -> SqlResult<()> {
        self.release(place);
        let taken = self.check(place, &account, standing, limits);
        // A refused connection is on its way out, and holds no place.
        taken?;
        self.open += 1;
        *self.open_of_account.entry(account.clone()).or_default() += 1;
        if let Some(network) = place.network {
            *self.open_of_address.entry(network).or_default() += 1;
        }
        place.kind = Kind::Open(account);
        Ok(())
    }

    fn check(&self, place: &Place, account: &AccountName, standing: &Standing, limits: &Limits) -> SqlResult<()> {
        let of_account = self.open_of_account.get(account).copied().unwrap_or(0);
        let own = standing.user_connections_max as usize;
        if own > 0 && of_account >= own {
            let arguments: [&dyn std::fmt::Display; 3] = [&account.0, &"max_user_connections", &own];
            return Err(SqlError::new(ErrorKind::UserLimitReached, &arguments));
        }
        let too_many = || SqlError::new(ErrorKind::TooManyUserConnections, &[&account.0]);
        if standing.is_administrator {
            return match self.open < limits.connections_max + 1 + ADMINISTRATORS_MORE {
                true => Ok(()),
                false => Err(ErrorKind::ConCount.into()),
            };
        }
        if own == 0 && limits.user_connections_max > 0 && of_account >= limits.user_connections_max {
            return Err(too_many());
        }
        if self.open >= limits.connections_max {
            return Err(ErrorKind::ConCount.into());
        }
        let share = |percent: usize| (limits.connections_max * percent).div_ceil(100).max(1);
        if own == 0 && limits.user_connections_max == 0 && of_account >= share(limits.account_share_percent) {
            return Err(too_many());
        }
        let of_address = place.network.and_then(|network| self.open_of_address.get(&network));
        if of_address.copied().unwrap_or(0) >= share(limits.address_share_percent) {
            return Err(ErrorKind::ConCount.into());
        }
        Ok(())
    }

    /// Gives a place back. Twice is once.
    pub fn release(&mut self, place: &mut Place) {
        match std::mem::replace(&mut place.kind, Kind::Login(u64::MAX)) {
            Kind::Login(arrival) => drop(self.end_login(arrival)),
            Kind::Open(account) => {
                self.open -= 1;
                count_down(&mut self.open_of_account, &account);
                if let Some(network) = place.network {
                    count_down(&mut self.open_of_address, &network);
                }
            }
        }
    }

    fn end_login(&mut self, arrival: u64) -> Option<u32> {
        let login = self.logins.remove(&arrival)?;
        count_down(&mut self.logins_of, &login.network);
        Some(login.connection_id)
    }
}

fn count_down<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(connections_max: usize) -> Limits {
        Limits {
            connections_max,
            ..Limits::default()
        }
    }

    fn someone() -> Standing {
        Standing::default()
    }

    fn administrator() -> Standing {
        Standing {
            is_administrator: true,
            ..Standing::default()
        }
    }

    fn address(last: u8) -> Option<IpAddr> {
        Some([192, 0, 2, last].into())
    }

    fn arrived(places: &mut Places, network: Option<IpAddr>, now: Instant) -> Place {
        match places.arrive(1, network, now) {
            Arrival::Welcome { place, .. } => place,
            Arrival::Full => panic!("there is room"),
        }
    }

    /// The error's number, 0 for a place.
    fn open(places: &mut Places, name: &str, from: u8, standing: &Standing, limits: &Limits) -> (u16, Place) {
        let mut place = arrived(places, address(from), Instant::now());
        let opened = places.open(&mut place, (name.into(), "%".into()), standing, limits);
        (opened.map_or_else(|error| error.code(), |()| 0), place)
    }

    #[test]
    fn administrators_find_a_place_when_all_are_taken() {
        let mut places = Places::default();
        let limits = limits(4);
        let mut held = Vec::new();
        for user in 0..4 {
            held.push(open(&mut places, &format!("u{user}"), user, &someone(), &limits));
        }
        assert_eq!(open(&mut places, "v", 9, &someone(), &limits).0, 1040);
        for _ in 0..5 {
            let (error, place) = open(&mut places, "root", 9, &administrator(), &limits);
            assert_eq!(error, 0);
            held.push((error, place));
        }
        assert_eq!(open(&mut places, "root", 9, &administrator(), &limits).0, 1040);
        for (_, mut place) in held {
            places.release(&mut place);
            places.release(&mut place);
        }
        assert_eq!(
            (places.open, places.open_of_account.len(), places.open_of_address.len()),
            (0, 0, 0)
        );
        assert!(places.logins.is_empty() && places.logins_of.is_empty());
    }

    #[test]
    fn one_account_and_one_address_leave_places_for_others() {
        let mut places = Places::default();
        let limits = limits(100);
        let mut held: Vec<_> = (0..75)
            .map(|_| open(&mut places, "u", 1, &someone(), &limits))
            .collect();
        assert!(held.iter().all(|(error, _)| *error == 0));
        assert_eq!(open(&mut places, "u", 2, &someone(), &limits).0, 1203);
        for _ in 0..15 {
            held.push(open(&mut places, "v", 1, &someone(), &limits));
        }
        assert!(held.iter().all(|(error, _)| *error == 0));
        assert_eq!(
            open(&mut places, "v", 1, &someone(), &limits).0,
            1040,
            "90 of one address"
        );
        assert_eq!(open(&mut places, "v", 3, &someone(), &limits).0, 0);
    }

    #[test]
    fn limits_of_an_account_and_of_all_have_their_own_errors() {
        let mut places = Places::default();
        let everybody = Limits {
            user_connections_max: 2,
            ..Limits::default()
        };
        let _first = open(&mut places, "u", 1, &someone(), &everybody);
        let _second = open(&mut places, "u", 1, &someone(), &everybody);
        assert_eq!(open(&mut places, "u", 1, &someone(), &everybody).0, 1203);
        let own = Standing {
            user_connections_max: 3,
            ..Standing::default()
        };
        let _third = open(&mut places, "u", 1, &own, &everybody);
        assert_eq!(open(&mut places, "u", 1, &own, &everybody).0, 1226);
    }

    #[test]
    fn half_open_connections_push_each_other_out() {
        let mut places = Places::default();
        let start = Instant::now();
        for _ in 0..LOGINS_OF_ADDRESS_MAX {
            arrived(&mut places, address(1), start);
        }
        assert!(
            matches!(places.arrive(2, address(1), start), Arrival::Full),
            "all of them are fresh"
        );
        assert!(matches!(
            places.arrive(2, address(2), start),
            Arrival::Welcome { pushed_out: None, .. }
        ));
        let later = start + LOGIN_AGE_MIN;
        assert!(matches!(
            places.arrive(2, address(1), later),
            Arrival::Welcome {
                pushed_out: Some(1),
                ..
            }
        ));
        assert_eq!(places.logins_of[&address(1)], LOGINS_OF_ADDRESS_MAX);
    }
}
