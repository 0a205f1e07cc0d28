//! From the tree of a stored program to its operations.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use catalog::{EventDef, RoutineDef, RoutineKind, TableDef, TriggerDef};
use parser::UserVariables;
use parser::ast::{
    self, BinaryOp, Block, Expr, HandlerKind, Local, LoopKind, Part, RoutineType, SlotKind, SqlStep, Statement, Step,
};
use types::collation::CollationId;
use types::{CharsetId, ErrorKind, SqlError, SqlResult, SqlType};

use super::code::{
    CursorCode, ExprCode, HandlerCode, Op, OpKind, Parameter, Program, RowColumn, RowSide, ScopeCode, SqlCode, Variable,
};
use crate::ddl::column_type;
use crate::ddl::programs::kind_of;
use crate::expr::sql_mode::SqlMode;
use crate::plan::text::name as quoted;
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
    // Another routine of that name has other statements.
    let identity = format!(
        "{}\0{}\0{}\0{}",
        def.kind.as_str(),
        def.database,
        def.name,
        def.created_at
    );
    let collation = def.context.database;
    let kind = match kind_of(create.kind) {
        RoutineKind::Procedure => Kind::Procedure,
        RoutineKind::Function => Kind::Function,
    };
    let returns = create.returns.as_ref();
    let returns = returns.map(|ty| type_of("", ty, collation)).transpose()?;
    let type_of_slot = |slot: &ast::Slot| match &slot.kind {
        SlotKind::Variable(ty) => type_of(&slot.name, ty, collation),
        SlotKind::Old | SlotKind::New => Err(SqlError::internal("a row in a routine")),
    };
    let compiled = compile(kind, program, type_of_slot, &identity)?;
    Ok(Program {
        parameters: create
            .params
            .iter()
            .map(|param| Parameter { mode: param.mode })
            .collect(),
        returns,
        ..compiled
    })
}

/// Reads and compiles an event.
pub fn event(def: &EventDef) -> SqlResult<Program> {
    let mode = SqlMode::parse(&def.context.sql_mode).unwrap_or_default();
    let text = format!("CREATE EVENT {} ON SCHEDULE AT 0 DO {}", quoted(&def.name), def.body);
    let read = parser::parse_program(text.as_bytes(), mode.for_parser());
    governor::check()?;
    let (statement, program) = read.map_err(|error| crate::errors::parse_error(&error))?;
    let (Statement::CreateEvent(_), Some(program)) = (statement, program) else {
        return Err(SqlError::internal(format!("{}.{} is no event", def.database, def.name)));
    };
    let identity = format!("EVENT\0{}\0{}\0{}", def.database, def.name, def.altered_at);
    let type_of_slot = |slot: &ast::Slot| match &slot.kind {
        SlotKind::Variable(ty) => type_of(&slot.name, ty, def.context.database),
        SlotKind::Old | SlotKind::New => Err(SqlError::internal("a row in an event")),
    };
    compile(Kind::Event, program, type_of_slot, &identity)
}

/// The text of a trigger, as it is read again.
fn source_of_trigger(table: &TableDef, def: &TriggerDef) -> String {
    format!(
        "CREATE TRIGGER {} {} {} ON {} FOR EACH ROW {}",
        quoted(&def.name),
        def.timing.as_str(),
        def.event.as_str(),
        quoted(&table.name),
        def.body
    )
}

/// Reads and compiles a trigger. 1054 for a column that its table does not have.
pub fn trigger(table: &TableDef, def: &TriggerDef) -> SqlResult<Program> {
    let mode = SqlMode::parse(&def.context.sql_mode).unwrap_or_default();
    let text = source_of_trigger(table, def);
    let read = parser::parse_program(text.as_bytes(), mode.for_parser());
    governor::check()?;
    let (statement, program) = read.map_err(|error| crate::errors::parse_error(&error))?;
    let (Statement::CreateTrigger(_), Some(program)) = (statement, program) else {
        let named = format!("{}.{} is no trigger", table.database, def.name);
        return Err(SqlError::internal(named));
    };
    let mut rows = Vec::new();
    for (at, slot) in program.slots.iter().enumerate() {
        let (side, row) = match slot.kind {
            SlotKind::Variable(_) => continue,
            SlotKind::Old => (RowSide::Old, "OLD"),
            SlotKind::New => (RowSide::New, "NEW"),
        };
        let column = table.column(&slot.name).filter(|column| !table.columns[*column].hidden);
        let column = column.ok_or_else(|| SqlError::new(ErrorKind::BadField, &[&slot.name.as_str(), &row]))?;
        rows.push(RowColumn {
            slot: at,
            side,
            column,
            is_read: false,
            is_set: false,
        });
    }
    let identity = format!("TRIGGER\0{}\0{}\0{}", table.database, def.name, def.created_at);
    let type_of_slot = |slot: &ast::Slot| match &slot.kind {
        SlotKind::Variable(ty) => type_of(&slot.name, ty, def.context.database),
        SlotKind::Old | SlotKind::New => {
            let column = table.column(&slot.name).expect("looked for above");
            Ok(table.columns[column].ty.clone())
        }
    };
    let mut compiled = compile(Kind::Trigger, program, type_of_slot, &identity)?;
    for column in &mut rows {
        let slot = column.slot as u32;
        column.is_set = compiled.targets.contains(&slot);
        column.is_read = !column.is_set || compiled.read.contains(&slot);
    }
    compiled.rows = rows;
    Ok(compiled)
}

