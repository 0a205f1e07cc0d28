//! Who is at the other end of a connection without TLS.
//!
//! The cluster's number is no secret, and without certificates nobody proves anything. On loopback the kernel knows whose socket the other
//! end is: it has to be that of the user who runs this node, or of the superuser. So another user of the machine is no node, whether
//! he calls or has taken the place of a node that is down. Nodes of other machines are believed only where plain connections are allowed
//! by name.

use std::io;
use std::net::SocketAddr;

use env::{NotKnown, OsUser};
use tokio::net::TcpStream;

/// The two ends of a connection.
pub struct Ends {
    theirs: SocketAddr,
    ours: SocketAddr,
}

impl Ends {
    pub fn of(stream: &TcpStream) -> io::Result<Ends> {
        Ok(Ends {
            theirs: stream.peer_addr()?,
            ours: stream.local_addr()?,
        })
    }

    /// The error says why the other end is not believed. A process that was called has its end once it has accepted the connection: ask when
    /// it has said something.
    pub fn check(&self) -> Result<(), String> {
        let whose = match OsUser::at_loopback(self.theirs, self.ours) {
            Ok(OsUser::SUPERUSER) => return Ok(()),
            Ok(user) if user == OsUser::of_this_process() => return Ok(()),
            Ok(OsUser(user)) => format!("the other end is of user {user} of this machine"),
            Err(NotKnown::Nobody) => "nobody knows whose the other end is".to_owned(),
            Err(NotKnown::CannotAsk(error)) => format!("the system does not say whose the other end is ({error})"),
        };
        Err(format!(
            "{whose}: set up TLS between nodes, or allow plain connections by name"
        ))
    }
}
