//! Stored programs: read, compiled and run.
//!
//! ```text
//!   catalog: text ──parser──▶ tree with slots ──compile──▶ operations ──run──▶ statements, one by one, in the session
//!                                                  │
//!                                  kept by the session until the definition changes
//! ```
//!
//! The variables of a program are the parameters of its statements: these go the way of every other statement, with a plan that is kept
//! under a text of the program's own. Expressions without subqueries are bound once and evaluated where they stand.
//!
//! * [`code`]: the operations;
//! * [`compile`]: from the tree to them;
//! * [`run`]: one run, its frame and cursors;
//! * [`conditions`]: handlers, SIGNAL, RESIGNAL, GET DIAGNOSTICS;
//! * [`call`]: CALL, and whose rights and modes a routine runs under;
//! * [`part`]: what runs as a part of a statement; [`function`]: functions, which expressions call;
//! * [`trigger`]: triggers, which statements fire for the rows that they change;
//! * [`shown`], [`shown_triggers`], [`shown_events`]: SHOW CREATE and the rows of `information_schema`.

mod call;
mod code;
pub(crate) mod compile;
mod conditions;
mod function;
mod part;
mod run;
pub(crate) mod shown;
pub(crate) mod shown_events;
pub(crate) mod shown_triggers;
mod trigger;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use catalog::{RoutineDef, same_name};
use parser::ast::{Ident, Statement};
use types::{CollationId, ErrorKind, SqlError, SqlResult, SqlType, TableId, Value};

use crate::host::Host;
use crate::result::{ResultSink, ServerStatus};
use crate::session::parameters::Parameters;
use crate::session::{Answer, Session, SharedWithParts};
use crate::table::Table;

pub(crate) use function::stored_function;
pub(crate) use part::ProgramsOfStatement;

/// Compiled routines that a session keeps; with more, it forgets all.
const KEPT_MAX: usize = 256;

/// What a session knows of programs.
#[derive(Default)]
pub struct Programs {
    pub(crate) kept: SharedWithParts<Kept>,
    /// The programs that are running, the outermost first; triggers have no name here.
    calls: Vec<Option<Arc<RoutineDef>>>,
    /// The handlers at work, the outermost first.
    handled: Vec<conditions::Handled>,
    /// How many of them are of the routines around the one that runs.
    handled_around: usize,
    /// Counts how often the conditions of the session have been cleared.
    pub epoch: u64,
    /// While a definition runs: the variables of a program that it may name, or what was given for its `?`.
    frame: Option<Arc<FrameCopy>>,
    /// The variables that EXECUTE gives for the parameters of a CALL.
    pub using: Option<Vec<Ident>>,
    /// The tables that the statements around a function use: it may not change them.
    used: Vec<(TableId, String)>,
    /// A part of a statement has set variables of the session.
    pub has_set: bool,
    definer: Option<call::LastDefiner>,
    /// What the session was before the outermost routine that runs.
    before: Vec<call::Before>,
}

/// The values of a frame with their types.
pub(crate) struct FrameCopy {
    values: Vec<Value>,
    types: Arc<[SqlType]>,
}

impl FrameCopy {
    fn of(parameters: Parameters<'_>, collation: CollationId) -> Option<Arc<FrameCopy>> {
        (!parameters.values.is_empty()).then(|| {
            Arc::new(FrameCopy {
                values: parameters.values.to_vec(),
                types: parameters.types(collation).into_owned().into(),
            })
        })
    }

    pub fn parameters(frame: &Option<Arc<FrameCopy>>) -> Parameters<'_> {
        match frame {
            Some(frame) => Parameters::declared(&frame.values, &frame.types),
            None => Parameters::NONE,
        }
    }
}

/// Whether both are the same routine, which one of them may have been before it was altered.
fn is_same(a: &RoutineDef, b: &RoutineDef) -> bool {
    let names = || same_name(&a.name, &b.name);
    std::ptr::eq(a, b) || (a.kind == b.kind && a.database == b.database && names())
}

impl Programs {
    /// What a part of a running statement knows.
    pub(crate) fn part(&self) -> Programs {
        Programs {
            kept: self.kept.for_part(),
            calls: self.calls.clone(),
            used: self.used.clone(),
            ..Programs::default()
        }
    }

    /// 1442 for a change of a table that the statement around uses.
    pub(crate) fn check_changed(&self, changed: &[Arc<Table>]) -> SqlResult<()> {
        for table in changed {
            if let Some((_, name)) = self.used.iter().find(|(used, _)| *used == table.id()) {
                return Err(SqlError::new(ErrorKind::CantUpdateUsedTableInSfOrTrg, &[name]));
            }
        }
        Ok(())
    }

    /// The values that the running definition has from outside of its text.
    pub(crate) fn frame(&self) -> Option<Arc<FrameCopy>> {
        self.frame.clone()
    }

    /// Whether a statement runs inside of a program.
    pub fn is_running(&self) -> bool {
        !self.calls.is_empty()
    }
}

impl Session {
    /// Runs a definition, which finds these values where it evaluates what is written in it.
    pub(crate) fn with_frame<T>(&mut self, parameters: Parameters<'_>, run: impl FnOnce(&mut Session) -> T) -> T {
        self.programs.frame = FrameCopy::of(parameters, self.variables.settings.expressions.collation);
        let result = run(self);
        self.programs.frame = None;
        result
    }

    /// CALL, SIGNAL, RESIGNAL, GET DIAGNOSTICS.
    pub(crate) fn program_statement(
        &mut self,
        statement: &Statement,
        parameters: Parameters<'_>,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        match statement {
            Statement::Call(call) => self.call_statement(call, parameters, more, host, sink),
            Statement::Signal(signal) => self.signal(signal, parameters, host),
            Statement::Resignal(signal) => self.resignal(signal, parameters, host),
            Statement::GetDiagnostics(get) => self.get_diagnostics(get, parameters, host),
            other => Err(crate::session::of_another_runner(other)),
        }
    }
}

/// Compiled programs; shared by a session and the parts of its statements.
#[derive(Default)]
pub(crate) struct Kept {
    /// By the place of the definition, which stays there while it is kept.
    routines: RefCell<HashMap<usize, (Arc<RoutineDef>, Arc<code::Program>)>>,
    triggers: RefCell<HashMap<TableId, Arc<trigger::TableTriggers>>>,
}

impl Kept {
    /// A routine, compiled; kept while its definition is the same.
    fn routine(&self, def: &Arc<RoutineDef>) -> SqlResult<Arc<code::Program>> {
        let place = Arc::as_ptr(def) as usize;
        if let Some((_, program)) = self.routines.borrow().get(&place) {
            return Ok(program.clone());
        }
        let program = Arc::new(compile::routine(def)?);
        let mut kept = self.routines.borrow_mut();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(place, (def.clone(), program.clone()));
        Ok(program)
    }
}
