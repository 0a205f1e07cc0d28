//! From an accepted socket to an open session.

use std::sync::Arc;
use std::time::{Duration, Instant};

use env::NotKnown;
use front::logins::access_denied;
use front::socket::{Patience, ReadAhead, SocketEnd};
use front::{Handle, Input};
use mysql_wire::auth::Nonce;
use mysql_wire::command::ChangeUser;
use mysql_wire::frame::{Scan, scan};
use mysql_wire::handshake::{Attributes, Greeting, Login, SslRequest};
use mysql_wire::{Capabilities, Malformed, Status};
use sql_api::login::Client;
use sql_api::session::{Compression, Session, SessionAccount, SessionOptions};
use types::{CollationId, ErrorKind, SqlError};

use crate::authentication::{Authentication, Step, name_of};
use crate::server::Shared;
use crate::sink::Answer;
use crate::socket::{PacketSocket, ReadEnd};

/// What the greeting offers.
pub const OFFERED: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.0
        | Capabilities::FOUND_ROWS.0
        | Capabilities::LONG_FLAG.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::NO_SCHEMA.0
        | Capabilities::COMPRESS.0
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
        | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS.0
        | Capabilities::PLUGIN_AUTH_LENENC_DATA.0
        | Capabilities::SESSION_TRACK.0
        | Capabilities::DEPRECATE_EOF.0
        | Capabilities::ZSTD_COMPRESSION.0,
);

/// Where a client says no level, MySQL's default.
const ZSTD_LEVEL: u8 = 3;

/// Why there is no session.
pub enum LoginEnd {
    Unread(ReadEnd),
    Refused(SqlError),
}

impl From<ReadEnd> for LoginEnd {
    fn from(end: ReadEnd) -> Self {
        LoginEnd::Unread(end)
    }
}

impl From<SocketEnd> for LoginEnd {
    fn from(end: SocketEnd) -> Self {
        LoginEnd::Unread(end.into())
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
            user: name(login.user, USER_CHARS_MAX),
            answer: login.auth_answer.to_vec(),
            database: login
                .database
                .filter(|name| !name.is_empty())
                .map(|database| name(database, DATABASE_CHARS_MAX)),
            plugin: login.plugin.map(<[u8]>::to_vec),
            collation: Some(login.collation.into()),
            attributes: kept_attributes(login.attributes),
        }
    }

    pub fn from_change_user(change: &ChangeUser) -> Request {
        Request {
            user: name(change.user, USER_CHARS_MAX),
            answer: change.auth_answer.to_vec(),
            database: Some(change.database)
                .filter(|name| !name.is_empty())
                .map(|database| name(database, DATABASE_CHARS_MAX)),
            plugin: change.plugin.map(<[u8]>::to_vec),
            collation: change.collation,
            attributes: kept_attributes(change.attributes),
        }
    }
}

/// The longest names there are. One character more is kept of a longer one, so that it is nobody's.
const USER_CHARS_MAX: usize = 32;
const DATABASE_CHARS_MAX: usize = 64;

fn name(bytes: &[u8], chars_max: usize) -> String {
    let most = &bytes[..bytes.len().min(4 * (chars_max + 1))];
    String::from_utf8_lossy(most).chars().take(chars_max + 1).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The conversation before the first command; every packet of it within one deadline and one size.
pub struct LoginDialog<'a> {
    pub shared: &'a Arc<Shared>,
    pub handle: &'a Handle,
    pub socket: &'a PacketSocket,
    pub input: &'a mut Input,
    pub answer: &'a mut Answer,
    pub deadline: Instant,
}

