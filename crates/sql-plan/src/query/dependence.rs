//! What columns determine of each other, for ONLY_FULL_GROUP_BY.
//!
//! A query may show a column beside its groups where the keys of a group leave it one value. MySQL finds that by rules "these
//! determine those" (its manual, "Detection of Functional Dependence"; G. Paulley, *Exploiting Functional Dependence in Query
//! Optimization*): a unique key determines its row, `a = b` makes each determine the other, `a = 5` is determined by nothing, and the keys
//! of a derived table's groups determine its other columns. Whatever follows from the group's keys by such rules is known.
//!
//! Rows of NULLs, which an outer join adds, break rules: `b = 5` beside such rows leaves `b` two values. So every outer join has a term
//! of its own, "there is a match". It is determined by all that the ON condition reads of the other side, and by any column that is
//! NULL in added rows only; rules that the added rows break have it among what they need.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use sql_expr::{CompareOp, Expr, ExprKind, InItems, SubqueryKind};

use super::from::FromTree;
use super::scope::{QueryScope, TableSource};

/// Rules over numbered terms: the slots of a wide row first, then whatever else is determined.
#[derive(Debug, Clone, Default)]
struct Rules {
    terms: usize,
    rules: Vec<Rule>,
}

/// Who knows all of `from`, knows `to`.
#[derive(Debug, Clone)]
struct Rule {
    from: Vec<usize>,
    to: Vec<usize>,
    null_rows: NullRows,
}

/// What becomes of a rule where an outer join adds rows of NULLs to the rows that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum NullRows {
    /// It holds for them, too.
    Fit,
    /// It holds with the knowledge of whether there is a match.
    Told,
    /// MySQL does not use it.
    Unfit,
}

/// What the output columns of a query determine of each other.
#[derive(Debug, Default)]
pub struct Dependences {
    rules: Rules,
    /// The terms of the columns.
    columns: Vec<usize>,
}

/// What is known of the rows of a FROM clause behind its conditions.
pub struct Facts {
    rules: Rules,
    /// Expressions that are columns of views, or of this query.
    computed: HashMap<String, usize>,
}

/// Where in a FROM clause rules are found.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The term of the outer join whose other side this is.
    is_matched: Option<usize>,
    /// The columns that are not NULL in rows that are not added.
    not_null: &'a HashSet<usize>,
}

impl Facts {
    /// `slots` is the width of a row with all that is computed for it.
    pub fn new(scope: &QueryScope<'_, '_, '_>, tree: Option<&FromTree>, conditions: &[Expr], slots: usize) -> Facts {
        let rules = Rules {
            terms: slots,
            rules: Vec::new(),
        };
        let computed = HashMap::new();
        let mut facts = Facts { rules, computed };
        for table in &scope.tables {
            if let TableSource::Merged { columns, .. } = &table.source {
                let computed = columns.iter().filter(|column| column.as_column().is_none());
                computed.for_each(|column| {
                    facts.add_computed(column);
                });
            }
        }
        let Some(tree) = tree else { return facts };
        let mut not_null = HashSet::new();
        conditions
            .iter()
            .for_each(|condition| add_not_null(condition, &mut not_null));
        add_not_null_of_joins(tree, &mut not_null);
        let place = Place {
            is_matched: None,
            not_null: &not_null,
        };
        conditions
            .iter()
            .for_each(|condition| facts.add_condition(condition, place));
        facts.add_tree(scope, tree, place);
        facts
    }

    /// What follows from the keys of a group: slots, and texts of expressions.
    pub fn known(&self, keys: &[Expr]) -> (HashSet<usize>, HashSet<String>) {
        let known = self.rules.closure(keys.iter().filter_map(|key| self.term(key)));
        let of_known = self.computed.iter().filter(|(_, term)| known.contains(*term));
        let texts = of_known.map(|(text, _)| text.clone()).collect();
        (known, texts)
    }

