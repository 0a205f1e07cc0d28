//! What tables there are, and what they are made of.

use catalog::{IndexKind, TableDef};
use serde_json::{Value as Json, json};

use crate::answer::Answer;
use crate::client::Client;
use crate::problem::Problem;
use crate::routes::Task;
use crate::statements::type_name;

/// GET /v1/tables
pub fn list(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    const SELECT: &str = "SELECT TABLE_SCHEMA AS `database`, TABLE_NAME AS `table`, TABLE_TYPE AS `type`, TABLE_COMMENT AS `comment` \
        FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys', 'latsdb_rest') \
        ORDER BY TABLE_SCHEMA, TABLE_NAME";
    task.request.knows_only(&[])?;
    let found = client.run(SELECT, &[], task.host)?;
    answer.body.extend_from_slice(b"{\"tables\":[");
    for at in 0..found.len() {
        if at > 0 {
            answer.body.push(b',');
        }
        crate::rows::write_object(&found, at, Default::default(), &mut answer.body);
        if answer.is_full() {
            answer.flush(task.host)?;
        }
    }
    answer.body.extend_from_slice(b"]}");
    Ok(())
}

/// GET /v1/tables/{database}/{table}
pub fn show(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    task.request.knows_only(&[])?;
    let (database, table) = (task.segment(0)?, task.segment(1)?);
    let session = client.session(task.host)?;
    let def = session.definition_of(&database, &table)?;
    let columns = def.named_columns().iter();
    let seen: Vec<usize> = columns
        .enumerate()
        .filter(|(_, column)| session.sees_column(&database, &table, &column.name))
        .map(|(at, _)| at)
        .collect();
    let text = described(&def, &seen).to_string();
    answer.body.extend_from_slice(text.as_bytes());
    Ok(())
}

fn described(def: &TableDef, seen: &[usize]) -> Json {
    let column = |at: &usize| {
        let column = &def.columns[*at];
        json!({
            "name": column.name,
            "type": type_name(&column.ty),
            "nullable": column.nullable,
            "has_default": column.default.is_some() || column.nullable || column.auto_increment,
            "auto_increment": column.auto_increment,
            "generated": column.generated.is_some(),
            "invisible": column.invisible,
            "comment": column.comment,
        })
    };
    let index = |index: &catalog::IndexDef| {
        let name = |part: &catalog::IndexPart| def.columns[part.column].name.clone();
        json!({
            "name": index.name,
            "unique": index.is_unique(),
            "kind": match index.kind {
                IndexKind::Primary => "primary",
                IndexKind::Unique => "unique",
                IndexKind::Plain => "plain",
                IndexKind::FullText => "fulltext",
            },
            "columns": index.parts.iter().map(name).collect::<Vec<_>>(),
        })
    };
    let is_seen = |index: &&catalog::IndexDef| index.parts.iter().all(|part| seen.contains(&part.column));
    let key = def.primary().filter(is_seen).map(|primary| {
        let name = |part: &catalog::IndexPart| def.columns[part.column].name.clone();
        primary.parts.iter().map(name).collect::<Vec<_>>()
    });
    json!({
        "database": def.database,
        "table": def.name,
        "columns": seen.iter().map(column).collect::<Vec<_>>(),
        "primary_key": key,
        "indexes": def.indexes.iter().filter(is_seen).map(index).collect::<Vec<_>>(),
    })
}
