//! What all clients of a node share.

use std::sync::Arc;

use sql::engine::Engine;
use sql_api::host::Host;

use crate::tokens::Tokens;
use crate::transactions::Transactions;

/// Runs work beside requests: as a connection that the process list shows and KILL ends.
pub trait Jobs: Send + Sync {
    /// `work` gets the connection's id.
    fn start(&self, user: String, text: String, work: Box<dyn FnOnce(u32, &dyn Host) + Send>);

    /// Whether the node stops, so that what waits for a client should end. Looked at whenever the job is woken.
    fn is_draining(&self) -> bool;
}

/// The node's tables, for HTTP.
pub struct Rest {
    pub(crate) engine: Arc<Engine>,
    pub(crate) jobs: Box<dyn Jobs>,
    pub(crate) transactions: Transactions,
    pub(crate) tokens: Tokens,
    pub(crate) idempotency: crate::idempotency::Store,
}

impl Rest {
    pub fn new(engine: Arc<Engine>, jobs: Box<dyn Jobs>) -> Arc<Rest> {
        Arc::new(Rest {
            engine,
            jobs,
            transactions: Transactions::default(),
            tokens: Tokens::default(),
            idempotency: Default::default(),
        })
    }

    /// It changes whenever an account does.
    pub fn catalog_version(&self) -> u64 {
        self.engine.catalog_version()
    }

    /// Random text that nobody can foretell.
    pub(crate) fn random_hex(&self, bytes: usize) -> String {
        let mut random = vec![0; bytes];
        self.engine.random_bytes(&mut random);
        random.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn now_seconds(&self) -> i64 {
        self.engine.clock_micros().div_euclid(1_000_000)
    }
}
