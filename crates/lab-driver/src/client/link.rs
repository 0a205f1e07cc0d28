//! A blocking connection that speaks whole packets.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use mysql_wire::command::Command;
use mysql_wire::frame::{self, Scan};
use mysql_wire::{Capabilities, Output};

use super::tls::{Dialer, Sealed};
use crate::Stop;
use crate::error::{DriverError, LinkError};
use crate::target::resolve;

pub(crate) const PACKET_LEN_MAX: usize = 1 << 30;
const RECEIVE_LEN: usize = 64 << 10;

/// How long a connection may take to open before the server counts as away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A server that says nothing for so long is asked on another connection whether it still greets anybody: a statement may take its
/// hours, a server that hangs takes for ever.
const SILENCE: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 15_000 });
const GREETING_LIMIT: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 5_000 });
/// How often a wait without a limit looks up.
const LOOK_UP_AFTER: Duration = Duration::from_millis(200);

/// Bounds on the time that opening may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenLimits {
    pub connect: Duration,
    /// Of each wait for the server afterwards, for as long as the connection is a [`Link`].
    pub answer: Option<Duration>,
}

impl Default for OpenLimits {
    fn default() -> OpenLimits {
        OpenLimits {
            connect: CONNECT_TIMEOUT,
            answer: None,
        }
    }
}

/// A logged-in connection.
pub(crate) struct Link {
    pub wire: Wire,
    /// Boxed: most connections have none.
    pub tls: Option<Box<Sealed>>,
    /// Bytes from the server; those before `taken` were answers already.
    received: Vec<u8>,
    taken: usize,
    sequence: u8,
    pub capabilities: Capabilities,
    /// The server leaves out the columns of an execution when they are those of the preparation.
    pub caches_metadata: bool,
    pub server_version: String,
}

/// A socket, and how long to wait for it.
pub(crate) struct Wire {
    pub stream: TcpStream,
    pub address: SocketAddr,
    /// Each wait has the socket's limit; otherwise it lasts as long as the server is there and nobody wants to stop.
    limited: bool,
    stop: Option<Stop>,
}

impl Link {
    /// Connects and logs in; `turn` picks among a name's addresses, `database` is what `USE` would be.
    pub fn open(
        dialer: &Dialer,
        server: &str,
        turn: usize,
        database: Option<&str>,
        limits: OpenLimits,
    ) -> Result<Link, DriverError> {
        let address = resolve(server, turn)?;
        let connect = || -> io::Result<TcpStream> {
            let stream = TcpStream::connect_timeout(&address, limits.connect)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(limits.answer.unwrap_or(LOOK_UP_AFTER)))?;
            stream.set_write_timeout(Some(limits.answer.unwrap_or(LOOK_UP_AFTER)))?;
            Ok(stream)
        };
        let stream = connect().map_err(|source| DriverError::Connect {
            server: server.to_owned(),
            source,
        })?;
        let mut link = Link {
            wire: Wire {
                stream,
                address,
                limited: limits.answer.is_some(),
                stop: None,
            },
            tls: None,
            received: Vec::new(),
            taken: 0,
            sequence: 0,
            capabilities: Capabilities::PROTOCOL_41,
            caches_metadata: false,
            server_version: String::new(),
        };
        link.login(dialer, server, database)
            .map_err(|error| error.at(server, "login"))?;
        Ok(link)
    }

    pub fn command(&mut self, command: &Command) -> Result<(), LinkError> {
        self.sequence = 0;
        let capabilities = self.capabilities;
        self.send(|out| command.encode(out, capabilities))
    }

    /// Sends one packet, next in the conversation.
    pub fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), LinkError> {
        let mut output = Output::new(Vec::new());
        output.set_sequence(self.sequence);
        output.packet(write);
        self.sequence = output.sequence();
        let Some(tls) = &mut self.tls else {
            return self.wire.write_all(output.as_slice());
        };
        let mut sealed = Vec::new();
        tls.seal(output.as_slice(), &mut sealed)?;
        self.wire.write_all(&sealed)
    }

    /// From now on a wait ends when somebody wants to stop.
    pub fn heed(&mut self, stop: &Stop) {
        self.wire.stop = Some(stop.clone());
    }

    /// The next packet's payload, frames joined.
    pub fn receive(&mut self) -> Result<Vec<u8>, LinkError> {
        loop {
            let pending = &mut self.received[self.taken..];
            let Scan::Complete(frames) = frame::scan(pending, self.sequence, PACKET_LEN_MAX)? else {
                self.receive_more()?;
                continue;
            };
            let payload = frames.payload(pending).to_vec();
            self.taken += frames.len;
            self.sequence = frames.next_sequence;
            return Ok(payload);
        }
    }

    fn receive_more(&mut self) -> Result<(), LinkError> {
        self.received.drain(..self.taken);
        self.taken = 0;
        let Some(tls) = &mut self.tls else {
            return self.wire.append_to(&mut self.received);
        };
        self.wire.append_to(&mut tls.held)?;
        let mut bytes = std::mem::take(&mut tls.held);
        let opened = tls.open(&mut bytes, |plain| {
            self.received.extend_from_slice(plain);
            Ok(())
        });
        // A server's last words count, also when it closes the connection in the same breath.
        if opened.is_err() && !self.received.is_empty() {
            return Ok(());
        }
        bytes.drain(..opened?);
        tls.held = bytes;
        Ok(())
    }
}

