//! What a table's definition computes: generated columns, CHECK constraints, defaults in parentheses.
//!
//! They are bound once when the table is made, so that a wrong one is refused there and not at the first INSERT
//! (MySQL manual, "CREATE TABLE and Generated Columns", "CHECK Constraints", "Data Type Default Values").

use env::Feature;
use std::sync::Arc;

use catalog::{ColumnDefault, GeneratedKind, IndexDef, TableDef};
use parser::ast;
use types::{ErrorKind, SqlError, SqlResult, SqlType};

use super::functional_keys::type_of_hidden;
use crate::expr::functions::{Stability, is_boolean};
use crate::expr::scope::unknown_column;
use crate::expr::{BindOptions, Binder, Clause, EvalContext, Expr, ExprKind, Resolved, Scope, Subquery};
use crate::host::Host;
use crate::plan::scope::default_of_column;
use crate::session::Session;
use crate::session::parameters::Parameters;

impl Session {
    /// Binds what the definition computes: it names columns that exist, and computes what a definition may.
    /// Hidden columns get the types of their expressions.
    pub(crate) fn check_expressions(&mut self, def: &mut TableDef, host: &dyn Host) -> SqlResult<()> {
        if def.columns.iter().any(|column| column.hidden) {
            self.check_level(Feature::HiddenColumns, "keys over expressions")?;
        }
        self.check_collation(def.collation)?;
        let mut collations = def.columns.iter().map(|column| column.ty.collation);
        collations.try_for_each(|collation| self.check_collation(collation))?;
        if def.indexes.iter().any(|index| index.text.is_some()) {
            self.check_level(Feature::FullText, "full-text indexes")?;
        }
        if def.indexes.iter().any(IndexDef::is_multi_valued) {
            self.check_level(Feature::MultiValued, "multi-valued indexes")?;
        }
        if def.ttl.is_some() {
            self.check_level(Feature::Expiry, "TTL")?;
            super::ttl::check(def)?;
        }
        self.with_context(host, Parameters::NONE, |_, ctx| {
            let ctx = ctx.eval();
            for at in 0..def.columns.len() {
                let column = &def.columns[at];
                if let Some(generated) = &column.generated {
                    let place = match column.hidden {
                        true => Place::KeyPart(at),
                        false => Place::Generated(at),
                    };
                    let ty = check(def, place, &generated.expression, ctx)?;
                    if column.hidden {
                        def.columns[at].ty = match def.has_elements(at) {
                            true => SqlType::json(),
                            false => type_of_hidden(&ty)?,
                        };
                    }
                }
                let column = &def.columns[at];
                if let Some(ColumnDefault::Expression(text)) = &column.default {
                    check(def, Place::Default(at), text, ctx)?;
                }
            }
            def.checks.iter().try_for_each(|constraint| {
                check(def, Place::Check(&constraint.name), &constraint.expression, ctx).map(drop)
            })
        })
    }
}

/// Where in the definition an expression stands.
#[derive(Debug, Clone, Copy)]
enum Place<'a> {
    /// Of the column at this position.
    Generated(usize),
    /// Of the hidden column at this position.
    KeyPart(usize),
    Default(usize),
    Check(&'a str),
}

/// What a session does, holds or has just done is no default.
const NOT_IN_DEFAULTS: [&str; 12] = [
    "BENCHMARK",
    "FOUND_ROWS",
    "GET_LOCK",
    "ICU_VERSION",
    "IS_FREE_LOCK",
    "IS_USED_LOCK",
    "LAST_INSERT_ID",
    "RELEASE_ALL_LOCKS",
    "RELEASE_LOCK",
    "ROW_COUNT",
    "SLEEP",
    "VERSION",
];

/// The columns of the table that is being defined.
struct DefinitionScope<'a> {
    def: &'a TableDef,
    place: Place<'a>,
}

