//! EVAL, FCALL: a transaction of their own, which begins anew where it has to.

use redis_wire::Reply;
use sql_api::host::Host;

use super::{RunScript, Session, SessionCall, commit, written_keys};
use crate::command::Command;
use crate::failure::Outcome;
use crate::work::Events;

impl Session {
    pub(super) fn run_script(
        &mut self,
        command: &'static Command,
        run: RunScript,
        args: &[&[u8]],
        host: &dyn Host,
        reply: &mut Reply,
    ) -> Outcome {
        self.in_transaction(host, reply, &mut |session, reply| {
            session.try_script(command, run, args, host, reply)
        })
    }

    fn try_script(
        &mut self,
        command: &'static Command,
        run: RunScript,
        args: &[&[u8]],
        host: &dyn Host,
        reply: &mut Reply,
    ) -> Outcome<Events> {
        let keyspace = self.keyspace.clone();
        let mut work = self.begin_work(&keyspace, host);
        let declared = written_keys(command, args).into_iter().map(|key| (self.db, key));
        let late = self.late_keys.iter().map(|(db, key)| (*db, key.as_slice()));
        let keys: Vec<(u32, &[u8])> = declared.chain(late).collect();
        match keys.is_empty() {
            true => work.catch_up()?,
            false => work.lock_keys_of_databases(keys)?,
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
