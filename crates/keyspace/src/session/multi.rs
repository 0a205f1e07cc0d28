//! MULTI, EXEC, DISCARD, WATCH: several commands as one transaction, unless a watched key has changed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use governor::{MemoryStop, Stop};
use redis_wire::Reply;
use store::Snapshot;
use types::TableId;

use super::{Meant, Session, SessionCall, commit, run_call, written_keys};
use crate::acl::Context;
use crate::call::Call;
use crate::command::{Command, Commands, Handler};
use crate::failure::{Failure, Outcome};
use crate::tables::Part;
use crate::types::generic::database;
use crate::work::{Events, Work};

/// Commands that wait for EXEC.
#[derive(Default)]
pub struct Queue {
    requests: Vec<Vec<Vec<u8>>>,
    /// Of all of them, about.
    bytes: u64,
    /// One of them was refused: EXEC will be, too, and none of them is kept.
    is_spoilt: bool,
}

/// Keys that have to be as they were.
#[derive(Default)]
pub struct Watch {
    keys: HashMap<(u32, Vec<u8>), Watched>,
}

/// How a key was.
struct Watched {
    /// From here on it must not change.
    since: Arc<Snapshot>,
    was_there: bool,
    /// The table that it was in: SWAPDB puts another one there.
    table: TableId,
}

/// What a word takes beside its bytes.
const WORD_BYTES: usize = 48;

/// Whether so much may wait for EXEC: as much as a command may hold, while the node has room.
fn check_size(bytes: u64, limit: u64) -> Result<(), Stop> {
    match bytes <= limit {
        true => governor::tick(),
        false => Err(Stop::Memory(MemoryStop::Statement { bytes, limit })),
    }
}

/// Commands that MULTI does not put off.
pub fn runs_at_once(command: &Command) -> bool {
    matches!(
        command.name(),
        "exec" | "discard" | "multi" | "watch" | "quit" | "reset"
    )
}

impl Session {
    pub(super) fn enqueue(&mut self, command: &Command, args: &[&[u8]], reply: &mut Reply) -> Outcome {
        if command.flags.not_in_multi {
            self.spoil_queue();
            let text = format!("ERR Command not allowed inside a transaction: '{}'", command.name());
            return Err(Failure::Reply(text.into()));
        }
        let limit = self.statement_memory();
        let queue = self.queue.as_mut().expect("a transaction has begun");
        if !queue.is_spoilt {
            queue.bytes += args.iter().map(|arg| (arg.len() + WORD_BYTES) as u64).sum::<u64>();
            if let Err(stop) = check_size(queue.bytes, limit) {
                self.spoil_queue();
                return Err(stop.into());
            }
            queue.requests.push(args.iter().map(|arg| arg.to_vec()).collect());
            self.client.set_queued(Some(queue.requests.len()));
        }
        reply.simple("QUEUED");
        Ok(())
    }

    pub(super) fn spoil_queue(&mut self) {
        if let Some(queue) = &mut self.queue {
            *queue = Queue {
                is_spoilt: true,
                ..Queue::default()
            };
        }
    }

    pub(crate) fn forget_transaction(&mut self) {
        self.queue = None;
        self.watch = None;
        self.client.set_queued(None);
    }
}

pub fn multi(call: &mut SessionCall) -> Outcome {
    if call.session.queue.is_some() {
        return Err(Failure::reply("ERR MULTI calls can not be nested"));
    }
    call.session.queue = Some(Queue::default());
    call.session.client.set_queued(Some(0));
    call.reply.ok();
    Ok(())
}

pub fn discard(call: &mut SessionCall) -> Outcome {
    if call.session.queue.is_none() {
        return Err(Failure::reply("ERR DISCARD without MULTI"));
    }
    call.session.forget_transaction();
    call.reply.ok();
    Ok(())
}

pub fn watch(call: &mut SessionCall) -> Outcome {
    if call.session.queue.is_some() {
        return Err(Failure::reply("ERR WATCH inside MULTI is not allowed"));
    }
    if call.args[1..]
        .iter()
        .any(|name| super::rows::is_row(name, &call.session.keyspace))
    {
        return Err(super::rows::refused_in_transaction());
    }
    let keyspace = call.session.keyspace.clone();
    let db = keyspace.db(call.session.db, call.host)?;
    let work = Work::begin(&keyspace, call.session.durability, call.host);
    work.catch_up()?;
    // Before the keys are read: what is changed meanwhile is changed.
    let since = Arc::new(keyspace.engine().participant().store().snapshot());
    let watch = call.session.watch.get_or_insert_default();
    for &key in &call.args[1..] {
        governor::tick()?;
        watch.keys.entry((db.number, key.to_vec())).or_insert_with(|| Watched {
            since: since.clone(),
            was_there: work.kind(&db, key).is_some(),
            table: db.table(Part::Keys).id(),
        });
    }
    call.reply.ok();
    Ok(())
}

pub fn unwatch(call: &mut SessionCall) -> Outcome {
    call.session.watch = None;
    call.reply.ok();
    Ok(())
}

pub fn exec(call: &mut SessionCall) -> Outcome {
    let Some(queue) = call.session.queue.take() else {
        return Err(Failure::reply("ERR EXEC without MULTI"));
    };
    let watch = call.session.watch.take();
    call.session.client.set_queued(None);
    if queue.is_spoilt {
        return Err(Failure::reply(
            "EXECABORT Transaction discarded because of previous errors.",
        ));
    }
    let (args, host) = (call.args, call.host);
    call.session.in_transaction(host, call.reply, &mut |session, reply| {
        let mut call = SessionCall {
            session,
            args,
            reply,
            host,
        };
        let db_before = call.session.db;
        let done = call.try_exec(&queue, watch.as_ref());
        if done.is_err() {
            // A SELECT in it is not done, either.
            call.session.db = db_before;
        }
        done
    })
}

