//! A directory as SQL: databases, tables, rows, routines, views, triggers, events, accounts, in an order in which they load.

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use catalog::{Catalog, LAST_SYSTEM_TABLE, ProgramContext, TableDef, ViewDef};
use env::Env;
use shard::PreparedName;
use sql::schema::Schema;
use sql::show::create;
use store::{Cursor, KeyRange, Snapshot, Store, Table};
use types::{IndexId, TableId};

use super::literal::write_literal;

/// Rows read at a time, and written by one INSERT at most.
const ROWS: usize = 500;
/// An INSERT ends after this much, far below any server's `max_allowed_packet`.
const STATEMENT_BYTES: usize = 1 << 20;

/// Writes what can be read. Returns what could not; it is in the output as comments, too.
pub fn dump(dir: &Path, to: &mut dyn Write) -> Result<Vec<String>> {
    let schema = Schema::new();
    let salvage = shard::salvage(&Env::real(), dir, super::memory(), schema.clone())?;
    let catalog = schema.catalog();
    let mut dump = Dump {
        to,
        store: &salvage.store,
        snapshot: salvage.store.snapshot(),
        problems: Vec::new(),
    };
    dump.line("-- What can be read of a LatsDB data directory.")?;
    for problem in salvage.problems {
        dump.problem(problem)?;
    }
    dump.line("SET NAMES utf8mb4;")?;
    dump.line("SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00', foreign_key_checks = 0, unique_checks = 0;")?;
    for database in catalog.databases() {
        let name = create::name(&database.def.name);
        dump.line(&format!(
            "\n{};\nUSE {name};",
            create::create_database(&database.def, true)
        ))?;
        for table in database.tables.values() {
            dump.table(table)?;
        }
        for routine in database.routines.values() {
            dump.program(&routine.database, &routine.context, &create::create_routine(routine))?;
        }
    }
    for view in in_order(&catalog) {
        dump.view(view)?;
    }
    // What they fire for is there.
    for table in catalog.databases().flat_map(|database| database.tables.values()) {
        for trigger in &table.triggers {
            dump.program(
                &table.database,
                &trigger.context,
                &create::create_trigger(table, trigger),
            )?;
        }
    }
    for event in catalog.databases().flat_map(|database| database.events.values()) {
        dump.line(&format!("\nSET SESSION time_zone = '{}';", event.time_zone))?;
        dump.program(&event.database, &event.context, &create::create_event(event))?;
        dump.line("SET SESSION time_zone = '+00:00';")?;
    }
    dump.accounts(&catalog)?;
    dump.nameless(&catalog)?;
    dump.prepared()?;
    dump.line("\nSET SESSION foreign_key_checks = 1, unique_checks = 1;")?;
    dump.to.flush().context("cannot write the dump")?;
    Ok(dump.problems)
}

struct Dump<'a> {
    to: &'a mut dyn Write,
    store: &'a Arc<Store>,
    snapshot: Snapshot,
    problems: Vec<String>,
}

