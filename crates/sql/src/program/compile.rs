//! From the tree of a stored program to its operations.

use std::sync::{Arc, OnceLock};

use catalog::{RoutineDef, RoutineKind};
use parser::UserVariables;
use parser::ast::{
    self, BinaryOp, Block, Expr, HandlerKind, Local, LoopKind, Part, RoutineType, SlotKind, SqlStep, Statement, Step,
};
use types::collation::CollationId;
use types::{CharsetId, ErrorKind, SqlError, SqlResult, SqlType};

use super::code::{CursorCode, ExprCode, HandlerCode, Op, OpKind, Parameter, Program, ScopeCode, SqlCode, Variable};
use crate::ddl::column_type;
use crate::ddl::programs::kind_of;
use crate::expr::sql_mode::SqlMode;
use crate::plan_cache::PlanText;
use crate::statement_class::{InPrograms, in_programs};
use crate::variables;

/// Operations of one program: what a statement of the greatest length could hold, and no more.
const OPS_MAX: usize = 4 << 20;

/// The text of a routine, as it is read again.
pub fn source(def: &RoutineDef) -> String {
    let returns = match def.kind {
        RoutineKind::Function => format!(" RETURNS {}", def.returns),
        RoutineKind::Procedure => String::new(),
    };
    format!(
        "CREATE {} {}({}){returns} {}",
        def.kind.as_str(),
        quoted(&def.name),
        def.parameters,
        def.body
    )
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Reads and compiles a routine.
pub fn routine(def: &RoutineDef) -> SqlResult<Program> {
    let mode = SqlMode::parse(&def.context.sql_mode).unwrap_or_default();
    let text = source(def);
    let read = parser::parse_program(text.as_bytes(), mode.for_parser());
    governor::check()?;
    let (statement, program) = read.map_err(|error| crate::errors::parse_error(&error))?;
    let (Statement::CreateRoutine(create), Some(program)) = (statement, program) else {
        return Err(SqlError::internal(format!(
            "{} {} is no routine",
            def.database, def.name
        )));
    };
    let identity = format!("{}\0{}\0{}", def.kind.as_str(), def.database, def.name);
    compile(&create, program, def.context.database, &identity)
}

/// Compiles a routine whose text has been read.
pub fn compile(
    create: &ast::CreateRoutine,
    program: ast::Program,
    collation: CollationId,
    identity: &str,
) -> SqlResult<Program> {
    let mut slots = Vec::with_capacity(program.slots.len());
    let mut types = Vec::with_capacity(program.slots.len());
    for slot in &program.slots {
        let SlotKind::Variable(ty) = &slot.kind else {
            return Err(SqlError::not_supported("rows of triggers"));
        };
        types.push(type_of(&slot.name, ty, collation)?);
        slots.push(Variable {
            name: slot.name.as_str().to_owned(),
        });
    }
    let returns = match &create.returns {
        Some(ty) => Some(type_of("", ty, collation)?),
        None => None,
    };
    let mut compiler = Compiler {
        identity,
        kind: kind_of(create.kind),
        ops: Vec::new(),
        scopes: vec![ScopeCode {
            parent: None,
            ahead: None,
            handlers: Vec::new(),
        }],
        scope: 0,
        handlers: 0,
        labels: Vec::new(),
        slots,
        types,
        user_variables: program.user_variables,
        texts: 0,
    };
    compiler.step(program.body)?;
    compiler.emit(OpKind::End);
    let mut cursors = Vec::with_capacity(program.cursors.len());
    for cursor in program.cursors {
        let statement = Statement::Query(cursor.query);
        compiler.check(&statement)?;
        cursors.push(CursorCode {
            query: compiler.sql(SqlStep {
                statement,
                user_variables: cursor.user_variables,
            }),
        });
    }
    Ok(Program {
        parameters: create
            .params
            .iter()
            .map(|param| Parameter { mode: param.mode })
            .collect(),
        slots: compiler.slots,
        types: compiler.types.into(),
        returns,
        cursors,
        ops: compiler.ops,
        scopes: compiler.scopes,
    })
}

/// The type of a variable: text is in the database's collation unless it says otherwise.
pub fn type_of(name: &str, ty: &RoutineType, collation: CollationId) -> SqlResult<SqlType> {
    let collate = ty.collation.as_ref().map(|collation| collation.as_str());
    column_type(name, &ty.data_type, collate, collation)
}

struct Compiler<'a> {
    identity: &'a str,
    kind: RoutineKind,
    ops: Vec<Op>,
    scopes: Vec<ScopeCode>,
    scope: usize,
    handlers: usize,
    /// The steps around that have labels, the innermost last.
    labels: Vec<LabelCode>,
    slots: Vec<Variable>,
    types: Vec<SqlType>,
    /// What the whole program does with `@variables`.
    user_variables: UserVariables,
    /// Statements so far: each has a text of its own among the cached plans.
    texts: usize,
}