/// Compiles a program that has been read.
fn compile(
    kind: Kind,
    program: ast::Program,
    type_of_slot: impl Fn(&ast::Slot) -> SqlResult<SqlType>,
    identity: &str,
) -> SqlResult<Program> {
    let mut slots = Vec::with_capacity(program.slots.len());
    let mut types = Vec::with_capacity(program.slots.len());
    for slot in &program.slots {
        types.push(type_of_slot(slot)?);
        slots.push(Variable {
            name: slot.name.as_str().to_owned(),
        });
    }
    let mut compiler = Compiler {
        identity,
        kind,
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
        changes_rows: false,
        uses_tables: false,
        targets: HashSet::new(),
        read: HashSet::new(),
    };
    compiler.step(program.body)?;
    compiler.emit(OpKind::End);
    let mut cursors = Vec::with_capacity(program.cursors.len());
    for cursor in program.cursors {
        let statement = Statement::Query(cursor.query);
        cursors.push(CursorCode {
            query: compiler.sql(SqlStep {
                statement,
                user_variables: cursor.user_variables,
            }),
        });
    }
    Ok(Program {
        parameters: Vec::new(),
        returns: None,
        rows: Vec::new(),
        targets: compiler.targets,
        read: compiler.read,
        slots: compiler.slots,
        types: compiler.types.into(),
        cursors,
        changes_rows: compiler.changes_rows,
        uses_tables: compiler.uses_tables,
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
    kind: Kind,
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
    /// A statement may change or lock rows, or a function is called that might.
    changes_rows: bool,
    /// A statement or a subquery may use tables, or a function is called that might.
    uses_tables: bool,
    /// Slots that something is assigned to.
    targets: HashSet<u32>,
    /// Slots that expressions read.
    read: HashSet<u32>,
}

/// What kind of program is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Procedure,
    Function,
    Trigger,
    Event,
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
                self.targets.insert(target.slot);
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
                self.targets.extend(into.iter().map(|local| local.slot));
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
        self.changes_rows |= seen.calls_function;
        self.uses_tables |= seen.calls_function || seen.has_subquery;
        self.read.extend(seen.locals.drain(..));
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
        self.uses_tables = true;
        self.changes_rows |= match &statement {
            Statement::Query(query) => !query.locks.is_empty(),
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Call(_) => true,
            _ => false,
        };
        if let Statement::Query(query) = &mut statement
            && let Some(ast::SelectInto::Variables(targets)) = query.into.as_deref()
        {
            into = targets.clone();
            self.targets.extend(into.iter().filter_map(|target| match target {
                ast::IntoVar::Local(local) => Some(local.slot),
                _ => None,
            }));
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
            let is_autocommit =
                |item: &ast::SetItem| matches!(item, ast::SetItem::Variable { name, .. } if name.is("autocommit"));
            if matches!(self.kind, Kind::Function | Kind::Trigger) && items.iter().any(is_autocommit) {
                return Err(ErrorKind::SpCantSetAutocommit.into());
            }
        }
        let (is_part_of_statement, named) = match self.kind {
            Kind::Procedure => (false, "procedure"),
            Kind::Function => (true, "function"),
            Kind::Trigger => (true, "trigger"),
            Kind::Event => (false, "event"),
        };
        match in_programs(statement) {
            InPrograms::Allowed => Ok(()),
            InPrograms::Refused(name) => Err(SqlError::new(ErrorKind::SpBadStatement, &[&name])),
            InPrograms::Changes(kind) => Err(SqlError::new(ErrorKind::SpNoDropSp, &[&kind])),
            InPrograms::Creates(kind) => Err(SqlError::new(ErrorKind::SpNoRecursiveCreate, &[&kind])),
            InPrograms::ReturnsRows if is_part_of_statement => Err(SqlError::new(ErrorKind::SpNoRetset, &[&named])),
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
    calls_function: bool,
    locals: Vec<u32>,
}

impl Seen {
    fn expr(&mut self, expr: &mut Expr) {
        match expr {
            Expr::UserVar(_) => self.user_variables = self.user_variables.max(UserVariables::Read),
            Expr::Local(local) => self.locals.push(local.slot),
            Expr::Assign(_) => self.user_variables = UserVariables::Assigned,
            // What is no function of the server's is one of the catalog.
            Expr::Function(call) => {
                let is_stored = call.schema.is_some() || crate::expr::functions::find(&call.name).is_none();
                self.is_query |= is_stored;
                self.calls_function |= is_stored;
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
