//! `KILL`, of a session on whatever node it is.

use parser::ast;
use types::{ErrorKind, SqlError, SqlResult};

use super::Session;
use super::parameters::Parameters;
use crate::exec::Answer;
use crate::host::Host;
use crate::nodes::{OtherNodes, Silent};
use crate::processes::{Kill, Processes};
use crate::waiting::wait_for;

impl Session {
    /// The rights are looked at here, by the catalog that all nodes have; another node only asks whether the connection is that
    /// user's still.
    pub(super) fn kill(&mut self, kill: &ast::Kill, parameters: Parameters<'_>, host: &dyn Host) -> SqlResult<Answer> {
        let id = self.evaluate(&kill.id, parameters, host)?;
        let unknown = || SqlError::new(ErrorKind::NoSuchThread, &[&id]);
        let number = id.to_string().parse::<u32>().map_err(|_| unknown())?;
        let what = if kill.query { Kill::Query } else { Kill::Connection };
        if number == self.options.connection_id {
            self.ends |= !kill.query;
            return Err(ErrorKind::QueryInterrupted.into());
        }
        let engine = self.engine.clone();
        let here = engine.processes().filter(|here| knows(here.as_ref(), number));
        let user = match (here, engine.other_nodes()) {
            (Some(here), _) => user_of(here.as_ref(), number),
            (None, Some(nodes)) => wait_for(nodes.user_of(number), host)?.map_err(silent)?,
            (None, None) => None,
        };
        let user = user.ok_or_else(unknown)?;
        if !self.access().may_kill_session_of(&engine.catalog(), &user) {
            return Err(SqlError::new(ErrorKind::KillDenied, &[&number]));
        }
        let is_there = match (here, engine.other_nodes()) {
            (Some(here), _) => here.kill(number, what),
            (None, Some(nodes)) => kill_elsewhere(nodes.as_ref(), number, what, user, host)?,
            (None, None) => false,
        };
        match is_there {
            true => Ok(Answer::done()),
            false => Err(unknown()),
        }
    }
}

fn knows(here: &dyn Processes, id: u32) -> bool {
    user_of(here, id).is_some()
}

fn user_of(here: &dyn Processes, id: u32) -> Option<String> {
    here.list()
        .into_iter()
        .find(|process| process.id == id)
        .map(|process| process.user)
}

fn kill_elsewhere(nodes: &dyn OtherNodes, id: u32, what: Kill, user: String, host: &dyn Host) -> SqlResult<bool> {
    wait_for(nodes.kill(id, what, user), host)?.map_err(silent)
}

pub(crate) fn silent(Silent { node }: Silent) -> SqlError {
    SqlError::with_message(ErrorKind::UnknownError, format!("Node {node} does not answer"))
}
