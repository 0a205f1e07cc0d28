//! INSERT, REPLACE, UPDATE, DELETE, LOAD DATA, CALL, DO, HANDLER.

use governor::stepwise::Stepwise;

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn insert(&mut self) -> PResult<Statement> {
        let verb = if self.bump().kind == Tok::Kw(Kw::REPLACE) {
            InsertVerb::Replace
        } else {
            InsertVerb::Insert
        };
        let hints = self.take_hint()?;
        let mut priority = None;
        if self.eat(Kw::LOW_PRIORITY) {
            priority = Some(Priority::Low);
        } else if self.eat(Kw::DELAYED) {
            priority = Some(Priority::Delayed);
        } else if verb == InsertVerb::Insert && self.eat(Kw::HIGH_PRIORITY) {
            priority = Some(Priority::High);
        }
        let ignore = verb == InsertVerb::Insert && self.eat(Kw::IGNORE);
        self.eat(Kw::INTO);
        let table = self.table_name()?;
        let partitions = self.opt_partition_names()?;
        let columns = self.insert_columns()?;
        let source = self.insert_source(columns.is_some())?;
        // As in MySQL, `()` names all columns.
        let columns = columns.filter(|names| !names.is_empty());
        let mut row_alias = None;
        if verb == InsertVerb::Insert && !matches!(source, InsertSource::Query(_)) && self.eat(Kw::AS) {
            row_alias = Some(RowAlias {
                name: self.ident()?,
                columns: self.opt_paren_idents()?,
            });
        }
        let mut on_duplicate = Vec::new();
        if verb == InsertVerb::Insert && self.eat(Kw::ON) {
            self.expect_all(&[Kw::DUPLICATE, Kw::KEY, Kw::UPDATE])?;
            on_duplicate = self.assignments()?;
        }
        Ok(Statement::Insert(Box::new(Insert {
            hints,
            verb,
            priority,
            ignore,
            table,
            partitions,
            columns,
            source,
            row_alias,
            on_duplicate,
        })))
    }

    /// `[(a, b)]`, unless the parenthesis begins a query.
    fn insert_columns(&mut self) -> PResult<Option<Vec<ColumnName>>> {
        if !self.at_tok(Tok::LParen) {
            return Ok(None);
        }
        match self.peek() {
            Tok::LParen | Tok::Kw(Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES) => return Ok(None),
            _ => self.bump(),
        };
        let columns = if self.at_tok(Tok::RParen) {
            Vec::new()
        } else {
            self.list(Self::column_name)?
        };
        self.expect_tok(Tok::RParen)?;
        Ok(Some(columns))
    }

    fn insert_source(&mut self, has_columns: bool) -> PResult<InsertSource> {
        match self.kind() {
            Tok::Kw(Kw::VALUES) if self.peek_is(Kw::ROW) => self.insert_query(),
            Tok::Kw(Kw::VALUES | Kw::VALUE) => {
                self.bump();
                self.value_rows().map(InsertSource::Values)
            }
            Tok::Kw(Kw::SET) if !has_columns => {
                self.bump();
                self.assignments().map(InsertSource::Set)
            }
            _ => self.insert_query(),
        }
    }

    fn insert_query(&mut self) -> PResult<InsertSource> {
        self.inner_query().map(InsertSource::Query)
    }

    /// `(..), (..)`
    fn value_rows(&mut self) -> PResult<Vec<Vec<Expr>>> {
        let mut rows = Stepwise::from(vec![self.value_row()?]);
        while self.eat_tok(Tok::Comma) {
            let width = rows.last().map_or(0, Vec::len);
            rows.push(self.value_row_of(width)?);
        }
        Ok(std::mem::take(&mut *rows))
    }

    pub(super) fn value_row(&mut self) -> PResult<Vec<Expr>> {
        self.value_row_of(0)
    }

    /// `(value, ...)`, probably `width` of them.
    fn value_row_of(&mut self, width: usize) -> PResult<Vec<Expr>> {
        self.expect_tok(Tok::LParen)?;
        if self.eat_tok(Tok::RParen) {
            return Ok(Vec::new());
        }
        let mut values = Stepwise::from(Vec::with_capacity(width));
        loop {
            values.push(self.value()?);
            if !self.eat_tok(Tok::Comma) {
                break;
            }
        }
        self.expect_tok(Tok::RParen)?;
        Ok(std::mem::take(&mut *values))
    }

    /// An expression or DEFAULT.
    pub(super) fn value(&mut self) -> PResult<Expr> {
        if self.at(Kw::DEFAULT) && self.peek() != Tok::LParen {
            self.bump();
            return Ok(Expr::Default);
        }
        self.in_value()
    }

    /// `column = value, ...`
    fn assignments(&mut self) -> PResult<Vec<Assignment>> {
        self.list(|parser| {
            let column = parser.column_name()?;
            parser.expect_set()?;
            Ok(Assignment {
                column,
                value: parser.value()?,
            })
        })
    }

    pub(super) fn update(&mut self, with: Option<With>) -> PResult<Statement> {
        self.bump();
        let hints = self.take_hint()?;
        let low_priority = self.eat(Kw::LOW_PRIORITY);
        let ignore = self.eat(Kw::IGNORE);
        let tables = self.table_refs()?;
        self.expect(Kw::SET)?;
        let assignments = self.assignments()?;
        let filter = self.opt_where()?;
        let order_by = self.opt_order_by()?;
        let limit = self.opt_simple_limit()?;
        Ok(Statement::Update(Box::new(Update {
            with,
            hints,
            low_priority,
            ignore,
            tables,
            assignments,
            filter,
            order_by,
            limit,
        })))
    }

    pub(super) fn delete(&mut self, with: Option<With>) -> PResult<Statement> {
        self.bump();
        let hints = self.take_hint()?;
        let (mut low_priority, mut quick, mut ignore) = (false, false, false);
        while let Some(keyword) = self.eat_any(&[Kw::LOW_PRIORITY, Kw::QUICK, Kw::IGNORE]) {
            match keyword {
                Kw::LOW_PRIORITY => low_priority = true,
                Kw::QUICK => quick = true,
                _ => ignore = true,
            }
        }
        let form = if self.eat(Kw::FROM) {
            self.delete_from()?
        } else {
            self.delete_targets_from()?
        };
        let filter = self.opt_where()?;
        let form = match form {
            DeleteForm::Single {
                table,
                alias,
                partitions,
                ..
            } => {
                let order_by = self.opt_order_by()?;
                let limit = self.opt_simple_limit()?;
                DeleteForm::Single {
                    table,
                    alias,
                    partitions,
                    order_by,
                    limit,
                }
            }
            multi => multi,
        };
        Ok(Statement::Delete(Box::new(Delete {
            with,
            hints,
            low_priority,
            quick,
            ignore,
            form,
            filter,
        })))
    }

    /// `FROM t ..` of one table, or `FROM a, b USING refs`.
    fn delete_from(&mut self) -> PResult<DeleteForm> {
        let (table, starred) = self.delete_target()?;
        if starred || self.at_tok(Tok::Comma) || self.at(Kw::USING) {
            let mut targets = vec![table];
            while self.eat_tok(Tok::Comma) {
                targets.push(self.delete_target()?.0);
            }
            self.expect(Kw::USING)?;
            return Ok(DeleteForm::Multi {
                targets,
                tables: self.table_refs()?,
            });
        }
        let alias = self.opt_table_alias()?;
        let partitions = self.opt_partition_names()?;
        Ok(DeleteForm::Single {
            table,
            alias,
            partitions,
            order_by: Vec::new(),
            limit: None,
        })
    }

    fn delete_targets_from(&mut self) -> PResult<DeleteForm> {
        let targets = self.list(|parser| parser.delete_target().map(|(table, _)| table))?;
        self.expect(Kw::FROM)?;
        Ok(DeleteForm::Multi {
            targets,
            tables: self.table_refs()?,
        })
    }

    /// `[schema.]table[.*]`, and whether the star was there.
    fn delete_target(&mut self) -> PResult<(TableName, bool)> {
        let first = self.ident()?;
        if !self.eat_tok(Tok::Dot) {
            return Ok((
                TableName {
                    schema: None,
                    name: first,
                },
                false,
            ));
        }
        if self.eat_tok(Tok::Star) {
            return Ok((
                TableName {
                    schema: None,
                    name: first,
                },
                true,
            ));
        }
        let table = TableName {
            schema: Some(first),
            name: self.ident()?,
        };
        let starred = self.eat_tok(Tok::Dot);
        if starred {
            self.expect_tok(Tok::Star)?;
        }
        Ok((table, starred))
    }

    /// `LOAD DATA|XML ..`; LOAD is consumed.
    pub(super) fn load_data(&mut self) -> PResult<Statement> {
        let xml = self.expect_any(&[Kw::DATA, Kw::XML])? == Kw::XML;
        let priority = match self.eat_any(&[Kw::LOW_PRIORITY, Kw::CONCURRENT]) {
            Some(Kw::LOW_PRIORITY) => Some(LoadPriority::Low),
            Some(_) => Some(LoadPriority::Concurrent),
            None => None,
        };
        let local = self.eat(Kw::LOCAL);
        self.expect(Kw::INFILE)?;
        let path = self.text()?;
        let duplicates = self.opt_on_duplicate_row();
        self.expect_all(&[Kw::INTO, Kw::TABLE])?;
        let table = self.table_name()?;
        let partitions = self.opt_partition_names()?;
        let charset = if self.eat_charset()? {
            Some(self.charset_name()?)
        } else {
            None
        };
        let mut row_tag = None;
        if xml && self.eat(Kw::ROWS) {
            self.expect_all(&[Kw::IDENTIFIED, Kw::BY])?;
            row_tag = Some(self.bytes()?);
        }
        let fields = self.field_format()?;
        let lines = self.line_format()?;
        let mut skip = 0;
        if self.eat(Kw::IGNORE) {
            skip = self.unsigned()?;
            self.expect_any(&[Kw::LINES, Kw::ROWS])?;
        }
        let mut targets = Vec::new();
        if self.eat_tok(Tok::LParen) {
            if !self.at_tok(Tok::RParen) {
                targets = self.list(|parser| {
                    if parser.at_tok(Tok::AtName) {
                        parser.user_variables = crate::UserVariables::Assigned;
                        return parser.user_var().map(LoadTarget::UserVar);
                    }
                    parser.column_name().map(LoadTarget::Column)
                })?;
            }
            self.expect_tok(Tok::RParen)?;
        }
        let assignments = if self.eat(Kw::SET) {
            self.assignments()?
        } else {
            Vec::new()
        };
        Ok(Statement::LoadData(Box::new(LoadData {
            xml,
            priority,
            local,
            path,
            duplicates,
            table,
            partitions,
            charset,
            row_tag,
            fields,
            lines,
            skip,
            targets,
            assignments,
        })))
    }

    /// `[REPLACE|IGNORE]`
    pub(super) fn opt_on_duplicate_row(&mut self) -> Option<OnDuplicateRow> {
        Some(match self.eat_any(&[Kw::REPLACE, Kw::IGNORE])? {
            Kw::REPLACE => OnDuplicateRow::Replace,
            _ => OnDuplicateRow::Ignore,
        })
    }

    pub(super) fn call_procedure(&mut self) -> PResult<Statement> {
        self.bump();
        let name = self.table_name()?;
        let args = if self.at_tok(Tok::LParen) {
            self.call_args()?
        } else {
            Vec::new()
        };
        Ok(Statement::Call(Box::new(Call { name, args })))
    }

    pub(super) fn do_exprs(&mut self) -> PResult<Statement> {
        self.bump();
        self.list(Self::select_item).map(Statement::Do)
    }

    pub(super) fn handler(&mut self) -> PResult<Statement> {
        self.bump();
        let table = self.table_name()?;
        let action = match self.expect_any(&[Kw::OPEN, Kw::CLOSE, Kw::READ])? {
            Kw::OPEN => HandlerAction::Open {
                alias: self.opt_table_alias()?,
            },
            Kw::CLOSE => HandlerAction::Close,
            _ => {
                let scan = self.handler_scan()?;
                let filter = self.opt_where()?;
                HandlerAction::Read {
                    scan,
                    filter,
                    limit: self.opt_limit()?,
                }
            }
        };
        Ok(Statement::Handler(Box::new(Handler { table, action })))
    }

    fn handler_scan(&mut self) -> PResult<HandlerScan> {
        // `FIRST` and `NEXT` are also names an index may have.
        if matches!(self.tok.kind, Tok::Kw(Kw::FIRST | Kw::NEXT)) && !self.handler_operator_follows() {
            let first = self.bump().kind == Tok::Kw(Kw::FIRST);
            return Ok(if first { HandlerScan::First } else { HandlerScan::Next });
        }
        let index = self.index_name()?;
        let direction = match self.eat_any(&[Kw::FIRST, Kw::NEXT, Kw::PREV, Kw::LAST]) {
            Some(Kw::FIRST) => HandlerDirection::First,
            Some(Kw::NEXT) => HandlerDirection::Next,
            Some(Kw::PREV) => HandlerDirection::Prev,
            Some(_) => HandlerDirection::Last,
            None => {
                let op = match self.kind() {
                    Tok::Eq => BinaryOp::Eq,
                    Tok::Ge => BinaryOp::Ge,
                    Tok::Le => BinaryOp::Le,
                    Tok::Gt => BinaryOp::Gt,
                    Tok::Lt => BinaryOp::Lt,
                    _ => return Err(self.unexpected()),
                };
                self.bump();
                let values = self.paren_list(Self::value)?;
                return Ok(HandlerScan::Key { index, op, values });
            }
        };
        Ok(HandlerScan::Index { index, direction })
    }

    fn handler_operator_follows(&mut self) -> bool {
        matches!(
            self.peek(),
            Tok::Eq | Tok::Ge | Tok::Le | Tok::Gt | Tok::Lt | Tok::Kw(Kw::FIRST | Kw::NEXT | Kw::PREV | Kw::LAST)
        )
    }
}