impl SessionCall<'_> {
    fn try_exec(&mut self, queue: &Queue, watch: Option<&Watch>) -> Outcome<Events> {
        let (keyspace, host) = (self.session.keyspace.clone(), self.host);
        let db_before = self.session.db;
        let mut work = self.session.begin_work(&keyspace, host);
        let requests: Vec<Vec<&[u8]>> = queue
            .requests
            .iter()
            .map(|request| request.iter().map(Vec::as_slice).collect())
            .collect();
        self.lock_all(&work, &requests, watch)?;
        if let Some(watch) = watch
            && self.has_changed(&work, watch)?
        {
            self.reply.null_array();
            return commit(work, host);
        }
        self.reply.array(requests.len());
        for args in &requests {
            governor::tick()?;
            let (meant, begun) = (self.session.meant(args), Instant::now());
            let command = meant.command();
            let at = self.reply.bytes.len();
            match meant {
                Meant::Data { command, run } => {
                    let db = keyspace.db(self.session.db, host)?;
                    let mut call = Call {
                        work: &mut work,
                        db,
                        args,
                        reply: self.reply,
                        may_block: false,
                    };
                    run_call(&mut call, (command, run))?;
                }
                Meant::Script { command, run } => {
                    let savepoint = work.savepoint();
                    let held = self.session.held_messages.as_ref().map_or(0, Vec::len);
                    let done = run(
                        &mut SessionCall {
                            session: self.session,
                            args,
                            reply: self.reply,
                            host,
                        },
                        &mut work,
                    );
                    match done {
                        Ok(()) => work.release(savepoint),
                        Err(failure) if failure.ends_transaction() => return Err(failure),
                        Err(failure) => {
                            work.roll_back_to(savepoint);
                            if let Some(messages) = &mut self.session.held_messages {
                                messages.truncate(held);
                            }
                            self.reply.bytes.truncate(at);
                            self.reply.error_bytes(&failure.text());
                        }
                    }
                    self.session.note_reply(command, &self.reply.bytes[at..]);
                }
                Meant::Session { command, run } => {
                    let done = run(&mut SessionCall {
                        session: self.session,
                        args,
                        reply: self.reply,
                        host,
                    });
                    match done {
                        Ok(()) => {}
                        Err(failure) if failure.ends_transaction() => return Err(failure),
                        Err(failure) => {
                            self.reply.bytes.truncate(at);
                            self.reply.error_bytes(&failure.text());
                        }
                    }
                    self.session.note_reply(command, &self.reply.bytes[at..]);
                    self.reply.protocol = self.session.protocol;
                }
                // A table that has come since MULTI.
                Meant::Rows { command } => {
                    self.reply.error_bytes(&super::rows::refused_in_transaction().text());
                    self.session.note_reply(command, &self.reply.bytes[at..]);
                }
                Meant::Refused(failure) => {
                    keyspace.note_refused(args, &failure);
                    self.session.note_denied(&failure, args, Context::Multi);
                    self.reply.error_bytes(&failure.text());
                }
            }
            if let Some(command) = command {
                let took = begun.elapsed();
                keyspace.latencies.add(std::iter::once(command), took);
            }
        }
        let events = commit(work, host)?;
        self.show_all(&requests, db_before);
        Ok(events)
    }

    /// Shows what has run to those who monitor.
    fn show_all(&self, requests: &[Vec<&[u8]>], mut db: u32) {
        if self.session.keyspace.monitors.is_empty() {
            return;
        }
        for args in requests {
            let command = Commands::get().find(args[0]).and_then(|command| command.meant_by(args));
            let Some(command) = command else { continue };
            if command.name() == "select" && args.len() == 2 {
                db = database(args[1]).unwrap_or(db);
            }
            self.session.show(command, db, args);
        }
    }

    /// Locks all keys that the transaction names: database by database.
    fn lock_all(&mut self, work: &Work<'_>, requests: &[Vec<&[u8]>], watch: Option<&Watch>) -> Outcome {
        let mut db = self.session.db;
        let mut keys: Vec<(u32, &[u8])> = Vec::new();
        for (db, key) in watch.iter().flat_map(|watch| watch.keys.keys()) {
            keys.push((*db, key));
        }
        let mut writes = false;
        for args in requests {
            let commands = Commands::get();
            let command = commands.find(args[0]).and_then(|command| command.meant_by(args));
            let Some(command) = command else { continue };
            if command.name() == "select" && args.len() == 2 {
                db = database(args[1]).unwrap_or(db);
            }
            self.session.note_reads(db, command, args);
            if matches!(command.handler, Handler::Data(_) | Handler::Script(_)) {
                let declared = written_keys(command, args);
                writes |= command.flags.writes || !declared.is_empty();
                keys.extend(declared.into_iter().map(|key| (db, key)));
            }
        }
        if writes || watch.is_some() {
            keys.extend(self.session.late_keys.iter().map(|(db, key)| (*db, key.as_slice())));
            work.lock_keys_of_databases(keys)?;
        }
        work.catch_up()
    }

    fn has_changed(&self, work: &Work<'_>, watch: &Watch) -> Outcome<bool> {
        for ((number, key), watched) in &watch.keys {
            governor::tick()?;
            let Watched {
                since,
                was_there,
                table,
            } = watched;
            let db = work.db(*number)?;
            // One that has expired meanwhile has changed, too.
            if *table != db.table(Part::Keys).id()
                || work.is_changed_since(&db, key, since)
                || *was_there && work.kind(&db, key).is_none()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
