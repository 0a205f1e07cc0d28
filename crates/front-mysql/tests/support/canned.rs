//! A backend without a database: what the front needs to show everything it does, and nothing more.
//!
//! Statements are words: `rows N LEN` answers N rows with a text of LEN bytes, `sleep MS` waits interruptibly, `commit MS`
//! waits uninterruptibly, `busy MS` works in chunks, `limited MS` sleeps until a time limit, `release` ends the session, `fail`, `fail_after N`, `panic`, `panic twice`, `load N`, `types`. What begins with `select`
//! answers like sysbench's tables; anything else is OK. Prepared statements echo their parameters if they say `echo`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use front::Registry;
use front::backend::{Account, Backend, ClientHost, Limits, Plugin};
use mysql_wire::auth::{native, sha2};
use sql_api::host::{Host, Interrupt, WaitEnd};
use sql_api::login::{Certificate, Client, Standing};
use sql_api::processes::{Kill, Processes};
use sql_api::result::{Done, ResultColumn, ResultEnd, ResultShape, ResultSink, ServerStatus};
use sql_api::session::{Fetch, PreparedInfo, Session, SessionOptions};
use types::{CharsetId, CollationId, ErrorKind, RowLayout, SqlError, SqlResult, SqlType, Value};

/// What a panic says that a statement wanted.
pub const ASKED_FOR: &str = "a statement asked for it";

const UTF8: CollationId = CollationId::UTF8MB4_0900_AI_CI;

/// Accounts: `root` without password, `native` and `sha2` with the password `secret`, `locked`; `certified` is as `sha2`, and gets in
/// with Alice's certificate alone.
pub struct Canned {
    pub registry: Arc<Registry>,
    pub wait_timeout_seconds: u64,
    pub net_read_timeout: Duration,
    pub net_write_timeout: Duration,
    pub max_allowed_packet: u64,
    pub limits: Limits,
    sha2_secret: String,
    rows: SharedRows,
}

/// The result of a point select, made once as a plan would.
#[derive(Clone)]
struct SharedRows {
    shape: Arc<ResultShape>,
    layout: Arc<RowLayout>,
    row: Arc<[u8]>,
}

impl Canned {
    pub fn new(registry: Arc<Registry>) -> Canned {
        let ty = SqlType::char(120, UTF8).not_null();
        let layout = RowLayout::new(&[SqlType::int().not_null(), ty.clone()]);
        let mut row = Vec::new();
        layout.encode(&[Value::Int(7), Value::str(&"7".repeat(119))], &mut row);
        let column = ResultColumn {
            database: "sbtest".into(),
            table: "sbtest1".into(),
            original_table: "sbtest1".into(),
            original_name: "c".into(),
            ..ResultColumn::computed("c", ty)
        };
        let rows = SharedRows {
            shape: ResultShape::new(vec![column]),
            layout: Arc::new(layout),
            row: row.into(),
        };
        Canned {
            registry,
            wait_timeout_seconds: 28_800,
            net_read_timeout: Duration::from_secs(30),
            net_write_timeout: Duration::from_secs(60),
            max_allowed_packet: 64 << 20,
            limits: Limits::default(),
            sha2_secret: sha2::authentication_string(b"secret", [9; 20]),
            rows,
        }
    }
}

fn shows_alice(client: &Client) -> bool {
    let names = |shown: &Certificate| shown.subject == "/O=Lats/CN=alice" && shown.issuer == "/CN=authority";
    client.certificate.as_ref().is_some_and(names)
}

impl Backend for Canned {
    fn find_account(&self, user: &str, _host: &ClientHost) -> Option<Account> {
        let (plugin, authentication_string) = match user {
            "root" | "locked" | "sbtest" => (Plugin::MysqlNativePassword, String::new()),
            "native" => (Plugin::MysqlNativePassword, native::authentication_string(b"secret")),
            "sha2" | "certified" => (Plugin::CachingSha2Password, self.sha2_secret.clone()),
            _ => return None,
        };
        Some(Account {
            user: user.into(),
            host: "%".into(),
            plugin,
            authentication_string,
            second_authentication_string: String::new(),
            is_owners_alone: false,
        })
    }

