//! Stored functions: called by expressions, wherever these stand, as a part of their statement ([`part`](super::part)).
//!
//! The binder takes a function for a subquery with one column.

use std::sync::Arc;

use catalog::{RoutineDef, RoutineKind};
use types::{ErrorKind, SqlError, SqlResult, SqlType, Value};

use super::call::Owner;
use super::part::NoRows;
use super::run::Run;
use super::{Kept, is_same};
use crate::engine::Engine;
use crate::expr::context::StoredFunction;
use crate::expr::{Coercibility, Subquery};
use crate::host::Host;
use crate::session::Session;

/// A function as expressions are bound to it.
#[derive(Debug)]
pub struct Function {
    pub def: Arc<RoutineDef>,
    returns: [SqlType; 1],
}

impl Subquery for Function {
    fn columns(&self) -> &[SqlType] {
        &self.returns
    }

    fn coercibility(&self, _column: usize) -> Coercibility {
        Coercibility::of_column(&self.returns[0])
    }

    /// Its arguments are not its own.
    fn is_correlated(&self) -> bool {
        false
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn is_deterministic(&self) -> bool {
        self.def.characteristics.deterministic
    }
}

/// The function of a name; `None`: there is none. 1318 for another number of arguments.
pub fn stored_function(
    engine: &Engine,
    kept: &Kept,
    database: &str,
    name: &str,
    args: usize,
) -> SqlResult<Option<StoredFunction>> {
    let catalog = engine.catalog();
    let Some(def) = catalog.routine(database, RoutineKind::Function, name) else {
        return Ok(None);
    };
    let program = kept.routine(def)?;
    let expected = program.parameters.len();
    if expected != args {
        let named = format!("{database}.{}", def.name);
        let values: [&dyn std::fmt::Display; 4] = [&"FUNCTION", &named, &expected, &args];
        return Err(SqlError::new(ErrorKind::SpWrongNoOfArgs, &values));
    }
    let returns = program.returns.clone();
    let returns = returns.ok_or_else(|| SqlError::internal("a function without a type"))?;
    Ok(Some(StoredFunction {
        changes_rows: program.changes_rows,
        uses_tables: program.uses_tables,
        query: Arc::new(Function {
            def: def.clone(),
            returns: [returns],
        }),
    }))
}

impl Session {
    /// Runs a function in a part of the statement that calls it.
    pub(super) fn call_function(&mut self, function: &Function, args: &[Value], host: &dyn Host) -> SqlResult<Value> {
        let def = &function.def;
        let mut running = self.programs.calls.iter().flatten();
        if running.any(|running| is_same(running, def)) {
            return Err(ErrorKind::SpNoRecursion.into());
        }
        let program = self.programs.kept.routine(def)?;
        let mut run = Run::new(&program);
        for (at, arg) in args.iter().enumerate() {
            run.frame.values[at] = self.converted(arg.clone(), &program.types[at], &program.slots[at].name)?;
        }
        let of_args = self.warnings.clone();
        self.enter(&Owner::of_routine(def))?;
        let outcome = self.run_program(&mut run, host, &mut NoRows("function"));
        // Nobody is told of the warnings of its statements.
        self.warnings = of_args;
        let outcome = match outcome {
            Ok(Some(value)) => self.converted(value, &function.returns[0], &def.name),
            Ok(None) => Err(SqlError::new(ErrorKind::SpNoReturnEnd, &[&def.name])),
            Err(error) => Err(error),
        };
        self.leave();
        outcome
    }
}
