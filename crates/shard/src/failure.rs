//! Why a shard takes no commits any more, told once and known everywhere.

use std::sync::{Arc, OnceLock};

/// Set by the first failure; later ones are its consequences.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure {
    reason: Arc<OnceLock<Arc<str>>>,
}

impl Failure {
    pub fn set(&self, reason: impl Into<Arc<str>>) {
        let reason = reason.into();
        if self.reason.set(reason.clone()).is_ok() {
            tracing::error!("the shard takes no commits any more: {reason}");
        }
    }

    pub fn get(&self) -> Option<Arc<str>> {
        self.reason.get().cloned()
    }
}