    fn plugin_of_nobody(&self, _dice: u64) -> Plugin {
        Plugin::CachingSha2Password
    }

    fn login_failed(&self, _account: &Account, _client: &Client) -> SqlResult<()> {
        Ok(())
    }

    fn login_proved(&self, account: &Account, client: &Client) -> SqlResult<Standing> {
        match &*account.user {
            "locked" => Err(SqlError::new(
                ErrorKind::AccountHasBeenLocked,
                &[&client.user, &client.host],
            )),
            "certified" if !shows_alice(client) => Err(SqlError::new(
                ErrorKind::AccessDenied,
                &[&client.user, &client.host, &"YES"],
            )),
            user => Ok(Standing {
                is_administrator: user == "root",
                ..Standing::default()
            }),
        }
    }

    fn limits(&self) -> Limits {
        self.limits.clone()
    }

    fn open_session(&self, options: SessionOptions) -> SqlResult<Box<dyn Session>> {
        if options.database.as_deref() == Some("nowhere") {
            return Err(SqlError::new(ErrorKind::BadDb, &[&"nowhere"]));
        }
        Ok(Box::new(CannedSession {
            database: options.database.clone(),
            options,
            statements: Vec::new(),
            cursor_left: 0,
            ends: false,
            recovers: true,
            registry: self.registry.clone(),
            wait_timeout_seconds: self.wait_timeout_seconds,
            net_read_timeout: self.net_read_timeout,
            net_write_timeout: self.net_write_timeout,
            max_allowed_packet: self.max_allowed_packet,
            rows: self.rows.clone(),
        }))
    }
}

struct CannedSession {
    options: SessionOptions,
    database: Option<String>,
    statements: Vec<String>,
    cursor_left: usize,
    ends: bool,
    recovers: bool,
    registry: Arc<Registry>,
    wait_timeout_seconds: u64,
    net_read_timeout: Duration,
    net_write_timeout: Duration,
    max_allowed_packet: u64,
    rows: SharedRows,
}

fn echo_shape(columns: usize) -> Arc<ResultShape> {
    let ty = SqlType::varchar(1000, UTF8);
    ResultShape::new(
        (0..columns)
            .map(|i| ResultColumn::computed(format!("p{i}"), ty.clone()))
            .collect(),
    )
}

fn rows_shape() -> Arc<ResultShape> {
    ResultShape::new(vec![
        ResultColumn::computed("id", SqlType::bigint().not_null()),
        ResultColumn::computed("text", SqlType::text(types::TypeKind::LongText, UTF8)),
    ])
}

/// The error that a statement ends with when it is interrupted.
fn interrupted(interrupt: Interrupt) -> SqlError {
    match interrupt {
        Interrupt::Shutdown => ErrorKind::ServerShutdown.into(),
        Interrupt::Timeout => ErrorKind::QueryTimeout.into(),
        Interrupt::KillQuery | Interrupt::KillConnection => ErrorKind::QueryInterrupted.into(),
    }
}

