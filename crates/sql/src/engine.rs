//! What all sessions of a node share.

use std::sync::Arc;

use cluster::catalog::{Catalog, Catalogs};

/// The SQL side of a node.
pub struct Engine {
    catalogs: Catalogs,
}

impl Engine {
    pub fn new() -> Arc<Engine> {
        Arc::new(Engine {
            catalogs: Catalogs::new(Catalog::default()),
        })
    }

    /// The current schema.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalogs.current()
    }
}
