//! From an accepted socket to an open session.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mysql_wire::auth::Nonce;
use mysql_wire::command::ChangeUser;
use mysql_wire::frame::{Scan, scan};
use mysql_wire::handshake::{Attributes, Greeting, Login, SslRequest};
use mysql_wire::{Capabilities, Malformed, Status};
use sql_api::session::{Session, SessionOptions};
use types::{CollationId, ErrorKind, SqlError, SqlResult};

use crate::authentication::{Authentication, Channel, Step};
use crate::backend::{Account, ClientHost};
use crate::input::Input;
use crate::registry::Handle;
use crate::server::Shared;
use crate::sink::Answer;
use crate::socket::{Patience, ReadAhead, Socket, SocketEnd};

/// What the greeting offers. Compression is not among it.
pub const OFFERED: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.0
        | Capabilities::FOUND_ROWS.0
        | Capabilities::LONG_FLAG.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::NO_SCHEMA.0
        | Capabilities::ODBC.0
        | Capabilities::LOCAL_FILES.0
        | Capabilities::IGNORE_SPACE.0
        | Capabilities::PROTOCOL_41.0
        | Capabilities::INTERACTIVE.0
        | Capabilities::IGNORE_SIGPIPE.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::RESERVED.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::MULTI_RESULTS.0
        | Capabilities::PS_MULTI_RESULTS.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::PLUGIN_AUTH_LENENC_DATA.0
        | Capabilities::SESSION_TRACK.0
        | Capabilities::DEPRECATE_EOF.0,
);

/// Why there is no session.
pub enum LoginEnd {
    Socket(SocketEnd),
    Refused(SqlError),
}

impl From<SocketEnd> for LoginEnd {
    fn from(end: SocketEnd) -> Self {
        LoginEnd::Socket(end)
    }
}

impl From<SqlError> for LoginEnd {
    fn from(error: SqlError) -> Self {
        LoginEnd::Refused(error)
    }
}

impl From<Malformed> for LoginEnd {
    fn from(_: Malformed) -> Self {
        LoginEnd::Refused(ErrorKind::HandshakeError.into())
    }
}

/// A client that proved who it is.
pub struct LoggedIn {
    pub session: Box<dyn Session>,
    pub nonce: Nonce,
}

/// The client's side of a login, from the handshake or from COM_CHANGE_USER.
pub struct Request {
    user: String,
    answer: Vec<u8>,
    database: Option<String>,
    plugin: Option<Vec<u8>>,
    collation: Option<u16>,
    attributes: Vec<(String, String)>,
}

/// Connection attributes are kept up to this many bytes, MySQL's default; those beyond are forgotten.
const ATTRIBUTES_BYTES: usize = 512;

fn kept_attributes(attributes: Attributes<'_>) -> Vec<(String, String)> {
    let mut room = ATTRIBUTES_BYTES;
    attributes
        .iter()
        .map_while(|(name, value)| {
            room = room.checked_sub(name.len() + value.len())?;
            Some((text(name), text(value)))
        })
        .collect()
}

impl Request {
    fn from_login(login: &Login) -> Request {
        Request {
            user: text(login.user),
            answer: login.auth_answer.to_vec(),
            database: login.database.filter(|name| !name.is_empty()).map(text),
            plugin: login.plugin.map(<[u8]>::to_vec),
            collation: Some(login.collation.into()),
            attributes: kept_attributes(login.attributes),
        }
    }

