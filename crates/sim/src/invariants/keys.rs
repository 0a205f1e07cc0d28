//! The lists of Redis, as the rows of a replica have them: a key's row says how many elements there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Catalog;
use keyspace::collection::Collection;
use keyspace::head::{HeadRef, key_in};
use keyspace::tables::{DATABASE, Part};
use store::Store;
use types::{RowLayout, ValueRef};

use crate::report::Report;
use crate::sql::keys::name_of;
use crate::sql::tables::{LISTS, Rows, stored};

/// The lists, as a replica has them in its rows.
#[derive(Default)]
pub struct Kept {
    /// Of each key what its row says of its elements.
    keys: BTreeMap<String, Collection>,
    /// Of each id its elements, by their positions.
    elements: BTreeMap<u64, BTreeMap<i64, u32>>,
}

impl Kept {
    /// As of the newest commit; nothing where nobody has used keys.
    pub fn read(store: &Arc<Store>, catalog: &Catalog) -> Kept {
        let mut kept = Kept::default();
        each_row(store, catalog, Part::Keys, |layout, row| {
            let collection = HeadRef::read(layout, row).and_then(Collection::of);
            let key = String::from_utf8_lossy(key_in(layout, row)).into_owned();
            kept.keys.extend(collection.map(|collection| (key, collection)));
        });
        each_row(store, catalog, Part::List, |layout, row| {
            let text = String::from_utf8_lossy(layout.raw(row, 2).unwrap_or_default());
            if let (ValueRef::UInt(id), ValueRef::Int(position), Ok(number)) =
                (layout.column(row, 0), layout.column(row, 1), text.parse())
            {
                kept.elements.entry(id).or_default().insert(position, number);
            }
        });
        kept
    }

    /// A key's row says how many elements there are.
    pub fn look(&self, node: u32, at: u64, report: &Report) {
        for (key, collection) in &self.keys {
            let count = self.elements.get(&collection.id).map_or(0, BTreeMap::len) as u64;
            if count != collection.len {
                let said = collection.len;
                report.violation(
                    "keys",
                    format_args!("at commit {at} on node {node}: {key} has {count} elements, and says {said}"),
                );
            }
        }
    }

    fn list(&self, key: &str) -> Vec<u32> {
        let elements = self
            .keys
            .get(key)
            .and_then(|collection| self.elements.get(&collection.id));
        elements.map_or_else(Vec::new, |elements| elements.values().copied().collect())
    }

    /// The lists to which numbers are pushed.
    pub fn lists(&self) -> BTreeMap<i64, Vec<u32>> {
        (0..LISTS).map(|list| (list, self.list(&name_of(list)))).collect()
    }

    /// The jobs in a list, as rows of a table.
    pub fn queue(&self, key: &str) -> Rows {
        let row = |job: u32| vec![String::new(), job.to_string()];
        Rows {
            columns: Vec::new(),
            rows: self.list(key).into_iter().map(row).collect(),
        }
    }
}

fn each_row(store: &Arc<Store>, catalog: &Catalog, part: Part, mut look: impl FnMut(&RowLayout, &[u8])) {
    let def = catalog.table(DATABASE, &part.name(0));
    let Some(table) = def.and_then(|def| store.table(def.id)) else {
        return;
    };
    let layout = table.row_layout();
    for (_, row) in stored(store, &table) {
        look(layout, &row);
    }
}