    /// What the items determine of each other. `keys` are those of groups, none where rows are not grouped.
    pub fn into_dependences(mut self, items: &[Expr], keys: Option<&[Expr]>, has_tables: bool) -> Dependences {
        let columns: Vec<usize> = items.iter().map(|item| self.add_term(item)).collect();
        if let Some(keys) = keys {
            let from = keys.iter().map(|key| self.add_term(key)).collect();
            let null_rows = match () {
                () if keys.is_empty() => NullRows::Told,
                () if keys.iter().any(|key| !key.ty.nullable) => NullRows::Fit,
                () => NullRows::Unfit,
            };
            self.rules.add(from, columns.clone(), null_rows);
        } else if !has_tables {
            self.rules.add(Vec::new(), columns.clone(), NullRows::Told);
        }
        let (rules, columns) = self.rules.of_columns(columns);
        Dependences { rules, columns }
    }

    fn add_tree(&mut self, scope: &QueryScope<'_, '_, '_>, tree: &FromTree, place: Place<'_>) {
        governor::pause();
        match tree {
            FromTree::Table(table) => self.add_table(scope, *table, place),
            FromTree::Inner {
                children, conditions, ..
            } => {
                conditions
                    .iter()
                    .for_each(|condition| self.add_condition(condition, place));
                children.iter().for_each(|child| self.add_tree(scope, child, place));
            }
            FromTree::Left { left, right, on } => {
                self.add_tree(scope, left, place);
                self.add_optional(scope, right, on, place);
            }
        }
    }

    /// The side of an outer join that may have no row.
    fn add_optional(&mut self, scope: &QueryScope<'_, '_, '_>, right: &FromTree, on: &[Expr], place: Place<'_>) {
        let ranges: Vec<_> = right.tables().iter().map(|at| scope.tables[*at].slots()).collect();
        let is_inside = |slot: &usize| ranges.iter().any(|range| range.contains(slot));
        let mut asked = HashSet::new();
        on.iter().for_each(|condition| add_not_null(condition, &mut asked));
        let asks_outside = asked.iter().any(|slot| !is_inside(slot));
        let mut not_null: HashSet<usize> = asked.into_iter().filter(is_inside).collect();
        add_not_null_of_joins(right, &mut not_null);
        if place.not_null.iter().any(is_inside) {
            // Some condition lets no added row through.
            not_null.extend(place.not_null);
            let place = Place {
                not_null: &not_null,
                ..place
            };
            on.iter().for_each(|condition| self.add_condition(condition, place));
            return self.add_tree(scope, right, place);
        }
        let is_matched = self.rules.add_term();
        let outside = |term: &usize| !is_inside(term);
        // An added row on this side, in turn, must have no match in a join below it.
        if let Some(read) = self
            .terms_of_all(on)
            .filter(|_| place.is_matched.is_none() || asks_outside)
        {
            let from = read.into_iter().filter(outside).collect();
            self.rules.add(from, vec![is_matched], NullRows::Unfit);
        }
        for table in right.tables_without_null_rows() {
            let table = &scope.tables[table];
            for (slot, at) in table.slots().zip(0..) {
                governor::pause();
                let nullable = match &table.source {
                    TableSource::Base { table: base, .. } => {
                        base.def.columns.get(at).is_none_or(|column| column.nullable)
                    }
                    TableSource::Derived(plan) => plan.shape.columns[at].ty.nullable,
                    _ => true,
                };
                if !nullable || not_null.contains(&slot) {
                    self.rules.add(vec![slot], vec![is_matched], NullRows::Fit);
                }
            }
        }
        for (left, right) in on.iter().flat_map(equal_pairs) {
            match (self.side(left), right.map_or(Side::Constant, |right| self.side(right))) {
                (Side::Term(a), Side::Term(b)) if is_inside(&a) && is_inside(&b) => self.add_equal(a, b),
                (Side::Term(inside), Side::Term(other)) | (Side::Term(other), Side::Term(inside))
                    if is_inside(&inside) && !is_inside(&other) =>
                {
                    self.rules.add(vec![other, is_matched], vec![inside], NullRows::Fit);
                }
                (Side::Term(inside), Side::Constant) | (Side::Constant, Side::Term(inside)) if is_inside(&inside) => {
                    self.rules.add(vec![is_matched], vec![inside], NullRows::Unfit);
                }
                _ => {}
            }
        }
        let place = Place {
            is_matched: Some(is_matched),
            not_null: &not_null,
        };
        self.add_tree(scope, right, place);
    }

