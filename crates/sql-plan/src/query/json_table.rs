//! JSON_TABLE: rows out of a document.
//!
//! ```text
//!   JSON_TABLE(document, '$[*]' COLUMNS (a .., NESTED PATH '$.b[*]' COLUMNS (c ..)))
//!
//!   level '$[*]' ─ a          for each value that the path finds one row, or
//!     └─ level '$.b[*]' ─ c   one for each row of the levels below, which take turns
//! ```

use catalog::Names;
use parser::ast;
use sql_api::result::ResultColumn;
use sql_expr::Expr;
use sql_expr::convert::json_into_column;
use types::json::{Json, JsonPath, JsonView};
use types::{ErrorKind, SqlError, SqlResult, SqlType, Value};

use crate::column_type::column_type;
use crate::planner::Planner;

#[derive(Debug)]
pub struct JsonTablePlan {
    /// Over the row of the tables before it.
    pub document: Expr,
    pub root: JsonLevel,
    /// How many columns a row has.
    pub width: usize,
}

/// A path, and what is made of each value that it finds.
#[derive(Debug)]
pub struct JsonLevel {
    pub path: JsonPath,
    pub columns: Vec<JsonTableColumn>,
    pub nested: Vec<JsonLevel>,
    /// The places of its columns in the row, and of those below.
    pub places: std::ops::Range<usize>,
}

#[derive(Debug)]
pub enum JsonTableColumn {
    /// The number of the value among those of its level, from 1.
    Ordinality { place: usize },
    /// Whether the path finds something.
    Exists {
        place: usize,
        name: String,
        ty: SqlType,
        path: JsonPath,
    },
    /// What the path finds.
    Path {
        place: usize,
        name: String,
        ty: SqlType,
        path: JsonPath,
        on_empty: OnEmpty,
        on_error: OnError,
    },
}

#[derive(Debug)]
pub enum OnEmpty {
    /// 3665
    Error,
    Value(Value),
}

#[derive(Debug)]
pub enum OnError {
    Error,
    Value(Value),
}

impl JsonTablePlan {
    /// The plan and its columns. 3143 for a path that is none, 1060 for two columns of one name, 1067 and the errors of storing a
    /// value for a default.
    pub fn new(
        planner: &Planner<'_>,
        table: &ast::JsonTable,
        document: Expr,
    ) -> SqlResult<(JsonTablePlan, Vec<ResultColumn>)> {
        let mut builder = Builder {
            planner,
            alias: &table.alias,
            names: Names::default(),
            shown: Vec::new(),
        };
        let mut root = builder.level(&table.path, &table.columns)?;
        builder.store_defaults(&mut root)?;
        let columns = builder.shown;
        let plan = JsonTablePlan {
            document,
            root,
            width: columns.len(),
        };
        Ok((plan, columns))
    }
}

struct Builder<'b, 'p> {
    planner: &'b Planner<'p>,
    alias: &'b str,
    names: Names,
    shown: Vec<ResultColumn>,
}

impl Builder<'_, '_> {
    fn level(&mut self, path: &[u8], written: &[ast::JsonTableColumn]) -> SqlResult<JsonLevel> {
        governor::tick()?;
        governor::descend()?;
        let first = self.shown.len();
        let path = path_of(path)?;
        let mut columns = Vec::new();
        let mut nested = Vec::new();
        for column in written {
            match column {
                ast::JsonTableColumn::Ordinality(name) => {
                    let place = self.show(name, SqlType::bigint())?;
                    columns.push(JsonTableColumn::Ordinality { place });
                }
                ast::JsonTableColumn::Path(column) => columns.push(self.column(column)?),
                ast::JsonTableColumn::Nested { path, columns } => nested.push(self.level(path, columns)?),
            }
        }
        Ok(JsonLevel {
            path,
            columns,
            nested,
            places: first..self.shown.len(),
        })
    }

