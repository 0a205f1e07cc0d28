//! EVAL, FCALL: a transaction of their own, which begins anew where it has to.

use redis_wire::Reply;
use sql_api::host::Host;

use super::{RunScript, Session, SessionCall, TRIES, commit, written_keys};
use crate::command::Command;
use crate::failure::{Failure, Outcome};
use crate::work::{Event, Work};

impl Session {
    pub(super) fn run_script(
        &mut self,
        command: &'static Command,
        run: RunScript,
        args: &[&[u8]],
        host: &dyn Host,
        reply: &mut Reply,
    ) -> Outcome {
        let begin = reply.bytes.len();
        let mut tries = 0;
        loop {
            match self.try_script(command, run, args, host, reply) {
                Ok(events) => {
                    self.keyspace.publish(&events, host);
                    return Ok(());
                }
                Err(Failure::Again(_)) if tries < TRIES => {
                    reply.bytes.truncate(begin);
                    tries += 1;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    fn try_script(
        &mut self,
        command: &'static Command,
        run: RunScript,
        args: &[&[u8]],
        host: &dyn Host,
        reply: &mut Reply,
    ) -> Outcome<Vec<Event>> {
        self.begin_statement();
        let keyspace = self.keyspace.clone();
        let db = keyspace.db(self.db, host)?;
        let mut work = Work::begin(&keyspace, self.durability, host);
        let declared = written_keys(command, args);
        match declared.is_empty() {
            true => work.catch_up()?,
            false => work.lock_keys(&db, declared)?,
        }
        run(
            &mut SessionCall {
                session: self,
                args,
                reply,
                host,
            },
            &mut work,
        )?;
        commit(work, host)
    }
}
