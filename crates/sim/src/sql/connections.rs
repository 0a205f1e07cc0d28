//! The sessions of a node, as SHOW PROCESSLIST and KILL see them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Waker;

use parking_lot::Mutex;
use sql_api::host::Interrupt;
use sql_api::processes::{Kill, NODE_SHIFT, Process, Processes, Traffic};

/// The connections of one life of a node.
pub struct Connections {
    node: u32,
    last: AtomicU32,
    open: Mutex<BTreeMap<u32, Arc<Handle>>>,
}

/// A connection, as others reach it.
pub struct Handle {
    pub id: u32,
    user: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    statement: Option<String>,
    shown: &'static str,
    interrupt: Option<Interrupt>,
    waker: Option<Waker>,
}

impl Connections {
    pub fn new(node: u32) -> Arc<Connections> {
        Arc::new(Connections {
            node,
            last: AtomicU32::new(0),
            open: Mutex::default(),
        })
    }

    pub fn enter(&self, user: &str) -> Arc<Handle> {
        let id = self.node << NODE_SHIFT | (self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let handle = Arc::new(Handle {
            id,
            user: user.to_owned(),
            state: Mutex::default(),
        });
        self.open.lock().insert(id, handle.clone());
        handle
    }

    pub fn leave(&self, id: u32) {
        self.open.lock().remove(&id);
    }
}

impl Handle {
    /// What was killed before has ended with its statement.
    pub fn begin(&self, statement: &str) {
        let mut state = self.state.lock();
        state.statement = Some(statement.to_owned());
        state.interrupt = state.interrupt.filter(|of| *of == Interrupt::KillConnection);
    }

    pub fn end(&self) {
        self.state.lock().statement = None;
    }

    pub fn interrupted(&self) -> Option<Interrupt> {
        self.state.lock().interrupt
    }

    pub fn is_killed(&self) -> bool {
        self.interrupted() == Some(Interrupt::KillConnection)
    }

    pub fn show_state(&self, shown: &'static str) {
        self.state.lock().shown = shown;
    }

    /// Who interrupts it wakes it by this.
    pub fn wake_by(&self, waker: &Waker) {
        self.state.lock().waker = Some(waker.clone());
    }

    fn kill(&self, what: Kill) {
        let mut state = self.state.lock();
        match what {
            Kill::Connection => state.interrupt = Some(Interrupt::KillConnection),
            Kill::Query => {
                state.interrupt.get_or_insert(Interrupt::KillQuery);
            }
        }
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

impl Processes for Connections {
    fn list(&self) -> Vec<Process> {
        let process = |handle: &Arc<Handle>| {
            let state = handle.state.lock();
            Process {
                id: handle.id,
                user: handle.user.clone(),
                host: "localhost:1".into(),
                database: None,
                attributes: Vec::new(),
                command: if state.statement.is_some() { "Query" } else { "Sleep" }.into(),
                seconds: 0,
                state: state.shown.into(),
                statement: state.statement.clone(),
                memory_bytes: 0,
                memory_bytes_max: 0,
            }
        };
        self.open.lock().values().map(process).collect()
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            connected: self.open.lock().len() as u64,
            ..Traffic::default()
        }
    }

    fn kill(&self, connection_id: u32, what: Kill) -> bool {
        let handle = self.open.lock().get(&connection_id).cloned();
        handle.inspect(|handle| handle.kill(what)).is_some()
    }
}
