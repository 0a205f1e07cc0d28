//! Rows that describe the server: character sets, connections, variables, accounts.

use sql_api::session::Compression;
use types::{CharsetId, CollationId, ErrorKind, SqlError, Value};

use super::schema::fine_moment;
use super::{Source, number, text};
use crate::engine::Engine;
use crate::nodes::Wanted;
use crate::processes::Process;
use crate::statistics::StatementKind;
use crate::variables::{Kind, Origin, VariableId};
use crate::waiting::wait_for;

pub fn engines(_: &Source<'_>) -> Vec<Vec<Value>> {
    let comment = "Rows in memory, every commit in a replicated log on disk";
    vec![vec![
        text("InnoDB"),
        text("DEFAULT"),
        text(comment),
        text("YES"),
        text("NO"),
        text("YES"),
    ]]
}

pub fn character_sets(_: &Source<'_>) -> Vec<Vec<Value>> {
    let row = |charset: CharsetId| {
        let width = u64::from(charset.max_bytes_per_char());
        vec![
            text(charset.name()),
            text(charset.default_collation().name()),
            text(charset.description()),
            number(width),
        ]
    };
    CharsetId::all().map(row).collect()
}

pub fn collations(_: &Source<'_>) -> Vec<Vec<Value>> {
    let row = |collation: CollationId| {
        let is_default = collation.charset().default_collation() == collation;
        let padding = if collation.pad_space() { "PAD SPACE" } else { "NO PAD" };
        vec![
            text(collation.name()),
            text(collation.charset().name()),
            number(u64::from(collation.id())),
            text(if is_default { "Yes" } else { "" }),
            text("Yes"),
            number(u64::from(collation.sort_len())),
            text(padding),
        ]
    };
    CollationId::all().map(row).collect()
}

pub fn collation_character_sets(_: &Source<'_>) -> Vec<Vec<Value>> {
    CollationId::all()
        .map(|collation| vec![text(collation.name()), text(collation.charset().name())])
        .collect()
}

pub fn processlist(source: &Source<'_>) -> Vec<Vec<Value>> {
    let row = |process: Process| {
        vec![
            number(u64::from(process.id)),
            text(process.user),
            text(process.host),
            process.database.map_or(Value::Null, text),
            text(process.command),
            Value::Int(process.seconds as i64),
            text(process.state),
            process.statement.map_or(Value::Null, |statement| {
                text(String::from_utf8_lossy(&parser::redacted(statement.as_bytes())))
            }),
            number(process.memory_bytes),
            number(process.memory_bytes_max),
        ]
    };
    let seen = |process: &Process| source.session.access.sees_session_of(&process.user);
    let everywhere = processes_of_all_nodes(source, Wanted::Statements);
    everywhere.into_iter().filter(seen).map(row).collect()
}

/// The connections of this node and of those that answer, by rising id. A warning names those that do not.
fn processes_of_all_nodes(source: &Source<'_>, wanted: Wanted) -> Vec<Process> {
    let engine = source.session.engine;
    let mut processes = engine.processes().map_or_else(Vec::new, |here| here.list());
    let Some(nodes) = engine.other_nodes() else {
        return processes;
    };
    // A statement that is interrupted ends at the next look.
    let Ok(elsewhere) = wait_for(nodes.processes(wanted), source.session.host) else {
        return processes;
    };
    for node in elsewhere.silent {
        let text = format!("Node {node} does not answer: its sessions are not, or not all, shown");
        let warning = SqlError::with_message(ErrorKind::UnknownError, text);
        source.ctx.with_warnings(|warnings| warnings.warn(warning));
    }
    processes.extend(elsewhere.found);
    processes.sort_by_key(|process| process.id);
    processes
}

/// `performance_schema.session_connect_attrs`: of the sessions that may be seen.
pub fn connection_attributes(source: &Source<'_>) -> Vec<Vec<Value>> {
    attributes_of(source, |process| source.session.access.sees_session_of(&process.user))
}

/// `performance_schema.session_account_connect_attrs`: of the user's own sessions.
pub fn own_connection_attributes(source: &Source<'_>) -> Vec<Vec<Value>> {
    let user = source.ctx.statement.services.user();
    attributes_of(source, |process| user.split('@').next() == Some(&process.user))
}

fn attributes_of(source: &Source<'_>, seen: impl Fn(&Process) -> bool) -> Vec<Vec<Value>> {
    let processes = processes_of_all_nodes(source, Wanted::Attributes);
    let mut rows = Vec::new();
    for process in processes.into_iter().filter(seen) {
        let id = u64::from(process.id);
        let pairs = process.attributes.into_iter().enumerate();
        rows.extend(
            pairs.map(|(place, (name, value))| vec![number(id), text(name), text(value), number(place as u64)]),
        );
    }
    rows
}

