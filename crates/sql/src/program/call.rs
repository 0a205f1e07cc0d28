//! CALL: arguments, whose rights and modes a routine runs under, and what it gives back.

use std::sync::{Arc, LazyLock};

use catalog::{EventDef, Privileges, ProgramContext, RoutineDef, RoutineKind, TableDef, TriggerDef};
use parser::ast::{self, ParamMode};
use types::{ErrorKind, SqlError, SqlResult, SqlType, Value};

use super::run::Run;
use super::{compile, is_same};
use crate::accounts::access::Access;
use crate::accounts::rights::{AccountName, DatabaseNames};
use crate::host::Host;
use crate::result::{Done, ResultColumn, ResultEnd, ResultShape, ResultSink, ServerStatus};
use crate::session::parameters::Parameters;
use crate::session::{Answer, Session, SessionAccount};
use crate::statement_class::needs::Need;
use crate::variables::{self, VariableId};

/// What a CALL has done.
pub(super) struct Called {
    pub answer: Answer,
    pub outs: Vec<Out>,
}

/// The value of an OUT or INOUT parameter.
pub(super) struct Out {
    pub argument: usize,
    pub name: String,
    pub value: Value,
    pub ty: SqlType,
}

/// The variables that have what a program was defined under.
static CONTEXT: LazyLock<[VariableId; 4]> = LazyLock::new(|| {
    let names = [
        "sql_mode",
        "character_set_client",
        "collation_connection",
        "collation_database",
    ];
    names.map(|name| variables::find(name).expect("they are in the table"))
});

/// What a routine changes of a session while it runs.
pub(super) struct Before {
    database: Option<Arc<str>>,
    /// Of [`CONTEXT`].
    variables: [Arc<str>; 4],
    identity: Option<Identity>,
}

struct Identity {
    account: SessionAccount,
    active_roles: Vec<AccountName>,
    current_user: String,
    current_role: String,
    host: String,
    access: KnownAccess,
}

/// What a session may do, and by which catalog.
type KnownAccess = Option<((u64, DatabaseNames), Arc<Access>)>;

/// The definer whose rights a session had last, with his default roles.
pub(super) struct LastDefiner {
    account: SessionAccount,
    roles: Vec<AccountName>,
    access: KnownAccess,
}

/// Of a program: where it is, whose rights it runs with, and what it was defined under.
pub(super) struct Owner<'a> {
    database: &'a str,
    /// Whose rights count, where they are not those of who runs it.
    definer: Option<&'a (String, String)>,
    context: &'a ProgramContext,
    /// Of a routine: its definer must be allowed to run it.
    routine: Option<&'a Arc<RoutineDef>>,
}

impl<'a> Owner<'a> {
    pub fn of_routine(def: &'a Arc<RoutineDef>) -> Owner<'a> {
        Owner {
            database: &def.database,
            definer: def.characteristics.definer_security.then_some(&def.definer),
            context: &def.context,
            routine: Some(def),
        }
    }

    /// Whoever runs it is its definer already.
    fn of_event(event: &'a EventDef) -> Owner<'a> {
        Owner {
            database: &event.database,
            definer: None,
            context: &event.context,
            routine: None,
        }
    }

    pub fn of_trigger(table: &'a TableDef, trigger: &'a TriggerDef) -> Owner<'a> {
        Owner {
            database: &table.database,
            definer: Some(&trigger.definer),
            context: &trigger.context,
            routine: None,
        }
    }
}

impl Session {
    /// A CALL by itself: what comes back goes to variables of the session, or, of a prepared one, to the client.
    pub(super) fn call_statement(
        &mut self,
        call: &ast::Call,
        parameters: Parameters<'_>,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let using = self.programs.using.take();
        let called = self.call(call, parameters, host, sink)?;
        let mut sent = Vec::new();
        for out in called.outs {
            match (&call.args[out.argument], &using) {
                (ast::Expr::Param(at), Some(names)) => {
                    let name = names.get(*at as usize).cloned();
                    let name = name.ok_or_else(|| SqlError::internal("a parameter without a variable"))?;
                    self.set_user_variable(&name, out.value, Some(out.ty));
                }
                (ast::Expr::Param(_), None) => sent.push(out),
                (other, _) => self.assign_out(other, out)?,
            }
        }
        if !sent.is_empty() {
            let status = self
                .status()
                .with(more)
                .with(ServerStatus::MORE_RESULTS)
                .with(ServerStatus::PS_OUT_PARAMS);
            let columns = sent
                .iter()
                .map(|out| ResultColumn::computed(out.name.as_str(), out.ty.clone()));
            sink.columns(&ResultShape::new(columns.collect()), status)?;
            let row: Vec<Value> = sent.into_iter().map(|out| out.value).collect();
            sink.row(&row)?;
            sink.end(ResultEnd { warnings: 0, status })?;
        }
        Ok(called.answer)
    }

