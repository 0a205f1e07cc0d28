//! Bodies of stored programs: compound statements, declarations, and what the names in them mean.
//!
//! A body is read with the scopes of its blocks, as MySQL's parser does it: a bare name in an expression that a variable in sight has
//! is that variable. The errors for names that are not there are the parser's, too.

use std::collections::{HashMap, HashSet};

use super::names::Names;
use super::{PResult, Parser};
use crate::UserVariables;
use crate::ast::*;
use crate::error::ParseErrorKind;
use crate::keywords::Kw;
use crate::lexer::Tok;

/// Variables of one program; beyond, a statement of it could not be given all of them.
const SLOTS_MAX: usize = u16::MAX as usize;

/// What kind of program is read, with what only its kind allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramKind {
    Procedure,
    Function,
    Trigger(TriggerTiming, TriggerEvent),
    Event,
}

impl ProgramKind {
    /// As 1303 names it.
    fn name(self) -> &'static str {
        match self {
            ProgramKind::Procedure => "PROCEDURE",
            ProgramKind::Function => "FUNCTION",
            ProgramKind::Trigger(..) => "TRIGGER",
            ProgramKind::Event => "EVENT",
        }
    }
}

/// The program that is being read.
#[derive(Debug)]
pub(super) struct ProgramScope {
    kind: ProgramKind,
    slots: Vec<Slot>,
    cursors: Vec<Cursor>,
    /// The innermost last.
    blocks: Vec<BlockScope>,
    variables: Names<u32>,
    conditions: Names<Condition>,
    cursor_names: Names<u32>,
    /// The columns of a trigger's rows that it has named.
    old: HashMap<String, u32>,
    new: HashMap<String, u32>,
    labels: u32,
    returns: bool,
    /// Variables that expressions have named so far.
    named: u32,
}

#[derive(Debug, Default)]
struct BlockScope {
    handled: HashSet<Condition>,
    label: Option<Label>,
    /// The body of a handler: labels around it are out of sight.
    is_handler: bool,
}

#[derive(Debug, Clone)]
struct Label {
    name: Ident,
    number: u32,
    is_loop: bool,
}

