//! Query expressions and table references.

use super::Printer;
use crate::ast::*;

impl Printer {
    /// `(query)`
    pub(super) fn subquery(&mut self, query: &Query) {
        self.text("(");
        self.query(query);
        self.text(")");
    }

    pub(super) fn query(&mut self, query: &Query) {
        self.opt("", &query.with, Self::with);
        self.query_body(&query.body);
        self.order_by(&query.order_by);
        self.limit(&query.limit);
        for lock in &query.locks {
            self.locking(lock);
        }
        self.opt(" INTO ", &query.into, |p, into| p.select_into(into));
    }

    /// `WITH ..` and a space.
    pub(super) fn with(&mut self, with: &With) {
        self.text("WITH ");
        self.when(with.recursive, "RECURSIVE ");
        self.list(&with.tables, |p, table| {
            p.ident(&table.name);
            p.opt_idents(&table.columns);
            p.text(" AS ");
            p.subquery(&table.query);
        });
        self.text(" ");
    }

    fn query_body(&mut self, body: &QueryBody) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => {
                self.text("VALUES ");
                self.list(rows, |p, row| {
                    p.text("ROW");
                    p.paren_list(row, Self::expr);
                });
            }
            QueryBody::Table(name) => {
                self.text("TABLE ");
                self.table_name(name);
            }
            QueryBody::SetOperation(operation) => {
                let tight = is_intersect(operation);
                self.set_operand(&operation.first, tight);
                for term in &operation.rest {
                    self.text(match term.op {
                        SetOp::Union => " UNION ",
                        SetOp::Intersect => " INTERSECT ",
                        SetOp::Except => " EXCEPT ",
                    });
                    self.when(term.all, "ALL ");
                    self.set_operand(&term.body, tight);
                }
            }
            QueryBody::Query(query) => self.subquery(query),
        }
    }

    /// An operand of a set operation; `tight` if that is INTERSECT.
    fn set_operand(&mut self, body: &QueryBody, tight: bool) {
        match body {
            QueryBody::SetOperation(inner) if tight || !is_intersect(inner) => {
                self.text("(");
                self.query_body(body);
                self.text(")");
            }
            _ => self.query_body(body),
        }
    }

    fn select(&mut self, select: &Select) {
        self.text("SELECT ");
        self.hints(&select.hints);
        let options = &select.options;
        self.when(options.distinct, "DISTINCT ");
        self.when(options.high_priority, "HIGH_PRIORITY ");
        self.when(options.straight_join, "STRAIGHT_JOIN ");
        self.when(options.sql_small_result, "SQL_SMALL_RESULT ");
        self.when(options.sql_big_result, "SQL_BIG_RESULT ");
        self.when(options.sql_buffer_result, "SQL_BUFFER_RESULT ");
        self.when(options.sql_no_cache, "SQL_NO_CACHE ");
        self.when(options.sql_calc_found_rows, "SQL_CALC_FOUND_ROWS ");
        self.list(&select.items, Self::select_item);
        if !select.from.is_empty() {
            self.text(" FROM ");
            self.list(&select.from, Self::table_ref);
        } else if select.filter.is_some() || !select.group_by.is_empty() || select.having.is_some() {
            self.text(" FROM DUAL");
        }
        self.opt(" WHERE ", &select.filter, Self::expr);
        if !select.group_by.is_empty() {
            self.text(" GROUP BY ");
            self.list(&select.group_by, Self::order_item);
            self.when(select.rollup, " WITH ROLLUP");
        }
        self.opt(" HAVING ", &select.having, Self::expr);
        if !select.windows.is_empty() {
            self.text(" WINDOW ");
            self.list(&select.windows, |p, (name, spec)| {
                p.ident(name);
                p.text(" AS ");
                p.window_spec(spec);
            });
        }
    }

    /// `/*+ hints */` and a space.
    pub(super) fn hints(&mut self, hints: &Option<Box<str>>) {
        if let Some(hints) = hints {
            self.text("/*+ ");
            self.text(hints);
            self.text(" */ ");
        }
    }

    pub(super) fn select_item(&mut self, item: &SelectItem) {
        match item {
            SelectItem::Wildcard => self.text("*"),
            SelectItem::TableWildcard(table) => {
                self.table_name(table);
                self.text(".*");
            }
            SelectItem::Expr { expr, alias, .. } => {
                self.expr(expr);
                self.opt(" AS ", alias, Self::ident);
            }
        }
    }

    /// ` ORDER BY ..`
    pub(super) fn order_by(&mut self, items: &[OrderItem]) {
        if !items.is_empty() {
            self.text(" ORDER BY ");
            self.list(items, Self::order_item);
        }
    }

    pub(super) fn order_item(&mut self, item: &OrderItem) {
        self.expr(&item.expr);
        self.when(item.descending, " DESC");
    }

    /// ` LIMIT ..`
    pub(super) fn limit(&mut self, limit: &Option<Limit>) {
        if let Some(limit) = limit {
            self.text(" LIMIT ");
            self.expr(&limit.count);
            self.opt(" OFFSET ", &limit.offset, Self::expr);
        }
    }

    fn locking(&mut self, lock: &Locking) {
        self.text(match lock.strength {
            LockStrength::Update => " FOR UPDATE",
            LockStrength::Share => " FOR SHARE",
        });
        if !lock.tables.is_empty() {
            self.text(" OF ");
            self.list(&lock.tables, Self::table_name);
        }
        self.text(match lock.wait {
            LockWait::Wait => "",
            LockWait::NoWait => " NOWAIT",
            LockWait::SkipLocked => " SKIP LOCKED",
        });
    }

    fn select_into(&mut self, into: &SelectInto) {
        match into {
            SelectInto::OutFile {
                path,
                charset,
                fields,
                lines,
            } => {
                self.text("OUTFILE ");
                self.str(path);
                self.opt(" CHARACTER SET ", charset, Self::ident);
                self.field_format(fields);
                self.line_format(lines);
            }
            SelectInto::DumpFile(path) => {
                self.text("DUMPFILE ");
                self.str(path);
            }
            SelectInto::Variables(variables) => self.list(variables, Self::target_var),
        }
    }

    pub(super) fn target_var(&mut self, variable: &IntoVar) {
        match variable {
            IntoVar::User(name) => self.user_var(name),
            IntoVar::Local(local) => self.ident(&local.name),
            IntoVar::Undeclared(name) => self.ident(name),
        }
    }

    pub(super) fn field_format(&mut self, format: &FieldFormat) {
        self.when(*format != FieldFormat::default(), " FIELDS");
        self.opt(" TERMINATED BY ", &format.terminated_by, |p, text| p.string(text));
        self.when(format.optionally_enclosed, " OPTIONALLY");
        self.opt(" ENCLOSED BY ", &format.enclosed_by, |p, text| p.string(text));
        self.opt(" ESCAPED BY ", &format.escaped_by, |p, text| p.string(text));
    }

    pub(super) fn line_format(&mut self, format: &LineFormat) {
        self.when(*format != LineFormat::default(), " LINES");
        self.opt(" STARTING BY ", &format.starting_by, |p, text| p.string(text));
        self.opt(" TERMINATED BY ", &format.terminated_by, |p, text| p.string(text));
    }

    pub(super) fn table_ref(&mut self, table: &TableRef) {
        match table {
            TableRef::Table(factor) => self.table_factor(factor),
            TableRef::Derived(derived) => {
                self.when(derived.lateral, "LATERAL ");
                self.subquery(&derived.query);
                self.text(" AS ");
                self.ident(&derived.alias);
                self.opt_idents(&derived.columns);
            }
            TableRef::JsonTable(json) => {
                self.text("JSON_TABLE(");
                self.expr(&json.document);
                self.text(", ");
                self.string(&json.path);
                self.json_columns(&json.columns);
                self.text(") AS ");
                self.ident(&json.alias);
            }
            TableRef::Join(join) => self.join(join),
            TableRef::List(tables) => self.paren_list(tables, Self::table_ref),
        }
    }

    fn table_factor(&mut self, factor: &TableFactor) {
        self.table_name(&factor.name);
        self.partition_names(&factor.partitions);
        self.as_of(&factor.as_of);
        self.opt(" AS ", &factor.alias, Self::ident);
        for hint in &factor.index_hints {
            self.text(match hint.kind {
                IndexHintKind::Use => " USE INDEX ",
                IndexHintKind::Force => " FORCE INDEX ",
                IndexHintKind::Ignore => " IGNORE INDEX ",
            });
            self.text(match hint.scope {
                Some(IndexHintScope::Join) => "FOR JOIN ",
                Some(IndexHintScope::OrderBy) => "FOR ORDER BY ",
                Some(IndexHintScope::GroupBy) => "FOR GROUP BY ",
                None => "",
            });
            self.paren_list(&hint.indexes, Self::index_name);
        }
    }

    /// ` AS OF TIMESTAMP ..`
    pub(super) fn as_of(&mut self, moment: &Option<Box<Expr>>) {
        self.opt(" AS OF TIMESTAMP ", moment, |printer, moment| printer.expr(moment));
    }

    /// ` PARTITION (..)`
    pub(super) fn partition_names(&mut self, names: &[Ident]) {
        if !names.is_empty() {
            self.text(" PARTITION ");
            self.paren_list(names, Self::ident);
        }
    }

    fn join(&mut self, join: &Join) {
        self.table_ref(&join.left);
        self.when(join.condition == JoinCondition::Natural, " NATURAL");
        self.text(match join.kind {
            JoinKind::Inner => " JOIN ",
            JoinKind::Straight => " STRAIGHT_JOIN ",
            JoinKind::Left => " LEFT JOIN ",
            JoinKind::Right => " RIGHT JOIN ",
        });
        if let TableRef::Join(_) = join.right {
            self.text("(");
            self.table_ref(&join.right);
            self.text(")");
        } else {
            self.table_ref(&join.right);
        }
        match &join.condition {
            JoinCondition::On(condition) => {
                self.text(" ON ");
                self.expr(condition);
            }
            JoinCondition::Using(columns) => {
                self.text(" USING ");
                self.paren_list(columns, Self::ident);
            }
            JoinCondition::None | JoinCondition::Natural => {}
        }
    }

    fn json_columns(&mut self, columns: &[JsonTableColumn]) {
        self.text(" COLUMNS ");
        self.paren_list(columns, |p, column| match column {
            JsonTableColumn::Ordinality(name) => {
                p.ident(name);
                p.text(" FOR ORDINALITY");
            }
            JsonTableColumn::Path(column) => {
                p.ident(&column.name);
                p.text(" ");
                p.data_type(&column.data_type);
                p.opt(" COLLATE ", &column.collation, Self::ident);
                p.when(column.exists, " EXISTS");
                p.text(" PATH ");
                p.string(&column.path);
                p.json_responses(&column.on_empty, &column.on_error);
            }
            JsonTableColumn::Nested { path, columns } => {
                p.text("NESTED PATH ");
                p.string(path);
                p.json_columns(columns);
            }
        });
    }
}

fn is_intersect(operation: &SetOperation) -> bool {
    operation.rest.first().is_some_and(|term| term.op == SetOp::Intersect)
}