    fn column(&mut self, written: &ast::JsonTablePath) -> SqlResult<JsonTableColumn> {
        let name = written.name.as_str();
        let connection = self.planner.ctx.settings.collation;
        let collation = written.collation.as_ref().map(ast::Ident::as_str);
        let ty = SqlType {
            nullable: true,
            ..column_type(name, &written.data_type, collation, connection)?
        };
        let path = path_of(&written.path)?;
        let place = self.show(&written.name, ty.clone())?;
        let name = name.to_owned();
        if written.exists {
            return Ok(JsonTableColumn::Exists { place, name, ty, path });
        }
        let on_empty = match &written.on_empty {
            Some(ast::JsonOnResponse::Error) => OnEmpty::Error,
            Some(ast::JsonOnResponse::Default(tree)) => OnEmpty::Value(default_of(tree, &name, &ty)?),
            None | Some(ast::JsonOnResponse::Null) => OnEmpty::Value(Value::Null),
        };
        let on_error = match &written.on_error {
            Some(ast::JsonOnResponse::Error) => OnError::Error,
            Some(ast::JsonOnResponse::Default(tree)) => OnError::Value(default_of(tree, &name, &ty)?),
            None | Some(ast::JsonOnResponse::Null) => OnError::Value(Value::Null),
        };
        Ok(JsonTableColumn::Path {
            place,
            name,
            ty,
            path,
            on_empty,
            on_error,
        })
    }

    /// Makes values of the columns of all defaults, once each of them is known to be a document that may be one.
    fn store_defaults(&self, level: &mut JsonLevel) -> SqlResult<()> {
        governor::descend()?;
        for column in &mut level.columns {
            governor::tick()?;
            let JsonTableColumn::Path {
                name,
                ty,
                on_empty,
                on_error,
                ..
            } = column
            else {
                continue;
            };
            let store = |value: &mut Value| -> SqlResult<()> {
                if let Value::Json(document) = value {
                    *value = json_into_column(document.as_ref(), ty, name, true, &self.planner.ctx)?;
                }
                Ok(())
            };
            if let OnEmpty::Value(value) = on_empty {
                store(value)?;
            }
            if let OnError::Value(value) = on_error {
                store(value)?;
            }
        }
        level
            .nested
            .iter_mut()
            .try_for_each(|nested| self.store_defaults(nested))
    }

    /// The place of a column in the row.
    fn show(&mut self, name: &ast::Ident, ty: SqlType) -> SqlResult<usize> {
        governor::tick()?;
        if let Some(first) = self.names.push(name) {
            return Err(SqlError::new(ErrorKind::DupFieldName, &[&self.shown[first].name]));
        }
        self.shown.push(ResultColumn {
            table: self.alias.to_owned(),
            original_name: name.as_str().to_owned(),
            ..ResultColumn::computed(name.as_str(), ty)
        });
        Ok(self.shown.len() - 1)
    }
}

/// A default is the text of a document, of a scalar unless the column is one of documents. It is stored as what the path finds is.
fn default_of(tree: &ast::Expr, column: &str, ty: &SqlType) -> SqlResult<Value> {
    let ast::Expr::Literal(ast::Literal::String(text)) = tree else {
        return Err(SqlError::not_supported(
            "non-string DEFAULT value for a column in a JSON_TABLE expression",
        ));
    };
    let text = String::from_utf8_lossy(text);
    let parsed = Json::parse(&text);
    governor::check()?;
    let json = parsed.map_err(|error| {
        SqlError::new(
            ErrorKind::InvalidJsonTextInParam,
            &[&1, &"JSON_TABLE", &error.message, &error.position],
        )
    })?;
    let is_scalar = !matches!(json.as_ref().view(), JsonView::Array(_) | JsonView::Object(_));
    match is_scalar || ty.kind == types::TypeKind::Json {
        true => Ok(Value::Json(json)),
        false => Err(SqlError::new(ErrorKind::InvalidDefault, &[&column])),
    }
}

fn path_of(text: &[u8]) -> SqlResult<JsonPath> {
    JsonPath::parse(&String::from_utf8_lossy(text))
        .map_err(|error| SqlError::new(ErrorKind::InvalidJsonPath, &[&error.position]))
}
