//! Query expressions: SELECT, VALUES, TABLE, set operations, WITH, ORDER BY, LIMIT, locks, INTO.
//!
//! ```text
//! query_expression := [WITH ..] body [ORDER BY ..] [LIMIT ..] [INTO ..] [locks] [INTO ..]
//! body             := term ((UNION|EXCEPT) [ALL|DISTINCT] term)*
//! term             := primary (INTERSECT [ALL|DISTINCT] primary)*
//! primary          := SELECT .. | VALUES .. | TABLE .. | ( query_expression )
//! ```

use super::{Fail, PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    /// The current token begins a query that is not in parentheses.
    pub(super) fn at_query(&mut self) -> bool {
        match self.kind() {
            Tok::Kw(Kw::SELECT | Kw::WITH | Kw::TABLE) => true,
            Tok::Kw(Kw::VALUES) => self.peek_is(Kw::ROW),
            _ => false,
        }
    }

    /// The current token goes on with a query whose first part was in parentheses.
    pub(super) fn at_query_tail(&self) -> bool {
        self.at_any(&[
            Kw::UNION,
            Kw::EXCEPT,
            Kw::INTERSECT,
            Kw::ORDER,
            Kw::LIMIT,
            Kw::INTO,
            Kw::FOR,
            Kw::LOCK,
        ])
    }

    /// `(query)` inside of another statement.
    pub(super) fn subquery(&mut self) -> PResult<Box<Query>> {
        self.expect_tok(Tok::LParen)?;
        let query = self.inner_query()?;
        self.expect_tok(Tok::RParen)?;
        Ok(query)
    }

    pub(super) fn query_expression(&mut self) -> PResult<Box<Query>> {
        let with = self.opt_with()?;
        self.query_after_with(with)
    }

    pub(super) fn query_after_with(&mut self, with: Option<With>) -> PResult<Box<Query>> {
        let first = self.query_primary()?;
        self.query_rest(with, first)
    }

    /// A query whose first primary was `(first)`, already read.
    pub(super) fn query_expression_from(&mut self, first: Box<Query>) -> PResult<Box<Query>> {
        self.query_rest(None, Primary::Parenthesised(first))
    }

    #[inline(never)]
    fn query_rest(&mut self, with: Option<With>, first: Primary) -> PResult<Box<Query>> {
        let body = self.set_operations(first)?;
        // `SELECT .. INTO .. FROM ..` left it here.
        let mut into = self.pending_into.take();
        let order_by = self.opt_order_by()?;
        let limit = self.opt_limit()?;
        self.later_into(&mut into)?;
        let locks = self.locking_clauses()?;
        self.later_into(&mut into)?;
        let around = with.is_none() && order_by.is_empty() && limit.is_none() && locks.is_empty() && into.is_none();
        let body = match body {
            // Parentheses around the whole of a query mean nothing.
            Primary::Parenthesised(inner) if around => return Ok(inner),
            other => self.body_of(other)?,
        };
        Ok(Box::new(Query {
            with,
            body,
            order_by,
            limit,
            locks,
            into,
        }))
    }

    /// INTO at one of the places behind the body: only one of them may have it.
    fn later_into(&mut self, into: &mut Option<Box<SelectInto>>) -> PResult<()> {
        if into.is_some() && self.at(Kw::INTO) {
            return Err(self.other(3953, b"HY000", "Multiple INTO clauses in one query block.".into()));
        }
        if into.is_none() {
            *into = self.opt_into()?;
        }
        Ok(())
    }

    /// A query inside of another: it cannot have INTO.
    pub(super) fn inner_query(&mut self) -> PResult<Box<Query>> {
        let query = self.nested_query(Self::query_expression)?;
        if query.into.is_some() {
            return Err(self.misplaced_into());
        }
        Ok(query)
    }

    #[cold]
    fn misplaced_into(&mut self) -> Fail {
        let message =
            "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.";
        self.other(3954, b"HY000", message.into())
    }

    /// The parentheses stay where they say something.
    fn body_of(&mut self, primary: Primary) -> PResult<QueryBody> {
        match primary {
            Primary::Body(body) => Ok(body),
            Primary::Parenthesised(query) if query.into.is_some() => Err(self.misplaced_into()),
            Primary::Parenthesised(query) if is_plain(&query) => Ok(query.body),
            Primary::Parenthesised(query) => Ok(QueryBody::Query(query)),
        }
    }

    fn with_terms(&mut self, first: Primary, rest: Vec<SetTerm>) -> PResult<Primary> {
        if rest.is_empty() {
            return Ok(first);
        }
        let first = self.body_of(first)?;
        Ok(Primary::Body(QueryBody::SetOperation(Box::new(SetOperation {
            first,
            rest,
        }))))
    }

    /// `WITH [RECURSIVE] name [(columns)] AS (query), ...`
    #[inline(never)]
    pub(super) fn opt_with(&mut self) -> PResult<Option<With>> {
        if !self.eat(Kw::WITH) {
            return Ok(None);
        }
        let recursive = self.eat(Kw::RECURSIVE);
        let tables = self.list(|parser| {
            let name = parser.ident()?;
            let columns = parser.opt_paren_idents()?;
            parser.expect(Kw::AS)?;
            let query = *parser.subquery()?;
            Ok(CommonTable { name, columns, query })
        })?;
        Ok(Some(With { recursive, tables }))
    }

    /// UNION and EXCEPT over INTERSECT over primaries.
    fn set_operations(&mut self, first: Primary) -> PResult<Primary> {
        let first = self.intersections(first)?;
        let mut rest = Vec::new();
        while let Some(keyword) = self.eat_any(&[Kw::UNION, Kw::EXCEPT]) {
            self.forbid_into_before()?;
            let op = if keyword == Kw::UNION {
                SetOp::Union
            } else {
                SetOp::Except
            };
            let all = self.all_or_distinct();
            let primary = self.query_primary()?;
            let primary = self.intersections(primary)?;
            let body = self.body_of(primary)?;
            rest.push(SetTerm { op, all, body });
        }
        self.with_terms(first, rest)
    }

    fn intersections(&mut self, first: Primary) -> PResult<Primary> {
        let mut rest = Vec::new();
        while self.eat(Kw::INTERSECT) {
            self.forbid_into_before()?;
            let all = self.all_or_distinct();
            let primary = self.query_primary()?;
            let body = self.body_of(primary)?;
            rest.push(SetTerm {
                op: SetOp::Intersect,
                all,
                body,
            });
        }
        self.with_terms(first, rest)
    }

    /// A query that another one follows has no INTO.
    fn forbid_into_before(&mut self) -> PResult<()> {
        match self.pending_into {
            Some(_) => Err(self.misplaced_into()),
            None => Ok(()),
        }
    }

    fn all_or_distinct(&mut self) -> bool {
        self.eat_any(&[Kw::ALL, Kw::DISTINCT, Kw::DISTINCTROW]) == Some(Kw::ALL)
    }

    #[inline(never)]
    fn query_primary(&mut self) -> PResult<Primary> {
        match self.kind() {
            Tok::Kw(Kw::SELECT) => Ok(Primary::Body(QueryBody::Select(Box::new(self.select()?)))),
            Tok::Kw(Kw::VALUES) => {
                self.bump();
                let rows = self.list(|parser| {
                    parser.expect(Kw::ROW)?;
                    parser.value_row()
                })?;
                Ok(Primary::Body(QueryBody::Values(rows)))
            }
            Tok::Kw(Kw::TABLE) => {
                self.bump();
                Ok(Primary::Body(QueryBody::Table(self.table_name()?)))
            }
            Tok::LParen => {
                self.bump();
                let query = self.nested_query(Self::query_expression)?;
                self.expect_tok(Tok::RParen)?;
                Ok(Primary::Parenthesised(query))
            }
            _ => Err(self.unexpected()),
        }
    }

    #[inline(never)]
    fn select(&mut self) -> PResult<Select> {
        self.bump();
        let hints = self.take_hint()?;
        let options = self.select_options()?;
        let items = self.select_items()?;
        let into = self.opt_into()?;
        let mut select = Select {
            hints,
            options,
            items,
            from: Vec::new(),
            filter: None,
            group_by: Vec::new(),
            rollup: false,
            having: None,
            windows: Vec::new(),
        };
        if self.eat(Kw::FROM) && !self.eat(Kw::DUAL) {
            select.from = self.table_refs()?;
        }
        select.filter = self.opt_where()?;
        if self.eat(Kw::GROUP) {
            self.expect(Kw::BY)?;
            if self.at(Kw::ROLLUP) && self.peek() == Tok::LParen {
                self.bump();
                self.bump();
                select.group_by = self.list(Self::group_item)?;
                self.expect_tok(Tok::RParen)?;
                select.rollup = true;
            } else {
                select.group_by = self.list(Self::group_item)?;
                if self.eat(Kw::WITH) {
                    self.expect(Kw::ROLLUP)?;
                    select.rollup = true;
                }
            }
        }
        if self.eat(Kw::HAVING) {
            select.having = Some(self.expr()?);
        }
        if self.eat(Kw::WINDOW) {
            select.windows = self.list(|parser| {
                let name = parser.ident()?;
                parser.expect(Kw::AS)?;
                Ok((name, parser.window_spec()?))
            })?;
        }
        // Only now: the queries inside of this one have their own.
        if into.is_some() {
            self.pending_into = into;
        }
        Ok(select)
    }

    /// The optimizer hint after the verb just consumed.
    pub(super) fn take_hint(&mut self) -> PResult<Option<Box<str>>> {
        let Some((start, end)) = self.lexer.hint.take() else {
            return Ok(None);
        };
        let text = self.text[start as usize..end as usize].trim_ascii();
        self.utf8(text).map(|text| Some(text.into()))
    }

    fn select_options(&mut self) -> PResult<SelectOptions> {
        let mut options = SelectOptions::default();
        let mut all = false;
        while let Tok::Kw(keyword) = self.tok.kind {
            match keyword {
                Kw::ALL => all = true,
                Kw::DISTINCT | Kw::DISTINCTROW => options.distinct = true,
                Kw::HIGH_PRIORITY => options.high_priority = true,
                Kw::STRAIGHT_JOIN => options.straight_join = true,
                Kw::SQL_SMALL_RESULT => options.sql_small_result = true,
                Kw::SQL_BIG_RESULT => options.sql_big_result = true,
                Kw::SQL_BUFFER_RESULT => options.sql_buffer_result = true,
                Kw::SQL_NO_CACHE => options.sql_no_cache = true,
                Kw::SQL_CALC_FOUND_ROWS => options.sql_calc_found_rows = true,
                _ => break,
            }
            if all && options.distinct {
                return Err(self.other(1221, b"HY000", "Incorrect usage of ALL and DISTINCT".into()));
            }
            self.bump();
        }
        Ok(options)
    }

    fn select_items(&mut self) -> PResult<Vec<SelectItem>> {
        let mut items = Vec::with_capacity(1);
        if self.eat_tok(Tok::Star) {
            items.push(SelectItem::Wildcard);
        } else {
            items.push(self.select_item()?);
        }
        while self.eat_tok(Tok::Comma) {
            items.push(self.select_item()?);
        }
        Ok(items)
    }

    #[inline(never)]
    pub(super) fn select_item(&mut self) -> PResult<SelectItem> {
        if self.at_ident()
            && self.peek() == Tok::Dot
            && let Some(name) = self.table_wildcard()
        {
            return Ok(SelectItem::TableWildcard(name));
        }
        let start = self.tok;
        let expr = self.expr()?;
        let end = self.prev_end;
        let alias = self.opt_select_alias()?;
        let shown = match (&alias, &expr) {
            (Some(_), _) | (None, Expr::Column(_)) => None,
            (None, Expr::Literal(Literal::String(value))) => Some(self.first_piece(start, value)),
            (None, Expr::Literal(Literal::Introduced(string))) if string.form == IntroducedForm::Text => {
                Some(&string.value[..])
            }
            (None, Expr::Literal(Literal::Null)) => Some(&b"NULL"[..]),
            (None, expr) if is_signed_literal(expr) => {
                Some(bare_literal(&self.text[start.start as usize..end as usize]))
            }
            _ => Some(&self.text[start.start as usize..end as usize]),
        };
        let text = SourceText(shown.map(|text| String::from_utf8_lossy(text).into()));
        Ok(SelectItem::Expr { expr, alias, text })
    }

    /// A select list's item that is one string is shown by its value; of joined strings, by the first one's.
    fn first_piece<'v>(&self, first: crate::lexer::Token, value: &'v [u8]) -> &'v [u8] {
        let length = if first.kind == Tok::String {
            self.string_value(first).len()
        } else {
            value.len()
        };
        &value[..length.min(value.len())]
    }

    /// `table.*` or `schema.table.*`, if that is what stands here.
    fn table_wildcard(&mut self) -> Option<TableName> {
        // The current token is a name, the next one (already out of the lexer) a dot.
        let mut lexer = self.lexer.clone();
        let names = match lexer.next().kind {
            Tok::Star => 1,
            kind if Self::is_ident(kind) && lexer.next().kind == Tok::Dot && lexer.next().kind == Tok::Star => 2,
            _ => return None,
        };
        let first = self.ident().ok()?;
        self.bump();
        let name = if names == 1 {
            TableName {
                schema: None,
                name: first,
            }
        } else {
            let name = self.ident().ok()?;
            self.bump();
            TableName {
                schema: Some(first),
                name,
            }
        };
        self.bump();
        Some(name)
    }

    fn opt_select_alias(&mut self) -> PResult<Option<Ident>> {
        if self.eat(Kw::AS) || self.at_tok(Tok::String) || self.at_ident() {
            return self.ident_or_text().map(Some);
        }
        Ok(None)
    }

    pub(super) fn opt_where(&mut self) -> PResult<Option<Expr>> {
        if self.eat(Kw::WHERE) {
            self.expr().map(Some)
        } else {
            Ok(None)
        }
    }

    fn group_item(&mut self) -> PResult<OrderItem> {
        Ok(OrderItem {
            expr: self.expr()?,
            descending: false,
        })
    }

    pub(super) fn order_item(&mut self) -> PResult<OrderItem> {
        let expr = self.expr()?;
        let descending = self.eat_any(&[Kw::ASC, Kw::DESC]) == Some(Kw::DESC);
        Ok(OrderItem { expr, descending })
    }

    pub(super) fn opt_order_by(&mut self) -> PResult<Vec<OrderItem>> {
        if !self.eat(Kw::ORDER) {
            return Ok(Vec::new());
        }
        self.expect(Kw::BY)?;
        self.list(Self::order_item)
    }

    /// `LIMIT n`, `LIMIT offset, n`, `LIMIT n OFFSET offset`
    pub(super) fn opt_limit(&mut self) -> PResult<Option<Limit>> {
        if !self.eat(Kw::LIMIT) {
            return Ok(None);
        }
        let first = self.limit_value()?;
        if self.eat_tok(Tok::Comma) {
            return Ok(Some(Limit {
                count: self.limit_value()?,
                offset: Some(first),
            }));
        }
        let offset = if self.eat(Kw::OFFSET) {
            Some(self.limit_value()?)
        } else {
            None
        };
        Ok(Some(Limit { count: first, offset }))
    }

    /// `LIMIT n`
    pub(super) fn opt_simple_limit(&mut self) -> PResult<Option<Limit>> {
        if !self.eat(Kw::LIMIT) {
            return Ok(None);
        }
        Ok(Some(Limit {
            count: self.limit_value()?,
            offset: None,
        }))
    }

    /// An unsigned integer, a parameter, or a stored program's variable.
    fn limit_value(&mut self) -> PResult<Expr> {
        match self.kind() {
            Tok::Integer | Tok::HexNumber | Tok::HexString => Ok(Expr::Literal(Literal::Int(self.unsigned()?))),
            Tok::Param if !self.in_program() => {
                self.bump();
                self.params += 1;
                Ok(Expr::Param(self.params - 1))
            }
            Tok::Ident | Tok::QuotedIdent => {
                let name = ColumnName::bare(self.ident()?);
                match self.local_of(&name)? {
                    Some(local) => Ok(Expr::Local(Box::new(local))),
                    None => Ok(Expr::Column(Box::new(name))),
                }
            }
            _ => Err(self.unexpected()),
        }
    }

    fn locking_clauses(&mut self) -> PResult<Vec<Locking>> {
        let mut locks = Vec::new();
        loop {
            if self.at(Kw::LOCK) && locks.is_empty() {
                self.bump();
                self.expect_all(&[Kw::IN, Kw::SHARE, Kw::MODE])?;
                locks.push(Locking {
                    strength: LockStrength::Share,
                    tables: Vec::new(),
                    wait: LockWait::Wait,
                });
                return Ok(locks);
            }
            if !self.at(Kw::FOR) {
                return Ok(locks);
            }
            self.bump();
            let strength = match self.expect_any(&[Kw::UPDATE, Kw::SHARE])? {
                Kw::UPDATE => LockStrength::Update,
                _ => LockStrength::Share,
            };
            let tables = if self.eat(Kw::OF) {
                self.list(Self::table_name)?
            } else {
                Vec::new()
            };
            let wait = if self.eat(Kw::NOWAIT) {
                LockWait::NoWait
            } else if self.eat(Kw::SKIP) {
                self.expect(Kw::LOCKED)?;
                LockWait::SkipLocked
            } else {
                LockWait::Wait
            };
            locks.push(Locking { strength, tables, wait });
        }
    }

    fn opt_into(&mut self) -> PResult<Option<Box<SelectInto>>> {
        if !self.eat(Kw::INTO) {
            return Ok(None);
        }
        if self.eat(Kw::OUTFILE) {
            let path = self.text()?;
            let charset = if self.eat_charset()? {
                Some(self.charset_name()?)
            } else {
                None
            };
            let fields = self.field_format()?;
            let lines = self.line_format()?;
            return Ok(Some(Box::new(SelectInto::OutFile {
                path,
                charset,
                fields,
                lines,
            })));
        }
        if self.eat(Kw::DUMPFILE) {
            return Ok(Some(Box::new(SelectInto::DumpFile(self.text()?))));
        }
        Ok(Some(Box::new(SelectInto::Variables(self.list(Self::target_var)?))))
    }

    pub(super) fn target_var(&mut self) -> PResult<IntoVar> {
        if self.at_tok(Tok::AtName) {
            return self.user_var().map(IntoVar::User);
        }
        let name = self.ident()?;
        self.local_target(name)
    }

    /// `[FIELDS|COLUMNS ...]`
    pub(super) fn field_format(&mut self) -> PResult<FieldFormat> {
        let mut format = FieldFormat::default();
        if self.eat_any(&[Kw::FIELDS, Kw::COLUMNS]).is_none() {
            return Ok(format);
        }
        let mut any = false;
        loop {
            match self.kind() {
                Tok::Kw(Kw::TERMINATED) => {
                    self.bump();
                    self.expect(Kw::BY)?;
                    format.terminated_by = Some(self.bytes_or_hex()?);
                }
                Tok::Kw(Kw::OPTIONALLY | Kw::ENCLOSED) => {
                    format.optionally_enclosed = self.eat(Kw::OPTIONALLY);
                    self.expect_all(&[Kw::ENCLOSED, Kw::BY])?;
                    format.enclosed_by = Some(self.bytes_or_hex()?);
                }
                Tok::Kw(Kw::ESCAPED) => {
                    self.bump();
                    self.expect(Kw::BY)?;
                    format.escaped_by = Some(self.bytes_or_hex()?);
                }
                _ if any => return Ok(format),
                _ => return Err(self.unexpected()),
            }
            any = true;
        }
    }

    /// `[LINES ...]`
    pub(super) fn line_format(&mut self) -> PResult<LineFormat> {
        let mut format = LineFormat::default();
        if !self.eat(Kw::LINES) {
            return Ok(format);
        }
        let mut any = false;
        loop {
            match self.kind() {
                Tok::Kw(Kw::TERMINATED) => {
                    self.bump();
                    self.expect(Kw::BY)?;
                    format.terminated_by = Some(self.bytes_or_hex()?);
                }
                Tok::Kw(Kw::STARTING) => {
                    self.bump();
                    self.expect(Kw::BY)?;
                    format.starting_by = Some(self.bytes_or_hex()?);
                }
                _ if any => return Ok(format),
                _ => return Err(self.unexpected()),
            }
            any = true;
        }
    }
}

/// A first or only part of a query, before it is known what stands around it.
enum Primary {
    Body(QueryBody),
    /// `(query)`
    Parenthesised(Box<Query>),
}

/// Nothing but a body; the body itself is not looked at.
fn is_plain(query: &Query) -> bool {
    query.with.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.locks.is_empty()
        && query.into.is_none()
}

/// A literal, with plus signs or none.
fn is_signed_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) => true,
        Expr::Unary(unary) if unary.op == UnaryOp::Plus => is_signed_literal(&unary.operand),
        _ => false,
    }
}

/// A literal as the name of its column: without the parentheses and plus signs around it.
fn bare_literal(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii();
        text = match text {
            [b'(', inner @ .., b')'] | [b'+', inner @ ..] => inner,
            bare => return bare,
        };
    }
}
