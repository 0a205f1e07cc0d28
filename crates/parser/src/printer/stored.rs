//! Views, triggers, routines, events.

use super::Printer;
use super::expr::unit;
use crate::ast::*;

impl Printer {
    fn definer(&mut self, definer: &Option<Account>) {
        self.opt("DEFINER = ", definer, |p, account| {
            p.account(account);
            p.text(" ");
        });
    }

    fn if_not_exists(&mut self, if_not_exists: bool) {
        self.when(if_not_exists, "IF NOT EXISTS ");
    }

    pub(super) fn create_view(&mut self, view: &CreateView) {
        self.text(match view.action {
            ViewAction::Create => "CREATE ",
            ViewAction::CreateOrReplace => "CREATE OR REPLACE ",
            ViewAction::Alter => "ALTER ",
        });
        self.opt("ALGORITHM = ", &view.algorithm, |p, algorithm| {
            p.text(match algorithm {
                ViewAlgorithm::Undefined => "UNDEFINED ",
                ViewAlgorithm::Merge => "MERGE ",
                ViewAlgorithm::TempTable => "TEMPTABLE ",
            });
        });
        self.definer(&view.definer);
        if let Some(security) = view.security {
            self.sql_security(security);
            self.text(" ");
        }
        self.text("VIEW ");
        self.table_name(&view.name);
        self.opt_idents(&view.columns);
        self.text(" AS ");
        self.query(&view.query);
        self.text(match view.check {
            Some(ViewCheck::Cascaded) => " WITH CASCADED CHECK OPTION",
            Some(ViewCheck::Local) => " WITH LOCAL CHECK OPTION",
            None => "",
        });
    }

    fn sql_security(&mut self, security: SqlSecurity) {
        self.text(match security {
            SqlSecurity::Definer => "SQL SECURITY DEFINER",
            SqlSecurity::Invoker => "SQL SECURITY INVOKER",
        });
    }

    pub(super) fn create_trigger(&mut self, trigger: &CreateTrigger) {
        self.text("CREATE ");
        self.definer(&trigger.definer);
        self.text("TRIGGER ");
        self.if_not_exists(trigger.if_not_exists);
        self.table_name(&trigger.name);
        self.text(match trigger.timing {
            TriggerTiming::Before => " BEFORE",
            TriggerTiming::After => " AFTER",
        });
        self.text(match trigger.event {
            TriggerEvent::Insert => " INSERT ON ",
            TriggerEvent::Update => " UPDATE ON ",
            TriggerEvent::Delete => " DELETE ON ",
        });
        self.table_name(&trigger.table);
        self.text(" FOR EACH ROW ");
        match &trigger.order {
            Some(TriggerOrder::Follows(other)) => self.named("FOLLOWS ", other),
            Some(TriggerOrder::Precedes(other)) => self.named("PRECEDES ", other),
            None => {}
        }
        self.when(trigger.order.is_some(), " ");
        self.text(&trigger.body.0);
    }

    pub(super) fn routine_kind(&mut self, kind: RoutineKind) {
        self.text(match kind {
            RoutineKind::Procedure => "PROCEDURE ",
            RoutineKind::Function => "FUNCTION ",
        });
    }

    pub(super) fn create_routine(&mut self, routine: &CreateRoutine) {
        self.text("CREATE ");
        self.definer(&routine.definer);
        self.routine_kind(routine.kind);
        self.if_not_exists(routine.if_not_exists);
        self.table_name(&routine.name);
        self.text(" ");
        self.paren_list(&routine.params, |p, param| {
            p.text(match param.mode {
                ParamMode::In => "",
                ParamMode::Out => "OUT ",
                ParamMode::InOut => "INOUT ",
            });
            p.ident(&param.name);
            p.text(" ");
            p.routine_type(&param.ty);
        });
        self.opt(" RETURNS ", &routine.returns, Self::routine_type);
        self.characteristics(&routine.characteristics);
        self.text(" ");
        self.text(&routine.body.0);
    }

