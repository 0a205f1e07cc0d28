//! The inside of stored programs: procedures, functions, triggers and events.
//!
//! The parser resolves the names of a program as it reads them, as MySQL's does: a local variable is a slot of the program's frame, a
//! cursor a number, a condition its value, and labels are known to be there. So a variable hides a column of its name wherever an
//! expression may stand.

use super::{Expr, Ident, Query, RoutineType, Statement};
use crate::UserVariables;

/// A stored program's body with all that it declares.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// The frame: parameters first, then every variable of every block, each in a slot of its own.
    pub slots: Vec<Slot>,
    /// By number.
    pub cursors: Vec<Cursor>,
    pub body: Step,
    /// What the whole of it does with `@variables`.
    pub user_variables: UserVariables,
}

/// One variable of a program's frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    pub name: Ident,
    pub kind: SlotKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SlotKind {
    /// A parameter or a variable.
    Variable(RoutineType),
    /// `OLD.column` and `NEW.column` of a trigger.
    Old,
    New,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cursor {
    pub name: Ident,
    pub query: Box<Query>,
    /// What the query does with `@variables`.
    pub user_variables: UserVariables,
}

/// A variable as an expression or a target names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Local {
    pub slot: u32,
    pub name: Ident,
}

/// One statement of a program.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Sql(Box<SqlStep>),
    /// `SET variable = value`: one element of a SET.
    Set {
        target: Local,
        value: Expr,
    },
    /// A SET of several elements, in their order.
    Several(Vec<Step>),
    Block(Box<Block>),
    If(Box<If>),
    Case(Box<CaseStep>),
    Loop(Box<Loop>),
    /// `LEAVE label`, by the label's number.
    Leave(u32),
    /// `ITERATE label`
    Iterate(u32),
    Return(Box<Expr>),
    Open(u32),
    Fetch {
        cursor: u32,
        into: Vec<Local>,
    },
    Close(u32),
}

/// A statement as it could stand outside, too.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlStep {
    pub statement: Statement,
    /// What it does with `@variables`.
    pub user_variables: UserVariables,
}

/// `[label:] BEGIN declarations statements END`
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub label: Option<u32>,
    /// Conditions are resolved where they are named.
    pub variables: Vec<Variables>,
    /// The cursors that end with the block.
    pub cursors: Vec<u32>,
    pub handlers: Vec<Handled>,
    pub body: Vec<Step>,
}

/// `DECLARE a, b type [DEFAULT value]`
#[derive(Debug, Clone, PartialEq)]
pub struct Variables {
    pub slots: Vec<u32>,
    pub default: Option<Expr>,
}

/// `DECLARE action HANDLER FOR conditions statement`
#[derive(Debug, Clone, PartialEq)]
pub struct Handled {
    pub action: HandlerKind,
    pub conditions: Vec<Condition>,
    pub body: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandlerKind {
    Continue,
    Exit,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Condition {
    Code(u16),
    State(Box<str>),
    Warning,
    NotFound,
    Exception,
}

#[derive(Debug, Clone, PartialEq)]
pub struct If {
    pub branches: Vec<(Expr, Vec<Step>)>,
    pub otherwise: Option<Vec<Step>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CaseStep {
    pub operand: Option<Expr>,
    pub whens: Vec<(Expr, Vec<Step>)>,
    pub otherwise: Option<Vec<Step>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    pub label: Option<u32>,
    pub kind: LoopKind,
    pub body: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum LoopKind {
    Forever,
    /// Asked before each turn.
    While(Expr),
    /// Asked behind each turn.
    Until(Expr),
}