pub fn plugins(_: &Source<'_>) -> Vec<Vec<Value>> {
    let row = |name: &str, kind: &str| {
        vec![
            text(name),
            text("1.0"),
            text("ACTIVE"),
            text(kind),
            text("1.0"),
            Value::Null,
            Value::Null,
            text("LatsDB"),
            text(""),
            text("Apache-2.0"),
            text("FORCE"),
        ]
    };
    vec![
        row("mysql_native_password", "AUTHENTICATION"),
        row("caching_sha2_password", "AUTHENTICATION"),
        row("InnoDB", "STORAGE ENGINE"),
    ]
}

pub fn global_variables(source: &Source<'_>) -> Vec<Vec<Value>> {
    let globals = source.session.engine.globals();
    VariableId::all()
        .filter(|id| id.definition().scope != crate::variables::Scope::Session)
        .map(|id| vec![text(id.definition().name), text(&*globals.get(id))])
        .collect()
}

/// `performance_schema.persisted_variables`
pub fn persisted_variables(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.session.engine.catalog();
    catalog
        .persisted_variables()
        .map(|variable| vec![text(&variable.name), text(&variable.value)])
        .collect()
}

/// `performance_schema.variables_info`
pub fn variables_info(source: &Source<'_>) -> Vec<Vec<Value>> {
    let globals = source.session.engine.globals();
    let row = |id: VariableId| {
        let variable = id.definition();
        let (min, max) = match variable.kind {
            Kind::Int { min, max } => (min, max),
            Kind::ZeroOr { max, .. } => (0, max),
            _ => (0, 0),
        };
        let origin = globals.origin(id);
        let (from, set) = match &origin {
            None => ("COMPILED", None),
            Some(Origin::Persisted(it)) => ("PERSISTED", Some((it.set_at, &it.user, &it.host))),
            Some(Origin::Statement { at, user, host }) => ("DYNAMIC", Some((*at, user, host))),
        };
        let mut row = vec![
            text(variable.name),
            text(from),
            text(""),
            text(min.to_string()),
            text(max.to_string()),
        ];
        row.extend(match set {
            None => [Value::Null, Value::Null, Value::Null],
            Some((at, user, host)) => [fine_moment(at, source), text(user), text(host)],
        });
        row
    };
    VariableId::all().map(row).collect()
}

pub fn session_variables(source: &Source<'_>) -> Vec<Vec<Value>> {
    let services = source.ctx.statement.services;
    let shown = |id: VariableId| {
        let variable = id.definition();
        let (value, ty) = services.system_variable(None, variable.name).ok()?;
        let value = match variable.kind {
            Kind::Bool | Kind::Only(_) => text(if value == Value::Int(1) { "ON" } else { "OFF" }),
            _ if value.is_null() => text(""),
            Kind::Double => text(crate::plan::text::column_text(&value, &ty)),
            _ => text(value.to_string()),
        };
        Some(vec![text(variable.name), value])
    };
    VariableId::all().filter_map(shown).collect()
}

/// How long ago the node's rows were known to be the newest.
fn staleness_ms(engine: &Engine) -> u64 {
    let staleness = engine.participant().staleness();
    staleness.map_or(u64::MAX, |staleness| staleness.as_millis() as u64)
}

/// Bytes of a page of InnoDB (`innodb_page_size`).
const PAGE: u64 = 16_384;

/// What MySQL counts and never happens here: there are no files of temporary tables, no key caches, no delayed rows, no binary log, and
/// nothing in memory that is not on disk yet.
const NEVER: [&str; 33] = [
    "Binlog_cache_disk_use",
    "Binlog_cache_use",
    "Binlog_stmt_cache_disk_use",
    "Binlog_stmt_cache_use",
    "Created_tmp_disk_tables",
    "Created_tmp_files",
    "Created_tmp_tables",
    "Delayed_errors",
    "Delayed_insert_threads",
    "Delayed_writes",
    "Innodb_buffer_pool_bytes_dirty",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_misc",
    "Innodb_buffer_pool_reads",
    "Innodb_buffer_pool_wait_free",
    "Innodb_data_pending_fsyncs",
    "Innodb_data_pending_reads",
    "Innodb_data_pending_writes",
    "Innodb_log_waits",
    "Key_blocks_not_flushed",
    "Key_blocks_unused",
    "Key_blocks_used",
    "Key_read_requests",
    "Key_reads",
    "Key_write_requests",
    "Key_writes",
    "Not_flushed_delayed_rows",
    "Replica_open_temp_tables",
    "Select_range_check",
    "Slave_open_temp_tables",
    "Sort_merge_passes",
    "Table_open_cache_overflows",
    "Threads_cached",
];