impl CannedSession {
    fn statement(
        &mut self,
        text: &str,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let status = self.status().with(more);
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |i: usize| words.get(i).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        match words.first().map(|word| word.to_ascii_lowercase()).as_deref() {
            None => return Err(ErrorKind::EmptyQuery.into()),
            Some("rows") => return rows(number(1), number(2), status, host, sink),
            Some("fail_after") => {
                let shape = rows_shape();
                sink.columns(&shape, status)?;
                for id in 0..number(1) {
                    sink.row(&[Value::UInt(id), Value::str("row")])?;
                }
                return Err(ErrorKind::DivisionByZero.into());
            }
            Some("sleep") => {
                let pause = Duration::from_millis(number(1));
                let mut forever = std::pin::pin!(std::future::pending());
                match host.wait_interruptible(forever.as_mut(), Some(pause)) {
                    WaitEnd::Interrupted(interrupt) => return Err(interrupted(interrupt)),
                    WaitEnd::Done | WaitEnd::TimedOut => {}
                }
            }
            Some("commit") => host.wait(std::pin::pin!(tokio::time::sleep(Duration::from_millis(number(1))))),
            Some("busy") => {
                let end = Instant::now() + Duration::from_millis(number(1));
                while Instant::now() < end {
                    governor::tick()?;
                }
            }
            Some("limited") => {
                host.limit_time(Some(Duration::from_millis(number(1))));
                let outcome = self.statement("sleep 60000", more, host, sink);
                host.limit_time(None);
                return outcome;
            }
            Some("release") => self.ends = true,
            Some("fail") => return Err(ErrorKind::DivisionByZero.into()),
            Some("panic") => {
                self.recovers = words.get(1) != Some(&"twice");
                std::panic::panic_any(ASKED_FOR)
            }
            // A panic at the n-th packet of a file.
            Some("load") => {
                let mut left = number(1);
                sink.receive_file("file", host, &mut |_| {
                    left -= 1;
                    if left == 0 {
                        std::panic::panic_any(ASKED_FOR)
                    }
                    Ok(())
                })?;
            }
            Some("kill") => {
                let (what, id) = if words[1] == "query" {
                    (Kill::Query, number(2))
                } else {
                    (Kill::Connection, number(1))
                };
                if !self.registry.kill(id as u32, what) {
                    return Err(SqlError::new(ErrorKind::NoSuchThread, &[&id]));
                }
            }
            Some("use") => self.database = Some(words[1].into()),
            Some("show") => return self.process_list(status, sink),
            Some("whoami") => {
                let shape = echo_shape(4);
                sink.columns(&shape, status)?;
                let o = &self.options;
                let text = |text: &str| Value::str(text);
                let database = self.database.as_deref().map_or(Value::Null, text);
                sink.row(&[
                    text(&o.user),
                    text(&o.host),
                    database,
                    Value::str(&o.collation_id.to_string()),
                ])?;
                return sink.end(ResultEnd { warnings: 0, status });
            }
            Some("select") => return self.sysbench(text, status, sink),
            Some(_) => {}
        }
        sink.ok(Done {
            affected_rows: 1,
            status,
            ..Done::default()
        })
    }

    fn sysbench(&self, text: &str, status: ServerStatus, sink: &mut dyn ResultSink) -> SqlResult<()> {
        let SharedRows { shape, layout, row } = &self.rows;
        sink.columns(shape, status)?;
        let count = if text.contains("BETWEEN") && !text.contains("SUM") {
            100
        } else {
            1
        };
        for _ in 0..count {
            sink.stored_row(layout, row, &[1])?;
        }
        sink.end(ResultEnd { warnings: 0, status })
    }

    fn process_list(&self, status: ServerStatus, sink: &mut dyn ResultSink) -> SqlResult<()> {
        sink.columns(&echo_shape(5), status)?;
        for process in self.registry.list() {
            sink.row(&[
                Value::str(&process.id.to_string()),
                Value::str(&process.user),
                process.database.as_deref().map_or(Value::Null, Value::str),
                Value::str(&process.command),
                process.statement.as_deref().map_or(Value::Null, Value::str),
            ])?;
        }
        sink.end(ResultEnd { warnings: 0, status })
    }
}

