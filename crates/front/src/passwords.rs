//! The passwords of accounts: compared with what is stored of them, and remembered once they were proved.
//!
//! An account stores its password as one of MySQL's plugins does. One of these forms is slow to compare by design, so what a client has
//! proved in full is remembered, and the comparison is a piece of work of its own ([`Check`]) for threads beside the event
//! loops. A user who does not exist costs the same work as one with a wrong password.

use std::collections::HashMap;
use std::sync::Arc;

use aws_lc_rs::hmac;
use mysql_wire::auth::{native, sha2};
use parking_lot::Mutex;

use crate::backend::{Account, Plugin};

/// MySQL's limit, in bytes. The slow hash costs time that grows with the square of the length.
pub const PASSWORD_LEN_MAX: usize = 256;
/// Digests that are kept. When there are more, all are forgotten: each costs one slow check to learn again.
const PROVED_MAX: usize = 65_536;

/// What all connections share for their logins.
pub struct Passwords {
    /// Digests of passwords that were proved in full, by the stored form they were proved against: a changed password has
    /// another one.
    proved: Mutex<HashMap<String, sha2::Digest>>,
    /// What the checks of unknown users work on.
    decoys: Decoys,
    secret: hmac::Key,
}

struct Decoys {
    native: String,
    sha2: String,
}

/// A password that was proved in full: the stored form that it fits, and its digest.
pub struct Proved {
    stored: String,
    digest: sha2::Digest,
}

/// Whether a password is right, or what finds out.
pub enum Proof {
    Known(bool),
    Needs(Check),
}

/// A comparison that takes milliseconds by design.
#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    stored: Vec<String>,
    password: Vec<u8>,
}

impl Check {
    /// `stored` are forms of passwords that all count.
    pub fn new(stored: Vec<String>, password: Vec<u8>) -> Check {
        Check { stored, password }
    }

    pub fn run(self) -> Option<Proved> {
        if self.password.len() > PASSWORD_LEN_MAX {
            return None;
        }
        let fits = |stored: &String| sha2::verify_password(stored.as_bytes(), &self.password);
        Some(Proved {
            stored: self.stored.into_iter().find(fits)?,
            digest: sha2::Digest::of(&self.password),
        })
    }
}

impl Passwords {
    /// `secret` decides what users who do not exist are asked.
    pub fn new(secret: [u8; 32]) -> Arc<Passwords> {
        let nobodys: [u8; 20] = crate::random();
        Arc::new(Passwords {
            proved: Mutex::default(),
            decoys: Decoys {
                native: native::authentication_string(&nobodys),
                sha2: sha2::authentication_string(&nobodys, crate::random()),
            },
            secret: hmac::Key::new(hmac::HMAC_SHA256, &secret),
        })
    }

    /// A number that belongs to a name, and that nobody else can compute.
    pub fn dice(&self, user: &str) -> u64 {
        let tag = hmac::sign(&self.secret, user.as_bytes());
        tag.as_ref()
            .iter()
            .take(8)
            .fold(0, |dice, byte| dice << 8 | u64::from(*byte))
    }

    pub fn remember(&self, proved: Proved) {
        let mut all = self.proved.lock();
        if all.len() >= PROVED_MAX {
            all.clear();
        }
        all.insert(proved.stored, proved.digest);
    }

    /// Whether a password whose digest `fits` was proved against one of the stored forms.
    pub fn is_known(&self, stored: &[String], fits: impl Fn(&sha2::Digest) -> bool) -> bool {
        let proved = self.proved.lock();
        stored.iter().filter_map(|stored| proved.get(stored)).any(fits)
    }

