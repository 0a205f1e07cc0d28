//! Views, triggers, routines and events. Their bodies are read by [`super::program`].

use super::program::ProgramKind;
use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

/// What may stand between CREATE or ALTER and the kind of a stored object.
#[derive(Default)]
struct StoredPrefix {
    or_replace: bool,
    algorithm: Option<ViewAlgorithm>,
    definer: Option<Account>,
    security: Option<SqlSecurity>,
}

impl StoredPrefix {
    /// Only what every kind allows.
    fn only_definer(&self) -> bool {
        !self.or_replace && self.algorithm.is_none() && self.security.is_none()
    }
}

impl Parser<'_> {
    /// After `CREATE`.
    pub(super) fn create_stored(&mut self) -> PResult<Statement> {
        let mut prefix = StoredPrefix::default();
        if self.eat(Kw::OR) {
            self.expect(Kw::REPLACE)?;
            prefix.or_replace = true;
            if self.at(Kw::SPATIAL) {
                return self.spatial_reference_system(DdlVerb::Create, true);
            }
        }
        self.stored_prefix(&mut prefix)?;
        if self.at(Kw::VIEW) {
            let action = if prefix.or_replace {
                ViewAction::CreateOrReplace
            } else {
                ViewAction::Create
            };
            return self.view(action, prefix);
        }
        if !prefix.only_definer() {
            return Err(self.unexpected());
        }
        let definer = prefix.definer;
        let kinds = [Kw::TRIGGER, Kw::PROCEDURE, Kw::FUNCTION, Kw::AGGREGATE, Kw::EVENT];
        match self.expect_any(&kinds)? {
            Kw::TRIGGER => self.create_trigger(definer),
            Kw::PROCEDURE => self.create_routine(definer, RoutineKind::Procedure),
            Kw::FUNCTION => self.create_function(definer),
            Kw::EVENT => self.create_event(definer),
            _ => {
                self.expect(Kw::FUNCTION)?;
                self.create_loadable_function(true)
            }
        }
    }

    /// `[ALGORITHM = ..] [DEFINER = ..] [SQL SECURITY ..]`
    fn stored_prefix(&mut self, prefix: &mut StoredPrefix) -> PResult<()> {
        if self.eat(Kw::ALGORITHM) {
            self.expect_tok(Tok::Eq)?;
            prefix.algorithm = Some(match self.expect_any(&[Kw::UNDEFINED, Kw::MERGE, Kw::TEMPTABLE])? {
                Kw::MERGE => ViewAlgorithm::Merge,
                Kw::TEMPTABLE => ViewAlgorithm::TempTable,
                _ => ViewAlgorithm::Undefined,
            });
        }
        if self.eat(Kw::DEFINER) {
            self.expect_tok(Tok::Eq)?;
            prefix.definer = Some(self.account()?);
        }
        if self.at(Kw::SQL) {
            prefix.security = Some(self.sql_security()?);
        }
        Ok(())
    }

    /// `SQL SECURITY DEFINER|INVOKER`
    fn sql_security(&mut self) -> PResult<SqlSecurity> {
        self.expect_all(&[Kw::SQL, Kw::SECURITY])?;
        Ok(match self.expect_any(&[Kw::DEFINER, Kw::INVOKER])? {
            Kw::DEFINER => SqlSecurity::Definer,
            _ => SqlSecurity::Invoker,
        })
    }

    /// After `ALTER`.
    pub(super) fn alter_stored(&mut self) -> PResult<Statement> {
        let mut prefix = StoredPrefix::default();
        self.stored_prefix(&mut prefix)?;
        match self.kind() {
            Tok::Kw(Kw::VIEW) => self.view(ViewAction::Alter, prefix),
            Tok::Kw(Kw::EVENT) if prefix.only_definer() => self.alter_event(prefix.definer),
            Tok::Kw(keyword @ (Kw::PROCEDURE | Kw::FUNCTION)) if prefix.only_definer() && prefix.definer.is_none() => {
                self.bump();
                let kind = if keyword == Kw::PROCEDURE {
                    RoutineKind::Procedure
                } else {
                    RoutineKind::Function
                };
                let name = self.table_name()?;
                let characteristics = self.characteristics()?;
                let is_of_definition = |characteristic: &RoutineCharacteristic| {
                    matches!(characteristic, RoutineCharacteristic::Deterministic(_))
                };
                if characteristics.iter().any(is_of_definition) {
                    return Err(self.unexpected());
                }
                Ok(Statement::AlterRoutine(Box::new(AlterRoutine {
                    kind,
                    name,
                    characteristics,
                })))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// At `VIEW`.
    fn view(&mut self, action: ViewAction, prefix: StoredPrefix) -> PResult<Statement> {
        self.bump();
        let name = self.table_name()?;
        let columns = self.opt_paren_idents()?;
        self.expect(Kw::AS)?;
        let named = self.variables_named();
        let query = *self.nested_query(Self::query_expression)?;
        if query.into.is_some() {
            return Err(self.other(1350, b"HY000", "View's SELECT contains a 'INTO' clause".to_owned()));
        }
        if self.variables_named() != named {
            let message = "View's SELECT contains a variable or parameter".to_owned();
            return Err(self.other(1351, b"HY000", message));
        }
        let mut check = None;
        if self.eat(Kw::WITH) {
            check = Some(match self.eat_any(&[Kw::CASCADED, Kw::LOCAL]) {
                Some(Kw::LOCAL) => ViewCheck::Local,
                _ => ViewCheck::Cascaded,
            });
            self.expect_all(&[Kw::CHECK, Kw::OPTION])?;
        }
        let StoredPrefix {
            algorithm,
            definer,
            security,
            ..
        } = prefix;
        let view = CreateView {
            action,
            algorithm,
            definer,
            security,
            name,
            columns,
            query,
            check,
        };
        Ok(Statement::CreateView(Box::new(view)))
    }

    fn create_trigger(&mut self, definer: Option<Account>) -> PResult<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.table_name()?;
        let timing = match self.expect_any(&[Kw::BEFORE, Kw::AFTER])? {
            Kw::BEFORE => TriggerTiming::Before,
            _ => TriggerTiming::After,
        };
        let event = match self.expect_any(&[Kw::INSERT, Kw::UPDATE, Kw::DELETE])? {
            Kw::INSERT => TriggerEvent::Insert,
            Kw::UPDATE => TriggerEvent::Update,
            _ => TriggerEvent::Delete,
        };
        self.expect(Kw::ON)?;
        let table = self.table_name()?;
        self.expect_all(&[Kw::FOR, Kw::EACH, Kw::ROW])?;
        let order = match self.eat_any(&[Kw::FOLLOWS, Kw::PRECEDES]) {
            Some(Kw::FOLLOWS) => Some(TriggerOrder::Follows(self.ident_or_text()?)),
            Some(_) => Some(TriggerOrder::Precedes(self.ident_or_text()?)),
            None => None,
        };
        let body = self.routine_body(ProgramKind::Trigger(timing, event), &name.name, &[])?;
        let trigger = CreateTrigger {
            definer,
            if_not_exists,
            name,
            timing,
            event,
            table,
            order,
            body,
        };
        Ok(Statement::CreateTrigger(Box::new(trigger)))
    }

    /// `CREATE FUNCTION`, stored or from a library: only the part after the name tells.
    fn create_function(&mut self, definer: Option<Account>) -> PResult<Statement> {
        let mut kind = self.peek();
        let mut lexer = self.lexer.clone();
        while !matches!(kind, Tok::LParen | Tok::Eof | Tok::Bad | Tok::Kw(Kw::RETURNS)) {
            kind = lexer.next().kind;
        }
        if kind == Tok::Kw(Kw::RETURNS) && definer.is_none() {
            return self.create_loadable_function(false);
        }
        self.create_routine(definer, RoutineKind::Function)
    }

    fn create_loadable_function(&mut self, aggregate: bool) -> PResult<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        self.expect(Kw::RETURNS)?;
        let returns = match self.kind() {
            Tok::Kw(Kw::INT | Kw::INTEGER) => LoadableReturn::Integer,
            Tok::Kw(Kw::REAL) => LoadableReturn::Real,
            Tok::Kw(Kw::DECIMAL) => LoadableReturn::Decimal,
            Tok::Ident if self.at_word("STRING") => LoadableReturn::String,
            _ => return Err(self.unexpected()),
        };
        self.bump();
        self.expect(Kw::SONAME)?;
        let library = self.text()?;
        let function = CreateLoadableFunction {
            aggregate,
            if_not_exists,
            name,
            returns,
            library,
        };
        Ok(Statement::CreateLoadableFunction(Box::new(function)))
    }

    fn create_routine(&mut self, definer: Option<Account>, kind: RoutineKind) -> PResult<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.table_name()?;
        self.expect_tok(Tok::LParen)?;
        let start = self.prev_end as usize;
        let mut params = Vec::new();
        if !self.at_tok(Tok::RParen) {
            params = self.list(|parser| parser.routine_param(kind))?;
        }
        let written = self.utf8(&self.text[start..self.tok.start as usize])?.to_owned();
        self.expect_tok(Tok::RParen)?;
        let mut returns = None;
        if kind == RoutineKind::Function {
            self.expect(Kw::RETURNS)?;
            returns = Some(self.routine_type()?);
        }
        let characteristics = self.characteristics()?;
        let program = match kind {
            RoutineKind::Procedure => ProgramKind::Procedure,
            RoutineKind::Function => ProgramKind::Function,
        };
        let body = self.routine_body(program, &name.name, &params)?;
        let routine = CreateRoutine {
            definer,
            if_not_exists,
            kind,
            name,
            params,
            params_text: SourceText(Some(written.into())),
            returns,
            characteristics,
            body,
        };
        Ok(Statement::CreateRoutine(Box::new(routine)))
    }

    fn routine_param(&mut self, kind: RoutineKind) -> PResult<RoutineParam> {
        let mode = match kind {
            RoutineKind::Function => None,
            RoutineKind::Procedure => self.eat_any(&[Kw::IN, Kw::OUT, Kw::INOUT]),
        };
        let mode = match mode {
            Some(Kw::OUT) => ParamMode::Out,
            Some(Kw::INOUT) => ParamMode::InOut,
            _ => ParamMode::In,
        };
        let name = self.ident()?;
        Ok(RoutineParam {
            mode,
            name,
            ty: self.routine_type()?,
        })
    }

    pub(super) fn routine_type(&mut self) -> PResult<RoutineType> {
        let data_type = self.data_type()?;
        let collation = if self.eat(Kw::COLLATE) {
            Some(self.collation_name()?)
        } else {
            None
        };
        Ok(RoutineType { data_type, collation })
    }

    fn characteristics(&mut self) -> PResult<Vec<RoutineCharacteristic>> {
        use RoutineCharacteristic::*;
        let mut list = Vec::new();
        loop {
            list.push(match self.kind() {
                Tok::Kw(Kw::COMMENT) => {
                    self.bump();
                    Comment(self.text()?)
                }
                Tok::Kw(Kw::LANGUAGE) => {
                    self.bump();
                    Language(if self.eat(Kw::SQL) {
                        Ident::from("SQL")
                    } else {
                        self.ident()?
                    })
                }
                Tok::Kw(Kw::DETERMINISTIC) => {
                    self.bump();
                    Deterministic(true)
                }
                Tok::Kw(Kw::NOT) => {
                    self.bump();
                    self.expect(Kw::DETERMINISTIC)?;
                    Deterministic(false)
                }
                Tok::Kw(Kw::CONTAINS) => {
                    self.bump();
                    self.expect(Kw::SQL)?;
                    ContainsSql
                }
                Tok::Kw(Kw::NO) => {
                    self.bump();
                    self.expect(Kw::SQL)?;
                    NoSql
                }
                Tok::Kw(Kw::READS) => {
                    self.bump();
                    self.expect_all(&[Kw::SQL, Kw::DATA])?;
                    ReadsSqlData
                }
                Tok::Kw(Kw::MODIFIES) => {
                    self.bump();
                    self.expect_all(&[Kw::SQL, Kw::DATA])?;
                    ModifiesSqlData
                }
                Tok::Kw(Kw::SQL) => Security(self.sql_security()?),
                _ => return Ok(list),
            });
        }
    }

    fn create_event(&mut self, definer: Option<Account>) -> PResult<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.table_name()?;
        self.expect_all(&[Kw::ON, Kw::SCHEDULE])?;
        let schedule = self.event_schedule()?;
        let preserve = if self.eat(Kw::ON) {
            Some(self.on_completion()?)
        } else {
            None
        };
        let status = self.event_status()?;
        let comment = if self.eat(Kw::COMMENT) {
            Some(self.text()?)
        } else {
            None
        };
        self.expect(Kw::DO)?;
        let body = self.routine_body(ProgramKind::Event, &name.name, &[])?;
        let event = CreateEvent {
            definer,
            if_not_exists,
            name,
            schedule,
            preserve,
            status,
            comment,
            body,
        };
        Ok(Statement::CreateEvent(Box::new(event)))
    }

    /// At `EVENT`.
    fn alter_event(&mut self, definer: Option<Account>) -> PResult<Statement> {
        self.bump();
        let name = self.table_name()?;
        let mut event = AlterEvent {
            definer,
            name,
            schedule: None,
            preserve: None,
            rename_to: None,
            status: None,
            comment: None,
            body: None,
        };
        if self.eat_pair(Kw::ON, Kw::SCHEDULE) {
            event.schedule = Some(self.event_schedule()?);
        }
        if self.eat(Kw::ON) {
            event.preserve = Some(self.on_completion()?);
        }
        if self.eat(Kw::RENAME) {
            self.expect(Kw::TO)?;
            event.rename_to = Some(self.table_name()?);
        }
        event.status = self.event_status()?;
        if self.eat(Kw::COMMENT) {
            event.comment = Some(self.text()?);
        }
        if self.eat(Kw::DO) {
            event.body = Some(self.routine_body(ProgramKind::Event, &event.name.name, &[])?);
        }
        let nothing = event.schedule.is_none()
            && event.preserve.is_none()
            && event.rename_to.is_none()
            && event.status.is_none()
            && event.comment.is_none()
            && event.body.is_none();
        if nothing {
            return Err(self.unexpected());
        }
        Ok(Statement::AlterEvent(Box::new(event)))
    }

    fn event_schedule(&mut self) -> PResult<EventSchedule> {
        if self.eat(Kw::AT) {
            return self.expr().map(EventSchedule::At);
        }
        self.expect(Kw::EVERY)?;
        let amount = self.expr()?;
        let unit = self.interval_unit()?;
        let starts = if self.eat(Kw::STARTS) { Some(self.expr()?) } else { None };
        let ends = if self.eat(Kw::ENDS) { Some(self.expr()?) } else { None };
        Ok(EventSchedule::Every {
            amount,
            unit,
            starts,
            ends,
        })
    }

    /// `COMPLETION [NOT] PRESERVE`
    fn on_completion(&mut self) -> PResult<bool> {
        self.expect(Kw::COMPLETION)?;
        let preserve = !self.eat(Kw::NOT);
        self.expect(Kw::PRESERVE)?;
        Ok(preserve)
    }

    fn event_status(&mut self) -> PResult<Option<EventStatus>> {
        Ok(match self.eat_any(&[Kw::ENABLE, Kw::DISABLE]) {
            Some(Kw::ENABLE) => Some(EventStatus::Enable),
            Some(_) if self.eat(Kw::ON) => {
                self.expect_any(&[Kw::SLAVE, Kw::REPLICA])?;
                Some(EventStatus::DisableOnReplica)
            }
            Some(_) => Some(EventStatus::Disable),
            None => None,
        })
    }
}