    pub fn from_change_user(change: &ChangeUser) -> Request {
        Request {
            user: text(change.user),
            answer: change.auth_answer.to_vec(),
            database: Some(change.database).filter(|name| !name.is_empty()).map(text),
            plugin: change.plugin.map(<[u8]>::to_vec),
            collation: change.collation,
            attributes: kept_attributes(change.attributes),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The conversation before the first command; every packet of it within one deadline and one size.
pub struct LoginDialog<'a> {
    pub shared: &'a Arc<Shared>,
    pub handle: &'a Handle,
    pub socket: &'a Socket,
    pub input: &'a mut Input,
    pub answer: &'a mut Answer,
    pub deadline: Instant,
}

impl LoginDialog<'_> {
    /// Greets the client and lets it log in. The OK packet is left in the output.
    pub async fn greet(mut self) -> Result<LoggedIn, LoginEnd> {
        let nonce = Nonce::from_random(crate::random());
        let config = &self.shared.config;
        let offered = OFFERED.with(Capabilities::SSL, config.tls.is_some());
        let greeting = Greeting {
            server_version: config.server_version.as_bytes(),
            connection_id: self.handle.id,
            nonce,
            capabilities: offered,
            collation: CollationId::UTF8MB4_0900_AI_CI as u16 as u8,
            status: Status::AUTOCOMMIT,
            plugin: config.greeting_plugin.name().as_bytes(),
        };
        self.answer.output.packet(|out| greeting.encode(out));
        let mut packet = self.ask().await?;
        if let (Some(tls), Some(_)) = (&config.tls, SslRequest::decode(&packet)) {
            self.socket.start_tls(tls, self.time_left()).await?;
            packet = self.ask().await?;
        }
        let login = Login::decode(&packet, offered)?;
        self.answer.capabilities = login.capabilities & offered;
        self.log_in(nonce, Request::from_login(&login)).await
    }

    /// Lets a client log in that has named itself. The OK packet is left in the output.
    pub async fn log_in(mut self, nonce: Nonce, request: Request) -> Result<LoggedIn, LoginEnd> {
        let client_host = ClientHost(self.handle.peer.ip());
        let account = self.shared.backend.find_account(&request.user, &client_host);
        let (passwords, plugin) = (self.shared.passwords.clone(), self.shared.config.default_plugin);
        let is_private = self.socket.encryption().is_some() || client_host.is_loopback();
        let channel = if is_private { Channel::Private } else { Channel::Open };
        let mut authentication = Authentication::new(passwords, nonce, account, plugin, channel);
        let mut step = authentication.begin(
            self.shared.config.greeting_plugin,
            request.plugin.as_deref(),
            &request.answer,
        );
        let last_words = loop {
            step = match step {
                Step::Ask(packet) => {
                    self.answer.output.packet(|out| out.extend_from_slice(&packet));
                    authentication.answered(&self.ask().await?)
                }
                Step::Check(check) => {
                    let passwords = self.shared.passwords.clone();
                    let outcome = tokio::task::spawn_blocking(move || check.run(&passwords)).await;
                    authentication.checked(outcome.unwrap_or(None))
                }
                Step::Granted { last_words } => break last_words,
                Step::Denied => {
                    let using_password = if authentication.using_password { "YES" } else { "NO" };
                    let arguments: [&dyn std::fmt::Display; 3] = [&request.user, &client_host.name(), &using_password];
                    return Err(SqlError::new(ErrorKind::AccessDenied, &arguments).into());
                }
            };
        };
        let account = authentication
            .into_account()
            .expect("access is granted to accounts only");
        let session = self.open_session(account, &request, &client_host)?;
        if let Some(packet) = last_words {
            self.answer.output.packet(|out| out.extend_from_slice(&packet));
        }
        self.handle.set_user(&request.user);
        self.handle.set_attributes(request.attributes);
        self.handle.set_database(request.database.as_deref());
        self.answer.plain_ok(session.status());
        Ok(LoggedIn { session, nonce })
    }

    fn open_session(
        &self,
        account: Account,
        request: &Request,
        client_host: &ClientHost,
    ) -> SqlResult<Box<dyn Session>> {
        if account.locked {
            let arguments: [&dyn std::fmt::Display; 2] = [&account.user, &account.host];
            return Err(SqlError::new(ErrorKind::AccountHasBeenLocked, &arguments));
        }
        let has = |flag| self.answer.capabilities.contains(flag);
        self.shared.backend.open_session(SessionOptions {
            connection_id: self.handle.id,
            user: request.user.clone(),
            host: client_host.name(),
            account_user: account.user,
            account_host: account.host,
            database: request.database.clone(),
            collation_id: request.collation.unwrap_or(CollationId::UTF8MB4_0900_AI_CI as u16),
            found_rows: has(Capabilities::FOUND_ROWS),
            multi_statements: has(Capabilities::MULTI_STATEMENTS),
            ignore_space: has(Capabilities::IGNORE_SPACE),
            interactive: has(Capabilities::INTERACTIVE),
            encryption: self.socket.encryption(),
        })
    }

    fn time_left(&self) -> Duration {
        self.deadline
            .saturating_duration_since(Instant::now())
            .max(Duration::from_millis(1))
    }

    /// Sends what is collected and waits for the client's next packet.
    async fn ask(&mut self) -> Result<Vec<u8>, SocketEnd> {
        let left = self.time_left();
        self.socket.flush(&mut self.answer.output, left).await?;
        let sequence = self.answer.output.sequence();
        let packet_len_max = self.shared.config.login_bytes_max;
        let patience = Patience {
            idle: left,
            inside_packet: None,
            packet_len_max,
            read_ahead: ReadAhead::Forbidden,
        };
        self.socket.read_packet(self.input, sequence, patience).await?;
        let Ok(Scan::Complete(frames)) = scan(self.input.pending(), sequence, packet_len_max) else {
            unreachable!("read_packet returns once a whole packet is there")
        };
        let packet = frames.payload(self.input.pending_mut()).to_vec();
        self.input.consume(frames.len);
        self.answer.output.set_sequence(frames.next_sequence);
        Ok(packet)
    }
}
