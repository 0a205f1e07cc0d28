//! Statements that change rows.

use super::Printer;
use super::expr::operator;
use crate::ast::*;

impl Printer {
    pub(super) fn insert(&mut self, insert: &Insert) {
        self.text(match insert.verb {
            InsertVerb::Insert => "INSERT ",
            InsertVerb::Replace => "REPLACE ",
        });
        self.hints(&insert.hints);
        self.text(match insert.priority {
            Some(Priority::Low) => "LOW_PRIORITY ",
            Some(Priority::High) => "HIGH_PRIORITY ",
            Some(Priority::Delayed) => "DELAYED ",
            None => "",
        });
        self.when(insert.ignore, "IGNORE ");
        self.text("INTO ");
        self.table_name(&insert.table);
        self.partition_names(&insert.partitions);
        self.opt(" ", &insert.columns, |p, columns| {
            p.paren_list(columns, Self::column_name)
        });
        match &insert.source {
            InsertSource::Values(rows) => {
                self.text(" VALUES ");
                self.list(rows, |p, row| p.paren_list(row, Self::expr));
            }
            InsertSource::Set(assignments) => {
                self.text(" SET ");
                self.assignments(assignments);
            }
            InsertSource::Query(query) => {
                self.text(" ");
                self.query(query);
            }
        }
        self.opt(" AS ", &insert.row_alias, |p, alias| {
            p.ident(&alias.name);
            p.opt_idents(&alias.columns);
        });
        if !insert.on_duplicate.is_empty() {
            self.text(" ON DUPLICATE KEY UPDATE ");
            self.assignments(&insert.on_duplicate);
        }
    }

    fn assignments(&mut self, assignments: &[Assignment]) {
        self.list(assignments, |p, assignment| {
            p.column_name(&assignment.column);
            p.text(" = ");
            p.expr(&assignment.value);
        });
    }

    pub(super) fn update(&mut self, update: &Update) {
        self.opt("", &update.with, Self::with);
        self.text("UPDATE ");
        self.hints(&update.hints);
        self.when(update.low_priority, "LOW_PRIORITY ");
        self.when(update.ignore, "IGNORE ");
        self.list(&update.tables, Self::table_ref);
        self.text(" SET ");
        self.assignments(&update.assignments);
        self.opt(" WHERE ", &update.filter, Self::expr);
        self.order_by(&update.order_by);
        self.limit(&update.limit);
    }

    pub(super) fn delete(&mut self, delete: &Delete) {
        self.opt("", &delete.with, Self::with);
        self.text("DELETE ");
        self.hints(&delete.hints);
        self.when(delete.low_priority, "LOW_PRIORITY ");
        self.when(delete.quick, "QUICK ");
        self.when(delete.ignore, "IGNORE ");
        match &delete.form {
            DeleteForm::Single {
                table,
                alias,
                partitions,
                order_by,
                limit,
            } => {
                self.text("FROM ");
                self.table_name(table);
                self.opt(" AS ", alias, Self::ident);
                self.partition_names(partitions);
                self.opt(" WHERE ", &delete.filter, Self::expr);
                self.order_by(order_by);
                self.limit(limit);
            }
            DeleteForm::Multi { targets, tables } => {
                self.list(targets, Self::table_name);
                self.text(" FROM ");
                self.list(tables, Self::table_ref);
                self.opt(" WHERE ", &delete.filter, Self::expr);
            }
        }
    }

    pub(super) fn load_data(&mut self, load: &LoadData) {
        self.text(if load.xml { "LOAD XML " } else { "LOAD DATA " });
        self.text(match load.priority {
            Some(LoadPriority::Low) => "LOW_PRIORITY ",
            Some(LoadPriority::Concurrent) => "CONCURRENT ",
            None => "",
        });
        self.when(load.local, "LOCAL ");
        self.text("INFILE ");
        self.str(&load.path);
        self.opt(" ", &load.duplicates, Self::on_duplicate_row);
        self.text(" INTO TABLE ");
        self.table_name(&load.table);
        self.partition_names(&load.partitions);
        self.opt(" CHARACTER SET ", &load.charset, Self::ident);
        self.opt(" ROWS IDENTIFIED BY ", &load.row_tag, |p, tag| p.string(tag));
        self.field_format(&load.fields);
        self.line_format(&load.lines);
        if load.skip > 0 {
            self.text(&format!(" IGNORE {} LINES", load.skip));
        }
        if !load.targets.is_empty() {
            self.text(" ");
            self.paren_list(&load.targets, |p, target| match target {
                LoadTarget::Column(column) => p.column_name(column),
                LoadTarget::UserVar(name) => p.user_var(name),
            });
        }
        if !load.assignments.is_empty() {
            self.text(" SET ");
            self.assignments(&load.assignments);
        }
    }

    pub(super) fn on_duplicate_row(&mut self, duplicates: &OnDuplicateRow) {
        self.text(match duplicates {
            OnDuplicateRow::Replace => "REPLACE",
            OnDuplicateRow::Ignore => "IGNORE",
        });
    }

    pub(super) fn handler(&mut self, handler: &Handler) {
        self.text("HANDLER ");
        self.table_name(&handler.table);
        match &handler.action {
            HandlerAction::Open { alias } => {
                self.text(" OPEN");
                self.opt(" AS ", alias, Self::ident);
            }
            HandlerAction::Close => self.text(" CLOSE"),
            HandlerAction::Read { scan, filter, limit } => {
                self.text(" READ ");
                self.handler_scan(scan);
                self.opt(" WHERE ", filter, Self::expr);
                self.limit(limit);
            }
        }
    }

    fn handler_scan(&mut self, scan: &HandlerScan) {
        match scan {
            HandlerScan::First => self.text("FIRST"),
            HandlerScan::Next => self.text("NEXT"),
            HandlerScan::Index { index, direction } => {
                self.index_name(index);
                self.text(match direction {
                    HandlerDirection::First => " FIRST",
                    HandlerDirection::Next => " NEXT",
                    HandlerDirection::Prev => " PREV",
                    HandlerDirection::Last => " LAST",
                });
            }
            HandlerScan::Key { index, op, values } => {
                self.index_name(index);
                self.text(operator(*op));
                self.paren_list(values, Self::expr);
            }
        }
    }
}
