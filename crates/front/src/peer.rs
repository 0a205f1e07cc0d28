//! The other end of a connection: where it is, and which user of this machine it belongs to.

use std::net::{IpAddr, SocketAddr};

use env::{NotKnown, OsUser};

use crate::backend::ClientHost;

/// Whether a connection keeps a password secret by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    Open,
    /// Never leaves the machine. Some clients send the password as it is there, others as on an open one.
    Loopback,
    /// TLS or a Unix socket: clients send the password as it is.
    Private,
}

/// The client's end of an accepted connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Tcp {
        client: SocketAddr,
        /// Our end.
        server: SocketAddr,
    },
    /// A Unix socket, and who connected to it, where the kernel knows.
    Unix { user: Option<OsUser> },
    /// The node itself.
    Inside,
}

impl Peer {
    pub fn host(&self) -> ClientHost {
        match self {
            Peer::Tcp { client, .. } => ClientHost::Address(client.ip()),
            Peer::Unix { .. } | Peer::Inside => ClientHost::Socket,
        }
    }

    /// The user of this machine who connected.
    pub fn os_user(&self) -> Result<OsUser, NotKnown> {
        match self {
            Peer::Tcp { client, server } => OsUser::at_loopback(*client, *server),
            Peer::Unix { user } => user.ok_or(NotKnown::Nobody),
            Peer::Inside => Ok(OsUser::of_this_process()),
        }
    }

    /// Whether the client is the user who runs this server, or the superuser.
    pub fn is_owner(&self) -> Result<bool, NotKnown> {
        let user = self.os_user()?;
        Ok(user == OsUser::SUPERUSER || user == OsUser::of_this_process())
    }

    /// As the process list shows it: over a Unix socket there is no port.
    pub fn text(&self) -> String {
        match self {
            Peer::Tcp { client, .. } => format!("{}:{}", self.host().name(), client.port()),
            Peer::Unix { .. } | Peer::Inside => self.host().name(),
        }
    }

    /// What counts as one place on the network: an address, or a whole network of IPv6, which one customer gets.
    /// None: a Unix socket.
    pub fn network(&self) -> Option<IpAddr> {
        let Peer::Tcp { client, .. } = self else { return None };
        Some(match client.ip().to_canonical() {
            IpAddr::V6(ip) if !ip.is_loopback() => {
                let [a, b, c, d, ..] = ip.segments();
                IpAddr::from([a, b, c, d, 0, 0, 0, 0])
            }
            ip => ip,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(client: &str) -> Peer {
        Peer::Tcp {
            client: client.parse().unwrap(),
            server: "[::1]:3306".parse().unwrap(),
        }
    }

    #[test]
    fn addresses_of_one_network_are_one_place() {
        assert_eq!(
            tcp("[2001:db8:1:2:3:4:5:6]:7").network(),
            tcp("[2001:db8:1:2:ffff::1]:8").network()
        );
        assert_ne!(
            tcp("[2001:db8:1:2::1]:7").network(),
            tcp("[2001:db8:1:3::1]:7").network()
        );
        assert_eq!(tcp("[::ffff:192.0.2.1]:7").network(), tcp("192.0.2.1:9").network());
        assert_eq!(Peer::Unix { user: None }.network(), None);
    }

    #[test]
    fn a_unix_socket_has_no_port() {
        assert_eq!(tcp("127.0.0.1:4711").text(), "localhost:4711");
        assert_eq!(tcp("192.0.2.1:4711").text(), "192.0.2.1:4711");
        assert_eq!(Peer::Unix { user: None }.text(), "localhost");
    }
}