    fn add_table(&mut self, scope: &QueryScope<'_, '_, '_>, at: usize, place: Place<'_>) {
        let table = &scope.tables[at];
        match &table.source {
            TableSource::Base { table: base, .. } => {
                let row = self.rules.add_term();
                self.rules.add(vec![row], table.slots().collect(), NullRows::Fit);
                for index in base
                    .def
                    .indexes
                    .iter()
                    .filter(|index| index.is_unique() && index.is_ordered())
                {
                    let mut parts = index.parts.iter();
                    let is_key = parts.all(|part| {
                        let nullable = base.def.columns[part.column].nullable;
                        part.prefix.is_none() && (!nullable || place.not_null.contains(&(table.offset + part.column)))
                    });
                    if is_key {
                        let parts = index.parts.iter().map(|part| table.offset + part.column);
                        self.rules.add(parts.collect(), vec![row], NullRows::Fit);
                    }
                }
                if place.is_matched.is_none() {
                    self.add_generated(scope, at);
                    for (number, search) in table.matches.iter().enumerate() {
                        let columns = base.key_columns(search.index).into_iter();
                        let from = columns.map(|column| table.offset + column).collect();
                        self.rules.add(from, vec![table.match_slot(number)], NullRows::Unfit);
                    }
                }
            }
            TableSource::Derived(plan) => {
                // Of rows that are computed by themselves MySQL looks for what follows from some column of theirs.
                let is_asked = (!plan.is_mergeable()).then(|| self.rules.add_term());
                if let Some(is_asked) = is_asked {
                    table
                        .slots()
                        .for_each(|slot| self.rules.add(vec![slot], vec![is_asked], NullRows::Fit));
                }
                self.add_derived(&plan.dependences, table.offset, is_asked, place);
            }
            TableSource::Working(_)
            | TableSource::Recursive(_)
            | TableSource::Json(_)
            | TableSource::Virtual(_)
            | TableSource::Merged { .. } => {}
        }
    }

    /// Generated columns are determined by those that their expressions read.
    fn add_generated(&mut self, scope: &QueryScope<'_, '_, '_>, at: usize) {
        let table = &scope.tables[at];
        let TableSource::Base { table: base, .. } = &table.source else {
            return;
        };
        if base.def.columns.iter().all(|column| column.generated.is_none()) {
            return;
        }
        let planner = scope.planner;
        let bound = || crate::dml::generated_columns(planner, base);
        // What the session makes of an expression now may be an error; then nothing is known of it.
        for generated in planner.ctx.statement.quietly(bound).unwrap_or_default() {
            let read = generated.expr.referenced_columns().into_iter();
            let from = read.map(|column| table.offset + column).collect();
            self.rules
                .add(from, vec![table.offset + generated.column], NullRows::Unfit);
        }
    }

    fn add_derived(&mut self, inner: &Dependences, offset: usize, is_asked: Option<usize>, place: Place<'_>) {
        let first = self.rules.terms;
        let moved = |terms: &[usize]| -> Vec<usize> { terms.iter().map(|term| first + term).collect() };
        self.rules.terms += inner.rules.terms;
        for rule in &inner.rules.rules {
            governor::pause();
            let mut from = moved(&rule.from);
            if from.is_empty() {
                from.extend(is_asked);
            }
            match (place.is_matched, rule.null_rows) {
                (None, _) | (Some(_), NullRows::Fit) => {}
                (Some(is_matched), NullRows::Told) => from.push(is_matched),
                (Some(_), NullRows::Unfit) => continue,
            }
            self.rules.add(from, moved(&rule.to), rule.null_rows);
        }
        for (at, term) in inner.columns.iter().enumerate() {
            self.add_equal(offset + at, first + term);
        }
    }

    /// A condition that holds for every row that is not added.
    fn add_condition(&mut self, condition: &Expr, place: Place<'_>) {
        for (left, right) in equal_pairs(condition) {
            match (self.side(left), right.map_or(Side::Constant, |right| self.side(right))) {
                (Side::Term(a), Side::Term(b)) => self.add_equal(a, b),
                (Side::Term(term), Side::Constant) | (Side::Constant, Side::Term(term)) => {
                    let from = place.is_matched.into_iter().collect();
                    self.rules.add(from, vec![term], NullRows::Told);
                }
                _ => {}
            }
        }
    }

    fn add_equal(&mut self, a: usize, b: usize) {
        self.rules.add(vec![a], vec![b], NullRows::Fit);
        self.rules.add(vec![b], vec![a], NullRows::Fit);
    }