impl LoginDialog<'_> {
    /// Greets the client and lets it log in. The OK packet is left in the output.
    pub async fn greet(mut self) -> Result<LoggedIn, LoginEnd> {
        let nonce = Nonce::from_random(front::random());
        let config = &self.shared.config;
        let offered = OFFERED.with(Capabilities::SSL, config.tls.is_some());
        let greeting = Greeting {
            server_version: config.server_version.as_bytes(),
            connection_id: self.handle.id,
            nonce,
            capabilities: offered,
            collation: CollationId::UTF8MB4_0900_AI_CI as u16 as u8,
            status: Status::AUTOCOMMIT,
            plugin: name_of(config.greeting_plugin).as_bytes(),
        };
        self.answer.output.packet(|out| greeting.encode(out));
        let mut packet = self.ask().await?;
        if let (Some(tls), Some(_)) = (&config.tls, SslRequest::decode(&packet)) {
            self.socket.bytes.start_tls(tls, self.time_left()).await?;
            packet = self.ask().await?;
        }
        let login = Login::decode(&packet, offered)?;
        self.answer.capabilities = login.capabilities & offered;
        self.answer.compression = self.compression(login.zstd_level);
        self.log_in(nonce, Request::from_login(&login)).await
    }

    /// Lets a client log in that has named itself. The OK packet is left in the output.
    pub async fn log_in(mut self, nonce: Nonce, request: Request) -> Result<LoggedIn, LoginEnd> {
        let logins = self.shared.logins.clone();
        let backend = logins.backend();
        let host = self.handle.peer.host();
        let attempt = logins.attempt(&request.user, &self.handle.peer);
        let account = backend.find_account(&request.user, &host);
        let nobody = backend.plugin_of_nobody(logins.passwords().dice(&request.user));
        let channel = self.socket.bytes.channel();
        let (passwords, key) = (logins.passwords().clone(), self.shared.key.clone());
        let mut authentication = Authentication::new(passwords, key.clone(), nonce, account, nobody, channel);
        let mut client = Client {
            user: request.user.clone(),
            host: host.name(),
            using_password: !request.answer.is_empty(),
            encryption: self.socket.bytes.encryption(),
            certificate: self.socket.bytes.certificate(),
            handles_expired_password: self.has(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS),
        };
        // Right before an answer is judged: waiting earlier would let many connections collect their turns first.
        logins.wait_for_turn(attempt, &client).await?;
        let greeted = self.shared.config.greeting_plugin;
        let mut step = authentication.begin(greeted, request.plugin.as_deref(), &request.answer);
        let last_words = loop {
            step = match step {
                Step::Ask(packet) => {
                    self.answer.output.packet(|out| out.extend_from_slice(&packet));
                    let answer = self.ask().await?;
                    logins.wait_for_turn(attempt, &client).await?;
                    authentication.answered(&answer)
                }
                Step::Check(check) => {
                    let key = key.clone();
                    authentication.checked(logins.check(move || check.run(&key)).await?)
                }
                Step::Granted { last_words } => break last_words,
                Step::Denied => {
                    client.using_password = authentication.using_password;
                    return Err(logins.denied(attempt, authentication.account(), &client).into());
                }
            };
        };
        client.using_password = authentication.using_password;
        let account = authentication
            .into_account()
            .expect("access is granted to accounts only");
        if account.is_owners_alone
            && let Err(stranger) = self.check_owner(&client)
        {
            logins.denied(attempt, None, &client);
            return Err(stranger.into());
        }
        logins.succeeded(attempt);
        let standing = logins.admit(self.handle, &account, &client, channel)?;
        let session = backend.open_session(SessionOptions {
            connection_id: self.handle.id,
            user: request.user.clone(),
            host: client.host,
            account: SessionAccount::Account {
                user: account.user,
                host: account.host,
            },
            gave_password: client.using_password,
            database: request.database.clone(),
            collation_id: request.collation.unwrap_or(CollationId::UTF8MB4_0900_AI_CI as u16),
            found_rows: self.has(Capabilities::FOUND_ROWS),
            multi_statements: self.has(Capabilities::MULTI_STATEMENTS),
            ignore_space: self.has(Capabilities::IGNORE_SPACE),
            interactive: self.has(Capabilities::INTERACTIVE),
            encryption: client.encryption,
            compression: self.answer.compression,
            password_expired: standing.password_expired,
        })?;
        if let Some(packet) = last_words {
            self.answer.output.packet(|out| out.extend_from_slice(&packet));
        }
        self.handle.set_user(&request.user);
        self.handle.set_attributes(request.attributes);
        self.handle.set_database(request.database.as_deref());
        self.answer.plain_ok(session.status());
        Ok(LoggedIn { session, nonce })
    }

    fn has(&self, flag: Capabilities) -> bool {
        self.answer.capabilities.contains(flag)
    }

    /// Of the ways that both sides know it is zlib first, as MySQL's clients and servers choose.
    fn compression(&self, zstd_level: Option<u8>) -> Option<Compression> {
        match zstd_level {
            _ if self.has(Capabilities::COMPRESS) => Some(Compression::Zlib),
            level if self.has(Capabilities::ZSTD_COMPRESSION) => Some(Compression::Zstd {
                level: level.unwrap_or(ZSTD_LEVEL),
            }),
            _ => None,
        }
    }

    /// An administrator without a password is whoever runs the server, or the superuser, and the kernel says so.
    fn check_owner(&self, client: &Client) -> Result<(), SqlError> {
        let peer = &self.handle.peer;
        let owner = peer.is_owner();
        if matches!(owner, Ok(true)) {
            return Ok(());
        }
        let denied = access_denied(client);
        if !peer.host().is_local() {
            return Err(denied);
        }
        let socket = self.shared.config.socket.as_ref();
        let socket = socket.map_or_else(|| "its Unix socket".to_owned(), |path| path.display().to_string());
        let why = match owner {
            Err(NotKnown::CannotAsk(error)) => {
                format!("this system does not say who connects over TCP ({error}), use {socket}")
            }
            _ => format!("over 127.0.0.1 or {socket}"),
        };
        Err(SqlError::with_message(
            ErrorKind::AccessDenied,
            format!(
                "{}: without a password, the account is open to the operating-system user who runs the server alone: {why}",
                denied.message()
            ),
        ))
    }

    fn time_left(&self) -> Duration {
        self.deadline
            .saturating_duration_since(Instant::now())
            .max(Duration::from_millis(1))
    }

    /// Sends what is collected and waits for the client's next packet.
    async fn ask(&mut self) -> Result<Vec<u8>, ReadEnd> {
        let left = self.time_left();
        self.socket.flush(&mut self.answer.output, left).await?;
        let sequence = self.answer.output.sequence();
        let len_max = self.shared.config.login_bytes_max;
        let patience = Patience {
            idle: left,
            inside_message: None,
            read_ahead: ReadAhead::Forbidden,
        };
        self.socket.read_packet(self.input, sequence, len_max, patience).await?;
        let Ok(Scan::Complete(frames)) = scan(self.input.pending(), sequence, len_max) else {
            unreachable!("read_packet returns once a whole packet is there")
        };
        let packet = frames.payload(self.input.pending_mut()).to_vec();
        self.input.consume(frames.len);
        self.answer.output.set_sequence(frames.next_sequence);
        Ok(packet)
    }
}