struct LabelCode {
    number: u32,
    /// Where ITERATE goes.
    start: usize,
    /// Jumps of LEAVE, whose target is not known yet.
    leaves: Vec<usize>,
}

/// What happens where no condition of IF or CASE is true.
enum Otherwise {
    Nothing,
    Steps(Vec<Step>),
    NotFound,
}

/// A target that is filled in later.
const LATER: usize = usize::MAX;

impl Compiler<'_> {
    fn emit(&mut self, kind: OpKind) -> usize {
        let at = self.ops.len();
        self.ops.push(Op {
            kind,
            scope: self.scope,
            handlers: self.handlers,
            resume: at + 1,
        });
        at
    }

    fn here(&self) -> usize {
        self.ops.len()
    }

    fn land(&mut self, at: usize) {
        let here = self.here();
        match &mut self.ops[at].kind {
            OpKind::Jump(to) | OpKind::Unless { to, .. } => *to = here,
            OpKind::HandlerEnd { exit } => *exit = Some(here),
            _ => {}
        }
    }

    fn steps(&mut self, steps: Vec<Step>) -> SqlResult<()> {
        steps.into_iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: Step) -> SqlResult<()> {
        governor::tick()?;
        governor::descend()?;
        if self.ops.len() > OPS_MAX {
            return Err(SqlError::not_supported("a stored program of so many statements"));
        }
        match step {
            Step::Sql(sql) => {
                self.check(&sql.statement)?;
                let code = self.sql(*sql);
                self.emit(OpKind::Sql(code));
            }
            Step::Set { target, value } => {
                let value = self.expr(value);
                self.emit(OpKind::Set { target, value });
            }
            Step::Several(steps) => self.steps(steps)?,
            Step::Block(block) => self.block(*block)?,
            Step::If(step) => {
                let otherwise = step.otherwise.map_or(Otherwise::Nothing, Otherwise::Steps);
                self.branches(step.branches, otherwise, None)?;
            }
            Step::Case(step) => self.case(*step)?,
            Step::Loop(step) => self.turns(*step)?,
            Step::Leave(label) => {
                let at = self.emit(OpKind::Jump(LATER));
                if let Some(code) = self.labels.iter_mut().find(|code| code.number == label) {
                    code.leaves.push(at);
                }
            }
            Step::Iterate(label) => {
                let start = self
                    .labels
                    .iter()
                    .find(|code| code.number == label)
                    .map(|code| code.start);
                let start = start.ok_or_else(|| SqlError::internal("a label that nobody has"))?;
                self.emit(OpKind::Jump(start));
            }
            Step::Return(value) => {
                let value = self.expr(*value);
                self.emit(OpKind::Return(value));
            }
            Step::Open(cursor) => {
                self.emit(OpKind::Open(cursor));
            }
            Step::Fetch { cursor, into } => {
                self.emit(OpKind::Fetch { cursor, into });
            }
            Step::Close(cursor) => {
                self.emit(OpKind::Close(cursor));
            }
        }
        Ok(())
    }

    fn block(&mut self, block: Block) -> SqlResult<()> {
        let start = self.here();
        if let Some(number) = block.label {
            self.labels.push(LabelCode {
                number,
                start,
                leaves: Vec::new(),
            });
        }
        if !block.cursors.is_empty() {
            // It may have been left by a jump.
            self.emit(OpKind::CloseAll(block.cursors.clone()));
        }
        let around = self.scope;
        let inside = match block.handlers.is_empty() {
            true => around,
            false => self.add_scope(around, None),
        };
        if inside != around {
            self.scope = self.add_scope(around, Some(inside));
        }
        for variables in block.variables {
            let first = variables.slots[0];
            match variables.default {
                None => variables.slots.iter().for_each(|slot| {
                    self.emit(OpKind::Clear(*slot));
                }),
                Some(value) => {
                    let value = self.expr(value);
                    let target = self.local(first);
                    self.emit(OpKind::Set { target, value });
                    for slot in &variables.slots[1..] {
                        let value = self.expr(Expr::Local(Box::new(self.local(first))));
                        let target = self.local(*slot);
                        self.emit(OpKind::Set { target, value });
                    }
                }
            }
        }
        self.scope = around;
        let mut exits = Vec::new();
        if !block.handlers.is_empty() {
            let over = self.emit(OpKind::Jump(LATER));
            let labels = std::mem::take(&mut self.labels);
            for handler in block.handlers {
                let body = self.here();
                self.handlers += 1;
                self.step(handler.body)?;
                let end = self.emit(OpKind::HandlerEnd { exit: None });
                self.handlers -= 1;
                if handler.action == HandlerKind::Exit {
                    exits.push(end);
                }
                self.scopes[inside].handlers.push(HandlerCode {
                    conditions: handler.conditions,
                    body,
                });
            }
            self.labels = labels;
            self.land(over);
            self.scope = inside;
        }
        self.steps(block.body)?;
        self.scope = around;
        for exit in exits {
            self.land(exit);
        }
        if block.label.is_some() {
            self.end_label();
        }
        if !block.cursors.is_empty() {
            self.emit(OpKind::CloseAll(block.cursors));
        }
        Ok(())
    }

    fn add_scope(&mut self, parent: usize, ahead: Option<usize>) -> usize {
        self.scopes.push(ScopeCode {
            parent: Some(parent),
            ahead,
            handlers: Vec::new(),
        });
        self.scopes.len() - 1
    }

    fn end_label(&mut self) {
        let label = self.labels.pop().expect("begun with the step");
        for leave in label.leaves {
            self.land(leave);
        }
    }

    fn local(&self, slot: u32) -> Local {
        Local {
            slot,
            name: self.slots[slot as usize].name.as_str().into(),
        }
    }

    /// IF, and CASE behind its operand.
    fn branches(
        &mut self,
        branches: Vec<(Expr, Vec<Step>)>,
        otherwise: Otherwise,
        operand: Option<&Local>,
    ) -> SqlResult<()> {
        let mut ends = Vec::new();
        let mut conditions = Vec::new();
        for (condition, steps) in branches {
            let condition = match operand {
                None => condition,
                Some(operand) => Expr::Binary(Box::new(ast::Binary {
                    op: BinaryOp::Eq,
                    left: Expr::Local(Box::new(operand.clone())),
                    right: condition,
                })),
            };
            let mut condition = self.expr(condition);
            condition.is_fixed &= operand.is_none();
            let unless = self.emit(OpKind::Unless { condition, to: LATER });
            conditions.push(unless);
            self.steps(steps)?;
            ends.push(self.emit(OpKind::Jump(LATER)));
            self.land(unless);
        }
        match otherwise {
            Otherwise::Nothing => {}
            Otherwise::Steps(steps) => self.steps(steps)?,
            Otherwise::NotFound => {
                self.emit(OpKind::CaseNotFound);
            }
        }
        for end in ends {
            self.land(end);
        }
        let here = self.here();
        for condition in conditions {
            self.ops[condition].resume = here;
        }
        Ok(())
    }

    fn case(&mut self, step: ast::CaseStep) -> SqlResult<()> {
        let otherwise = step.otherwise.map_or(Otherwise::NotFound, Otherwise::Steps);
        let Some(value) = step.operand else {
            return self.branches(step.whens, otherwise, None);
        };
        let slot = self.slots.len() as u32;
        self.slots.push(Variable { name: String::new() });
        self.types.push(SqlType::null());
        let value = self.expr(value);
        let at = self.emit(OpKind::SetOperand { slot, value });
        let operand = self.local(slot);
        self.branches(step.whens, otherwise, Some(&operand))?;
        self.ops[at].resume = self.here();
        Ok(())
    }

    fn turns(&mut self, step: ast::Loop) -> SqlResult<()> {
        let start = self.here();
        if let Some(number) = step.label {
            self.labels.push(LabelCode {
                number,
                start,
                leaves: Vec::new(),
            });
        }
        match step.kind {
            LoopKind::Forever => {
                self.steps(step.body)?;
                self.emit(OpKind::Jump(start));
            }
            LoopKind::While(condition) => {
                let condition = self.expr(condition);
                let unless = self.emit(OpKind::Unless { condition, to: LATER });
                self.steps(step.body)?;
                self.emit(OpKind::Jump(start));
                self.land(unless);
                self.ops[unless].resume = self.here();
            }
            LoopKind::Until(condition) => {
                self.steps(step.body)?;
                let condition = self.expr(condition);
                self.emit(OpKind::Unless { condition, to: start });
            }
        }
        if step.label.is_some() {
            self.end_label();
        }
        Ok(())
    }

    fn expr(&mut self, mut tree: Expr) -> ExprCode {
        let mut seen = Seen::default();
        seen.expr(&mut tree);
        if seen.has_subquery {
            // What is in it is not looked at.
            seen.user_variables = self.user_variables;
        }
        ExprCode {
            user_variables: seen.user_variables,
            is_query: seen.is_query,
            is_fixed: !seen.is_query && seen.user_variables == UserVariables::None,
            query: seen
                .is_query
                .then(|| (crate::plan::query::select_of(&tree), self.text())),
            tree,
            bound: OnceLock::new(),
        }
    }

    fn text(&mut self) -> PlanText {
        self.texts += 1;
        let text = format!("{}\0{}", self.identity, self.texts);
        PlanText::new(text.as_bytes(), CharsetId::UTF8MB4)
    }

    fn sql(&mut self, step: SqlStep) -> SqlCode {
        let mut statement = step.statement;
        let mut into = Vec::new();
        if let Statement::Query(query) = &mut statement
            && let Some(ast::SelectInto::Variables(targets)) = query.into.as_deref()
        {
            into = targets.clone();
            query.into = None;
        }
        SqlCode {
            statement: Arc::new(statement),
            text: self.text(),
            user_variables: step.user_variables,
            into,
        }
    }

    /// What may not stand in a program of this kind.
    fn check(&self, statement: &Statement) -> SqlResult<()> {
        if let Statement::Set(items) = statement {
            items.iter().try_for_each(check_variable)?;
        }
        let is_part_of_statement = self.kind == RoutineKind::Function;
        match in_programs(statement) {
            InPrograms::Allowed => Ok(()),
            InPrograms::Refused(name) => Err(SqlError::new(ErrorKind::SpBadStatement, &[&name])),
            InPrograms::Changes(kind) => Err(SqlError::new(ErrorKind::SpNoDropSp, &[&kind])),
            InPrograms::Creates(kind) => Err(SqlError::new(ErrorKind::SpNoRecursiveCreate, &[&kind])),
            InPrograms::ReturnsRows if is_part_of_statement => {
                Err(SqlError::new(ErrorKind::SpNoRetset, &[&"function"]))
            }
            InPrograms::Commits if is_part_of_statement => Err(ErrorKind::CommitNotAllowedInSfOrTrg.into()),
            InPrograms::NotInStatements(name) if is_part_of_statement => {
                Err(SqlError::new(ErrorKind::StmtNotAllowedInSfOrTrg, &[&name]))
            }
            InPrograms::ReturnsRows | InPrograms::Commits | InPrograms::NotInStatements(_) => Ok(()),
        }
    }
}