    fn side(&self, expr: &Expr) -> Side {
        let is_of_moment = |part: &Expr| matches!(part.kind, ExprKind::UserVariable { .. } | ExprKind::Subquery(_));
        match self.term(expr) {
            Some(term) => Side::Term(term),
            None if expr.is_constant() && !expr.any(&mut |part| is_of_moment(part)) => Side::Constant,
            None => Side::Other,
        }
    }

    /// The term of a column, of the query or of a view.
    fn term(&self, expr: &Expr) -> Option<usize> {
        match expr.as_column() {
            Some(slot) => Some(slot),
            None if self.computed.is_empty() => None,
            None => self.computed.get(&printed(expr)).copied(),
        }
    }

    fn add_term(&mut self, expr: &Expr) -> usize {
        match self.term(expr) {
            Some(term) => term,
            None => self.add_computed(expr),
        }
    }

    /// An expression that is a column for somebody.
    fn add_computed(&mut self, expr: &Expr) -> usize {
        let read = self.terms_of(expr);
        let term = self.rules.add_term();
        self.computed.insert(printed(expr), term);
        if let Some(read) = read {
            let null_rows = match () {
                () if read.is_empty() => NullRows::Told,
                () if is_null_beside_null(expr) => NullRows::Fit,
                () => NullRows::Unfit,
            };
            self.rules.add(read, vec![term], null_rows);
        }
        term
    }

    /// The terms that determine what the conditions say.
    fn terms_of_all(&self, conditions: &[Expr]) -> Option<Vec<usize>> {
        let mut all = Vec::new();
        for condition in conditions {
            all.extend(self.terms_of(condition)?);
        }
        Some(all)
    }

    /// The terms that determine an expression; none where it is not determined by columns.
    fn terms_of(&self, expr: &Expr) -> Option<Vec<usize>> {
        if expr.is_volatile() || expr.has_placeholder() {
            return None;
        }
        let mut terms = Vec::new();
        self.add_terms_of(expr, &mut terms);
        Some(terms)
    }

    fn add_terms_of(&self, expr: &Expr, terms: &mut Vec<usize>) {
        match self.term(expr) {
            Some(term) => terms.push(term),
            None => {
                if let ExprKind::Subquery(node) = &expr.kind {
                    let read = node.query.outer_columns().iter();
                    read.for_each(|column| self.add_terms_of(column, terms));
                }
                expr.for_each_child(&mut |child| self.add_terms_of(child, terms));
            }
        }
    }
}

/// A side of an equality.
#[derive(Clone, Copy)]
enum Side {
    Term(usize),
    Constant,
    Other,
}

/// Of more rules between the columns of a query those around it know nothing: queries in queries would double them at each level.
const RULES_MOST: usize = 1024;

impl Rules {
    /// Those that say something of these columns to who knows nothing else of these rows, over terms of their own, and the columns' terms.
    fn of_columns(mut self, mut columns: Vec<usize>) -> (Rules, Vec<usize>) {
        let equal = self.equal_terms();
        let one_of = |term: usize| equal.get(&term).copied().unwrap_or(term);
        columns.iter_mut().for_each(|term| *term = one_of(*term));
        for rule in &mut self.rules {
            governor::pause();
            for terms in [&mut rule.from, &mut rule.to] {
                terms.iter_mut().for_each(|term| *term = one_of(*term));
                terms.sort_unstable();
                terms.dedup();
            }
        }
        let reached = self.closure(columns.iter().copied());
        self.rules
            .retain(|rule| rule.from.iter().all(|term| reached.contains(term)));
        let wanted = self.leading_to(&columns);
        let mut seen = HashSet::new();
        self.rules.retain_mut(|rule| {
            governor::pause();
            let Rule { from, to, null_rows } = rule;
            to.retain(|term| wanted.contains(term) && from.binary_search(term).is_err());
            !to.is_empty() && seen.insert((from.clone(), to.clone(), *null_rows))
        });
        if self.rules.len() > RULES_MOST {
            self.rules.clear();
        }
        let mut numbers = HashMap::new();
        let mut number = |term: &mut usize| {
            let next = numbers.len();
            *term = *numbers.entry(*term).or_insert(next);
        };
        columns.iter_mut().for_each(&mut number);
        for rule in &mut self.rules {
            rule.from.iter_mut().chain(&mut rule.to).for_each(&mut number);
        }
        self.terms = numbers.len();
        (self, columns)
    }

