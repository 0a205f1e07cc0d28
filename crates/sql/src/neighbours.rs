//! What nodes ask each other about their sessions: the process list of all of them, KILL wherever a session is, who holds a lock, and
//! who serves. The way between the nodes is its owner's ([`Ways`]).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sql_api::nodes::{Asked, Gathered, OtherNodes, Silent, Wanted};
use sql_api::processes::{Kill, Process, Processes, node_of};

use crate::engine::Engine;

/// A question of one node's.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Whether the node serves, or is about to: it has the cluster's global variables.
    AreYouServing,
    /// The node's connections: with their statements, or with their attributes.
    Connections { attributes: bool },
    /// Which of the node's connections holds a lock of GET_LOCK.
    HolderOf { lock: String },
    /// Whose connection it is.
    UserOf { connection: u32 },
    /// Interrupts a connection, if it is that user's.
    Kill { connection: u32, query: bool, user: String },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Serving(bool),
    Connections(Connections),
    Holder(Option<u32>),
    /// `None`: there is none with that id.
    User(Option<String>),
    Killed(bool),
}

/// The ways to the other nodes.
pub trait Ways: Send + Sync {
    /// The nodes of the cluster that have sessions, but this one.
    fn others(&self) -> Vec<u32>;

    /// Asks one node. The question is under way when this returns.
    fn ask(&self, node: u32, question: Question) -> Asked<Heard>;
}

/// What came back from a node.
#[derive(Debug)]
pub enum Heard {
    Reply(Reply),
    /// It answers, but has no sessions yet.
    Starting,
    Nothing,
}

/// What a node replies. Without an engine it has no sessions.
pub fn reply(question: Question, engine: Option<&Engine>, processes: &dyn Processes) -> Reply {
    match question {
        Question::AreYouServing => Reply::Serving(engine.is_some_and(Engine::is_in_cluster)),
        Question::Connections { attributes } => Reply::Connections(told(processes.list(), attributes)),
        Question::HolderOf { lock } => Reply::Holder(engine.and_then(|engine| engine.own_holder_of(&lock))),
        Question::UserOf { connection } => Reply::User(user_of(processes, connection)),
        Question::Kill {
            connection,
            query,
            user,
        } => {
            let what = if query { Kill::Query } else { Kill::Connection };
            let is_theirs = user_of(processes, connection).is_some_and(|of| of == user);
            Reply::Killed(is_theirs && processes.kill(connection, what))
        }
    }
}

fn user_of(processes: &dyn Processes, connection: u32) -> Option<String> {
    let list = processes.list();
    list.into_iter()
        .find(|process| process.id == connection)
        .map(|process| process.user)
}

/// The other nodes by ways that lead there.
pub struct Neighbours<W>(pub Arc<W>);

impl<W: Ways> Neighbours<W> {
    /// Asks the node that a connection is of; `None`: no other node of the cluster.
    fn ask_node_of(&self, connection: u32, question: Question) -> Option<(u32, Asked<Heard>)> {
        let node = node_of(connection).map(u32::from)?;
        self.0
            .others()
            .contains(&node)
            .then(|| (node, self.0.ask(node, question)))
    }

    /// Asks all other nodes. `take` says of each answer what was found, and whether that is all.
    fn gather<T: Send + 'static>(
        &self,
        question: &Question,
        take: impl Fn(Heard, &mut Vec<T>) -> bool + Send + 'static,
    ) -> Asked<Gathered<T>> {
        let nodes = self.0.others().into_iter();
        let asked: Vec<_> = nodes.map(|node| (node, self.0.ask(node, question.clone()))).collect();
        Box::pin(async move {
            let (mut found, mut silent) = (Vec::new(), Vec::new());
            for (node, answer) in asked {
                let is_all = match answer.await {
                    Heard::Nothing => false,
                    heard => take(heard, &mut found),
                };
                silent.extend((!is_all).then_some(node));
            }
            Gathered { found, silent }
        })
    }
}

impl<W: Ways> OtherNodes for Neighbours<W> {
    fn holders_of(&self, lock: &str) -> Asked<Gathered<u32>> {
        let question = Question::HolderOf { lock: lock.to_owned() };
        self.gather(&question, |heard, found| {
            // Another answer: it has no sessions yet.
            if let Heard::Reply(Reply::Holder(holder)) = heard {
                found.extend(holder);
            }
            true
        })
    }

    fn serving(&self) -> Asked<Gathered<bool>> {
        self.gather(&Question::AreYouServing, |heard, found| {
            // Another answer: it has not come so far.
            found.push(matches!(heard, Heard::Reply(Reply::Serving(true))));
            true
        })
    }

    fn processes(&self, wanted: Wanted) -> Asked<Gathered<Process>> {
        let question = Question::Connections {
            attributes: wanted == Wanted::Attributes,
        };
        self.gather(&question, |heard, found| match heard {
            Heard::Reply(Reply::Connections(told)) => {
                found.extend(told.connections.into_iter().map(Process::from));
                told.complete
            }
            _ => false,
        })
    }

    fn user_of(&self, connection_id: u32) -> Asked<Result<Option<String>, Silent>> {
        let question = Question::UserOf {
            connection: connection_id,
        };
        let asked = self.ask_node_of(connection_id, question);
        Box::pin(async move {
            let Some((node, answer)) = asked else { return Ok(None) };
            match answer.await {
                Heard::Reply(Reply::User(user)) => Ok(user),
                _ => Err(Silent { node }),
            }
        })
    }

    fn kill(&self, connection_id: u32, what: Kill, user: String) -> Asked<Result<bool, Silent>> {
        let question = Question::Kill {
            connection: connection_id,
            query: what == Kill::Query,
            user,
        };
        let asked = self.ask_node_of(connection_id, question);
        Box::pin(async move {
            let Some((node, answer)) = asked else { return Ok(false) };
            match answer.await {
                Heard::Reply(Reply::Killed(killed)) => Ok(killed),
                _ => Err(Silent { node }),
            }
        })
    }
}

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
        assert!(serde_json::to_vec(&Reply::Connections(many.clone())).unwrap().len() < 4 << 20);
        assert!(many.connections.len() > 5000, "{}", many.connections.len());
        assert!(!told(processes(10_000, &long), true).complete);
    }
}
