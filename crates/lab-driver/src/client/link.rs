//! A blocking connection that speaks whole packets.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use mysql_wire::command::Command;
use mysql_wire::frame::{self, Scan};
use mysql_wire::{Capabilities, Output};

use crate::Stop;
use crate::error::{DriverError, LinkError};
use crate::target::{Target, resolve};

pub(crate) const PACKET_LEN_MAX: usize = 1 << 30;
const RECEIVE_LEN: usize = 64 << 10;

/// How long a connection may take to open before the server counts as away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A server that says nothing for so long is asked on another connection whether it still greets anybody: a statement may take its
/// hours, a server that hangs takes for ever.
const SILENCE: Duration = Duration::from_secs(15);
const GREETING_LIMIT: Duration = Duration::from_secs(5);
/// How often a wait without a limit looks up.
const LOOK_UP_AFTER: Duration = Duration::from_millis(200);

/// A logged-in connection.
pub(crate) struct Link {
    pub stream: TcpStream,
    address: SocketAddr,
    /// Each wait has the socket's limit; otherwise it lasts as long as the server is there and nobody wants to stop.
    limited: bool,
    stop: Option<Stop>,
    /// Bytes from the server; those before `taken` were answers already.
    received: Vec<u8>,
    taken: usize,
    sequence: u8,
    pub capabilities: Capabilities,
    /// The server leaves out the columns of an execution when they are those of the preparation.
    pub caches_metadata: bool,
    pub server_version: String,
}

impl Link {
    /// Connects and logs in; `turn` picks among a name's addresses, `database` is what `USE` would be.
    pub fn open(target: &Target, server: &str, turn: usize, database: Option<&str>) -> Result<Link, DriverError> {
        Link::open_within(target, server, turn, database, CONNECT_TIMEOUT, None)
    }

    /// As [`Link::open`], giving up after `timeout`; `answer_timeout` bounds each wait for the server afterwards.
    pub fn open_within(
        target: &Target,
        server: &str,
        turn: usize,
        database: Option<&str>,
        timeout: Duration,
        answer_timeout: Option<Duration>,
    ) -> Result<Link, DriverError> {
        let address = resolve(server, turn)?;
        let connect = || -> std::io::Result<TcpStream> {
            let stream = TcpStream::connect_timeout(&address, timeout)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(answer_timeout.unwrap_or(LOOK_UP_AFTER)))?;
            stream.set_write_timeout(Some(answer_timeout.unwrap_or(LOOK_UP_AFTER)))?;
            Ok(stream)
        };
        let stream = connect().map_err(|source| DriverError::Connect {
            server: server.to_owned(),
            source,
        })?;
        let mut link = Link {
            stream,
            address,
            limited: answer_timeout.is_some(),
            stop: None,
            received: Vec::new(),
            taken: 0,
            sequence: 0,
            capabilities: Capabilities::PROTOCOL_41,
            caches_metadata: false,
            server_version: String::new(),
        };
        link.login(&target.user, target.password.reveal(), database)
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
        let mut rest = output.as_slice();
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

    /// From now on a wait ends when somebody wants to stop.
    pub fn heed(&mut self, stop: &Stop) {
        self.stop = Some(stop.clone());
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
        let len = self.received.len();
        self.received.resize(len + RECEIVE_LEN, 0);
        let begun = Instant::now();
        let mut asked = begun;
        let read = loop {
            match self.stream.read(&mut self.received[len..]) {
                Err(error) if is_late(&error) && !self.limited => {
                    if let Err(error) = self.wait_on(begun, &mut asked) {
                        self.received.truncate(len);
                        return Err(error);
                    }
                }
                read => break read,
            }
        };
        self.received.truncate(len + *read.as_ref().unwrap_or(&0));
        if read? == 0 { Err(LinkError::Closed) } else { Ok(()) }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Whether a server says anything to a new connection: all of MySQL's kind speak first, be it that they have no room.
pub(crate) fn greets(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect_timeout(&address, GREETING_LIMIT) else {
        return false;
    };
    stream.set_read_timeout(Some(GREETING_LIMIT)).is_ok() && matches!(stream.read(&mut [0]), Ok(1))
}