    fn routine_type(&mut self, ty: &RoutineType) {
        self.data_type(&ty.data_type);
        self.opt(" COLLATE ", &ty.collation, Self::ident);
    }

    pub(super) fn characteristics(&mut self, list: &[RoutineCharacteristic]) {
        for characteristic in list {
            self.text(" ");
            match characteristic {
                RoutineCharacteristic::Comment(text) => self.quoted("COMMENT ", text),
                RoutineCharacteristic::Language(name) => {
                    self.text("LANGUAGE ");
                    if name.is("SQL") {
                        self.text("SQL")
                    } else {
                        self.ident(name)
                    }
                }
                RoutineCharacteristic::Deterministic(true) => self.text("DETERMINISTIC"),
                RoutineCharacteristic::Deterministic(false) => self.text("NOT DETERMINISTIC"),
                RoutineCharacteristic::ContainsSql => self.text("CONTAINS SQL"),
                RoutineCharacteristic::NoSql => self.text("NO SQL"),
                RoutineCharacteristic::ReadsSqlData => self.text("READS SQL DATA"),
                RoutineCharacteristic::ModifiesSqlData => self.text("MODIFIES SQL DATA"),
                RoutineCharacteristic::Security(security) => self.sql_security(*security),
            }
        }
    }

    pub(super) fn create_loadable_function(&mut self, function: &CreateLoadableFunction) {
        self.text(if function.aggregate {
            "CREATE AGGREGATE FUNCTION "
        } else {
            "CREATE FUNCTION "
        });
        self.if_not_exists(function.if_not_exists);
        self.ident(&function.name);
        self.text(match function.returns {
            LoadableReturn::String => " RETURNS STRING",
            LoadableReturn::Integer => " RETURNS INTEGER",
            LoadableReturn::Real => " RETURNS REAL",
            LoadableReturn::Decimal => " RETURNS DECIMAL",
        });
        self.quoted(" SONAME ", &function.library);
    }

    pub(super) fn create_event(&mut self, event: &CreateEvent) {
        self.text("CREATE ");
        self.definer(&event.definer);
        self.text("EVENT ");
        self.if_not_exists(event.if_not_exists);
        self.table_name(&event.name);
        self.schedule(&event.schedule);
        self.event_options(event.preserve, &None, event.status, &event.comment);
        self.text(" DO ");
        self.text(&event.body.0);
    }

    pub(super) fn alter_event(&mut self, event: &AlterEvent) {
        self.text("ALTER ");
        self.definer(&event.definer);
        self.text("EVENT ");
        self.table_name(&event.name);
        self.opt("", &event.schedule, Self::schedule);
        self.event_options(event.preserve, &event.rename_to, event.status, &event.comment);
        self.opt(" DO ", &event.body, |p, body| p.text(&body.0));
    }

    fn schedule(&mut self, schedule: &EventSchedule) {
        self.text(" ON SCHEDULE ");
        match schedule {
            EventSchedule::At(time) => {
                self.text("AT ");
                self.expr(time);
            }
            EventSchedule::Every {
                amount,
                unit: every,
                starts,
                ends,
            } => {
                self.text("EVERY ");
                self.expr(amount);
                self.text(" ");
                self.text(unit(*every));
                self.opt(" STARTS ", starts, Self::expr);
                self.opt(" ENDS ", ends, Self::expr);
            }
        }
    }

    fn event_options(
        &mut self,
        preserve: Option<bool>,
        rename_to: &Option<ObjectName>,
        status: Option<EventStatus>,
        comment: &Option<Box<str>>,
    ) {
        self.text(match preserve {
            Some(true) => " ON COMPLETION PRESERVE",
            Some(false) => " ON COMPLETION NOT PRESERVE",
            None => "",
        });
        self.opt(" RENAME TO ", rename_to, Self::table_name);
        self.text(match status {
            Some(EventStatus::Enable) => " ENABLE",
            Some(EventStatus::Disable) => " DISABLE",
            Some(EventStatus::DisableOnReplica) => " DISABLE ON REPLICA",
            None => "",
        });
        self.opt(" COMMENT ", comment, |p, comment| p.str(comment));
    }
}
