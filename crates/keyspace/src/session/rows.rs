//! Rows of SQL's own tables as hashes: `HGETALL shop.customer:42`.
//!
//! A name `database.table:key` means a row where there is such a table with a primary key; the tables of keys themselves are none. Columns are
//! fields, values are texts as MySQL prints them, moments in UTC, and NULL is a field that is not there. The values of a composite key
//! stand with commas between them.
//!
//! ```text
//!   HGETALL shop.customer:42 ──▶ the row by its key, without a statement ──▶ fields
//!   HSET    shop.customer:42 ──▶ UPDATE, and INSERT where it found no row: triggers, constraints, rights are SQL's
//! ```
//!
//! Each command is a transaction of its own; MULTI and scripts take no rows.

use std::sync::Arc;

use catalog::TableDef;
use redis_wire::Reply;
use sql::plan::text::name as quoted;
use sql::result::BufferedRows;
use sql::session::{Fetch, Session as SqlSession, SessionOptions};
use sql_api::host::Host;
use sql_api::session::SessionAccount;
use types::{CollationId, ErrorKind, SqlError, SqlResult, Value, ValueRef};

use super::Session;
use crate::command::Command;
use crate::failure::{Failure, Outcome, wrong_number_of_arguments};
use crate::keyspace::Keyspace;
use crate::tables::DATABASE;
use crate::work::Events;

/// A row that a command names.
struct RowName<'n> {
    table: Arc<TableDef>,
    database: &'n str,
    key: Vec<&'n str>,
}

impl<'n> RowName<'n> {
    /// `None`: it is a key like all others.
    fn read(name: &'n [u8], keyspace: &Keyspace) -> Option<RowName<'n>> {
        let (table, key) = std::str::from_utf8(name).ok()?.split_once(':')?;
        let (database, table) = table.split_once('.')?;
        if database.eq_ignore_ascii_case(DATABASE) {
            return None;
        }
        let table = keyspace.engine().catalog().table(database, table)?.clone();
        let key = match table.primary()?.parts.len() {
            1 => vec![key],
            _ => key.split(',').collect(),
        };
        Some(RowName { table, database, key })
    }

    fn place(&self) -> String {
        format!("{}.{}", quoted(self.database), quoted(&self.table.name))
    }

    fn key_columns(&self) -> impl Iterator<Item = &str> {
        let parts = self.table.primary().map_or(&[][..], |primary| &primary.parts);
        parts.iter().map(|part| self.table.columns[part.column].name.as_str())
    }

    /// The condition that means the row; none has a key of another length.
    fn condition(&self) -> Outcome<String> {
        if self.key_columns().count() != self.key.len() {
            return Err(Failure::reply(
                "ERR the primary key of the table has another number of columns",
            ));
        }
        let parts: Vec<String> = self
            .key_columns()
            .map(|column| format!("{} = ?", quoted(column)))
            .collect();
        Ok(parts.join(" AND "))
    }

    fn key_values(&self) -> impl Iterator<Item = Value> {
        self.key.iter().map(|part| Value::from(*part))
    }

    /// A column's name as the table has it.
    fn column(&self, field: &[u8]) -> Option<&str> {
        let is_it = |name: &&str| name.as_bytes().eq_ignore_ascii_case(field);
        self.table
            .named_columns()
            .iter()
            .map(|column| column.name.as_str())
            .find(is_it)
    }
}

/// A column's name and its text; none is NULL.
type Field = (String, Option<Vec<u8>>);

/// Whether any of the keys that a command names is a row of a table.
pub(crate) fn names_rows(command: &Command, args: &[&[u8]], keyspace: &Keyspace) -> bool {
    let mut has_one = false;
    command.each_key(args, |at| has_one |= is_row(args[at], keyspace));
    has_one
}

/// Whether a name means a row of a table. Most have no dot.
pub(crate) fn is_row(name: &[u8], keyspace: &Keyspace) -> bool {
    name.contains(&b'.') && name.contains(&b':') && RowName::read(name, keyspace).is_some()
}

pub(crate) fn refused_in_transaction() -> Failure {
    Failure::reply("ERR rows of tables are not taken in MULTI and in scripts")
}

/// SQL's side of a client.
pub(crate) struct Rows {
    account: SessionAccount,
    session: Box<SqlSession>,
}

impl Rows {
    fn execute(&mut self, text: &str, values: &[Value], host: &dyn Host, sink: &mut BufferedRows) -> SqlResult<()> {
        let id = self.session.prepare(text.as_bytes(), host)?.id;
        let done = self.session.execute(id, values, Fetch::All, host, sink);
        self.session.close_statement(id);
        done
    }

    fn command(&mut self, text: &str, host: &dyn Host) -> SqlResult<()> {
        self.session.query(text.as_bytes(), host, &mut BufferedRows::default())
    }

    /// Changes rows; how many, by the condition.
    fn change(&mut self, text: &str, values: &[Value], host: &dyn Host) -> SqlResult<u64> {
        let mut answer = BufferedRows::default();
        self.execute(text, values, host, &mut answer)?;
        Ok(answer.done.affected_rows)
    }

