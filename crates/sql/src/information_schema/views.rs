//! Views, and what they are made of.

use std::sync::Arc;

use catalog::{Privileges, ViewDef};
use types::Value;

use super::schema::CATALOG;
use super::{Source, text, yes_no};
use crate::accounts::access::Access;
use crate::plan::Authorizer as _;
use crate::plan::{Planner, QueryPlan};
use crate::result::{ResultColumn, ResultShape};

/// The views that whoever asks may see.
fn seen(source: &Source<'_>) -> Vec<Arc<ViewDef>> {
    let catalog = source.session.engine.catalog();
    let databases = source.databases(&catalog);
    databases
        .flat_map(|database| source.views_of(database))
        .cloned()
        .collect()
}

/// The plan of a view as the schema is now; `None` for one that its tables have left behind.
fn planned(source: &Source<'_>, view: &Arc<ViewDef>) -> Option<QueryPlan> {
    let engine = source.session.engine;
    let catalog = engine.catalog();
    let planner = Planner::new(engine, &catalog, *source.ctx, Arc::new(Access::of_the_server()));
    let _open = planner.open_view(view).ok()?;
    let query = crate::plan::view_query(view).ok()?;
    crate::plan::query::plan_query(&planner, &query).ok()
}

/// Views with their columns.
pub fn each_view(source: &Source<'_>, visit: &mut dyn FnMut(&ViewDef, &ResultShape)) {
    for view in seen(source).into_iter().take_while(|_| governor::go_on()) {
        let Some(plan) = planned(source, &view) else { continue };
        let columns = plan.shape.columns.iter().zip(&view.columns);
        let columns = columns.map(|(column, name)| ResultColumn {
            name: name.clone(),
            ..column.clone()
        });
        visit(&view, &ResultShape::new(columns.collect()));
    }
}

pub fn views(source: &Source<'_>) -> Vec<Vec<Value>> {
    let row = |view: Arc<ViewDef>| {
        vec![
            text(CATALOG),
            text(&view.database),
            text(&view.name),
            text(if shows_text(source, &view) { &view.query } else { "" }),
            text(view.check.map_or("NONE", |check| check.as_str())),
            yes_no(view.is_changeable()),
            text(format!("{}@{}", view.definer.0, view.definer.1)),
            text(view.security.as_str()),
            text(view.collation.charset().name()),
            text(view.collation.name()),
        ]
    };
    seen(source).into_iter().map(row).collect()
}

/// Whether the view's text is told, and the tables that it reads.
fn shows_text(source: &Source<'_>, view: &ViewDef) -> bool {
    let wanted = Privileges::SHOW_VIEW.with(Privileges::SELECT);
    let access = &source.session.access;
    access.check_table(&view.database, &view.name, wanted).is_ok()
}

/// The tables that each view reads.
pub fn table_usage(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for view in seen(source).into_iter().filter(|view| shows_text(source, view)) {
        let Some(plan) = planned(source, &view) else { continue };
        let mut tables: Vec<(String, String)> = plan
            .read_tables()
            .iter()
            .map(|table| (table.def.database.clone(), table.def.name.clone()))
            .filter(|(database, table)| source.session.access.sees_table(database, table))
            .collect();
        tables.sort_unstable();
        tables.dedup();
        rows.extend(tables.into_iter().map(|(database, table)| {
            [CATALOG, &view.database, &view.name, CATALOG, &database, &table]
                .map(text)
                .to_vec()
        }));
    }
    rows
}