    /// Gives a value to what the argument names.
    pub(super) fn assign_out(&mut self, argument: &ast::Expr, out: Out) -> SqlResult<()> {
        match argument {
            ast::Expr::UserVar(name) => {
                self.set_user_variable(name, out.value, Some(out.ty));
                Ok(())
            }
            _ => Err(SqlError::internal("an OUT argument that is no variable")),
        }
    }

    /// Runs a procedure. Its result sets go to the sink.
    pub(super) fn call(
        &mut self,
        call: &ast::Call,
        parameters: Parameters<'_>,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Called> {
        governor::descend()?;
        self.check_execute(RoutineKind::Procedure, &call.name)?;
        let (database, name) = self.qualified(&call.name)?;
        let catalog = self.engine.catalog();
        let def = match catalog.routine(&database, RoutineKind::Procedure, &name) {
            Some(def) => def.clone(),
            None => {
                let named = format!("{database}.{name}");
                return Err(SqlError::new(ErrorKind::SpDoesNotExist, &[&"PROCEDURE", &named]));
            }
        };
        let program = self.programs.kept.routine(&def)?;
        let (expected, got) = (program.parameters.len(), call.args.len());
        if expected != got {
            let named = format!("{database}.{}", def.name);
            let args: [&dyn std::fmt::Display; 4] = [&"PROCEDURE", &named, &expected, &got];
            return Err(SqlError::new(ErrorKind::SpWrongNoOfArgs, &args));
        }
        for (at, (parameter, arg)) in program.parameters.iter().zip(&call.args).enumerate() {
            let takes_value = matches!(arg, ast::Expr::UserVar(_) | ast::Expr::Local(_) | ast::Expr::Param(_));
            if parameter.mode != ParamMode::In && !takes_value {
                let named = format!("{database}.{}", def.name);
                return Err(SqlError::new(ErrorKind::SpNotVarArg, &[&(at + 1), &named]));
            }
        }
        self.check_depth(&def)?;
        let mut run = Run::new(&program);
        for (at, (parameter, arg)) in program.parameters.iter().zip(&call.args).enumerate() {
            if parameter.mode != ParamMode::Out {
                let value = self.evaluate(arg, parameters, host)?;
                run.frame.values[at] = self.converted(value, &program.types[at], &program.slots[at].name)?;
            }
        }
        self.enter(&Owner::of_routine(&def))?;
        let outcome = self.run_program(&mut run, host, sink);
        self.leave();
        outcome?;
        let outs = program.parameters.iter().enumerate();
        let outs = outs.filter(|(_, parameter)| parameter.mode != ParamMode::In);
        let outs = outs.map(|(at, _)| Out {
            argument: at,
            name: program.slots[at].name.clone(),
            value: std::mem::replace(&mut run.frame.values[at], Value::Null),
            ty: program.types[at].clone(),
        });
        let affected = u64::try_from(self.state.row_count.get()).unwrap_or(0);
        Ok(Called {
            outs: outs.collect(),
            answer: Answer::Done(Done {
                affected_rows: affected,
                ..Done::default()
            }),
        })
    }

