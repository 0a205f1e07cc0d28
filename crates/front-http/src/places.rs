//! A bounded number of connections, in which a new one pushes out the oldest: a request is done in milliseconds, so the
//! oldest is a client that sends nothing, and `/health` is answered however many of those there are.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tokio::task::AbortHandle;

pub const CONNECTIONS_MAX: usize = 256;
/// Of one address.
pub const CONNECTIONS_OF_ADDRESS_MAX: usize = 128;

/// The open connections by their age.
#[derive(Debug, Default)]
pub struct Places {
    next: u64,
    taken: BTreeMap<u64, (IpAddr, AbortHandle)>,
}

impl Places {
    /// Makes room for a connection from an address: ends the oldest of it, or of all.
    pub fn make_room(&mut self, address: IpAddr) {
        self.taken.retain(|_, (_, connection)| !connection.is_finished());
        let own = self.taken.iter().filter(|(_, (other, _))| *other == address);
        let oldest = match own.clone().count() {
            own_count if own_count >= CONNECTIONS_OF_ADDRESS_MAX => own.map(|(place, _)| *place).next(),
            _ if self.taken.len() >= CONNECTIONS_MAX => self.taken.keys().next().copied(),
            _ => None,
        };
        if let Some((_, connection)) = oldest.and_then(|place| self.taken.remove(&place)) {
            connection.abort();
        }
    }

    pub fn take(&mut self, address: IpAddr, connection: AbortHandle) {
        self.taken.insert(self.next, (address, connection));
        self.next += 1;
    }
}
