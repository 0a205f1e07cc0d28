//! A blocking connection that speaks whole packets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use mysql_wire::command::Command;
use mysql_wire::frame::{self, Scan};
use mysql_wire::{Capabilities, Output};

use crate::error::{DriverError, LinkError};
use crate::target::{Target, resolve};

pub(crate) const PACKET_LEN_MAX: usize = 1 << 30;
const RECEIVE_LEN: usize = 64 << 10;

/// How long a connection may take to open before the server counts as away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A logged-in connection.
pub(crate) struct Link {
    pub stream: TcpStream,
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
            stream.set_read_timeout(answer_timeout)?;
            stream.set_write_timeout(answer_timeout)?;
            Ok(stream)
        };
        let stream = connect().map_err(|source| DriverError::Connect {
            server: server.to_owned(),
            source,
        })?;
        let mut link = Link {
            stream,
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
        Ok(self.stream.write_all(output.as_slice())?)
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
        let read = self.stream.read(&mut self.received[len..]);
        self.received.truncate(len + *read.as_ref().unwrap_or(&0));
        if read? == 0 { Err(LinkError::Closed) } else { Ok(()) }
    }
}
