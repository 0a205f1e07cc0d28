//! A node comes to a cluster: what it calls itself, and the global variables that it has in common with the others.
//!
//! SET GLOBAL lasts until the server stops. A cluster has stopped when none of its nodes runs any more: so the node that finds no other one
//! serving begins anew, with the persisted values. All nodes come in one after another, under the lock of the catalog, so that only the
//! first of them finds nobody.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use catalog::{CatalogEdit, GlobalVariable};
use store::LockMode;
use types::SqlResult;

use crate::engine::Engine;
use crate::exec::Runtime;
use crate::exec::runtime::CATALOG;
use crate::host::Host;
use crate::nodes::OtherNodes;
use crate::session::wait_for_commit;
use crate::table_ids::write_rows;
use crate::variables::Settings;
use crate::waiting::{pause_for, wait_for};

/// Between two attempts while no node leads, and between two questions to nodes that do not answer.
const PAUSE: Duration = Duration::from_millis(50);
/// A node that does not answer for so long does not serve.
const SILENCE: Duration = Duration::from_secs(1);

impl Engine {
    /// The node belongs to a cluster. Waits until it has the cluster's global variables; once, before anybody is served.
    pub(crate) fn enter_cluster(&self, nodes: Arc<dyn OtherNodes>, host: &dyn Host) -> SqlResult<()> {
        self.set_other_nodes(nodes.clone());
        self.globals().begin_to_follow();
        while let Err(error) = self.take_part(nodes.as_ref(), host) {
            tracing::debug!(%error, "no node gives the lock of the catalog yet");
            pause_for(PAUSE, host)?;
        }
        self.globals().follow(&self.catalog());
        Ok(())
    }

    /// Whether the node has entered its cluster.
    pub fn is_in_cluster(&self) -> bool {
        self.is_in_cluster.load(Ordering::Acquire)
    }

    fn take_part(&self, nodes: &dyn OtherNodes, host: &dyn Host) -> SqlResult<()> {
        let transaction = RefCell::new(self.begin());
        let settings = Settings::default().of_statement(false);
        let runtime = Runtime::new(self.participant(), host, &transaction, settings);
        runtime.lock_definition(CATALOG, LockMode::Exclusive)?;
        drop(runtime);
        let begins = !self.somebody_serves(nodes, host)?;
        // Before the lock is given back: who gets it next finds this node.
        self.is_in_cluster.store(true, Ordering::Release);
        if !begins {
            return Ok(());
        }
        let mut transaction = transaction.into_inner();
        let begun =
            write_rows(&mut transaction, &self.beginning()).and_then(|()| wait_for_commit(transaction.commit(), host));
        if begun.is_err() {
            self.is_in_cluster.store(false, Ordering::Release);
        }
        begun
    }

    fn somebody_serves(&self, nodes: &dyn OtherNodes, host: &dyn Host) -> SqlResult<bool> {
        let clock = &self.env().clock;
        let deadline = clock.monotonic() + SILENCE;
        loop {
            let gathered = wait_for(nodes.serving(), host)?;
            if gathered.found.contains(&true) {
                return Ok(true);
            }
            if gathered.silent.is_empty() || clock.monotonic() >= deadline {
                return Ok(false);
            }
            pause_for(PAUSE, host)?;
        }
    }

    /// The persisted values in the place of all.
    fn beginning(&self) -> CatalogEdit {
        let mut edit = CatalogEdit::new(self.catalog());
        let old: Vec<String> = edit
            .catalog()
            .global_variables()
            .map(|it| it.set.name.clone())
            .collect();
        old.iter().for_each(|name| edit.remove_global(name));
        let persisted: Vec<_> = edit.catalog().persisted_variables().cloned().collect();
        for variable in persisted {
            edit.put_global(GlobalVariable {
                set: (*variable).clone(),
                by_start: true,
            });
        }
        edit
    }

    /// What the node tells of itself: `server_id` is its number in the cluster, and `server_uuid` goes with the cluster and the number.
    pub(crate) fn describe_node(&self) {
        let node = self.incarnation() >> 32;
        self.globals().describe("server_id", &node.to_string());
        let uuid = uuid_of(self.participant().cluster(), node as u32);
        self.globals().describe("server_uuid", &uuid);
    }
}

/// Of a random cluster and a node, in the form of a random UUID (RFC 9562, version 4).
fn uuid_of(cluster: u128, node: u32) -> String {
    let mut bytes = (cluster ^ u128::from(node)).to_be_bytes();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_a_cluster_have_uuids_of_their_own() {
        assert_eq!(uuid_of(1 << 127, 1), "80000000-0000-4000-8000-000000000001");
        assert_ne!(uuid_of(7, 1), uuid_of(7, 2));
    }
}
