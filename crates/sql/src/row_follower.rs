//! Who hears which rows of tables have changed: by statements of any session, of any protocol, on any node.

use std::sync::Arc;

use catalog::Catalog;
use types::TableId;

pub use shard::{Changed, Follows, RowChange, RowChanges};

/// Follows rows of some tables, as the log changes them. All of it runs where the log is applied, and holds it up.
pub trait RowFollower: Send + Sync {
    /// Whether there is anybody to be told. Cheap: it is asked with each entry of the log. Whoever begins to listen says so here before he
    /// reads what he wants to hear the changes of.
    fn listens(&self) -> bool;

    /// Before [`follows`](Self::follows): the tables are those of a version of the catalog.
    fn see(&self, version: u64, catalog: &dyn Fn() -> Arc<Catalog>);

    fn follows(&self, table: TableId) -> Follows;

    /// What can be seen from now on.
    fn changed(&self, changes: RowChanges);
}