fn same(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

impl ProgramScope {
    fn new(kind: ProgramKind) -> ProgramScope {
        let mut scope = ProgramScope {
            kind,
            slots: Vec::new(),
            cursors: Vec::new(),
            blocks: Vec::new(),
            variables: Names::default(),
            conditions: Names::default(),
            cursor_names: Names::default(),
            old: HashMap::new(),
            new: HashMap::new(),
            labels: 0,
            returns: false,
            named: 0,
        };
        scope.open_block(BlockScope::default());
        scope
    }

    fn open_block(&mut self, block: BlockScope) {
        self.blocks.push(block);
        self.variables.open_block();
        self.conditions.open_block();
        self.cursor_names.open_block();
    }

    fn close_block(&mut self) {
        self.blocks.pop();
        self.variables.close_block();
        self.conditions.close_block();
        self.cursor_names.close_block();
    }

    fn variable(&self, name: &str) -> Option<Local> {
        let slot = *self.variables.get(name)?;
        Some(Local {
            slot,
            name: self.slots[slot as usize].name.clone(),
        })
    }

    fn label(&self, name: &str) -> Option<&Label> {
        for block in self.blocks.iter().rev() {
            if let Some(label) = block.label.as_ref().filter(|label| same(&label.name, name)) {
                return Some(label);
            }
            if block.is_handler {
                return None;
            }
        }
        None
    }

    fn innermost(&mut self) -> &mut BlockScope {
        self.blocks.last_mut().expect("a program has a scope around its body")
    }

    fn declare(&mut self, name: Ident, ty: RoutineType) -> u32 {
        let slot = self.slots.len() as u32;
        self.slots.push(Slot {
            name: name.clone(),
            kind: SlotKind::Variable(ty),
        });
        self.variables.declare(&name, slot);
        slot
    }

    /// The slot of `OLD.column` or `NEW.column`.
    fn row_column(&mut self, kind: SlotKind, column: &Ident) -> Local {
        let (row, known) = match kind {
            SlotKind::New => ("NEW", &mut self.new),
            _ => ("OLD", &mut self.old),
        };
        let slots = &mut self.slots;
        let slot = *known.entry(column.to_lowercase()).or_insert_with(|| {
            slots.push(Slot {
                name: column.clone(),
                kind,
            });
            slots.len() as u32 - 1
        });
        Local {
            slot,
            name: Ident::new(format!("{row}.{column}", column = &**column)),
        }
    }
}

impl Parser<'_> {
    pub(super) fn in_program(&self) -> bool {
        self.program.is_some()
    }

    /// What a bare or qualified name in an expression means in a program.
    pub(super) fn local_of(&mut self, column: &ColumnName) -> PResult<Option<Local>> {
        let Some(program) = &mut self.program else {
            return Ok(None);
        };
        match (&column.schema, &column.table) {
            (None, None) => {
                let local = program.variable(&column.name);
                program.named += u32::from(local.is_some());
                Ok(local)
            }
            (None, Some(table)) => self.row_column(table, &column.name),
            _ => Ok(None),
        }
    }

    /// How often the program's expressions have named its variables by now.
    pub(super) fn variables_named(&self) -> u32 {
        self.program.as_ref().map_or(0, |program| program.named)
    }

    /// `OLD.column` and `NEW.column` in a trigger; 1363 for a row that its event does not have.
    fn row_column(&mut self, table: &Ident, column: &Ident) -> PResult<Option<Local>> {
        let Some(program) = &mut self.program else {
            return Ok(None);
        };
        let ProgramKind::Trigger(_, event) = program.kind else {
            return Ok(None);
        };
        let kind = match () {
            () if table.is("NEW") => SlotKind::New,
            () if table.is("OLD") => SlotKind::Old,
            () => return Ok(None),
        };
        let missing = match (&kind, event) {
            (SlotKind::New, TriggerEvent::Delete) => Some(("NEW", "on DELETE")),
            (SlotKind::Old, TriggerEvent::Insert) => Some(("OLD", "on INSERT")),
            _ => None,
        };
        if let Some((row, on)) = missing {
            let message = format!("There is no {row} row in {on} trigger");
            return Err(self.other(1363, b"HY000", message));
        }
        Ok(Some(program.row_column(kind, column)))
    }

    /// What SET, at its target, assigns in a program; `None`: a variable of the session.
    pub(super) fn set_target(&mut self, component: Option<&Ident>, name: &Ident) -> PResult<Option<Local>> {
        let Some(program) = &self.program else { return Ok(None) };
        let Some(table) = component else {
            return Ok(program.variable(name));
        };
        let timing = match program.kind {
            ProgramKind::Trigger(timing, _) => timing,
            _ => return Ok(None),
        };
        let wrong = match () {
            () if table.is("OLD") => Some("Updating of OLD row is not allowed in trigger"),
            () if table.is("NEW") && timing == TriggerTiming::After => {
                Some("Updating of NEW row is not allowed in after trigger")
            }
            () => None,
        };
        let local = self.row_column(table, name)?;
        match wrong {
            Some(message) => Err(self.other(1362, b"HY000", message.to_owned())),
            None => Ok(local),
        }
    }

    /// A variable that SELECT .. INTO, FETCH or GET DIAGNOSTICS assigns.
    pub(super) fn local_target(&mut self, name: Ident) -> PResult<IntoVar> {
        let Some(program) = &self.program else {
            return Ok(IntoVar::Undeclared(name));
        };
        match program.variable(&name) {
            Some(local) => Ok(IntoVar::Local(local)),
            None => Err(self.undeclared(&name)),
        }
    }

    fn undeclared(&mut self, name: &Ident) -> super::Fail {
        self.other(1327, b"42000", format!("Undeclared variable: {}", &**name))
    }

    /// The value of a condition's name in a program; 1319 for an unknown one.
    pub(super) fn condition_of(&mut self, name: &Ident) -> PResult<Option<Condition>> {
        let Some(program) = &self.program else { return Ok(None) };
        match program.conditions.get(name) {
            Some(condition) => Ok(Some(condition.clone())),
            None => Err(self.other(1319, b"42000", format!("Undefined CONDITION: {}", &**name))),
        }
    }

    // ---- bodies ----

    /// Reads a body, and keeps what is in it for who asks.
    pub(super) fn routine_body(
        &mut self,
        kind: ProgramKind,
        name: &Ident,
        params: &[RoutineParam],
    ) -> PResult<RoutineBody> {
        if self.program.is_some() && kind == ProgramKind::Event {
            let message = "Recursion of EVENT DDL statements is forbidden when body is present".to_owned();
            return Err(self.other(1576, b"HY000", message));
        }
        if self.program.is_some() {
            let message = format!("Can't create a {} from within another stored routine", kind.name());
            return Err(self.other(1303, b"2F003", message));
        }
        if params.len() > SLOTS_MAX {
            return Err(self.too_deep());
        }
        let mut scope = ProgramScope::new(kind);
        for param in params {
            if scope.variables.is_declared(&param.name) {
                return Err(self.other(1330, b"42000", format!("Duplicate parameter: {}", &*param.name)));
            }
            scope.declare(param.name.clone(), param.ty.clone());
        }
        self.program = Some(Box::new(scope));
        let start = self.tok.start as usize;
        let body = self.step()?;
        let text = &self.text[start..self.prev_end as usize];
        let text: RoutineBody = RoutineBody(self.utf8(text)?.into());
        let scope = *self.program.take().expect("set above");
        if kind == ProgramKind::Function && !scope.returns {
            return Err(self.other(1320, b"42000", format!("No RETURN found in FUNCTION {}", &**name)));
        }
        self.finished = Some(Box::new(Program {
            slots: scope.slots,
            cursors: scope.cursors,
            body,
            user_variables: self.user_variables,
        }));
        Ok(text)
    }

    fn program(&mut self) -> &mut ProgramScope {
        self.program.as_mut().expect("steps are read in programs only")
    }

    fn step(&mut self) -> PResult<Step> {
        self.nested(Self::step_inside)
    }

    fn step_inside(&mut self) -> PResult<Step> {
        let mut label = None;
        if self.at_ident() && self.peek() == Tok::Colon {
            let name = self.ident()?;
            self.bump();
            if !self.at_any(&[Kw::BEGIN, Kw::LOOP, Kw::WHILE, Kw::REPEAT]) {
                return Err(self.unexpected());
            }
            if self.program().label(&name).is_some() {
                return Err(self.other(1309, b"42000", format!("Redefining label {}", &*name)));
            }
            label = Some(name);
        }
        let Tok::Kw(keyword) = self.tok.kind else {
            return self.sql_step();
        };
        match keyword {
            Kw::BEGIN => self.block(label),
            Kw::LOOP | Kw::WHILE | Kw::REPEAT => self.loop_step(keyword, label),
            Kw::IF => self.if_step(),
            Kw::CASE => self.case_step(),
            Kw::RETURN => {
                if self.program().kind != ProgramKind::Function {
                    return Err(self.other(1313, b"42000", "RETURN is only allowed in a FUNCTION".to_owned()));
                }
                self.bump();
                self.program().returns = true;
                Ok(Step::Return(Box::new(self.expr()?)))
            }
            Kw::LEAVE | Kw::ITERATE => {
                self.bump();
                let name = self.ident()?;
                let found = self.program().label(&name).cloned();
                match (keyword, found) {
                    (Kw::LEAVE, Some(label)) => Ok(Step::Leave(label.number)),
                    (Kw::ITERATE, Some(label)) if label.is_loop => Ok(Step::Iterate(label.number)),
                    _ => {
                        let message = format!("{} with no matching label: {}", keyword.text(), &*name);
                        Err(self.other(1308, b"42000", message))
                    }
                }
            }
            Kw::OPEN => {
                self.bump();
                self.cursor_named().map(Step::Open)
            }
            Kw::CLOSE => {
                self.bump();
                self.cursor_named().map(Step::Close)
            }
            Kw::FETCH => self.fetch_step(),
            _ => self.sql_step(),
        }
    }

    fn sql_step(&mut self) -> PResult<Step> {
        if self.at(Kw::DECLARE) {
            return Err(self.unexpected());
        }
        if let Tok::Kw(keyword @ (Kw::USE | Kw::LOCK | Kw::UNLOCK | Kw::HANDLER)) = self.tok.kind {
            let message = format!("{} is not allowed in stored procedures", keyword.text());
            return Err(self.other(1314, b"0A000", message));
        }
        let (statement, user_variables) = self.counted_statement()?;
        Ok(match statement {
            Statement::LoadData(_) => {
                return Err(self.other(
                    1314,
                    b"0A000",
                    "LOAD DATA is not allowed in stored procedures".to_owned(),
                ));
            }
            Statement::Set(items) => set_steps(items, user_variables),
            statement => Step::Sql(Box::new(SqlStep {
                statement,
                user_variables,
            })),
        })
    }

    /// A statement, and what it does with `@variables`.
    fn counted_statement(&mut self) -> PResult<(Statement, UserVariables)> {
        let around = std::mem::take(&mut self.user_variables);
        let statement = self.statement()?;
        let own = self.user_variables;
        self.user_variables = around.max(own);
        Ok((statement, own))
    }

    /// Steps, each with its `;`, up to one of the keywords.
    fn steps_until(&mut self, ends: &[Kw]) -> PResult<Vec<Step>> {
        let mut steps = governor::stepwise::Stepwise::from(Vec::new());
        while !self.at_any(ends) {
            steps.push(self.step()?);
            self.expect_tok(Tok::Semicolon)?;
        }
        Ok(std::mem::take(&mut *steps))
    }

    /// A scope for a label and what is declared under it.
    fn open_scope(&mut self, label: Option<&Ident>, is_loop: bool) -> Option<u32> {
        let program = self.program();
        let label = label.map(|name| {
            program.labels += 1;
            Label {
                name: name.clone(),
                number: program.labels,
                is_loop,
            }
        });
        let number = label.as_ref().map(|label| label.number);
        program.open_block(BlockScope {
            label,
            ..BlockScope::default()
        });
        number
    }

    /// `[label]` behind END; 1310 for another one.
    fn close_scope(&mut self, label: Option<&Ident>) -> PResult<()> {
        self.program().close_block();
        if self.at_ident() {
            if label.is_none() {
                return Err(self.unexpected());
            }
            let name = self.ident()?;
            if !label.is_some_and(|label| same(label, &name)) {
                return Err(self.other(1310, b"42000", format!("End-label {} without match", &*name)));
            }
        }
        Ok(())
    }

    fn block(&mut self, label: Option<Ident>) -> PResult<Step> {
        self.bump();
        let number = self.open_scope(label.as_ref(), false);
        let mut block = Block {
            label: number,
            variables: Vec::new(),
            cursors: Vec::new(),
            handlers: Vec::new(),
            body: Vec::new(),
        };
        while self.eat(Kw::DECLARE) {
            self.declare(&mut block)?;
            self.expect_tok(Tok::Semicolon)?;
        }
        block.body = self.steps_until(&[Kw::END])?;
        self.expect(Kw::END)?;
        self.close_scope(label.as_ref())?;
        Ok(Step::Block(Box::new(block)))
    }

    fn loop_step(&mut self, keyword: Kw, label: Option<Ident>) -> PResult<Step> {
        self.bump();
        let number = self.open_scope(label.as_ref(), true);
        let (kind, body) = match keyword {
            Kw::WHILE => {
                let condition = self.expr()?;
                self.expect(Kw::DO)?;
                (LoopKind::While(condition), self.steps_until(&[Kw::END])?)
            }
            Kw::REPEAT => {
                let body = self.steps_until(&[Kw::UNTIL])?;
                self.expect(Kw::UNTIL)?;
                (LoopKind::Until(self.expr()?), body)
            }
            _ => (LoopKind::Forever, self.steps_until(&[Kw::END])?),
        };
        if body.is_empty() {
            return Err(self.unexpected());
        }
        self.expect_all(&[Kw::END, keyword])?;
        self.close_scope(label.as_ref())?;
        Ok(Step::Loop(Box::new(Loop {
            label: number,
            kind,
            body,
        })))
    }

    fn some_steps_until(&mut self, ends: &[Kw]) -> PResult<Vec<Step>> {
        let steps = self.steps_until(ends)?;
        match steps.is_empty() {
            true => Err(self.unexpected()),
            false => Ok(steps),
        }
    }

    fn if_step(&mut self) -> PResult<Step> {
        self.bump();
        let mut branches = Vec::new();
        loop {
            let condition = self.expr()?;
            self.expect(Kw::THEN)?;
            branches.push((condition, self.some_steps_until(&[Kw::ELSEIF, Kw::ELSE, Kw::END])?));
            if !self.eat(Kw::ELSEIF) {
                break;
            }
        }
        let otherwise = match self.eat(Kw::ELSE) {
            true => Some(self.some_steps_until(&[Kw::END])?),
            false => None,
        };
        self.expect_all(&[Kw::END, Kw::IF])?;
        Ok(Step::If(Box::new(If { branches, otherwise })))
    }

    fn case_step(&mut self) -> PResult<Step> {
        self.bump();
        let operand = match self.at(Kw::WHEN) {
            true => None,
            false => Some(self.expr()?),
        };
        self.expect(Kw::WHEN)?;
        let mut whens = Vec::new();
        loop {
            let when = self.expr()?;
            self.expect(Kw::THEN)?;
            whens.push((when, self.some_steps_until(&[Kw::WHEN, Kw::ELSE, Kw::END])?));
            if !self.eat(Kw::WHEN) {
                break;
            }
        }
        let otherwise = match self.eat(Kw::ELSE) {
            true => Some(self.some_steps_until(&[Kw::END])?),
            false => None,
        };
        self.expect_all(&[Kw::END, Kw::CASE])?;
        Ok(Step::Case(Box::new(CaseStep {
            operand,
            whens,
            otherwise,
        })))
    }

    fn cursor_named(&mut self) -> PResult<u32> {
        let name = self.ident()?;
        match self.program().cursor_names.get(&name) {
            Some(cursor) => Ok(*cursor),
            None => Err(self.other(1324, b"42000", format!("Undefined CURSOR: {}", &*name))),
        }
    }

    fn fetch_step(&mut self) -> PResult<Step> {
        self.bump();
        if self.eat(Kw::NEXT) {
            self.expect(Kw::FROM)?;
        } else {
            self.eat(Kw::FROM);
        }
        let cursor = self.cursor_named()?;
        self.expect(Kw::INTO)?;
        let into = self.list(|parser| {
            let name = parser.ident()?;
            match parser.program().variable(&name) {
                Some(local) => Ok(local),
                None => Err(parser.undeclared(&name)),
            }
        })?;
        Ok(Step::Fetch { cursor, into })
    }

    // ---- declarations ----

    /// After DECLARE.
    fn declare(&mut self, block: &mut Block) -> PResult<()> {
        if let Some(keyword) = self.eat_any(&[Kw::CONTINUE, Kw::EXIT, Kw::UNDO]) {
            let action = match keyword {
                Kw::CONTINUE => HandlerKind::Continue,
                Kw::EXIT => HandlerKind::Exit,
                _ => return Err(self.unexpected()),
            };
            return self.declare_handler(action, block);
        }
        let names = self.list(Self::ident)?;
        let is_late = !block.cursors.is_empty() || !block.handlers.is_empty();
        if names.len() == 1 && self.eat(Kw::CURSOR) {
            return self.declare_cursor(names.into_iter().next().expect("one"), block);
        }
        if is_late {
            let message = "Variable or condition declaration after cursor or handler declaration".to_owned();
            return Err(self.other(1337, b"42000", message));
        }
        if names.len() == 1 && self.eat(Kw::CONDITION) {
            self.expect(Kw::FOR)?;
            let condition = self.condition_value()?;
            let name = names.into_iter().next().expect("one");
            if self.program().conditions.is_declared(&name) {
                return Err(self.other(1332, b"42000", format!("Duplicate condition: {}", &*name)));
            }
            self.program().conditions.declare(&name, condition);
            return Ok(());
        }
        let mut seen = HashSet::new();
        for name in &names {
            if self.program().variables.is_declared(name) || !seen.insert(name.to_lowercase()) {
                return Err(self.other(1331, b"42000", format!("Duplicate variable: {}", &**name)));
            }
        }
        let ty = self.routine_type()?;
        // Its own name is not in sight yet.
        let default = match self.eat(Kw::DEFAULT) {
            true => Some(self.expr()?),
            false => None,
        };
        if self.program().slots.len() + names.len() > SLOTS_MAX {
            return Err(self.too_deep());
        }
        let slots = names
            .into_iter()
            .map(|name| self.program().declare(name, ty.clone()))
            .collect();
        block.variables.push(Variables { slots, default });
        Ok(())
    }

    fn declare_cursor(&mut self, name: Ident, block: &mut Block) -> PResult<()> {
        if !block.handlers.is_empty() {
            let message = "Cursor declaration after handler declaration".to_owned();
            return Err(self.other(1338, b"42000", message));
        }
        self.expect(Kw::FOR)?;
        if !self.at_any(&[Kw::SELECT, Kw::WITH, Kw::TABLE, Kw::VALUES]) && !self.at_tok(Tok::LParen) {
            return Err(self.unexpected());
        }
        let (Statement::Query(query), user_variables) = self.counted_statement()? else {
            return Err(self.other(1322, b"42000", "Cursor statement must be a SELECT".to_owned()));
        };
        if query.into.is_some() {
            return Err(self.other(1323, b"42000", "Cursor SELECT must not have INTO".to_owned()));
        }
        if self.program().cursor_names.is_declared(&name) {
            return Err(self.other(1333, b"42000", format!("Duplicate cursor: {}", &*name)));
        }
        let program = self.program();
        let number = program.cursors.len() as u32;
        program.cursor_names.declare(&name, number);
        program.cursors.push(Cursor {
            name,
            query,
            user_variables,
        });
        block.cursors.push(number);
        Ok(())
    }

    fn declare_handler(&mut self, action: HandlerKind, block: &mut Block) -> PResult<()> {
        self.expect_all(&[Kw::HANDLER, Kw::FOR])?;
        let conditions = self.list(|parser| {
            let condition = parser.handled_condition()?;
            if !parser.program().innermost().handled.insert(condition.clone()) {
                let message = "Duplicate handler declared in the same block".to_owned();
                return Err(parser.other(1413, b"42000", message));
            }
            Ok(condition)
        })?;
        self.program().open_block(BlockScope {
            is_handler: true,
            ..BlockScope::default()
        });
        let body = self.step()?;
        self.program().close_block();
        block.handlers.push(Handled {
            action,
            conditions,
            body,
        });
        Ok(())
    }

    fn handled_condition(&mut self) -> PResult<Condition> {
        match self.kind() {
            Tok::Kw(Kw::SQLWARNING) => {
                self.bump();
                Ok(Condition::Warning)
            }
            Tok::Kw(Kw::SQLEXCEPTION) => {
                self.bump();
                Ok(Condition::Exception)
            }
            Tok::Kw(Kw::NOT) => {
                self.bump();
                self.expect(Kw::FOUND)?;
                Ok(Condition::NotFound)
            }
            Tok::Kw(Kw::SQLSTATE) | Tok::Integer => self.condition_value(),
            _ => {
                let name = self.ident()?;
                let condition = self.condition_of(&name)?;
                Ok(condition.expect("in a program a name is known or an error"))
            }
        }
    }

    /// `SQLSTATE [VALUE] 'state'` or a number.
    fn condition_value(&mut self) -> PResult<Condition> {
        if self.eat(Kw::SQLSTATE) {
            return self.sqlstate().map(Condition::State);
        }
        let code = self.unsigned()?;
        match u16::try_from(code) {
            Ok(code @ 1..) => Ok(Condition::Code(code)),
            _ => Err(self.fail(ParseErrorKind::Other {
                code: 1525,
                sqlstate: *b"HY000",
                message: format!("Incorrect CONDITION value: '{code}'").into(),
            })),
        }
    }
}

/// A SET of variables of the program and of the session, in their order: neighbours of the session stay together.
fn set_steps(items: Vec<SetItem>, user_variables: UserVariables) -> Step {
    let sql = |items| {
        Step::Sql(Box::new(SqlStep {
            statement: Statement::Set(items),
            user_variables,
        }))
    };
    let mut steps = Vec::new();
    let mut session = Vec::new();
    for item in items {
        match item {
            SetItem::Local { target, value } => {
                if !session.is_empty() {
                    steps.push(sql(std::mem::take(&mut session)));
                }
                steps.push(Step::Set { target, value });
            }
            item => session.push(item),
        }
    }
    if !session.is_empty() {
        steps.push(sql(session));
    }
    match steps.len() {
        1 => steps.remove(0),
        _ => Step::Several(steps),
    }
}
