//! A client's session: one command after the other, several at once, or none before EXEC.
//!
//! ```text
//!   a pipeline ──▶ runs of commands on keys: one transaction each ──▶ answers, when it is committed
//!              └─▶ commands on the session, EXEC, those that block: alone
//! ```
//!
//! Commands that a client sends without waiting for answers share a transaction as far as they can, and its commit. None is answered
//! before. If the transaction has to begin anew, it does so for each of them alone.

pub mod alone;
pub mod multi;
pub mod pubsub;
mod rights;
pub(crate) mod rows;
mod scripts;
mod shown;
pub(crate) mod tracking;

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis_wire::{Protocol, Reply};
use sql::session::wait_for_commit;
use sql_api::host::{Host, WaitEnd};
use sql_api::session::SessionAccount;
use transaction::Durability;

use crate::acl::Rights;
use crate::batch::{self, Submission};
use crate::call::Call;
use crate::clients::{Client, Unblock};
use crate::command::{Command, Commands, Handler};
use crate::failure::{Failure, InVain, Outcome, Turn, Wanted, beginning, c_string, wrong_number_of_arguments};
use crate::head::Kind;
use crate::hub::Place;
use crate::keyspace::Keyspace;
use crate::work::{Events, Work};

use multi::{Queue, Watch};
use pubsub::{Message, Subscriptions};
use tracking::Tracks;

/// Requests that share a transaction are copied. What is longer runs alone, from where it came.
const SHARED_BYTES_MAX: usize = 1 << 20;
/// How often work begins anew before its client is told.
const TRIES: u32 = 20;
/// A waiting command looks again after so long, though nobody has called it: another node may have changed its keys.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// On a node alone only SQL can have.
const BETWEEN_LOOKS_ALONE: Duration = Duration::from_secs(1);

/// What a session asks of the front.
pub trait Surroundings {
    /// Who logs in with a password; `user` is none where the client names nobody. Waits its turn.
    fn log_in(&self, user: Option<&str>, password: &[u8], host: &dyn Host) -> Result<SessionAccount, String>;
    /// Whether the client is let in without a password.
    fn needs_no_password(&self) -> bool;
    /// The address of the client.
    fn address(&self) -> String;
    /// The one that it has connected to.
    fn local_address(&self) -> String;
    /// Interrupts a connection; false: there is none.
    fn kill(&self, id: u64) -> bool;
}

/// One client's session.
pub struct Session {
    pub(crate) keyspace: Arc<Keyspace>,
    pub(crate) surroundings: Box<dyn Surroundings>,
    pub id: u64,
    pub db: u32,
    pub protocol: Protocol,
    /// `None`: the client has to log in.
    pub account: Option<SessionAccount>,
    /// Who the client was without a login.
    pub(crate) first_account: Option<SessionAccount>,
    pub(crate) client: Arc<Client>,
    pub(crate) reply_mode: ReplyMode,
    /// Nobody wants the answer to the command that is running.
    pub(crate) skips_reply: bool,
    pub(crate) durability: Durability,
    pub(crate) queue: Option<Queue>,
    pub(crate) watch: Option<Watch>,
    pub(crate) tracks: Tracks,
    pub(crate) monitors: bool,
    subscriptions: Option<Subscriptions>,
    rows: Option<rows::Rows>,
    /// What the transaction that is running has published.
    pub(crate) held_messages: Option<Vec<Message>>,
    /// Keys that scripts in it did not declare and have changed: when it begins anew, it locks them before its snapshot.
    pub(crate) late_keys: BTreeSet<(u32, Vec<u8>)>,
    /// What the account may do with the keys of a database, by the catalog of this version.
    rights: Option<(u64, u32, Rights)>,
    /// The error that is answered is one of a command in the script, and counted.
    pub(crate) error_is_counted: bool,
    /// The connection ends when the answers have been sent.
    pub ends: bool,
}

/// Which answers a client wants (CLIENT REPLY).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReplyMode {
    #[default]
    On,
    Off,
    /// None to the next command.
    SkipNext,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.keyspace.clients.leave(self.id);
        self.keyspace.tracking.end(self.id);
        self.keyspace.monitors.end(self.id);
    }
}

/// A command on the session or the server.
pub struct SessionCall<'c> {
    pub session: &'c mut Session,
    pub args: &'c [&'c [u8]],
    pub reply: &'c mut Reply,
    pub host: &'c dyn Host,
}

/// What runs a command on keys.
pub type Run = fn(&mut Call<'_, '_>) -> Outcome;