    /// Columns of a row, all or those that are named; `None`: there is no such row.
    fn read(&mut self, row: &RowName<'_>, columns: Option<&[&str]>, host: &dyn Host) -> Outcome<Option<Vec<Field>>> {
        let condition = row.condition()?;
        if let Some(by_key) = self.session.by_key(row.database, &row.table.name, columns)? {
            let (mut key, mut found) = (Vec::new(), None);
            let is_written = by_key.write_key(row.key.iter().copied(), &mut key);
            let was_read = is_written
                && self.session.read_by_key(&[&by_key], host, |moment| {
                    found = moment.get(&by_key, &key, |row| {
                        let fields = row.values().zip(by_key.columns());
                        let text = |(value, (name, ty)): (ValueRef<'_>, (&str, &types::SqlType))| {
                            let mut text = Vec::new();
                            value.write_typed_text(ty, &mut text);
                            (name.to_owned(), (!matches!(value, ValueRef::Null)).then_some(text))
                        };
                        fields.map(text).collect()
                    });
                    Ok(())
                })?;
            if was_read {
                return Ok(found);
            }
        }
        let wanted = match columns {
            None => "*".to_owned(),
            Some(names) => names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "),
        };
        let text = format!("SELECT {wanted} FROM {} WHERE {condition}", row.place());
        let mut rows = BufferedRows::default();
        self.execute(&text, &row.key_values().collect::<Vec<_>>(), host, &mut rows)?;
        let (Some(shape), false) = (rows.shape(), rows.is_empty()) else {
            return Ok(None);
        };
        let fields = rows.row(0).iter().zip(&shape.columns).map(|(value, column)| {
            let mut text = Vec::new();
            value.as_ref().write_typed_text(&column.ty, &mut text);
            (column.name.to_string(), (!matches!(value, Value::Null)).then_some(text))
        });
        Ok(Some(fields.collect()))
    }