impl Dump<'_> {
    fn line(&mut self, text: &str) -> Result<()> {
        writeln!(self.to, "{text}").context("cannot write the dump")
    }

    fn problem(&mut self, problem: String) -> Result<()> {
        // Nothing of it must end the comment.
        let comment = problem.replace(['\n', '\r'], " ");
        self.problems.push(problem);
        self.line(&format!("-- DAMAGE: {comment}"))
    }

    fn table(&mut self, def: &TableDef) -> Result<()> {
        let rows = self.store.table(def.id);
        let next = rows.as_ref().map_or(1, |rows| rows.next_auto_increment());
        self.line(&format!("\n{};", create::create_table(def, next)))?;
        let named = format!("{}.{}", def.database, def.name);
        match rows {
            None => self.problem(format!("table {named}: its rows are lost")),
            Some(rows) if rows.spec().columns.len() != def.columns.len() => {
                self.problem(format!("table {named}: its rows are of another definition"))
            }
            Some(rows) => self.rows(def, &rows),
        }
    }

    fn rows(&mut self, def: &TableDef, rows: &Table) -> Result<()> {
        let written = def
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.generated.is_none());
        let columns: Vec<usize> = written.map(|(at, _)| at).collect();
        let names: Vec<String> = columns.iter().map(|&at| create::name(&def.columns[at].name)).collect();
        let insert = format!("INSERT INTO {} ({}) VALUES ", create::name(&def.name), names.join(", "));
        let mut cursor = Cursor::forward(KeyRange::all());
        let mut statement = String::new();
        while !cursor.is_finished() {
            let mut ready = Vec::new();
            rows.scan(IndexId::PRIMARY, &mut cursor, &self.snapshot, ROWS, |entry| {
                statement.push_str(if statement.is_empty() { &insert } else { ",\n" });
                for (number, &at) in columns.iter().enumerate() {
                    statement.push_str(if number == 0 { "(" } else { ", " });
                    write_literal(&rows.row_layout().column(entry.row(), at).to_value(), &mut statement);
                }
                statement.push(')');
                if statement.len() > STATEMENT_BYTES {
                    ready.push(std::mem::take(&mut statement));
                }
                ControlFlow::Continue(())
            });
            if !statement.is_empty() {
                ready.push(std::mem::take(&mut statement));
            }
            for statement in ready {
                self.line(&format!("{statement};"))?;
            }
        }
        Ok(())
    }

    fn view(&mut self, view: &ViewDef) -> Result<()> {
        match create::create_view(view, None) {
            Ok(text) => self.line(&format!("\n{text};")),
            Err(error) => self.problem(format!("view {}.{}: {error}", view.database, view.name)),
        }
    }

    /// A stored program, read under the modes that it was written under.
    fn program(&mut self, database: &str, context: &ProgramContext, text: &str) -> Result<()> {
        self.line(&format!(
            "\nUSE {};\nSET SESSION sql_mode = '{}', collation_connection = '{}';",
            create::name(database),
            context.sql_mode,
            context.connection.name(),
        ))?;
        self.line(&format!("DELIMITER ;;\n{text} ;;\nDELIMITER ;"))?;
        self.line("SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO';")
    }

    /// Accounts with the hashes of their passwords; what was granted names tables, so it comes after them.
    fn accounts(&mut self, catalog: &Catalog) -> Result<()> {
        self.line("")?;
        if catalog.accounts().any(|account| !account.restrictions.is_empty()) {
            self.line("SET GLOBAL partial_revokes = ON;")?;
        }
        for statement in sql::accounts::show::statements_for_accounts(catalog) {
            self.line(&format!("{statement};"))?;
        }
        Ok(())
    }

    /// What is prepared has changed nothing yet, and no statement says what it would change: it is named, and left out.
    fn prepared(&mut self) -> Result<()> {
        let names = match PreparedName::all(self.store) {
            Ok(names) => names,
            Err(error) => return self.problem(error.to_string()),
        };
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
        for name in names {
            let (global, branch) = (hex(&name.global), hex(&name.branch));
            self.line(&format!(
                "-- Not in here: the prepared XA transaction X'{global}', X'{branch}', {}",
                name.format
            ))?;
        }
        Ok(())
    }

    /// Rows whose definition is lost.
    fn nameless(&mut self, catalog: &Catalog) -> Result<()> {
        let is_known = |id: TableId| {
            id <= LAST_SYSTEM_TABLE
                || catalog.table_by_id(id).is_some()
                || catalog.copies().any(|copy| copy.table == id)
                || id.is_local()
        };
        for table in self.store.tables().iter().filter(|table| !is_known(table.id())) {
            let rows = table.estimated_rows();
            let types: Vec<String> = table.spec().columns.iter().map(|ty| format!("{:?}", ty.kind)).collect();
            self.problem(format!(
                "table {}: no entry of the catalog names it; it has {rows} rows of ({})",
                table.id(),
                types.join(", ")
            ))?;
        }
        Ok(())
    }
}

/// Views after those that they name.
fn in_order(catalog: &Catalog) -> Vec<&Arc<ViewDef>> {
    let mut left: Vec<&Arc<ViewDef>> = catalog
        .databases()
        .flat_map(|database| database.views.values())
        .collect();
    let mut ordered = Vec::with_capacity(left.len());
    let full_name = |view: &ViewDef| [create::name(&view.database), create::name(&view.name)].join(".");
    while !left.is_empty() {
        let names: BTreeSet<String> = left.iter().map(|view| full_name(view)).collect();
        let waits = |view: &ViewDef| {
            let own = full_name(view);
            names
                .iter()
                .any(|name| *name != own && view.query.contains(name.as_str()))
        };
        let (later, now): (Vec<_>, Vec<_>) = left.iter().copied().partition(|view| waits(view));
        // Views in a circle cannot be made; they come as they are.
        let (later, now) = if now.is_empty() { (now, later) } else { (later, now) };
        ordered.extend(now);
        left = later;
    }
    ordered
}