fn rows(count: u64, len: u64, status: ServerStatus, host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()> {
    let text = Value::str(&"x".repeat(len as usize));
    sink.columns(&rows_shape(), status)?;
    for id in 0..count {
        if sink.is_full() {
            sink.flush(host)?;
        }
        sink.row(&[Value::UInt(id), text.clone()])?;
    }
    sink.end(ResultEnd { warnings: 0, status })
}

fn shown(value: &Value) -> Value {
    if value.is_null() {
        Value::Null
    } else {
        Value::str(&format!("{value:?}"))
    }
}

impl Session for CannedSession {
    fn query(&mut self, text: &[u8], host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()> {
        let text = String::from_utf8_lossy(text).into_owned();
        let mut parts = text.split(';').peekable();
        while let Some(part) = parts.next() {
            let more = if parts.peek().is_some() {
                ServerStatus::MORE_RESULTS
            } else {
                ServerStatus::default()
            };
            self.statement(part, more, host, sink)?;
        }
        Ok(())
    }

    fn prepare(&mut self, text: &[u8], _host: &dyn Host) -> SqlResult<PreparedInfo> {
        let text = String::from_utf8_lossy(text).into_owned();
        if text == "fail" {
            return Err(SqlError::new(ErrorKind::UnsupportedPs, &[]));
        }
        let parameters = text.matches('?').count();
        let columns = match text.split_whitespace().next() {
            Some("echo") => Some(echo_shape(parameters)),
            Some("rows") => Some(rows_shape()),
            Some("SELECT" | "select") => Some(self.rows.shape.clone()),
            _ => None,
        };
        self.statements.push(text);
        Ok(PreparedInfo {
            id: self.statements.len() as u32,
            parameters,
            columns,
            warnings: 0,
        })
    }

    fn execute(
        &mut self,
        id: u32,
        parameters: &[Value],
        fetch: Fetch,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let status = self.status();
        let text = &self.statements[id as usize - 1];
        if text.starts_with("SELECT") || text.starts_with("select") {
            return self.sysbench(text, status, sink);
        }
        if text.starts_with("echo") {
            sink.columns(&echo_shape(parameters.len()), status)?;
            sink.row(&parameters.iter().map(shown).collect::<Vec<_>>())?;
            return sink.end(ResultEnd { warnings: 0, status });
        }
        if fetch == Fetch::Cursor && text.starts_with("rows") {
            let count = text.split_whitespace().nth(1).and_then(|word| word.parse().ok());
            self.cursor_left = count.unwrap_or(0);
            return sink.columns(&rows_shape(), status.with(ServerStatus::CURSOR_EXISTS));
        }
        let text = text.clone();
        self.statement(&text, ServerStatus::default(), host, sink)
    }

    fn fetch(&mut self, _id: u32, rows: usize, _host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()> {
        for _ in 0..rows.min(self.cursor_left) {
            sink.row(&[Value::UInt(self.cursor_left as u64), Value::str("row")])?;
            self.cursor_left -= 1;
        }
        let status = self.status().with(ServerStatus::CURSOR_EXISTS);
        let status = if self.cursor_left == 0 {
            status.with(ServerStatus::LAST_ROW_SENT)
        } else {
            status
        };
        sink.end(ResultEnd { warnings: 0, status })
    }

    fn reset_statement(&mut self, _id: u32) -> SqlResult<()> {
        self.cursor_left = 0;
        Ok(())
    }

    fn close_statement(&mut self, _id: u32) {}

    fn use_database(&mut self, name: &str) -> SqlResult<()> {
        if name == "nowhere" {
            return Err(SqlError::new(ErrorKind::BadDb, &[&name]));
        }
        self.database = Some(name.into());
        Ok(())
    }

    fn recover(&mut self) {
        if !self.recovers {
            std::panic::panic_any(ASKED_FOR)
        }
    }

    fn reset(&mut self) {
        self.statements.clear();
    }

    fn field_list(&mut self, _table: &str, _pattern: &str) -> SqlResult<Arc<ResultShape>> {
        Ok(rows_shape())
    }

    fn status(&self) -> ServerStatus {
        ServerStatus::AUTOCOMMIT
    }

    fn set_multi_statements(&mut self, allowed: bool) {
        self.options.multi_statements = allowed;
    }

    fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    fn results_collation(&self) -> Option<u16> {
        Some(255)
    }

    fn client_charset(&self) -> CharsetId {
        CharsetId::UTF8MB4
    }

    fn ends(&self) -> bool {
        self.ends
    }

    fn wait_timeout_seconds(&self) -> u64 {
        self.wait_timeout_seconds
    }

    fn net_read_timeout(&self) -> Duration {
        self.net_read_timeout
    }

    fn net_write_timeout(&self) -> Duration {
        self.net_write_timeout
    }

    fn max_allowed_packet(&self) -> u64 {
        self.max_allowed_packet
    }
}