    /// Gives columns of a row values; true: there was no such row before.
    fn put(&mut self, row: &RowName<'_>, fields: &[(&str, &[u8])], host: &dyn Host) -> Outcome<bool> {
        let condition = row.condition()?;
        let given = || fields.iter().map(|(_, value)| Value::from(*value));
        let assignments: Vec<String> = fields.iter().map(|(name, _)| format!("{} = ?", quoted(name))).collect();
        let update = format!(
            "UPDATE {} SET {} WHERE {condition}",
            row.place(),
            assignments.join(", ")
        );
        let columns: Vec<String> = row
            .key_columns()
            .chain(fields.iter().map(|(name, _)| *name))
            .map(quoted)
            .collect();
        let insert = format!(
            "INSERT INTO {} ({}) VALUES ({})",
            row.place(),
            columns.join(", "),
            vec!["?"; columns.len()].join(", ")
        );
        let mut tries = 0;
        loop {
            let values: Vec<Value> = given().chain(row.key_values()).collect();
            if self.change(&update, &values, host)? > 0 {
                return Ok(false);
            }
            let values: Vec<Value> = row.key_values().chain(given()).collect();
            match self.change(&insert, &values, host) {
                Ok(_) => return Ok(true),
                // Somebody has made the row meanwhile, or another one has a value that may be there once.
                Err(error) if error.kind() == ErrorKind::DupEntry && tries == 0 => tries += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Deletes rows, all of them or none; how many there were.
    fn remove(&mut self, rows: &[RowName<'_>], host: &dyn Host) -> Outcome<u64> {
        if let [row] = rows {
            return self.remove_one(row, host);
        }
        self.command("START TRANSACTION", host)?;
        let done = rows
            .iter()
            .try_fold(0, |removed, row| Ok(removed + self.remove_one(row, host)?));
        self.command(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }, host)?;
        done
    }

    fn remove_one(&mut self, row: &RowName<'_>, host: &dyn Host) -> Outcome<u64> {
        let text = format!("DELETE FROM {} WHERE {}", row.place(), row.condition()?);
        Ok(self.change(&text, &row.key_values().collect::<Vec<_>>(), host)?)
    }
}

impl Session {
    /// SQL's side of the client, as the account that he has now.
    fn rows(&mut self, host: &dyn Host) -> Outcome<&mut Rows> {
        let account = self
            .account
            .clone()
            .ok_or_else(|| Failure::reply("NOAUTH Authentication required."))?;
        // One that could not roll back is given up.
        let is_his = |rows: &Rows| rows.account == account && !rows.session.in_transaction();
        if !self.rows.as_ref().is_some_and(is_his) {
            self.rows = None;
        }
        if self.rows.is_none() {
            let (user, from) = match &account {
                SessionAccount::Account { user, host } => (user.clone(), host.clone()),
                SessionAccount::Server => Default::default(),
            };
            let options = SessionOptions {
                connection_id: u32::try_from(self.id).unwrap_or_default(),
                user,
                host: from,
                account: account.clone(),
                gave_password: true,
                collation_id: CollationId::UTF8MB4_0900_AI_CI as u16,
                found_rows: true,
                ..SessionOptions::default()
            };
            let session = Box::new(SqlSession::new(self.keyspace.engine().clone(), options)?);
            let mut rows = Rows { account, session };
            rows.command("SET time_zone = '+00:00'", host)?;
            self.rows = Some(rows);
        }
        Ok(self.rows.as_mut().expect("opened above"))
    }

    /// Runs a command whose keys are rows of tables; anew, where other transactions were in its way.
    pub(super) fn run_on_rows(
        &mut self,
        command: &'static Command,
        args: &[&[u8]],
        host: &dyn Host,
        reply: &mut Reply,
    ) -> Outcome {
        self.in_transaction(host, reply, &mut |session, reply| {
            session.try_on_rows(command, args, host, reply)?;
            Ok(Events::default())
        })
    }

    fn try_on_rows(
        &mut self,
        command: &'static Command,
        args: &[&[u8]],
        host: &dyn Host,
        reply: &mut Reply,
    ) -> Outcome {
        let keyspace = self.keyspace.clone();
        let mut named = Vec::new();
        for (at, _) in command.keys(args) {
            let row = RowName::read(args[at], &keyspace);
            named.push(row.ok_or_else(|| Failure::reply("ERR a command takes rows of tables, or keys, not both"))?);
        }
        let (Some(row), rows) = (named.first(), self.rows(host)?) else {
            return Err(Failure::reply("ERR no key"));
        };
        match command.name() {
            "hgetall" | "hkeys" | "hvals" | "hlen" => {
                let fields = rows.read(row, None, host)?.unwrap_or_default();
                let fields: Vec<(String, Vec<u8>)> = fields
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)))
                    .collect();
                match command.name() {
                    "hgetall" => reply.map(fields.len()),
                    "hlen" => reply.integer(fields.len() as i64),
                    _ => reply.array(fields.len()),
                }
                for (name, value) in &fields {
                    if matches!(command.name(), "hgetall" | "hkeys") {
                        reply.bulk(name.as_bytes());
                    }
                    if matches!(command.name(), "hgetall" | "hvals") {
                        reply.bulk(value);
                    }
                }
            }
            "hmget" => {
                let values = rows.values_of(row, &args[2..], host)?;
                reply.array(values.len());
                for value in &values {
                    answer_value(value.as_deref(), reply);
                }
            }
            "hget" => answer_value(rows.values_of(row, &args[2..], host)?[0].as_deref(), reply),
            "hexists" => {
                let is_there = rows.values_of(row, &args[2..], host)?[0].is_some();
                reply.integer(i64::from(is_there));
            }
            "hstrlen" => {
                let value = rows.values_of(row, &args[2..], host)?.swap_remove(0);
                reply.integer(value.map_or(0, |value| value.len() as i64));
            }
            name @ ("hset" | "hmset") => {
                let pairs = args[2..].chunks_exact(2);
                if !pairs.remainder().is_empty() {
                    return Err(wrong_number_of_arguments(name));
                }
                let mut fields = Vec::new();
                for pair in pairs {
                    let unknown =
                        || SqlError::new(ErrorKind::BadField, &[&String::from_utf8_lossy(pair[0]), &"field list"]);
                    fields.push((row.column(pair[0]).ok_or_else(unknown)?, pair[1]));
                }
                let is_new = rows.put(row, &fields, host)?;
                match name {
                    "hset" => reply.integer(if is_new { fields.len() as i64 } else { 0 }),
                    _ => reply.ok(),
                }
            }
            "del" | "unlink" => {
                let removed = rows.remove(&named, host)?;
                reply.integer(removed as i64);
            }
            "exists" => {
                let mut found = 0;
                for row in &named {
                    let key: Vec<&str> = row.key_columns().collect();
                    found += i64::from(rows.read(row, Some(&key), host)?.is_some());
                }
                reply.integer(found);
            }
            "type" => {
                let key: Vec<&str> = row.key_columns().collect();
                let is_there = rows.read(row, Some(&key), host)?.is_some();
                reply.simple(if is_there { "hash" } else { "none" });
            }
            name => {
                return Err(Failure::Reply(
                    format!("WRONGTYPE the command '{name}' takes no rows of tables").into(),
                ));
            }
        }
        Ok(())
    }
}

impl Rows {
    /// The values of some fields. What is no column is not there.
    fn values_of(&mut self, row: &RowName<'_>, fields: &[&[u8]], host: &dyn Host) -> Outcome<Vec<Option<Vec<u8>>>> {
        let columns: Vec<Option<&str>> = fields.iter().map(|field| row.column(field)).collect();
        let known: Vec<&str> = columns.iter().copied().flatten().collect();
        let found = match known.is_empty() {
            true => None,
            false => self.read(row, Some(&known), host)?,
        };
        let mut found = found.unwrap_or_default().into_iter();
        let values = columns
            .iter()
            .map(|column| column.and_then(|_| found.next()).and_then(|(_, value)| value));
        Ok(values.collect())
    }
}

fn answer_value(value: Option<&[u8]>, reply: &mut Reply) {
    match value {
        Some(value) => reply.bulk(value),
        None => reply.null(),
    }
}
