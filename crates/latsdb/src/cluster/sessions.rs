//! The sessions of the other nodes: the process list of all of them, and KILL wherever a session is.

use std::time::Duration;

use front_mysql::node_of;
use net::Lane;
use serde::{Deserialize, Serialize};
use shard::Role;
use sql_api::nodes::{Asked, Gathered, OtherNodes, Silent, Wanted};
use sql_api::processes::{Kill, Process, Processes};

use super::{Cluster, Request, Response};

/// A node that has not answered by then is left out.
const CALL: Duration = Duration::from_secs(1);

/// What a node tells of its connections fits a frame: of statements so much together, and so much of everything.
const STATEMENT_BYTES: usize = 1 << 20;
const ANSWER_BYTES: usize = 3 << 20;
/// A connection has at least so much of its statement shown.
const STATEMENT_BYTES_MIN: usize = 64;

/// A node's connections.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Connections {
    connections: Vec<Connection>,
    /// Whether these are all.
    complete: bool,
}

/// A connection as nodes tell of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Connection {
    id: u32,
    user: String,
    host: String,
    database: Option<String>,
    attributes: Vec<(String, String)>,
    command: String,
    seconds: u64,
    state: String,
    statement: Option<String>,
    memory_bytes: u64,
    memory_bytes_max: u64,
}

impl From<Process> for Connection {
    fn from(process: Process) -> Connection {
        Connection {
            id: process.id,
            user: process.user,
            host: process.host,
            database: process.database,
            attributes: process.attributes,
            command: process.command.into_owned(),
            seconds: process.seconds,
            state: process.state.into_owned(),
            statement: process.statement,
            memory_bytes: process.memory_bytes,
            memory_bytes_max: process.memory_bytes_max,
        }
    }
}

impl From<Connection> for Process {
    fn from(connection: Connection) -> Process {
        Process {
            id: connection.id,
            user: connection.user,
            host: connection.host,
            database: connection.database,
            attributes: connection.attributes,
            command: connection.command.into(),
            seconds: connection.seconds,
            state: connection.state.into(),
            statement: connection.statement,
            memory_bytes: connection.memory_bytes,
            memory_bytes_max: connection.memory_bytes_max,
        }
    }
}

impl Cluster {
    /// What this node tells the others.
    pub(super) fn connections(&self, attributes: bool) -> Connections {
        told(self.registry.list(), attributes)
    }

    pub(super) fn user_of_own(&self, connection: u32) -> Option<String> {
        let list = self.registry.list();
        list.into_iter()
            .find(|process| process.id == connection)
            .map(|process| process.user)
    }

    pub(super) fn kill_own(&self, connection: u32, query: bool, user: &str) -> bool {
        let what = if query { Kill::Query } else { Kill::Connection };
        self.user_of_own(connection).is_some_and(|of| of == user) && self.registry.kill(connection, what)
    }

    /// The nodes of the cluster that have sessions, but this one.
    fn other_nodes(&self) -> Vec<u32> {
        let replicas = self.shard.get().map_or_else(Vec::new, |shard| shard.replicas());
        let others = replicas
            .into_iter()
            .filter(|replica| replica.member.role == Role::Data)
            .map(|replica| replica.node)
            .filter(|&node| node != self.node);
        others.collect()
    }

    /// Asks one node. The question is under way when this returns.
    fn ask(&self, node: u32, request: &Request) -> Asked<Option<Response>> {
        let (Some(net), Ok(request)) = (self.net.get(), serde_json::to_vec(request)) else {
            return Box::pin(std::future::ready(None));
        };
        let call = net.call(node, Lane::Control, request, CALL);
        Box::pin(async move { serde_json::from_slice(&call.await.ok()?).ok() })
    }

    /// Asks the node that a connection is of; `None`: no other node of the cluster.
    fn ask_node_of(&self, connection: u32, request: &Request) -> Option<(u32, Asked<Option<Response>>)> {
        let node = node_of(connection).map(u32::from)?;
        self.other_nodes()
            .contains(&node)
            .then(|| (node, self.ask(node, request)))
    }
}

impl Cluster {
    /// Asks all other nodes. `take` says of each answer what was found, and whether that is all.
    fn gather<T: Send + 'static>(
        &self,
        request: &Request,
        take: impl Fn(Response, &mut Vec<T>) -> bool + Send + 'static,
    ) -> Asked<Gathered<T>> {
        let nodes = self.other_nodes().into_iter();
        let asked: Vec<_> = nodes.map(|node| (node, self.ask(node, request))).collect();
        Box::pin(async move {
            let (mut found, mut silent) = (Vec::new(), Vec::new());
            for (node, answer) in asked {
                let is_all = answer.await.is_some_and(|answer| take(answer, &mut found));
                silent.extend((!is_all).then_some(node));
            }
            Gathered { found, silent }
        })
    }
}