    /// Terms that determine each other, whatever rows are added: each, and the one that stands for all of them.
    fn equal_terms(&self) -> HashMap<usize, usize> {
        let single = |rule: &Rule| match (&rule.from[..], &rule.to[..]) {
            (&[from], &[to]) if rule.null_rows == NullRows::Fit => Some((from, to)),
            _ => None,
        };
        let pairs: HashSet<(usize, usize)> = self.rules.iter().filter_map(single).collect();
        let mut neighbours: HashMap<usize, Vec<usize>> = HashMap::new();
        for &(from, to) in pairs.iter().filter(|(from, to)| pairs.contains(&(*to, *from))) {
            neighbours.entry(from).or_default().push(to);
        }
        let mut equal = HashMap::new();
        for &first in neighbours.keys() {
            let mut open = vec![first];
            while let Some(term) = open.pop() {
                governor::pause();
                if let Entry::Vacant(place) = equal.entry(term) {
                    place.insert(first);
                    open.extend(&neighbours[&term]);
                }
            }
        }
        equal
    }

    /// These, and all that something of them may follow from.
    fn leading_to(&self, columns: &[usize]) -> HashSet<usize> {
        let mut rules_to: HashMap<usize, Vec<&Rule>> = HashMap::new();
        for rule in &self.rules {
            rule.to
                .iter()
                .for_each(|term| rules_to.entry(*term).or_default().push(rule));
        }
        let mut wanted = HashSet::new();
        let mut open = columns.to_vec();
        while let Some(term) = open.pop() {
            governor::pause();
            if wanted.insert(term) {
                let rules = rules_to.get(&term).into_iter().flatten();
                open.extend(rules.flat_map(|rule| &rule.from));
            }
        }
        wanted
    }

    fn add_term(&mut self) -> usize {
        self.terms += 1;
        self.terms - 1
    }

    fn add(&mut self, from: Vec<usize>, to: Vec<usize>, null_rows: NullRows) {
        self.rules.push(Rule { from, to, null_rows });
    }

    /// All that these determine.
    fn closure(&self, start: impl Iterator<Item = usize>) -> HashSet<usize> {
        let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut missing = Vec::with_capacity(self.rules.len());
        let mut open: Vec<usize> = start.collect();
        for (at, rule) in self.rules.iter().enumerate() {
            governor::pause();
            let from: HashSet<usize> = rule.from.iter().copied().collect();
            missing.push(from.len());
            if from.is_empty() {
                open.extend(&rule.to);
            }
            from.into_iter()
                .for_each(|term| readers.entry(term).or_default().push(at));
        }
        let mut known = HashSet::new();
        while let Some(term) = open.pop() {
            governor::pause();
            if !known.insert(term) {
                continue;
            }
            for rule in readers.get(&term).into_iter().flatten() {
                missing[*rule] -= 1;
                if missing[*rule] == 0 {
                    open.extend(&self.rules[*rule].to);
                }
            }
        }
        known
    }
}

/// The expression as text that is equal where the expressions are: no parameter is like another, nor is a column of another table.
pub fn printed(expr: &Expr) -> String {
    governor::pause();
    let mut text = expr.to_string();
    expr.any(&mut |part| {
        match &part.kind {
            ExprKind::Param(index) => text.push_str(&format!(" ?{index}")),
            ExprKind::Column(column) => text.push_str(&format!(" #{}", column.slot)),
            _ => {}
        }
        false
    });
    text
}