/// 1193 for a variable that neither the program nor the server has.
fn check_variable(item: &ast::SetItem) -> SqlResult<()> {
    match item {
        ast::SetItem::Variable { component, name, .. } => {
            let known = match component {
                None => variables::find(name),
                Some(component) => variables::find(&format!("{}.{}", &**component, &**name)),
            };
            known.map(drop)
        }
        _ => Ok(()),
    }
}

/// What an expression has in it.
#[derive(Default)]
struct Seen {
    user_variables: UserVariables,
    is_query: bool,
    has_subquery: bool,
}

impl Seen {
    fn expr(&mut self, expr: &mut Expr) {
        match expr {
            Expr::UserVar(_) => self.user_variables = self.user_variables.max(UserVariables::Read),
            Expr::Assign(_) => self.user_variables = UserVariables::Assigned,
            // What is no function of the server's is one of the catalog.
            Expr::Function(call) => {
                self.is_query |= call.schema.is_some() || crate::expr::functions::find(&call.name).is_none();
            }
            Expr::Aggregate(_) | Expr::Window(_) => self.is_query = true,
            _ => {}
        }
        expr.for_each_part(&mut |part| match part {
            Part::Expr(expr) => self.expr(expr),
            Part::Query(_) => {
                self.is_query = true;
                self.has_subquery = true;
            }
            Part::Column(_) => {}
        });
    }
}
