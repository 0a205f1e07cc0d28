//! Single statements whose answers are read whole: preflight, prepare, checks. Never part of a measured interval.

use std::time::Duration;

use mysql_wire::column::ColumnDefinition;
use mysql_wire::command::Command;
use mysql_wire::response::{EOF, ERR, EofPacket, OK, OkPacket};
use mysql_wire::row::text_values;
use mysql_wire::{Capabilities, Reader, Status};

use super::link::{Link, OpenLimits};
use super::tls::Dialer;
use crate::error::LinkError;
use crate::target::Target;
use crate::{DriverError, Stop};

/// A connection that waits for each answer.
pub struct Control {
    link: Link,
    server: String,
}

/// What a statement gave; without rows, `columns` is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub columns: Vec<String>,
    /// Values as the text protocol writes them, invalid UTF-8 replaced; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
    pub affected: u64,
    pub last_insert_id: u64,
    pub warnings: u16,
}

/// Says goodbye, so that the server does not count an aborted client.
impl Drop for Control {
    fn drop(&mut self) {
        // Whether the server hears it makes no difference to anyone.
        let _ = self.link.command(&Command::Quit);
    }
}

impl Control {
    /// Connects to `server` (`host:port`) as the target's user, in the target's database.
    pub fn connect(target: &Target, server: &str) -> Result<Control, DriverError> {
        Control::open(target, server, Some(&target.database), OpenLimits::default())
    }

    /// As [`Control::connect`], in no database: it may not exist yet.
    pub fn connect_without_database(target: &Target, server: &str) -> Result<Control, DriverError> {
        Control::open(target, server, None, OpenLimits::default())
    }

    /// As [`Control::connect`], giving up after `limit`, on the connection and then on each answer: an answer that did not come
    /// leaves the connection of no further use.
    pub fn connect_within(target: &Target, server: &str, limit: Duration) -> Result<Control, DriverError> {
        let limits = OpenLimits {
            connect: limit,
            answer: Some(limit),
        };
        Control::open(target, server, Some(&target.database), limits)
    }

    fn open(target: &Target, server: &str, database: Option<&str>, limits: OpenLimits) -> Result<Control, DriverError> {
        Ok(Control {
            link: Link::open(&Dialer::new(target)?, server, 0, database, limits)?,
            server: server.to_owned(),
        })
    }

    /// Protocol and cipher, `TLSv1.3 TLS_AES_256_GCM_SHA384`, of an encrypted connection.
    pub fn encryption(&self) -> Option<String> {
        self.link.tls.as_ref().map(|tls| tls.describe())
    }

    /// From now on a statement whose answer takes long is given up when somebody wants to stop ([`DriverError::Stopped`]); the
    /// connection is then of no further use.
    pub fn heed(&mut self, stop: &Stop) {
        self.link.heed(stop);
    }

    /// `host:port` as it was given.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// What the server called itself in its greeting.
    pub fn server_version(&self) -> &str {
        &self.link.server_version
    }

    /// Runs one statement; an ERR is [`DriverError::Server`], after which the connection is still good.
    pub fn query(&mut self, sql: &str) -> Result<Answer, DriverError> {
        self.exchange(sql.as_bytes())
            .map_err(|error| error.at(&self.server, sql))
    }

    /// As [`Control::query`], for statements that are built as bytes.
    pub(crate) fn execute(&mut self, sql: &[u8]) -> Result<Answer, DriverError> {
        self.exchange(sql)
            .map_err(|error| error.at(&self.server, &String::from_utf8_lossy(&sql[..sql.len().min(80)])))
    }

    /// The first column of the first row, if there is one and it is not NULL.
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, DriverError> {
        let answer = self.query(sql)?;
        Ok(answer
            .rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .flatten())
    }

    fn exchange(&mut self, sql: &[u8]) -> Result<Answer, LinkError> {
        self.link.command(&Command::Query(sql))?;
        loop {
            let (answer, status) = self.result()?;
            if !status.contains(Status::MORE_RESULTS_EXISTS) {
                return Ok(answer);
            }
        }
    }

    fn result(&mut self) -> Result<(Answer, Status), LinkError> {
        let packet = self.link.receive()?;
        match packet.first() {
            Some(&ERR) => return Err(LinkError::refused(&packet)),
            Some(&OK) => {
                let (ok, _) = OkPacket::decode(&packet)?;
                let answer = Answer {
                    affected: ok.affected_rows,
                    last_insert_id: ok.last_insert_id,
                    warnings: ok.warnings,
                    ..Answer::default()
                };
                return Ok((answer, ok.status));
            }
            _ => {}
        }
        let deprecate_eof = self.link.capabilities.contains(Capabilities::DEPRECATE_EOF);
        let mut answer = Answer::default();
        for _ in 0..Reader::new(&packet).lenenc_int("column count")? {
            let packet = self.link.receive()?;
            let column = ColumnDefinition::decode(&packet)?;
            answer.columns.push(String::from_utf8_lossy(column.name).into_owned());
        }
        if !deprecate_eof {
            self.link.receive()?;
        }
        loop {
            let packet = self.link.receive()?;
            match packet.first() {
                Some(&ERR) => return Err(LinkError::refused(&packet)),
                // A row that begins with 0xFE has a value of 16 MiB or more.
                Some(&EOF) if packet.len() < 0xFF_FFFF => {
                    let status;
                    (answer.warnings, status) = if deprecate_eof {
                        let (ok, _) = OkPacket::decode(&packet)?;
                        (ok.warnings, ok.status)
                    } else {
                        let eof = EofPacket::decode(&packet)?;
                        (eof.warnings, eof.status)
                    };
                    return Ok((answer, status));
                }
                _ => {
                    let row = text_values(&packet)
                        .map(|value| Ok(value?.map(|bytes| String::from_utf8_lossy(bytes).into_owned())))
                        .collect::<Result<_, LinkError>>()?;
                    answer.rows.push(row);
                }
            }
        }
    }
}
