//! Rows of JSON_TABLE.

use std::borrow::Cow;

use sql_expr::convert::json_into_column;
use sql_plan::query::{JsonLevel, JsonTableColumn, JsonTablePlan, OnEmpty, OnError};
use types::json::{Json, JsonRef, JsonView, Node};
use types::{CharsetId, ErrorKind, SqlError, SqlResult, SqlType, Value};

use super::{QueryContext, Rows, row_bytes};
use crate::runtime::QueryMemory;

/// All rows of the document that belongs to this row of the tables before it. None for NULL.
pub fn json_rows(plan: &JsonTablePlan, row: &[Value], ctx: &QueryContext<'_>) -> SqlResult<Rows> {
    let document = match plan.document.eval_shown(row, ctx)? {
        Value::Null => return Ok(Rows::default()),
        value => document(value)?,
    };
    let mut maker = Maker {
        ctx,
        row: vec![Value::Null; plan.width],
        rows: Rows::default(),
        memory: ctx.runtime.query_memory(),
    };
    maker.level(&plan.root, document.as_ref())?;
    Ok(maker.rows)
}

/// 3141 for text that is no document, 3144 for bytes, 3146 for anything else.
fn document(value: Value) -> SqlResult<Json> {
    const FUNCTION: &str = "json_table";
    match value {
        Value::Json(document) => Ok(document),
        Value::Str(text) => {
            let parsed = Json::parse(&text);
            governor::check()?;
            parsed.map_err(|error| {
                let args: [&dyn std::fmt::Display; 4] = [&1, &FUNCTION, &error.message, &error.position];
                SqlError::new(ErrorKind::InvalidJsonTextInParam, &args)
            })
        }
        Value::Bytes(_) => Err(SqlError::new(
            ErrorKind::InvalidJsonCharset,
            &[&CharsetId::BINARY.name()],
        )),
        _ => Err(SqlError::new(ErrorKind::InvalidTypeForJson, &[&1, &FUNCTION])),
    }
}

struct Maker<'a, 'c> {
    ctx: &'a QueryContext<'c>,
    /// The row in the making: the columns of a level and of those below are NULL while it has no turn.
    row: Vec<Value>,
    rows: Rows,
    memory: QueryMemory,
}

impl Maker<'_, '_> {
    /// The rows of a level below one value. Whether there are any.
    fn level(&mut self, level: &JsonLevel, value: JsonRef<'_>) -> SqlResult<bool> {
        governor::descend()?;
        let found = value.find(&level.path);
        governor::check()?;
        let mut number = 0;
        for value in &found {
            governor::tick()?;
            number += 1;
            for column in &level.columns {
                self.column(column, *value, number)?;
            }
            let mut has_rows = false;
            for nested in &level.nested {
                has_rows |= self.level(nested, *value)?;
            }
            if !has_rows {
                self.memory.grow(row_bytes(&self.row))?;
                self.rows.push(self.row.clone());
            }
        }
        self.row[level.places.clone()].fill(Value::Null);
        Ok(number > 0)
    }

    fn column(&mut self, column: &JsonTableColumn, value: JsonRef<'_>, number: i64) -> SqlResult<()> {
        match column {
            JsonTableColumn::Ordinality { place } => self.row[*place] = Value::Int(number),
            JsonTableColumn::Exists { place, name, ty, path } => {
                let exists = i64::from(!value.find(path).is_empty());
                let exists = Json::from(&Node::Int(exists));
                self.row[*place] = json_into_column(exists.as_ref(), ty, name, true, self.ctx)?;
            }
            JsonTableColumn::Path {
                place,
                name,
                ty,
                path,
                on_empty,
                on_error,
            } => {
                let found = value.find(path);
                governor::check()?;
                self.row[*place] = match (found.as_slice(), on_empty) {
                    ([], OnEmpty::Error) => return Err(SqlError::new(ErrorKind::MissingJsonTableValue, &[name])),
                    ([], OnEmpty::Value(value)) => value.clone(),
                    (found, _) => match stored(found, ty, name, on_error, self.ctx) {
                        Ok(value) => value,
                        Err(error) => match on_error {
                            OnError::Value(value) if governor::check().is_ok() => value.clone(),
                            _ => return Err(error),
                        },
                    },
                };
            }
        }
        Ok(())
    }
}

/// Several values are an array. JSON's null is NULL, also in a JSON column.
fn stored(
    found: &[JsonRef<'_>],
    ty: &SqlType,
    name: &str,
    on_error: &OnError,
    ctx: &QueryContext<'_>,
) -> SqlResult<Value> {
    let document = match found {
        [one] if matches!(one.view(), JsonView::Null) => return Ok(Value::Null),
        [one] => Cow::Borrowed(one),
        many => {
            let values = many
                .iter()
                .take_while(|_| governor::go_on())
                .map(|value| value.to_node());
            let array = Json::from(&Node::Array(values.collect()));
            governor::check()?;
            return json_into_column(array.as_ref(), ty, name, true, ctx);
        }
    };
    json_into_column(*document, ty, name, matches!(on_error, OnError::Error), ctx)
}
