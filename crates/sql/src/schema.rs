//! The catalog in use, fed by the log.
//!
//! The catalog's rows lie in the system table. Whoever applies the log tells a [`Schema`] of every change of them, so that the catalog
//! of this node is that of the log, on whatever node a definition was changed: it becomes current just before the rows do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::row_follower::RowFollower;
use crate::variables::Globals;
use catalog::{Catalog, Catalogs, SYSTEM_TABLE};
use parking_lot::Mutex;
use shard::{Change, Follows, Observer, RowChanges};
use store::{KeyColumn, TableSpec};
use types::{KeyLayout, RowLayout, SqlType, TableId, Timestamp, TypeKind, Value, ValueRef};

/// The catalog of a node. Hand it to the shard as its observer, and to the engine.
pub struct Schema {
    catalogs: Catalogs,
    /// Applied, but not yet visible.
    next: Mutex<Option<Catalog>>,
    /// Of a cluster's node they are those of the catalog.
    globals: Globals,
    /// Whether somebody may read it. Before, while the log is replayed, no state has to be kept beside the next one.
    is_read: AtomicBool,
    rows: RowLayout,
    keys: KeyLayout,
    /// Who hears of the rows of other tables.
    follower: OnceLock<Arc<dyn RowFollower>>,
}

impl Default for Schema {
    fn default() -> Schema {
        let spec = system_table_spec();
        Schema {
            catalogs: Catalogs::new(Catalog::default()),
            next: Mutex::default(),
            globals: Globals::default(),
            is_read: AtomicBool::new(false),
            rows: spec.row_layout(),
            keys: spec.primary_layout().expect("the system table has a key"),
            follower: OnceLock::new(),
        }
    }
}

impl Schema {
    pub fn new() -> Arc<Schema> {
        Arc::default()
    }

    /// The settings of a shard whose log this schema follows.
    pub fn followed_by(self: &Arc<Schema>, config: shard::Config) -> shard::Config {
        shard::Config {
            observer: Some(self.clone()),
            past_window: crate::variables::PAST_WINDOW_MAX,
            ..config
        }
    }

    /// The schema as of the newest change that can be seen.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalogs.current()
    }

    /// Nothing has been defined yet: the node is new, and no other one has told it anything.
    pub fn is_empty(&self) -> bool {
        let catalog = self.catalogs.current();
        catalog.accounts().next().is_none() && catalog.is_of_older_format()
    }

    /// From now on, what is current stays what can be seen.
    pub(crate) fn begin_reading(&self) {
        self.is_read.store(true, Ordering::Release);
    }

    pub(crate) fn globals(&self) -> &Globals {
        &self.globals
    }

    pub(crate) fn set_follower(&self, follower: Arc<dyn RowFollower>) {
        let _ = self.follower.set(follower);
    }

    pub(crate) fn catalogs(&self) -> &Catalogs {
        &self.catalogs
    }

    fn name(&self, key: &[u8]) -> Result<Vec<u8>, String> {
        match self.keys.decode_part(key, 0) {
            Some(Value::Bytes(name)) => Ok(name.to_vec()),
            _ => Err("a row of the system table has a key that cannot be read".to_owned()),
        }
    }

    fn document<'r>(&'r self, row: &'r [u8]) -> &'r [u8] {
        match self.rows.column(row, 1) {
            ValueRef::Bytes(document) => document,
            _ => &[],
        }
    }
}

impl Observer for Schema {
    fn table(&self) -> TableId {
        SYSTEM_TABLE
    }

    fn restore(&self, rows: &[(Vec<u8>, Vec<u8>)], at: Timestamp) -> Result<(), String> {
        let named = rows.iter().map(|(key, row)| Ok((self.name(key)?, self.document(row))));
        let named: Vec<(Vec<u8>, &[u8])> = named.collect::<Result<_, String>>()?;
        let entries = named.iter().map(|(name, document)| (&name[..], *document));
        let catalog = Catalog::from_rows(entries, at).map_err(|error| error.to_string())?;
        self.install(catalog);
        Ok(())
    }

    fn apply(&self, at: Timestamp, changes: &[Change<'_>]) -> Result<(), String> {
        let change = |catalog: &mut Catalog| {
            for (key, row) in changes {
                let document = row.map(|row| self.document(row));
                catalog
                    .apply(&self.name(key)?, document, at)
                    .map_err(|error| error.to_string())?;
            }
            Ok(())
        };
        let mut next = self.next.lock();
        if next.is_none()
            && !self.is_read.load(Ordering::Acquire)
            && let Some(changed) = self.catalogs.change_alone(change)
        {
            return changed;
        }
        change(next.get_or_insert_with(|| Catalog::clone(&self.catalogs.current())))
    }

    fn publish(&self) {
        if env::failpoints::goes_wrong("catalog.late") {
            return;
        }
        if let Some(next) = self.next.lock().take() {
            self.install(next);
        }
    }

    fn follows_rows(&self) -> bool {
        let Some(follower) = self.follower.get().filter(|follower| follower.listens()) else {
            return false;
        };
        follower.see(self.catalogs.version(), &|| self.catalogs.current());
        true
    }

    fn follows(&self, table: TableId) -> Follows {
        let follower = self.follower.get();
        follower.map_or(Follows::Nothing, |follower| follower.follows(table))
    }

    fn rows_changed(&self, changes: RowChanges) {
        if let Some(follower) = self.follower.get() {
            follower.changed(changes);
        }
    }
}

impl Schema {
    /// Whoever sees a version of the catalog sees its variables: a statement that was planned under `read_only` off finds that its version is
    /// old.
    fn install(&self, next: Catalog) {
        if !next.has_globals_of(&self.catalogs.current()) {
            self.globals.follow(&next);
        }
        self.catalogs.install(next);
    }
}

/// What the store knows of the system table: a name and a JSON document.
pub(crate) fn system_table_spec() -> TableSpec {
    TableSpec {
        generations: None,
        expiry: None,
        id: SYSTEM_TABLE,
        columns: vec![
            SqlType::varbinary(1024).not_null(),
            SqlType::blob(TypeKind::LongBlob).not_null(),
        ],
        primary: Some(vec![KeyColumn::ascending(0)]),
        indexes: Vec::new(),
    }
}

/// A row of the system table as the store keeps it: its key, and the row itself if there is a document.
pub(crate) fn system_row(name: &[u8], document: Option<&[u8]>) -> (Vec<u8>, Option<Vec<u8>>) {
    let spec = system_table_spec();
    let mut key = Vec::new();
    spec.primary_layout()
        .expect("the system table has a key")
        .encode_values(&[Value::bytes(name)], &mut key);
    let row = document.map(|document| {
        let mut row = Vec::new();
        spec.row_layout()
            .encode(&[Value::bytes(name), Value::bytes(document)], &mut row);
        row
    });
    (key, row)
}