/// Returns the type of the expression.
fn check(def: &TableDef, place: Place<'_>, text: &str, ctx: EvalContext<'_>) -> SqlResult<SqlType> {
    governor::tick()?;
    let tree = parser::parse_expr(text.as_bytes(), parser::SqlMode::default())
        .map_err(|error| crate::errors::parse_error(&error))?;
    let mut scope = DefinitionScope { def, place };
    let bound = ctx.statement.binding_table(|| {
        let mut binder = Binder::new(&mut scope, ctx, BindOptions::default());
        match place {
            Place::KeyPart(_) => binder.bind_generated(&tree),
            _ => binder.bind(&tree),
        }
    })?;
    let mut refused = None;
    bound.any(&mut |expr| {
        refused = scope.refusal_of(expr);
        refused.is_some()
    });
    refused.map_or(Ok(()), Err)?;
    bound
        .referenced_columns()
        .into_iter()
        .try_for_each(|column| scope.check_against_actions(column))?;
    match place {
        Place::Check(name) if !is_boolean(&bound) => {
            Err(SqlError::new(ErrorKind::NonBooleanExprForCheckConstraint, &[&name]))
        }
        _ => Ok(bound.ty),
    }
}

impl DefinitionScope<'_> {
    /// The name of the column or the constraint.
    fn subject(&self) -> &str {
        match self.place {
            Place::Generated(at) | Place::Default(at) => &self.def.columns[at].name,
            Place::KeyPart(at) => self.def.index_of_hidden(at).map_or("", |index| &index.name),
            Place::Check(name) => name,
        }
    }

    fn disallowed(&self) -> SqlError {
        SqlError::new(ErrorKind::FunctionalIndexFunctionNotAllowed, &[&self.subject()])
    }

    fn refusal(&self, generated: ErrorKind, default: ErrorKind, check: ErrorKind) -> SqlError {
        let kind = match self.place {
            Place::Generated(_) => generated,
            Place::Default(_) | Place::KeyPart(_) => default,
            Place::Check(_) => check,
        };
        SqlError::new(kind, &[&self.subject()])
    }

    /// What a foreign key's action changes is not looked at again: no condition and nothing stored may depend on it.
    fn check_against_actions(&self, column: usize) -> SqlResult<()> {
        let name = &self.def.columns[column].name;
        let mut keys = self.def.foreign_keys.iter();
        let Some(key) = keys.find(|key| key.changes_columns() && key.uses_column(name)) else {
            return Ok(());
        };
        match self.place {
            Place::Default(_) | Place::KeyPart(_) => Ok(()),
            Place::Check(check) => Err(SqlError::new(
                ErrorKind::CheckConstraintUsesReferentialAction,
                &[name, &check, &key.name],
            )),
            Place::Generated(at) => {
                let generated = self.def.columns[at].generated.as_ref();
                match generated.map(|generated| generated.kind) {
                    Some(GeneratedKind::Virtual) => Ok(()),
                    _ => Err(ErrorKind::CannotAddForeign.into()),
                }
            }
        }
    }

    /// Why this part of the expression may not stand here.
    fn refusal_of(&self, expr: &Expr) -> Option<SqlError> {
        match &expr.kind {
            ExprKind::UserVariable { .. } | ExprKind::AssignUserVariable { .. } | ExprKind::SystemVariable { .. } => {
                Some(self.refusal(
                    ErrorKind::GeneratedColumnVariables,
                    ErrorKind::DefaultValVariables,
                    ErrorKind::CheckConstraintVariables,
                ))
            }
            ExprKind::Call(call) if call.function.stability > Stability::Session => {
                let kind = match self.place {
                    Place::KeyPart(_) => return Some(self.disallowed()),
                    Place::Generated(_) => ErrorKind::GeneratedColumnNamedFunctionNotAllowed,
                    Place::Check(_) => ErrorKind::CheckConstraintFunctionNotAllowed,
                    Place::Default(_) if NOT_IN_DEFAULTS.contains(&call.function.name) => {
                        ErrorKind::DefaultValFunctionNotAllowed
                    }
                    // A default is computed once for its row: the time, chance and UUIDs are what it is for.
                    Place::Default(_) => return None,
                };
                let name = call.function.name.to_lowercase();
                let shown = match call.function.name {
                    "VERSION" | "ICU_VERSION" => format!("{name}()"),
                    _ => name,
                };
                Some(SqlError::new(kind, &[&self.subject(), &shown]))
            }
            _ => None,
        }
    }

    fn unknown(&self, name: &ast::ColumnName) -> SqlError {
        match self.place {
            Place::Generated(_) => SqlError::new(
                ErrorKind::BadField,
                &[&name.name.as_str(), &"generated column function"],
            ),
            Place::KeyPart(_) => SqlError::new(ErrorKind::BadField, &[&name.name.as_str(), &"functional index"]),
            Place::Default(_) => {
                SqlError::new(ErrorKind::BadField, &[&name.name.as_str(), &"default value expression"])
            }
            Place::Check(_) => SqlError::new(
                ErrorKind::CheckConstraintRefersUnknownColumn,
                &[&self.subject(), &name.name.as_str()],
            ),
        }
    }
}

