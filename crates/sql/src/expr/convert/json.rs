//! Values as JSON and back.

use types::decimal::Decimal;
use types::error::SqlError;
use types::json::Json;
use types::{SqlResult, SqlType, Value};

use super::super::context::EvalContext;

pub fn text(_json: &Json) -> String {
    String::new()
}

pub fn to_i128(_json: &Json, _ctx: &EvalContext<'_>) -> SqlResult<i128> {
    Err(SqlError::not_supported("JSON"))
}

pub fn to_f64(_json: &Json, _ctx: &EvalContext<'_>) -> SqlResult<f64> {
    Err(SqlError::not_supported("JSON"))
}

pub fn to_decimal(_json: &Json, _ctx: &EvalContext<'_>) -> SqlResult<Decimal> {
    Err(SqlError::not_supported("JSON"))
}

pub fn to_json_scalar(_value: &Value) -> SqlResult<Json> {
    Err(SqlError::not_supported("JSON"))
}

pub fn cast(_value: &Value, _from: &SqlType) -> SqlResult<Value> {
    Err(SqlError::not_supported("JSON"))
}

pub fn compare_json(_a: &Value, _b: &Value) -> SqlResult<std::cmp::Ordering> {
    Err(SqlError::not_supported("JSON"))
}