    /// Runs an event in a session of its definer. Nobody takes its result sets.
    pub(crate) fn run_event(&mut self, def: &EventDef, host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()> {
        let program = compile::event(def)?;
        let mut run = Run::new(&program);
        self.enter(&Owner::of_event(def))?;
        let outcome = self.run_program(&mut run, host, sink);
        self.leave();
        outcome.map(drop)
    }

    /// 1370 for who may not run it.
    fn check_execute(&mut self, kind: RoutineKind, name: &ast::TableName) -> SqlResult<()> {
        let kind = match kind {
            RoutineKind::Procedure => ast::RoutineKind::Procedure,
            RoutineKind::Function => ast::RoutineKind::Function,
        };
        self.check_need(&Need::Routine(kind, name, Privileges::EXECUTE, "execute"))
    }

    /// 1456 for a procedure that runs already, more often than `max_sp_recursion_depth` says.
    fn check_depth(&self, def: &RoutineDef) -> SqlResult<()> {
        let running = self.programs.calls.iter().flatten();
        let running = running.filter(|running| is_same(running, def)).count();
        if running == 0 {
            return Ok(());
        }
        let limit = self.variables.get(variables::find("max_sp_recursion_depth")?);
        match running > limit.parse().unwrap_or(0) {
            true => Err(SqlError::new(ErrorKind::SpRecursionLimit, &[&limit, &def.name])),
            false => Ok(()),
        }
    }

    /// From here on the session is in the program's database, under its modes, and, if it says so, with its definer's rights.
    pub(super) fn enter(&mut self, owner: &Owner<'_>) -> SqlResult<()> {
        let identity = self.identity_for(owner)?;
        let context = owner.context;
        let wanted: [&str; 4] = [
            &context.sql_mode,
            &context.client_charset,
            context.connection.name(),
            context.database.name(),
        ];
        // What it sets itself does not last, either.
        let variables = CONTEXT.map(|id| self.variables.get(id));
        for ((id, value), known) in CONTEXT.into_iter().zip(wanted).zip(&variables) {
            if **known != *value {
                self.variables.set(id, value.into())?;
            }
        }
        let database = match self.database.as_deref() == Some(owner.database) {
            true => self.database.clone(),
            false => self.database.replace(owner.database.into()),
        };
        self.programs.before.push(Before {
            database,
            variables,
            identity,
        });
        self.programs.calls.push(owner.routine.cloned());
        Ok(())
    }

    /// Back to what the session was before the last [`enter`](Self::enter).
    pub(crate) fn leave(&mut self) {
        self.programs.calls.pop();
        let Some(before) = self.programs.before.pop() else {
            return;
        };
        self.database = before.database;
        for (id, value) in CONTEXT.into_iter().zip(before.variables).rev() {
            if self.variables.get(id) != value {
                // It was taken when it was set.
                let _ = self.variables.set(id, value);
            }
        }
        if let Some(identity) = before.identity {
            self.take_identity(identity);
        }
    }

    fn take_identity(&mut self, identity: Identity) {
        self.programs.definer = Some(LastDefiner {
            account: std::mem::replace(&mut self.options.account, identity.account),
            roles: std::mem::replace(&mut self.active_roles, identity.active_roles),
            access: std::mem::replace(&mut self.access, identity.access),
        });
        self.options.host = identity.host;
        self.state.current_user.replace(identity.current_user);
        self.state.current_role.replace(identity.current_role);
    }

    /// After a panic inside of a program.
    pub(crate) fn leave_programs(&mut self) {
        while !self.programs.before.is_empty() {
            self.leave();
        }
        self.programs.handled.clear();
        self.programs.handled_around = 0;
        self.programs.using = None;
    }

    /// Makes the session its definer's, where the routine runs with his rights; 1449 where there is no such account, 1370 where he may
    /// not run it. Gives what it was.
    fn identity_for(&mut self, owner: &Owner<'_>) -> SqlResult<Option<Identity>> {
        let Some((user, host)) = owner.definer else {
            return Ok(None);
        };
        if self.options.account.name() == (user, host) {
            return Ok(None);
        }
        let catalog = self.engine.catalog();
        let Some(account) = catalog.account(user, host) else {
            return Err(SqlError::new(ErrorKind::NoSuchUser, &[user, host]));
        };
        let definer = SessionAccount::Account {
            user: user.clone(),
            host: host.clone(),
        };
        let roles = account.default_roles.clone();
        let known = self.programs.definer.take();
        let known = known.filter(|known| known.account == definer && known.roles == roles);
        let identity = Identity {
            account: std::mem::replace(&mut self.options.account, definer),
            active_roles: std::mem::replace(&mut self.active_roles, roles),
            current_user: self.state.current_user.replace(format!("{user}@{host}")),
            current_role: self.state.current_role.replace("NONE".to_owned()),
            host: std::mem::replace(&mut self.options.host, host.clone()),
            access: std::mem::replace(&mut self.access, known.and_then(|known| known.access)),
        };
        if let Some(def) = owner.routine {
            let name = ast::TableName::new(Some(&def.database), &def.name);
            if let Err(error) = self.check_execute(def.kind, &name) {
                self.take_identity(identity);
                return Err(error);
            }
        }
        Ok(Some(identity))
    }
}