/// Counts are of the node, in SHOW SESSION STATUS, too.
pub fn status(source: &Source<'_>) -> Vec<Vec<Value>> {
    let engine = source.session.engine;
    let store = engine.participant().store();
    let traffic = engine
        .processes()
        .map(|processes| processes.traffic())
        .unwrap_or_default();
    let locks = store.locks().statistics();
    let rows: u64 = store
        .tables()
        .iter()
        .take_while(|_| governor::go_on())
        .map(|table| table.estimated_rows())
        .sum();
    let mut figures = vec![
        ("Aborted_connects", traffic.logins_denied),
        ("Bytes_received", traffic.bytes_received),
        ("Bytes_sent", traffic.bytes_sent),
        ("Connection_errors_max_connections", traffic.connections_refused),
        ("Calls_to_leader", engine.participant().calls()),
        ("Connections", traffic.connections),
        ("Innodb_deadlocks", locks.deadlocks),
        ("Innodb_row_lock_waits", locks.waits),
        ("Innodb_rows", rows),
        ("Memory_limit", store.memory().limit()),
        ("Memory_used", store.memory().used()),
        ("Memory_used_by_sessions", governor::memory::held_by_sessions()),
        ("Past_bytes", store.past().bytes()),
        ("Past_readable_ms", engine.past_readable().as_millis() as u64),
        ("Open_tables", store.tables().len() as u64),
        ("Prepared_stmt_count", engine.prepared_count().max(0) as u64),
        ("Read_staleness_ms", staleness_ms(engine)),
        ("Queries", traffic.commands),
        ("Questions", traffic.commands),
        ("Threads_connected", traffic.connected),
        ("Threads_running", traffic.running),
        ("Unsynced_ms", engine.participant().unsynced().as_millis() as u64),
        ("Uptime", engine.uptime_seconds()),
        ("Uptime_since_flush_status", engine.uptime_seconds()),
    ];
    // Memory in InnoDB's pages, by which tools reckon; all rows are in memory, and nothing waits to be written back.
    let [limit, used] = [store.memory().limit(), store.memory().used()];
    figures.extend([
        ("Innodb_buffer_pool_bytes_data", used),
        ("Innodb_buffer_pool_pages_data", used / PAGE),
        ("Innodb_buffer_pool_pages_free", limit.saturating_sub(used) / PAGE),
        ("Innodb_buffer_pool_pages_total", limit / PAGE),
        ("Innodb_page_size", PAGE),
    ]);
    figures.extend(NEVER.map(|name| (name, 0)));
    let statements = engine.statistics();
    figures.extend(StatementKind::all().filter_map(|kind| Some((kind.variable()?, statements.statements(kind)))));
    figures.sort_unstable();
    let mut rows: Vec<_> = figures
        .iter()
        .map(|(name, value)| vec![text(name), text(value.to_string())])
        .collect();
    let encryption = source.session.encryption;
    let (cipher, version) = encryption.map_or(("", ""), |used| (&used.cipher, &used.version));
    let (compression, algorithm, level) = match source.session.compression {
        Some(Compression::Zlib) => ("ON", "zlib", 1),
        Some(Compression::Zstd { level }) => ("ON", "zstd", level),
        None => ("OFF", "", 0),
    };
    rows.push(vec![text("Compression"), text(compression)]);
    rows.push(vec![text("Compression_algorithm"), text(algorithm)]);
    rows.push(vec![text("Compression_level"), text(level.to_string())]);
    let oldest = engine.past_oldest_micros().map(|micros| fine_moment(micros, source));
    rows.push(vec![text("Past_oldest"), oldest.unwrap_or_else(|| text(""))]);
    rows.push(vec![text("Ssl_cipher"), text(cipher)]);
    rows.push(vec![text("Ssl_version"), text(version)]);
    rows
}

pub(super) fn general_log(source: &Source<'_>) -> Vec<Vec<Value>> {
    source
        .session
        .engine
        .logs()
        .general_rows(|micros| fine_moment(micros, source))
}

pub(super) fn slow_log(source: &Source<'_>) -> Vec<Vec<Value>> {
    source
        .session
        .engine
        .logs()
        .slow_rows(|micros| fine_moment(micros, source))
}

pub(super) fn slow_digests(source: &Source<'_>) -> Vec<Vec<Value>> {
    match source.session.access.sees_server() {
        true => {
            let digests = source.session.engine.slow_digests();
            digests.rows(|micros| fine_moment(micros, source))
        }
        false => Vec::new(),
    }
}