impl DefinitionScope<'_> {
    fn disallowed_function(&self, name: &str) -> SqlError {
        let kind = match self.place {
            Place::KeyPart(_) => return self.disallowed(),
            Place::Generated(_) => ErrorKind::GeneratedColumnNamedFunctionNotAllowed,
            Place::Default(_) => ErrorKind::DefaultValFunctionNotAllowed,
            Place::Check(_) => ErrorKind::CheckConstraintFunctionNotAllowed,
        };
        SqlError::new(kind, &[&self.subject(), &name])
    }
}

impl Scope for DefinitionScope<'_> {
    fn resolve(&mut self, name: &ast::ColumnName) -> SqlResult<Resolved> {
        if name.table.as_ref().is_some_and(|table| table.as_str() != self.def.name) {
            return Err(unknown_column(name, Clause::FieldList));
        }
        let at = self.def.column(&name.name).ok_or_else(|| self.unknown(name))?;
        let column = &self.def.columns[at];
        if column.auto_increment && matches!(self.place, Place::KeyPart(_)) {
            let kind = ErrorKind::FunctionalIndexRefAutoIncrement;
            return Err(SqlError::new(kind, &[&self.subject()]));
        }
        if column.auto_increment {
            return Err(self.refusal(
                ErrorKind::GeneratedColumnRefAutoInc,
                ErrorKind::DefaultValRefAutoInc,
                ErrorKind::CheckConstraintRefersAutoIncrement,
            ));
        }
        let has_expression = matches!(column.default, Some(ColumnDefault::Expression(_)));
        match self.place {
            Place::Generated(own) if column.generated.is_some() && at >= own => {
                return Err(ErrorKind::GeneratedColumnNonPrior.into());
            }
            Place::Default(own) if at >= own && (column.generated.is_some() || has_expression) => {
                return Err(SqlError::new(ErrorKind::DefaultValNonPrior, &[&self.subject()]));
            }
            _ => {}
        }
        Ok(Resolved::Column {
            slot: at,
            name: column.name.as_str().into(),
            ty: column.ty.clone(),
        })
    }

    fn insert_value(&mut self, _column: &ast::ColumnName) -> SqlResult<Expr> {
        Err(self.disallowed_function("values"))
    }

    fn default_of(&mut self, name: &ast::ColumnName) -> SqlResult<Expr> {
        if matches!(self.place, Place::KeyPart(_)) {
            return Err(self.disallowed());
        }
        self.resolve(name)?;
        let at = self.def.column(&name.name).ok_or_else(|| self.unknown(name))?;
        let column = &self.def.columns[at];
        match column.generated {
            Some(_) => Err(SqlError::new(ErrorKind::NoDefaultForField, &[&column.name])),
            None => default_of_column(column),
        }
    }

    /// Whatever is no function of the server's is taken for one.
    fn stored_function(&mut self, call: &ast::FunctionCall) -> SqlResult<Option<Arc<dyn Subquery>>> {
        Err(self.disallowed_function(&format!("`{}`", call.name.as_str())))
    }

    fn subquery(&mut self, _query: &ast::Query) -> SqlResult<Arc<dyn Subquery>> {
        if matches!(self.place, Place::KeyPart(_)) {
            return Err(self.disallowed());
        }
        Err(self.refusal(
            ErrorKind::GeneratedColumnFunctionNotAllowed,
            ErrorKind::DefaultValUnnamedFunctionNotAllowed,
            ErrorKind::CheckConstraintUnnamedFunctionNotAllowed,
        ))
    }
}
