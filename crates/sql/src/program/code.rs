//! A stored program as it is run: a list of operations with jumps.
//!
//! ```text
//!   BEGIN                                   0  reset      cursors of the block
//!     DECLARE i INT DEFAULT 0;              1  set        i := 0
//!     WHILE i < 3 DO                        2  unless     i < 3 → 5
//!       SET i = i + 1;                      3  set        i := i + 1
//!     END WHILE;                            4  jump       → 2
//!   END                                     5  end
//! ```
//!
//! Handlers are found by the scope that an operation stands in, as MySQL finds them: a scope is a block, or the body of a handler,
//! from which the block's own handlers cannot be seen.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use parser::UserVariables;
use parser::ast::{self, IntoVar, Local, Statement};
use types::{SqlType, Value};

use crate::expr::Expr;
use crate::plan_cache::PlanText;

/// A compiled program.
#[derive(Debug)]
pub struct Program {
    pub parameters: Vec<Parameter>,
    pub slots: Vec<Variable>,
    /// The slots that are columns of OLD and NEW, of a trigger.
    pub rows: Vec<RowColumn>,
    /// Of the slots.
    pub types: Arc<[SqlType]>,
    pub returns: Option<SqlType>,
    pub cursors: Vec<CursorCode>,
    pub ops: Vec<Op>,
    pub scopes: Vec<ScopeCode>,
    /// Slots that something is assigned to, and those that expressions read.
    pub targets: HashSet<u32>,
    pub read: HashSet<u32>,
    /// Whether it may change or lock rows: by itself, or by what it calls.
    pub changes_rows: bool,
    /// Whether it may use tables: by itself, or by what it calls.
    pub uses_tables: bool,
}

/// A parameter has the slot of its position.
#[derive(Debug)]
pub struct Parameter {
    pub mode: ast::ParamMode,
}

#[derive(Debug)]
pub struct Variable {
    pub name: String,
}

/// A column of OLD or NEW.
#[derive(Debug)]
pub struct RowColumn {
    pub slot: usize,
    pub side: RowSide,
    /// Of the table.
    pub column: usize,
    pub is_read: bool,
    pub is_set: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSide {
    Old,
    New,
}

#[derive(Debug)]
pub struct CursorCode {
    pub query: SqlCode,
}

/// An operation, and where it stands.
#[derive(Debug)]
pub struct Op {
    pub kind: OpKind,
    pub scope: usize,
    /// How many bodies of handlers it stands in.
    pub handlers: usize,
    /// Where a handler that continues goes on; mostly the next operation.
    pub resume: usize,
}

#[derive(Debug)]
pub enum OpKind {
    /// Assigns a value.
    Set {
        target: Local,
        value: ExprCode,
    },
    /// DECLARE without a default: NULL.
    Clear(u32),
    /// CASE's operand, whose type is that of the value.
    SetOperand {
        slot: u32,
        value: ExprCode,
    },
    Jump(usize),
    /// Jumps where the condition is not true.
    Unless {
        condition: ExprCode,
        to: usize,
    },
    Sql(SqlCode),
    /// 1339
    CaseNotFound,
    Open(u32),
    Fetch {
        cursor: u32,
        into: Vec<Local>,
    },
    Close(u32),
    /// Closes what is open of these.
    CloseAll(Vec<u32>),
    /// The end of a handler's body.
    HandlerEnd {
        /// `None`: CONTINUE.
        exit: Option<usize>,
    },
    Return(ExprCode),
    End,
}

/// An expression of a program.
#[derive(Debug)]
pub struct ExprCode {
    pub tree: ast::Expr,
    pub user_variables: UserVariables,
    /// It has subqueries or functions of the catalog, and is run as a query.
    pub is_query: bool,
    /// Its meaning is the same at every run.
    pub is_fixed: bool,
    pub bound: OnceLock<Bound>,
    /// The query that it is run as, if it is.
    pub query: Option<(Arc<Statement>, PlanText)>,
}

#[derive(Debug)]
pub struct Bound {
    pub expr: Expr,
    /// What of the session it was bound under.
    pub div_precision_increment: u8,
    /// It looks at nothing but the frame.
    pub is_quick: bool,
}

/// A statement of a program.
#[derive(Debug)]
pub struct SqlCode {
    pub statement: Arc<Statement>,
    pub text: PlanText,
    pub user_variables: UserVariables,
    /// What takes the row of a SELECT.
    pub into: Vec<IntoVar>,
}

/// What can be seen from an operation.
#[derive(Debug)]
pub struct ScopeCode {
    pub parent: Option<usize>,
    /// The scope that it becomes when the handlers are declared.
    pub ahead: Option<usize>,
    pub handlers: Vec<HandlerCode>,
}

#[derive(Debug)]
pub struct HandlerCode {
    pub conditions: Vec<ast::Condition>,
    pub body: usize,
}

/// A frame: the values of the slots.
#[derive(Debug)]
pub struct Frame {
    pub values: Vec<Value>,
    /// CASE's operands have the types of their values.
    pub types: Arc<[SqlType]>,
}