impl OtherNodes for Cluster {
    fn holders_of(&self, lock: &str) -> Asked<Gathered<u32>> {
        let request = Request::HolderOf { lock: lock.to_owned() };
        self.gather(&request, |answer, found| {
            // Another answer: it has no sessions yet.
            if let Response::Holder(holder) = answer {
                found.extend(holder);
            }
            true
        })
    }

    fn serving(&self) -> Asked<Gathered<bool>> {
        self.gather(&Request::AreYouServing, |answer, found| {
            // Another answer: it has not come so far.
            found.push(matches!(answer, Response::Serving(true)));
            true
        })
    }

    fn processes(&self, wanted: Wanted) -> Asked<Gathered<Process>> {
        let request = Request::Connections {
            attributes: wanted == Wanted::Attributes,
        };
        self.gather(&request, |answer, found| match answer {
            Response::Connections(told) => {
                found.extend(told.connections.into_iter().map(Process::from));
                told.complete
            }
            _ => false,
        })
    }

    fn user_of(&self, connection_id: u32) -> Asked<Result<Option<String>, Silent>> {
        let request = Request::UserOf {
            connection: connection_id,
        };
        let asked = self.ask_node_of(connection_id, &request);
        Box::pin(async move {
            let Some((node, answer)) = asked else { return Ok(None) };
            match answer.await {
                Some(Response::User(user)) => Ok(user),
                _ => Err(Silent { node }),
            }
        })
    }

    fn kill(&self, connection_id: u32, what: Kill, user: String) -> Asked<Result<bool, Silent>> {
        let request = Request::Kill {
            connection: connection_id,
            query: what == Kill::Query,
            user,
        };
        let asked = self.ask_node_of(connection_id, &request);
        Box::pin(async move {
            let Some((node, answer)) = asked else { return Ok(false) };
            match answer.await {
                Some(Response::Killed(killed)) => Ok(killed),
                _ => Err(Silent { node }),
            }
        })
    }
}

/// Statements are cut alike so that there is room for all, and the list ends where the answer would be too long.
fn told(processes: Vec<Process>, attributes: bool) -> Connections {
    let room = (STATEMENT_BYTES / processes.len().max(1)).max(STATEMENT_BYTES_MIN);
    let mut told = Connections {
        complete: true,
        ..Connections::default()
    };
    let mut bytes = 0;
    for mut process in processes {
        match attributes {
            true => process.statement = None,
            false => process.attributes.clear(),
        }
        if let Some(statement) = &mut process.statement {
            statement.truncate(statement.floor_char_boundary(room));
        }
        let connection = Connection::from(process);
        bytes += serde_json::to_string(&connection).map_or(0, |text| text.len() + 1);
        if bytes > ANSWER_BYTES {
            told.complete = false;
            break;
        }
        told.connections.push(connection);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processes(count: u32, statement: &str) -> Vec<Process> {
        let process = |id| Process {
            id,
            user: "root".to_owned(),
            host: "localhost:1".to_owned(),
            database: None,
            attributes: vec![("_os".to_owned(), "Linux".repeat(100))],
            command: "Query".into(),
            seconds: 0,
            state: "executing".into(),
            statement: Some(statement.to_owned()),
            memory_bytes: 1,
            memory_bytes_max: 2,
        };
        (1..=count).map(process).collect()
    }

    #[test]
    fn what_a_node_tells_of_its_sessions_fits_a_frame() {
        let few = told(processes(3, "SELECT 1"), false);
        assert!(few.complete && few.connections.len() == 3);
        assert_eq!(few.connections[0].statement.as_deref(), Some("SELECT 1"));
        assert!(few.connections[0].attributes.is_empty());
        assert!(told(processes(3, "SELECT 1"), true).connections[0].statement.is_none());
        let long = "\u{1}ä".repeat(1500);
        let many = told(processes(10_000, &long), false);
        assert!(serde_json::to_vec(&Response::Connections(many.clone())).unwrap().len() < 4 << 20);
        assert!(many.connections.len() > 5000, "{}", many.connections.len());
        assert!(!told(processes(10_000, &long), true).complete);
    }
}
