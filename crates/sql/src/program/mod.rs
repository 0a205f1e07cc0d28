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
//! * [`shown`]: SHOW CREATE and the rows of `information_schema`.

mod call;
mod code;
pub(crate) mod compile;
mod conditions;
mod run;
pub(crate) mod shown;

use std::collections::HashMap;
use std::sync::Arc;

use catalog::{RoutineDef, RoutineKind};
use parser::ast::{Ident, Statement};
use types::{SqlResult, SqlType, Value};

use crate::host::Host;
use crate::result::{ResultSink, ServerStatus};
use crate::session::parameters::Parameters;
use crate::session::{Answer, Session};

/// Compiled routines that a session keeps; with more, it forgets all.
const KEPT_MAX: usize = 256;

/// What a session knows of programs.
#[derive(Default)]
pub struct Programs {
    kept: HashMap<RoutineName, (Arc<RoutineDef>, Arc<code::Program>)>,
    /// The routines that are running, the outermost first.
    calls: Vec<RoutineName>,
    /// The handlers at work, the outermost first.
    handled: Vec<conditions::Handled>,
    /// How many of them are of the routines around the one that runs.
    handled_around: usize,
    /// Counts how often the conditions of the session have been cleared.
    pub epoch: u64,
    /// Where a definition inside of a program finds the variables that it names.
    frame: Option<Arc<FrameCopy>>,
    /// The variables that EXECUTE gives for the parameters of a CALL.
    pub using: Option<Vec<Ident>>,
    /// What the session was before the outermost routine that runs.
    before: Vec<call::Before>,
}

/// The values of a frame with their types.
pub(crate) struct FrameCopy {
    values: Vec<Value>,
    types: Arc<[SqlType]>,
}

impl FrameCopy {
    pub fn parameters(frame: &Option<Arc<FrameCopy>>) -> Parameters<'_> {
        match frame {
            Some(frame) => Parameters::declared(&frame.values, &frame.types),
            None => Parameters::NONE,
        }
    }
}

/// Database, kind and name in lower case.
type RoutineName = (String, RoutineKind, String);

fn name_of(def: &RoutineDef) -> RoutineName {
    (def.database.clone(), def.kind, def.name.to_lowercase())
}

impl Programs {
    /// The variables of the program that the running statement, which is neither a query nor a change of rows, stands in.
    pub(crate) fn frame(&self) -> Option<Arc<FrameCopy>> {
        self.frame.clone()
    }

    /// Whether a statement runs inside of a program.
    pub fn is_running(&self) -> bool {
        !self.calls.is_empty()
    }
}

impl Session {
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

    /// A routine, compiled; kept while its definition is the same.
    fn program_of(&mut self, def: &Arc<RoutineDef>) -> SqlResult<Arc<code::Program>> {
        let name = name_of(def);
        if let Some((known, program)) = self.programs.kept.get(&name)
            && Arc::ptr_eq(known, def)
        {
            return Ok(program.clone());
        }
        let program = Arc::new(compile::routine(def)?);
        if self.programs.kept.len() >= KEPT_MAX {
            self.programs.kept.clear();
        }
        self.programs.kept.insert(name, (def.clone(), program.clone()));
        Ok(program)
    }
}