/// What runs a script, in a transaction whose locks the keys have that it declares.
pub type RunScript = fn(&mut SessionCall<'_>, &mut Work<'_>) -> Outcome;

/// A request: its words, the command's name first.
pub type Request<'r> = Vec<&'r [u8]>;

/// What a request turns out to be.
enum Meant {
    /// Runs on keys.
    Data {
        command: &'static Command,
        run: Run,
    },
    /// Runs commands on keys.
    Script {
        command: &'static Command,
        run: RunScript,
    },
    /// Runs on rows of SQL's own tables.
    Rows {
        command: &'static Command,
    },
    /// Runs on the session.
    Session {
        command: &'static Command,
        run: fn(&mut SessionCall<'_>) -> Outcome,
    },
    Refused(Failure),
}

impl Meant {
    /// None where it may not run in a transaction with others. What takes long is not done in their time.
    fn as_member(&self) -> Option<Member> {
        match self {
            Meant::Data { command, run } if !command.flags.blocks && (!command.flags.writes || command.shares) => {
                Some((command, *run))
            }
            _ => None,
        }
    }
}

/// Whether a command has looked already for what it waits for. Who is going to wait for entries of a group is a consumer of it from then
/// on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    Later,
}

/// A command that runs in a transaction with others.
pub(crate) type Member = (&'static Command, Run);

impl Session {
    pub fn new(
        keyspace: Arc<Keyspace>,
        id: u64,
        account: Option<SessionAccount>,
        surroundings: Box<dyn Surroundings>,
    ) -> Session {
        let durability = keyspace.engine().durability();
        let client = Client::new(
            id,
            surroundings.address(),
            surroundings.local_address(),
            keyspace.now_ms(),
        );
        if let Some(SessionAccount::Account { user, .. }) = &account {
            client.set_user(user);
        }
        keyspace.clients.enter(&client);
        Session {
            keyspace,
            surroundings,
            id,
            db: 0,
            protocol: Protocol::Resp2,
            first_account: account.clone(),
            account,
            client,
            reply_mode: ReplyMode::default(),
            skips_reply: false,
            durability,
            queue: None,
            watch: None,
            tracks: Tracks::default(),
            monitors: false,
            subscriptions: None,
            rows: None,
            held_messages: None,
            late_keys: BTreeSet::new(),
            rights: None,
            error_is_counted: false,
            ends: false,
        }
    }

    /// Runs requests in their order. Their answers are appended.
    pub fn run(&mut self, requests: &[Request<'_>], host: &dyn Host, reply: &mut Reply) {
        let mut begun = Instant::now();
        let mut rest = requests;
        while let Some(first) = rest.first()
            && !self.ends
        {
            reply.protocol = self.protocol;
            let meant = self.meant(first);
            let group = self.group_of(&meant, rest);
            let (now, then) = rest.split_at(group.len().max(1));
            // Of a group, its members are.
            let command = meant.command().filter(|_| group.is_empty());
            let is_refused = matches!(meant, Meant::Refused(_));
            let was_queued = self.queue.is_some();
            if !is_refused {
                self.show_before(command, &group, now);
            }
            match group.is_empty() {
                true => self.run_meant(meant, first, host, reply),
                false => self.run_group(&group, now, host, reply),
            }
            let ended = Instant::now();
            // What is put off is counted when it runs.
            let has_run = !was_queued || command.is_none_or(multi::runs_at_once);
            if !is_refused && has_run {
                self.note_time(command, &group, first, ended - begun);
            }
            if let Some(command) = command {
                self.show_after(command, was_queued, first);
            }
            (begun, rest) = (ended, then);
        }
    }

    /// The first request and those behind it that share a transaction. None where it has to run alone.
    fn group_of(&mut self, first: &Meant, requests: &[Request<'_>]) -> Vec<Member> {
        let Some(first) = first.as_member() else {
            return Vec::new();
        };
        if self.queue.is_some() || self.reply_mode != ReplyMode::On || self.runs_alone() {
            return Vec::new();
        }
        let bytes_of = |request: &Request<'_>| request.iter().map(|arg| arg.len()).sum::<usize>();
        let mut bytes = bytes_of(&requests[0]);
        if bytes > SHARED_BYTES_MAX {
            return Vec::new();
        }
        let mut group = vec![first];
        for request in &requests[1..] {
            bytes += bytes_of(request);
            if bytes > SHARED_BYTES_MAX {
                break;
            }
            match self.meant(request).as_member() {
                Some(member) => group.push(member),
                None => break,
            }
        }
        // One that reads has nothing to gain from others.
        if group.len() == 1 && !first.0.shares {
            group.clear();
        }
        group
    }

    /// Who runs a request; an error where nobody may, or can.
    fn meant(&mut self, args: &[&[u8]]) -> Meant {
        match self.look_up(args) {
            Err(failure) => Meant::Refused(failure),
            Ok((command, true)) => Meant::Rows { command },
            Ok((command, false)) => match command.handler {
                Handler::Data(run) => Meant::Data { command, run },
                Handler::Script(run) => Meant::Script { command, run },
                Handler::Session(run) => Meant::Session { command, run },
                Handler::Nobody => Meant::Refused(Failure::Reply(
                    format!("ERR the command '{}' is not implemented", command.name()).into(),
                )),
            },
        }
    }

    /// The command, and whether its keys are rows of SQL's own tables.
    fn look_up(&mut self, args: &[&[u8]]) -> Outcome<(&'static Command, bool)> {
        let name = args.first().copied().unwrap_or_default();
        let Some(command) = Commands::get().find(name) else {
            return Err(unknown_command(args));
        };
        let Some(meant) = command.meant_by(args) else {
            let name = command.name().to_ascii_uppercase();
            let text = format!("ERR unknown subcommand '{{}}'. Try {name} HELP.");
            return Err(Failure::naming(&text, &[beginning(args[1])]));
        };
        if !meant.takes(args.len()) || !command.takes(args.len()) {
            return Err(wrong_number_of_arguments(meant.name()));
        }
        if self.account.is_none() && !meant.flags.without_login {
            return Err(Failure::reply("NOAUTH Authentication required."));
        }
        if self.only_listens() && !pubsub::is_allowed(command.name()) {
            return Err(pubsub::refused(meant.name()));
        }
        // The rights on rows of tables are those of SQL.
        let is_on_rows = matches!(meant.handler, Handler::Data(_)) && rows::names_rows(meant, args, &self.keyspace);
        if !is_on_rows {
            self.check_rights(meant, args)?;
        }
        self.check_monitoring(meant)?;
        Ok((meant, is_on_rows))
    }

    // --- several at once ---

    /// Runs commands in one transaction: if some write, with those that others send at the same time. Whoever fails then is told so
    /// alone.
    fn run_group(&mut self, group: &[Member], requests: &[Request<'_>], host: &dyn Host, reply: &mut Reply) {
        let writes = group.iter().find(|(command, _)| command.flags.writes);
        let (shown, _) = writes.unwrap_or(&group[0]);
        if let Err(failure) = self.begin_command(shown, host) {
            return requests.iter().for_each(|_| reply.error_bytes(&failure.text()));
        }
        let begin = reply.bytes.len();
        self.begin_statement();
        let done = match writes {
            Some(_) => self.write_with_others(group, requests, host, reply),
            None => self.read_group(group, requests, host, reply).is_ok(),
        };
        if !done {
            reply.bytes.truncate(begin);
            for request in requests {
                let meant = self.meant(request);
                self.run_meant(meant, request, host, reply);
            }
        }
    }

    /// False: they have to be run alone.
    fn write_with_others(
        &mut self,
        group: &[Member],
        requests: &[Request<'_>],
        host: &dyn Host,
        reply: &mut Reply,
    ) -> bool {
        let mut submission = Submission::new(self.keyspace.clone(), self.db, self.protocol, self.durability);
        for (member, args) in group.iter().zip(requests) {
            let (command, _) = member;
            self.note_reads(self.db, command, args);
            submission.add(*member, args);
            if command.flags.writes {
                command.each_key(args, |at| submission.lock(at));
            }
        }
        batch::run(submission, host, reply)
    }

    fn read_group(
        &mut self,
        group: &[Member],
        requests: &[Request<'_>],
        host: &dyn Host,
        reply: &mut Reply,
    ) -> Outcome {
        let keyspace = self.keyspace.clone();
        let db = keyspace.db(self.db, host)?;
        for ((command, _), args) in group.iter().zip(requests) {
            self.note_reads(self.db, command, args);
        }
        let mut work = Work::begin(&keyspace, self.durability, host);
        work.catch_up()?;
        let keys = group
            .iter()
            .zip(requests)
            .flat_map(|((command, _), args)| command.keys_in(args));
        db.fetch_ahead(keys);
        for (member, args) in group.iter().zip(requests) {
            governor::tick()?;
            let mut call = Call {
                work: &mut work,
                db: db.clone(),
                args,
                reply,
                may_block: false,
            };
            run_call(&mut call, *member)?;
        }
        commit(work, host).map(|_| ())
    }

    // --- one ---

    fn run_meant(&mut self, meant: Meant, args: &[&[u8]], host: &dyn Host, reply: &mut Reply) {
        // What a browser sends that somebody has lured here is not answered.
        if args[0].eq_ignore_ascii_case(b"host:") || args[0].eq_ignore_ascii_case(b"post") {
            self.ends = true;
            return;
        }
        let begin = reply.bytes.len();
        reply.protocol = self.protocol;
        self.skips_reply = self.reply_mode == ReplyMode::SkipNext;
        if self.skips_reply {
            self.reply_mode = ReplyMode::On;
        }
        let command = meant.command();
        let is_put_off = command.is_some_and(|command| !self.runs_now(command));
        if let Meant::Refused(failure) = &meant {
            self.note_denied(failure, args, self.context());
        }
        let result = match (meant, self.queue.is_some()) {
            // Whatever is wrong with EXEC, the transaction is over.
            (Meant::Refused(failure), true) if args[0].eq_ignore_ascii_case(b"exec") => {
                self.forget_transaction();
                let why = failure.text();
                let why = why.strip_prefix(b"ERR ").unwrap_or(&why);
                Err(Failure::naming(
                    "EXECABORT Transaction discarded because of: {}",
                    &[why],
                ))
            }
            (Meant::Refused(failure), is_queued) => {
                if is_queued {
                    self.spoil_queue();
                }
                Err(failure)
            }
            (Meant::Rows { .. }, true) => {
                self.spoil_queue();
                Err(rows::refused_in_transaction())
            }
            (Meant::Rows { command }, false) => self
                .begin_command(command, host)
                .and_then(|()| self.run_on_rows(command, args, host, reply)),
            (Meant::Data { command, .. } | Meant::Script { command, .. } | Meant::Session { command, .. }, true)
                if !multi::runs_at_once(command) =>
            {
                self.enqueue(command, args, reply)
            }
            (Meant::Data { command, run }, _) => self
                .begin_command(command, host)
                .and_then(|()| self.run_data(command, run, args, host, reply)),
            (Meant::Script { command, run }, _) => self
                .begin_command(command, host)
                .and_then(|()| self.run_script(command, run, args, host, reply)),
            (Meant::Session { command, run }, _) => self.begin_command(command, host).and_then(|()| {
                self.begin_statement();
                run(&mut SessionCall {
                    session: self,
                    args,
                    reply,
                    host,
                })
            }),
        };
        let comes_in_any_mode = result.is_ok() && command.is_some_and(pubsub::pushes);
        if let Err(failure) = &result {
            reply.bytes.truncate(begin);
            reply.protocol = self.protocol;
            reply.error_bytes(&failure.text());
        }
        match (command, result) {
            (Some(command), _) if !is_put_off => self.note_reply(command, &reply.bytes[begin..]),
            (_, Err(failure)) => self.keyspace.note_refused(args, &failure),
            (_, Ok(())) => {}
        }
        if !comes_in_any_mode && (self.skips_reply || self.reply_mode != ReplyMode::On) {
            reply.bytes.truncate(begin);
        }
        self.forget_caching(args[0]);
    }

    /// Tells others what the client does, and waits where all have to.
    fn begin_command(&self, command: &'static Command, host: &dyn Host) -> Outcome {
        self.client.note(
            command.name(),
            self.db,
            self.protocol == Protocol::Resp3,
            self.subscriptions.is_some(),
            self.keyspace.now_ms(),
        );
        let is_data = command.flags.reads || command.flags.writes || command.name() == "exec";
        while is_data && let Some(until) = self.keyspace.clients.paused(command.flags.writes) {
            let left = u64::try_from(until - self.keyspace.now_ms()).unwrap_or(0);
            if left == 0 {
                break;
            }
            let time = Duration::from_millis(left).min(BETWEEN_LOOKS);
            if let WaitEnd::Interrupted(interrupt) = host.wait_interruptible(pin!(std::future::pending()), Some(time)) {
                return Err(governor::Stop::Interrupt(interrupt).into());
            }
        }
        Ok(())
    }

    /// From here on the governor counts for a new command.
    fn begin_statement(&self) {
        governor::begin_statement(self.statement_memory());
    }

    /// Bytes that a command may hold.
    pub(crate) fn statement_memory(&self) -> u64 {
        self.keyspace.engine().participant().store().memory().limit() / 4
    }

    fn run_data(
        &mut self,
        command: &'static Command,
        run: Run,
        args: &[&[u8]],
        host: &dyn Host,
        reply: &mut Reply,
    ) -> Outcome {
        match self.try_data(command, run, args, Attempt::First, host, reply) {
            Err(Failure::Blocks(wanted)) => self.wait_for(&wanted, command, run, args, host, reply),
            result => result,
        }
    }

    /// Runs a command in a transaction of its own, which begins anew where it has to.
    fn try_data(
        &mut self,
        command: &'static Command,
        run: Run,
        args: &[&[u8]],
        attempt: Attempt,
        host: &dyn Host,
        reply: &mut Reply,
    ) -> Outcome {
        self.in_transaction(host, reply, &mut |session, reply| {
            let keyspace = session.keyspace.clone();
            let db = keyspace.db(session.db, host)?;
            session.note_reads(session.db, command, args);
            let mut work = session.begin_work(&keyspace, host);
            let written = written_keys(command, args);
            match written.is_empty() {
                true => work.catch_up()?,
                false => work.lock_keys(&db, written)?,
            }
            let done = run(&mut Call {
                work: &mut work,
                db,
                args,
                reply,
                may_block: true,
            });
            if let Err(Failure::Blocks(wanted)) = &done
                && attempt == Attempt::First
                && matches!(wanted.turn, Turn::OfGroup(_))
            {
                let events = commit(work, host)?;
                keyspace.publish(&events, host);
                return done.map(|()| Events::default());
            }
            done?;
            commit(work, host)
        })
    }

    /// Runs a transaction, anew where it has to begin anew, and tells others when it is committed. What it publishes they hear then, and
    /// never if it is not.
    fn in_transaction(
        &mut self,
        host: &dyn Host,
        reply: &mut Reply,
        attempt: &mut dyn FnMut(&mut Session, &mut Reply) -> Outcome<Events>,
    ) -> Outcome {
        let begin = reply.bytes.len();
        let mut tries = 0;
        let ended = loop {
            self.begin_statement();
            self.held_messages = Some(Vec::new());
            let done = attempt(self, reply);
            let held = self.held_messages.take().unwrap_or_default();
            match done {
                Ok(events) => {
                    self.keyspace.publish(&events, host);
                    for message in held {
                        message.send(&self.keyspace);
                    }
                    break Ok(());
                }
                Err(Failure::Again(_)) if tries < TRIES => {
                    reply.bytes.truncate(begin);
                    tries += 1;
                }
                Err(failure) => break Err(failure),
            }
        };
        self.late_keys.clear();
        ended
    }

    /// Waits until a key has what the command wants, in the line of all who do.
    fn wait_for(
        &mut self,
        wanted: &Wanted,
        command: &'static Command,
        run: Run,
        args: &[&[u8]],
        host: &dyn Host,
        reply: &mut Reply,
    ) -> Outcome {
        let mut fixed: Vec<&[u8]> = args.to_vec();
        for (at, arg) in &wanted.fixed {
            fixed[*at] = arg;
        }
        let keyspace = self.keyspace.clone();
        let deadline = wanted.timeout.map(|timeout| self.passed() + timeout);
        let place = keyspace.hub.wait_for(self.db, wanted.keys.clone(), wanted.turn.clone());
        self.client.set_waiting(Some(place.waiter().clone()));
        let waited = self.wait_in(&place, deadline, host, &mut |session| {
            let begin = reply.bytes.len();
            match session.try_data(command, run, &fixed, Attempt::Later, host, reply) {
                Err(Failure::Blocks(_)) => {
                    reply.bytes.truncate(begin);
                    Ok(false)
                }
                // What it waits for has become something else, and may become what it was again.
                Err(failure)
                    if failure.is_wrong_type()
                        && !matches!(wanted.turn, Turn::OfGroup(_))
                        && !session.has_wanted(wanted) =>
                {
                    reply.bytes.truncate(begin);
                    Ok(false)
                }
                done => done.map(|()| true),
            }
        });
        self.client.set_waiting(None);
        match (waited?, wanted.in_vain) {
            (true, _) => {}
            (false, InVain::Null) => reply.null(),
            (false, InVain::NullArray) => reply.null_array(),
        }
        Ok(())
    }

    /// Whether one of the keys is of the type that is waited for.
    fn has_wanted(&self, wanted: &Wanted) -> bool {
        let kind = match wanted.turn {
            Turn::First(kind) => kind,
            Turn::OfGroup(_) | Turn::Everybody => Kind::Stream,
        };
        let Ok(Some(db)) = self.keyspace.existing_db(self.db) else {
            return false;
        };
        let is_it = |key: &Vec<u8>| db.newest_kind(key) == Some(kind);
        wanted.keys.iter().any(is_it)
    }

    /// Tries again and again when its turn has come; false: in vain.
    fn wait_in(
        &mut self,
        place: &Place<'_>,
        deadline: Option<Duration>,
        host: &dyn Host,
        try_again: &mut dyn FnMut(&mut Session) -> Outcome<bool>,
    ) -> Outcome<bool> {
        let between_looks = match self.keyspace.engine().participant().nodes().len() {
            0 | 1 => BETWEEN_LOOKS_ALONE,
            _ => BETWEEN_LOOKS,
        };
        let mut is_over = false;
        loop {
            let has_found = place.is_first() && try_again(self)?;
            place.waiter().has_looked();
            if has_found {
                return Ok(true);
            }
            let left = match place.ended() {
                Some(Unblock::AsAfterTimeout) => return Ok(false),
                Some(Unblock::WithError) => {
                    return Err(Failure::reply("UNBLOCKED client unblocked via CLIENT UNBLOCK"));
                }
                None => deadline.map(|deadline| deadline.saturating_sub(self.passed())),
            };
            if is_over || left == Some(Duration::ZERO) {
                return Ok(false);
            }
            // Whoever is behind is called by the one before.
            let look_again = place.is_first().then_some(between_looks);
            let wait = left.into_iter().chain(look_again).min();
            match host.wait_interruptible(pin!(place.called()), wait) {
                WaitEnd::Interrupted(interrupt) => return Err(governor::Stop::Interrupt(interrupt).into()),
                // By the host's clock, which may be finer.
                WaitEnd::TimedOut => is_over = wait == left,
                WaitEnd::Done => {}
            }
        }
    }

    /// Time since some moment, by which waits are measured.
    fn passed(&self) -> Duration {
        self.keyspace.engine().env().clock.monotonic()
    }
}

/// The keys that a command names and may change.
pub(crate) fn written_keys<'a>(command: &Command, args: &[&'a [u8]]) -> Vec<&'a [u8]> {
    // A script that does not say otherwise may write.
    let may_write = command.flags.writes || matches!(command.handler, Handler::Script(_)) && !command.flags.reads;
    if !may_write {
        return Vec::new();
    }
    // Of a command that writes, what it reads must not change meanwhile either.
    command.keys_in(args)
}

/// Runs a command in a transaction that goes on after it. Its failure undoes what it did, and is its answer.
pub(crate) fn run_call(call: &mut Call<'_, '_>, (command, run): Member) -> Outcome {
    let begin = call.reply.bytes.len();
    let savepoint = call.work.savepoint();
    match run(call) {
        Ok(()) => {
            call.work.release(savepoint);
            Ok(())
        }
        Err(failure) if failure.ends_transaction() => Err(failure),
        Err(failure) => {
            call.work.roll_back_to(savepoint);
            call.reply.bytes.truncate(begin);
            call.reply.error_bytes(&failure.text());
            call.work.keyspace.note_reply(command, &call.reply.bytes[begin..]);
            Ok(())
        }
    }
}

/// Commits; what others are to be told of it.
pub(crate) fn commit(work: Work<'_>, host: &dyn Host) -> Outcome<Events> {
    let (transaction, events, effects) = work.into_transaction();
    // Until others can see it.
    let _effects = effects.begin();
    if transaction.has_writes() {
        wait_for_commit(transaction.commit(), host)?;
    } else if transaction.is_guest() {
        host.wait(pin!(transaction.rolled_back()));
    }
    Ok(events)
}

fn unknown_command(args: &[&[u8]]) -> Failure {
    let name = args.first().copied().unwrap_or_default();
    let mut shown = Vec::new();
    for arg in args.iter().skip(1) {
        if shown.len() >= 128 {
            break;
        }
        let arg = c_string(arg);
        let room = 128 - shown.len();
        shown.push(b'\'');
        shown.extend_from_slice(&arg[..arg.len().min(room)]);
        shown.extend_from_slice(b"' ");
    }
    Failure::naming(
        "ERR unknown command '{}', with args beginning with: {}",
        &[beginning(name), &shown],
    )
}