/// What a condition says to be equal; nothing on the right is a constant.
fn equal_pairs(condition: &Expr) -> Vec<(&Expr, Option<&Expr>)> {
    let is_equality = |op: CompareOp, negated: bool| match negated {
        false => op == CompareOp::Eq,
        true => op == CompareOp::Ne,
    };
    let (condition, negated) = match &condition.kind {
        ExprKind::Not(operand) => (&**operand, true),
        _ => (condition, false),
    };
    match &condition.kind {
        ExprKind::Compare(compare) if is_equality(compare.op, negated) => {
            match (&compare.left.kind, &compare.right.kind) {
                // Rows differ where one of their columns does.
                (ExprKind::Row(_), ExprKind::Row(_)) if negated => Vec::new(),
                (ExprKind::Row(left), ExprKind::Row(right)) => left.iter().zip(right.iter().map(Some)).collect(),
                _ => vec![(&compare.left, Some(&compare.right))],
            }
        }
        ExprKind::Between(between) if between.negated == negated && printed(&between.low) == printed(&between.high) => {
            vec![(&between.operand, Some(&between.low))]
        }
        ExprKind::In(test) if test.negated == negated => match &test.list {
            InItems::Sorted { values, has_null, .. } if values.len() == 1 && !has_null => vec![(&test.operand, None)],
            InItems::Each(items) if items.len() == 1 => vec![(&test.operand, Some(&items[0].1))],
            InItems::Sorted { .. } | InItems::Each(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The columns that are not NULL where the condition holds, as far as MySQL sees it: operands of comparisons.
fn add_not_null(condition: &Expr, columns: &mut HashSet<usize>) {
    governor::pause();
    match &condition.kind {
        ExprKind::And(operands) => operands.iter().for_each(|operand| add_not_null(operand, columns)),
        ExprKind::Is { operand, test, negated } => match (test, negated) {
            (parser::ast::IsTest::Null, true) => columns.extend(operand.as_column()),
            (parser::ast::IsTest::True | parser::ast::IsTest::False, false) => add_not_null_of_test(operand, columns),
            _ => {}
        },
        ExprKind::Not(operand) => match &operand.kind {
            ExprKind::Is {
                operand,
                test: parser::ast::IsTest::Null,
                negated: false,
            } => columns.extend(operand.as_column()),
            _ => add_not_null_of_test(operand, columns),
        },
        ExprKind::Subquery(node) => {
            if let SubqueryKind::In {
                operand,
                negated: false,
                ..
            } = &node.kind
            {
                columns.extend(operand.as_column());
            }
        }
        _ => add_not_null_of_test(condition, columns),
    }
}

/// The columns without which the test is NULL.
fn add_not_null_of_test(test: &Expr, columns: &mut HashSet<usize>) {
    match &test.kind {
        ExprKind::Column(_) => columns.extend(test.as_column()),
        ExprKind::Compare(compare) if compare.op != CompareOp::NullSafeEq => {
            match (&compare.left.kind, &compare.right.kind) {
                (ExprKind::Row(left), ExprKind::Row(right)) if compare.op == CompareOp::Eq => {
                    columns.extend(left.iter().chain(right).filter_map(Expr::as_column));
                }
                _ => columns.extend([&compare.left, &compare.right].into_iter().filter_map(Expr::as_column)),
            }
        }
        ExprKind::Between(between) => columns.extend(between.operand.as_column()),
        ExprKind::In(test) => columns.extend(test.operand.as_column()),
        ExprKind::Like(like) => {
            columns.extend([&like.operand, &like.pattern].into_iter().filter_map(|e| e.as_column()))
        }
        _ => {}
    }
}

/// Those of the conditions of inner joins.
fn add_not_null_of_joins(tree: &FromTree, columns: &mut HashSet<usize>) {
    governor::pause();
    match tree {
        FromTree::Table(_) => {}
        FromTree::Inner {
            children, conditions, ..
        } => {
            conditions.iter().for_each(|condition| add_not_null(condition, columns));
            children.iter().for_each(|child| add_not_null_of_joins(child, columns));
        }
        FromTree::Left { left, .. } => add_not_null_of_joins(left, columns),
    }
}

/// Whether it is NULL where some column of it is.
fn is_null_beside_null(expr: &Expr) -> bool {
    governor::pause();
    let any = |operands: [&Expr; 2]| operands.into_iter().any(is_null_beside_null);
    match &expr.kind {
        ExprKind::Column(_) => true,
        ExprKind::Arithmetic(node) => any([&node.left, &node.right]),
        ExprKind::Bitwise(node) => any([&node.left, &node.right]),
        ExprKind::Compare(node) => node.op != CompareOp::NullSafeEq && any([&node.left, &node.right]),
        ExprKind::Negate { operand, .. } | ExprKind::BitNot(operand) | ExprKind::Collate(operand) => {
            is_null_beside_null(operand)
        }
        _ => false,
    }
}