impl Wire {
    pub fn write_all(&mut self, mut rest: &[u8]) -> Result<(), LinkError> {
        let begun = Instant::now();
        let mut asked = begun;
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_late(&error) && !self.limited => self.wait_on(begun, &mut asked)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits for bytes and appends them; there is at least one.
    pub fn append_to(&mut self, bytes: &mut Vec<u8>) -> Result<(), LinkError> {
        let len = bytes.len();
        bytes.resize(len + RECEIVE_LEN, 0);
        let read = self.read(&mut bytes[len..]);
        bytes.truncate(len + *read.as_ref().unwrap_or(&0));
        if read? == 0 { Err(LinkError::Closed) } else { Ok(()) }
    }

    fn read(&mut self, into: &mut [u8]) -> Result<usize, LinkError> {
        let begun = Instant::now();
        let mut asked = begun;
        loop {
            match self.stream.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_late(&error) && !self.limited => self.wait_on(begun, &mut asked)?,
                read => return Ok(read?),
            }
        }
    }

    /// Whether to go on waiting for a server that has said nothing since `begun`.
    fn wait_on(&self, begun: Instant, asked: &mut Instant) -> Result<(), LinkError> {
        if self.stop.as_ref().is_some_and(Stop::is_requested) {
            return Err(LinkError::Stopped);
        }
        if asked.elapsed() > SILENCE {
            if !greets(self.address) {
                return Err(LinkError::Silent(begun.elapsed()));
            }
            *asked = Instant::now();
        }
        Ok(())
    }
}

pub(super) fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Whether a server says anything to a new connection: all of MySQL's kind speak first, be it that they have no room.
pub(crate) fn greets(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect_timeout(&address, GREETING_LIMIT) else {
        return false;
    };
    stream.set_read_timeout(Some(GREETING_LIMIT)).is_ok() && matches!(stream.read(&mut [0]), Ok(1))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::{Control, Password, Target};

    #[test]
    fn a_server_that_greets_nobody_hangs() {
        // The kernel takes the connections; nobody speaks.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Target {
            servers: vec![listener.local_addr().unwrap().to_string()],
            user: "u".to_owned(),
            password: Password::default(),
            database: "d".to_owned(),
            tls: Default::default(),
        };
        let Err(error) = Control::connect(&target, &target.servers[0]) else {
            panic!("nobody answered");
        };
        assert!(matches!(error, DriverError::Silent { .. }), "{error}");
    }

    #[test]
    fn a_busy_server_is_waited_for_until_somebody_wants_to_stop() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Stop::new();
        let mut wire = Wire {
            stream: TcpStream::connect(address).unwrap(),
            address,
            limited: false,
            stop: Some(stop.clone()),
        };
        wire.stream.set_read_timeout(Some(LOOK_UP_AFTER)).unwrap();
        let busy = listener.accept().unwrap();
        let server = thread::spawn(move || {
            // Two looks at whether it is there, then the user has had enough.
            for _ in 0..2 {
                listener.accept().unwrap().0.write_all(b"J").unwrap();
            }
            stop.request();
        });
        let error = wire.append_to(&mut Vec::new()).unwrap_err();
        assert!(matches!(error, LinkError::Stopped), "{error}");
        server.join().unwrap();
        drop(busy);
    }
}