    /// Compares a password that came as it is. Without an account, the work is that of one with the plugin `nobody`.
    pub fn compare(&self, account: Option<&Account>, nobody: Plugin, password: &[u8]) -> Proof {
        let is_open = account.is_some_and(Account::has_no_password);
        if password.is_empty() || password.len() > PASSWORD_LEN_MAX {
            return Proof::Known(is_open && password.is_empty());
        }
        let stored = self.stored_of(account, nobody);
        match account.map_or(nobody, |account| account.plugin) {
            Plugin::MysqlNativePassword => {
                let given = native::authentication_string(password);
                Proof::Known(account.is_some() && !is_open && stored.contains(&given))
            }
            Plugin::CachingSha2Password => {
                let digest = sha2::Digest::of(password);
                match self.is_known(&stored, |proved| *proved == digest) {
                    true => Proof::Known(true),
                    false => Proof::Needs(Check::new(stored, password.to_vec())),
                }
            }
        }
    }

    /// What a password is compared with: nobody's where there is no account, or one without a password.
    pub fn stored_of(&self, account: Option<&Account>, nobody: Plugin) -> Vec<String> {
        let own = account.filter(|account| !account.has_no_password());
        match own {
            Some(account) => [&account.authentication_string, &account.second_authentication_string]
                .into_iter()
                .filter(|stored| !stored.is_empty())
                .cloned()
                .collect(),
            None => vec![match account.map_or(nobody, |account| account.plugin) {
                Plugin::MysqlNativePassword => self.decoys.native.clone(),
                Plugin::CachingSha2Password => self.decoys.sha2.clone(),
            }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(plugin: Plugin, password: &str) -> Account {
        let authentication_string = match plugin {
            Plugin::CachingSha2Password => sha2::authentication_string(password.as_bytes(), [7; 20]),
            Plugin::MysqlNativePassword => native::authentication_string(password.as_bytes()),
        };
        Account {
            user: "u".into(),
            host: "%".into(),
            plugin,
            authentication_string,
            second_authentication_string: String::new(),
            is_owners_alone: false,
        }
    }

    fn is_right(passwords: &Passwords, account: Option<&Account>, password: &str) -> bool {
        match passwords.compare(account, Plugin::CachingSha2Password, password.as_bytes()) {
            Proof::Known(is_right) => is_right,
            Proof::Needs(check) => check.run().map(|proved| passwords.remember(proved)).is_some(),
        }
    }

    #[test]
    fn the_password_before_still_opens_the_account() {
        let passwords = Passwords::new([7; 32]);
        for plugin in [Plugin::MysqlNativePassword, Plugin::CachingSha2Password] {
            let both = Account {
                second_authentication_string: account(plugin, "old").authentication_string,
                ..account(plugin, "new")
            };
            for (password, lets_in) in [("new", true), ("old", true), ("older", false)] {
                assert_eq!(is_right(&passwords, Some(&both), password), lets_in, "{password}");
            }
        }
    }

    #[test]
    fn what_was_proved_is_known_until_the_password_changes() {
        let passwords = Passwords::new([7; 32]);
        let old = account(Plugin::CachingSha2Password, "old");
        let compare = |account: &Account| passwords.compare(Some(account), account.plugin, b"old");
        assert!(is_right(&passwords, Some(&old), "old"));
        assert!(matches!(compare(&old), Proof::Known(true)));
        let new = account(Plugin::CachingSha2Password, "new");
        assert!(matches!(compare(&new), Proof::Needs(_)));
    }

    #[test]
    fn nobodys_password_costs_the_same_work_and_is_wrong() {
        let passwords = Passwords::new([7; 32]);
        let Proof::Needs(check) = passwords.compare(None, Plugin::CachingSha2Password, b"x") else {
            panic!("a check")
        };
        assert!(check.run().is_none());
        assert!(!is_right(&passwords, None, ""));
        let open = account(Plugin::CachingSha2Password, "");
        assert!(is_right(&passwords, Some(&open), "") && !is_right(&passwords, Some(&open), "x"));
    }

    #[test]
    fn names_have_dice_of_their_own_that_stay() {
        let passwords = Passwords::new([7; 32]);
        assert_eq!(passwords.dice("u"), Passwords::new([7; 32]).dice("u"));
        assert_ne!(passwords.dice("u"), passwords.dice("v"));
        assert_ne!(passwords.dice("u"), Passwords::new([8; 32]).dice("u"));
    }
}
