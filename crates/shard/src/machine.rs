//! Applying the log to the rows.
//!
//! Everything here is decided by the log alone, so that replicas at the same index are equal: commit timestamps grow in log order, from
//! the moment that the batch's leader wrote into it, and a transaction that is found in the log twice is applied once. One whose locks
//! were given by a leader of another term than the entry's is aborted: others may have taken the same locks in between.
//!
//! Apply is total. A transaction that does not fit the rows as the log has made them (its table exists already, its row is of
//! another definition) is aborted: nothing of it is applied, the transactions beside it are, its proposer is told why, and its
//! outcome is remembered. That depends on the log alone, too, so every replica and every replay comes to the same end. What
//! stops a replica are bytes that cannot be read: they are damaged, or a newer version wrote them.
//!
//! A record may raise the cluster's feature level; all that follows may have what the level has brought (`levels`).
//!
//! A witness has no rows, and passes over what is done to them: of the log it takes who belongs to the shard, and the level.
//!
//! A large transaction comes in chunks, with others between them. Their rows go into the store as they come, and are seen when the
//! transaction's end is applied, all at once. It ends in the term in which it began, or not at all: an entry of a later term aborts it.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use env::{Level, failpoints};
use futures_util::{Stream, TryStreamExt};
use journal::checkpoint::CheckpointDir;
use journal::{Journal, Role};
use openraft::alias::SnapshotOf;
use openraft::storage::{EntryResponder, RaftSnapshotBuilder, RaftStateMachine};
use openraft::{EntryPayload, OptionalSend, Snapshot};
use parking_lot::Mutex;
use store::{CheckError, Cursor, KeyRange, Undecided, WriteOp, WriteOps, Writer};
use tokio::sync::oneshot;
use types::{IndexId, Timestamp};

use crate::ahead::Ahead;
use crate::api::Member;
use crate::batch::{Batch, Origin, Piece};
use crate::checkpoint::{Cut, Handle, Loaded};
use crate::consensus::{Abort, Applied, Consensus, LogId, SnapshotMeta, StoredMembership, Verdict};
use crate::failure::Failure;
use crate::followed::{Followed, Gathered};
use crate::ids::TransactionId;
use crate::levels::Directory;
use crate::observer::{Observer, RowChanges};
use crate::outcomes::{Fate, Known, Outcomes};
use crate::prepared::{PreparedChange, PreparedLocks};
use crate::queue::Queue;
use crate::replica::Shared;
use crate::visible::Visible;

/// Rows shown to the observer are read from the store in pieces of this size.
const OBSERVED_ROWS: usize = 1024;

/// A batch of more bytes may take long to apply.
const LONG_BYTES: usize = 64 << 10;

/// While many entries are applied, the thread's other tasks get their turn this often.
const TURN: Duration = Duration::from_millis(1);

/// Everything that the log decides.
pub(crate) struct Replicated {
    /// A witness's writer has nothing to write, and there are no outcomes, nor a newest commit.
    pub role: Role,
    pub writer: Writer,
    pub applied: Option<LogId>,
    pub membership: StoredMembership,
    pub newest: Timestamp,
    pub outcomes: Outcomes,
    /// The cluster's.
    pub level: Level,
    /// Large transactions whose end the log has not shown yet. No checkpoint has them: it is made when there are none.
    open: BTreeMap<TransactionId, Open>,
    /// Of the newest entry.
    term: u64,
    /// Who waits for that moment.
    cut_wanted: Option<oneshot::Sender<Cut>>,
    /// The newest complete checkpoint.
    pub checkpoint: Option<SnapshotMeta>,
    observer: Option<Arc<dyn Observer>>,
    /// What the entry that is being applied does to prepared transactions.
    prepared: Vec<PreparedChange>,
    /// What it does to rows that somebody follows; `None`: nobody does.
    rows: Option<Gathered>,
}

/// A large transaction on its way.
struct Open {
    /// In which it began.
    term: u64,
    /// How many have come.
    chunks: u32,
    undecided: Undecided,
    /// What its chunks do to rows that somebody follows; `None`: nobody did.
    rows: Option<Gathered>,
}

impl Replicated {
    pub fn new(role: Role, writer: Writer, observer: Option<Arc<dyn Observer>>) -> Replicated {
        Replicated {
            role,
            writer,
            applied: None,
            membership: StoredMembership::default(),
            newest: Timestamp::ZERO,
            outcomes: Outcomes::default(),
            level: Level::FIRST,
            open: BTreeMap::new(),
            term: 0,
            cut_wanted: None,
            checkpoint: None,
            observer,
            prepared: Vec::new(),
            rows: None,
        }
    }

    /// Shows the observer the rows that a checkpoint has brought.
    pub fn restore_observer(&self) -> Result<(), String> {
        let Some(observer) = &self.observer else { return Ok(()) };
        let store = self.writer.store();
        let Some(table) = store.table(observer.table()) else {
            return Ok(());
        };
        let snapshot = store.snapshot();
        let mut rows = Vec::new();
        let mut cursor = Cursor::forward(KeyRange::all());
        while !cursor.is_finished() {
            table.scan(IndexId::PRIMARY, &mut cursor, &snapshot, OBSERVED_ROWS, |entry| {
                rows.push((entry.key().to_vec(), entry.row().to_vec()));
                ControlFlow::Continue(())
            });
        }
        observer.restore(&rows, self.newest)
    }

    /// As [`restore_observer`](Self::restore_observer), of rows that nobody can see yet.
    pub fn observe_anew(&self, rows: &[(Vec<u8>, Vec<u8>)], at: Timestamp) -> Result<(), String> {
        match &self.observer {
            Some(observer) => observer.restore(rows, at),
            None => Ok(()),
        }
    }

    /// Applies what can be read of a batch of a damaged log, and fits what there is.
    pub fn salvage(&mut self, log_id: LogId, batch: &Batch, problems: &mut Vec<String>) {
        let entry = log_id.index;
        let pieces = match batch.pieces() {
            Ok(pieces) => pieces,
            Err(error) => return problems.push(format!("log entry {entry}: {error}")),
        };
        self.enter_term(*log_id.leader_id);
        let base = pieces.moment().base;
        for piece in pieces {
            let verdict = match piece {
                Ok((origin, _)) if self.outcomes.get(origin.id) != Known::Nothing => continue,
                Ok((origin, piece)) => self.apply_piece(base, origin, piece).map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            match verdict {
                // Its issuer was told, or is to be told, that it came to nothing.
                Ok(None | Some(Ok(_) | Err(Abort::LocksLost | Abort::Forgotten))) => {}
                Ok(Some(Err(Abort::Unfit(reason)))) => {
                    problems.push(format!("log entry {entry}: a transaction is left out: {reason}"));
                }
                Err(error) => problems.push(format!("log entry {entry}: a transaction is left out: {error}")),
            }
        }
        if let Some(observer) = &self.observer {
            observer.publish();
        }
        self.writer.publish();
        self.prepared.clear();
    }

    /// Applies an entry of a log that is replayed to no end but to have the rows as they were: what was committed later than `latest` is
    /// not applied. Break: there was such a commit.
    pub fn replay(
        &mut self,
        log_id: LogId,
        payload: EntryPayload<Batch, u64, Member>,
        latest: Timestamp,
    ) -> io::Result<ControlFlow<()>> {
        self.enter_term(*log_id.leader_id);
        let replayed = match payload {
            EntryPayload::Blank | EntryPayload::Membership(_) => ControlFlow::Continue(()),
            EntryPayload::Normal(batch) => self.apply_until(&batch, latest)?.1,
        };
        self.prepared.clear();
        self.applied = Some(log_id);
        Ok(replayed)
    }

    /// An error stops the replica: the batch cannot be read.
    fn apply(&mut self, batch: &Batch) -> io::Result<Applied> {
        match self.role {
            Role::Data => self.apply_until(batch, Timestamp::MAX).map(|(applied, _)| applied),
            Role::Witness => self.pass_over(batch),
        }
    }

    /// What a witness needs of a batch: nobody waits for its verdicts.
    fn pass_over(&mut self, batch: &Batch) -> io::Result<Applied> {
        let unreadable = |error: &dyn std::error::Error| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        for piece in batch.pieces().map_err(|error| unreadable(&error))? {
            if let (_, Piece::Raise(level)) = piece.map_err(|error| unreadable(&error))? {
                self.level = self.level.max(level);
            }
        }
        Ok(Applied::default())
    }

    fn apply_until(&mut self, batch: &Batch, latest: Timestamp) -> io::Result<(Applied, ControlFlow<()>)> {
        let unreadable = |error: &dyn std::error::Error| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        let (mut verdicts, mut put_off) = (Vec::new(), Vec::new());
        let pieces = batch.pieces().map_err(|error| unreadable(&error))?;
        let base = pieces.moment().base;
        let mut flow = ControlFlow::Continue(());
        self.rows = self.follows_rows().then(Gathered::default);
        let mut ahead = Ahead::of(pieces.clone());
        for (place, piece) in pieces.enumerate() {
            ahead.at(place, &self.writer);
            let (origin, piece) = piece.map_err(|error| unreadable(&error))?;
            // Timestamps grow: whatever commits from here on is later, too.
            if self.newest.next().max(base) > latest {
                flow = ControlFlow::Break(());
                break;
            }
            if failpoints::goes_wrong("apply.order") {
                put_off.push((origin, piece));
                continue;
            }
            verdicts.extend(self.apply_piece(base, origin, piece)?);
        }
        for (origin, piece) in put_off {
            verdicts.extend(self.apply_piece(base, origin, piece)?);
        }
        // In this order: who sees the rows finds what the observer made of them.
        let observer = self.observer.as_deref();
        self.writer
            .publish_after(|| observer.into_iter().for_each(Observer::publish));
        self.tell_of_rows();
        let applied = Applied {
            verdicts,
            is_answered: false,
        };
        Ok((applied, flow))
    }

    fn follows_rows(&self) -> bool {
        self.observer.as_ref().is_some_and(|observer| observer.follows_rows())
    }

    /// Tells who follows rows what can be seen now.
    fn tell_of_rows(&mut self) {
        let gathered = self.rows.take();
        let Some(observer) = self.observer.as_ref().filter(|observer| observer.follows_rows()) else {
            return;
        };
        match gathered.map(Gathered::changes) {
            Some(RowChanges::Known(changes)) if changes.is_empty() => {}
            Some(changes) => observer.rows_changed(changes),
            None => observer.rows_changed(RowChanges::Unknown),
        }
    }

    /// All rows are others.
    pub fn tell_of_other_rows(&self) {
        if let Some(observer) = self.observer.as_ref().filter(|observer| observer.follows_rows()) {
            observer.rows_changed(RowChanges::Unknown);
        }
    }

    /// The verdict is that on a transaction of which this is the end.
    fn apply_piece(&mut self, base: Timestamp, origin: Origin, piece: Piece<&[u8]>) -> io::Result<Option<Verdict>> {
        let id = origin.id;
        if let Piece::Raise(level) = piece {
            self.level = self.level.max(level);
            return Ok(None);
        }
        let known = match self.outcomes.get(id) {
            Known::Nothing => None,
            Known::Fate(Fate::Committed(timestamp)) => Some(Ok(timestamp)),
            Known::Fate(Fate::Aborted) => Some(Err(Abort::Unfit("it was aborted before".into()))),
            Known::Forgotten => Some(Err(Abort::Forgotten)),
        };
        let verdict = match (piece, known) {
            (Piece::Whole(_) | Piece::Commit { .. }, Some(verdict)) => Some(verdict),
            (Piece::Chunk { .. }, Some(_)) => None,
            (Piece::Whole(writes), None) => Some(self.commit(base, origin, 0, writes)?),
            (Piece::Commit { chunks, writes }, None) => Some(self.commit(base, origin, chunks, writes)?),
            (Piece::Chunk { number, writes }, None) => {
                self.apply_chunk(id, number, writes)?;
                None
            }
            (Piece::Abort, _) => {
                self.forget(id);
                None
            }
            (Piece::Raise(_), _) => None,
        };
        self.outcomes.acknowledge(id.issuer, origin.acknowledged);
        Ok(verdict)
    }

    fn apply_chunk(&mut self, id: TransactionId, number: u32, writes: &[u8]) -> io::Result<()> {
        let unreadable = |error: &dyn std::error::Error| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        let ops = WriteOps::decode(writes).map_err(|error| unreadable(&error))?;
        if number != self.open.get(&id).map_or(0, |open| open.chunks) {
            self.abort(id, &"a part of it is missing");
            return Ok(());
        }
        // The observer is told of changes when they commit.
        let followed = Followed::of(self.observer.as_deref(), ops.clone(), self.rows.is_some());
        if !followed.observed.is_empty() || !followed.prepared.is_empty() {
            self.abort(id, &"a part of it changes the catalog, or prepares a transaction");
            return Ok(());
        }
        match self.writer.check_chunk(ops) {
            Ok(fitting) => {
                let open = self.open.entry(id).or_insert_with(|| Open {
                    term: self.term,
                    chunks: 0,
                    undecided: self.writer.begin(),
                    rows: self.rows.is_some().then(Gathered::default),
                });
                open.chunks += 1;
                match self.rows.is_some() {
                    true => open.rows.iter_mut().for_each(|rows| rows.add(&followed.rows)),
                    false => open.rows = None,
                }
                self.writer
                    .apply_chunk(&mut open.undecided, fitting)
                    .map_err(|error| unreadable(&error))
            }
            Err(CheckError::Unfit(reason)) => {
                self.abort(id, &reason);
                Ok(())
            }
            Err(error) => Err(unreadable(&error)),
        }
    }

    /// Nothing of a transaction is applied, and this is remembered.
    fn abort(&mut self, id: TransactionId, reason: &dyn std::fmt::Display) -> Abort {
        tracing::error!(?id, "transaction aborted, it does not fit the rows: {reason}");
        self.forget(id);
        self.outcomes.insert(id, Fate::Aborted);
        Abort::Unfit(reason.to_string().into())
    }

    /// Takes back the chunks of a large transaction.
    fn forget(&mut self, id: TransactionId) {
        if let Some(open) = self.open.remove(&id) {
            self.writer.abort(open.undecided);
        }
    }

    /// What was begun is not to be ended here.
    pub fn abandon_open(&mut self) {
        for (_, open) in std::mem::take(&mut self.open) {
            self.writer.abort(open.undecided);
        }
    }

    /// The leaders of earlier terms end nothing any more that they have begun.
    fn enter_term(&mut self, term: u64) {
        self.term = term;
        for (_, open) in self.open.extract_if(.., |_, open| open.term < term) {
            self.writer.abort(open.undecided);
        }
    }

    /// Has the state sent as soon as no large transaction is on its way: now, or after the entry that ends it.
    pub fn want_cut(&mut self) -> oneshot::Receiver<Cut> {
        let (sender, receiver) = oneshot::channel();
        self.cut_wanted = Some(sender);
        self.give_cut();
        receiver
    }

    fn give_cut(&mut self) {
        if self.open.is_empty()
            && let Some(wanted) = self.cut_wanted.take()
            && let Some(cut) = Cut::take(self)
        {
            // Whoever wanted it may have given up.
            let _ = wanted.send(cut);
        }
    }

    /// Commits a transaction of which so many chunks have come before.
    fn commit(&mut self, base: Timestamp, origin: Origin, chunks: u32, writes: &[u8]) -> io::Result<Verdict> {
        let id = origin.id;
        if origin.lock_epoch != 0 && origin.lock_epoch != self.term && !failpoints::goes_wrong("apply.term") {
            self.forget(id);
            self.outcomes.insert(id, Fate::Aborted);
            return Ok(Err(Abort::LocksLost));
        }
        let unreadable = |error: &dyn std::error::Error| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        let ops = WriteOps::decode(writes).map_err(|error| unreadable(&error))?;
        if chunks != self.open.get(&id).map_or(0, |open| open.chunks) {
            return Ok(Err(self.abort(id, &"a part of it is missing")));
        }
        let fitting = match self.writer.check(ops.clone()) {
            Ok(fitting) => fitting,
            Err(CheckError::Unfit(reason)) => return Ok(Err(self.abort(id, &reason))),
            Err(error) => return Err(unreadable(&error)),
        };
        let timestamp = self.newest.next().max(base);
        // Only panics and kills: an error here would be one of this replica alone.
        let _ = failpoints::hit("shard.applying");
        if failpoints::goes_wrong("shard.applying") {
            self.forget(id);
            self.newest = timestamp;
            return Ok(Ok(timestamp));
        }
        let followed = Followed::of(self.observer.as_deref(), ops, self.rows.is_some());
        if let Some(observer) = &self.observer
            && !followed.observed.is_empty()
        {
            observer
                .apply(timestamp, &followed.observed)
                .map_err(io::Error::other)?;
        }
        self.prepared.extend(followed.prepared);
        self.writer
            .apply_fitting(timestamp, fitting)
            .map_err(|error| unreadable(&error))?;
        let mut chunks_rows = Some(Gathered::default());
        if let Some(open) = self.open.remove(&id) {
            self.writer.commit(open.undecided);
            chunks_rows = open.rows;
        }
        if let Some(rows) = &mut self.rows {
            rows.end_transaction(chunks_rows, &followed.rows);
        }
        self.newest = timestamp;
        self.outcomes.insert(id, Fate::Committed(timestamp));
        Ok(Ok(timestamp))
    }
}

/// Whether a batch may take more than a moment: it is long, ends a large transaction, or changes definitions (an index is filled from all rows
/// of its table).
fn takes_long(batch: &Batch) -> bool {
    let is_light = |piece| match piece {
        Ok((_, Piece::Whole(writes))) => WriteOps::decode(writes).is_ok_and(|mut ops| {
            ops.all(|op| {
                matches!(
                    op,
                    Ok(WriteOp::Put { .. } | WriteOp::Delete { .. } | WriteOp::AdvanceAutoIncrement { .. })
                )
            })
        }),
        Ok((_, Piece::Chunk { .. } | Piece::Abort)) => true,
        Ok((_, Piece::Commit { .. } | Piece::Raise(_))) | Err(_) => false,
    };
    batch.bytes().len() > LONG_BYTES || !batch.pieces().is_ok_and(|mut pieces| pieces.all(is_light))
}

/// The rows as the consensus library's state machine.
#[derive(Clone)]
pub(crate) struct Machine {
    replicated: Arc<Mutex<Replicated>>,
    journal: Arc<Mutex<Journal>>,
    checkpoints: CheckpointDir,
    /// Where somebody may wait for what the log says of a transaction in doubt.
    queue: Arc<Queue>,
    visible: Arc<Visible>,
    directory: Arc<Directory>,
    failure: Failure,
    prepared: Arc<PreparedLocks>,
    is_alone: Arc<AtomicBool>,
    /// What takes long is done on a thread of its own: votes and heartbeats do not wait for it.
    has_threads: bool,
}

impl Machine {
    pub fn new(shared: &Shared, has_threads: bool) -> Machine {
        Machine {
            is_alone: shared.is_alone.clone(),
            has_threads,
            replicated: shared.replicated.clone(),
            journal: shared.journal.clone(),
            checkpoints: shared.checkpoints.clone(),
            queue: shared.queue.clone(),
            visible: shared.visible.clone(),
            directory: shared.directory.clone(),
            failure: shared.failure.clone(),
            prepared: shared.prepared.clone(),
        }
    }

    /// A checkpoint of another replica takes the place of everything.
    fn install(&self, loaded: Loaded) -> io::Result<()> {
        let index = loaded.applied().index;
        self.directory.rises_to(loaded.level())?;
        // Whoever dies from here on finds at the next start that the checkpoint counts.
        self.journal.lock().purge(loaded.applied())?;
        let replicated = &mut *self.replicated.lock();
        replicated.abandon_open();
        loaded.install(replicated)?;
        tracing::info!(log_index = index, "took over another replica's checkpoint");
        self.visible.published(replicated.newest);
        self.queue.settle_doubts(replicated.term, &replicated.outcomes);
        Ok(())
    }

    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Machine) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let machine = self.clone();
        let working = tokio::task::spawn_blocking(move || work(&machine)).await;
        // A panic goes on where it would have been without the other thread.
        working.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    /// It stops the replica.
    fn not_applied(&self, log_id: LogId, error: &io::Error) -> io::Error {
        let reason = format!("log entry {} cannot be applied: {error}", log_id.index);
        self.failure.set(reason.clone());
        io::Error::new(io::ErrorKind::InvalidData, reason)
    }

    fn apply_entry(&self, log_id: LogId, payload: EntryPayload<Batch, u64, Member>) -> io::Result<Applied> {
        let replicated = &mut *self.replicated.lock();
        if Some(log_id) <= replicated.applied {
            return Ok(Applied {
                is_answered: true,
                ..Applied::default()
            });
        }
        self.apply_next(replicated, log_id, payload)
    }

    /// Applies the newest entry of the log before the consensus library says that it is committed. `None`: this replica cannot say so by itself.
    pub fn apply_alone(&self, node_id: u64, log_id: LogId, batch: Batch) -> io::Result<Option<Applied>> {
        let replicated = &mut *self.replicated.lock();
        let is_next = replicated
            .applied
            .is_some_and(|applied| applied.index + 1 == log_id.index);
        let has_no_others = replicated.membership.voter_ids().eq([node_id]);
        if !is_next || !has_no_others {
            return Ok(None);
        }
        self.apply_next(replicated, log_id, EntryPayload::Normal(batch))
            .map(Some)
    }

    fn apply_next(
        &self,
        replicated: &mut Replicated,
        log_id: LogId,
        payload: EntryPayload<Batch, u64, Member>,
    ) -> io::Result<Applied> {
        replicated.enter_term(*log_id.leader_id);
        let applied = match payload {
            EntryPayload::Blank => Applied::default(),
            EntryPayload::Normal(batch) => replicated
                .apply(&batch)
                .map_err(|error| self.not_applied(log_id, &error))?,
            EntryPayload::Membership(membership) => {
                replicated.membership = StoredMembership::new(Some(log_id), membership);
                Applied::default()
            }
        };
        self.directory
            .rises_to(replicated.level)
            .map_err(|error| self.not_applied(log_id, &error))?;
        replicated.applied = Some(log_id);
        self.visible.published(replicated.newest);
        let prepared = std::mem::take(&mut replicated.prepared);
        if !prepared.is_empty() {
            // Before anybody is answered, who would let his locks go.
            self.prepared
                .follow(replicated.term, replicated.writer.store(), prepared)
                .map_err(|error| self.not_applied(log_id, &io::Error::other(error)))?;
        }
        replicated.give_cut();
        self.queue.settle_doubts(replicated.term, &replicated.outcomes);
        Ok(applied)
    }
}

impl RaftStateMachine<Consensus> for Machine {
    type SnapshotData = Handle;
    type SnapshotBuilder = Builder;

    async fn applied_state(&mut self) -> io::Result<(Option<LogId>, StoredMembership)> {
        let replicated = self.replicated.lock();
        Ok((replicated.applied, replicated.membership.clone()))
    }

    async fn apply<Strm>(&mut self, mut entries: Strm) -> io::Result<()>
    where
        Strm: Stream<Item = Result<EntryResponder<Consensus>, io::Error>> + Unpin + OptionalSend,
    {
        let mut turn = Instant::now();
        while let Some((entry, responder)) = entries.try_next().await? {
            let has_others = self.has_threads && !self.is_alone.load(Ordering::Relaxed);
            let applied = match entry.payload {
                EntryPayload::Normal(batch) if has_others && takes_long(&batch) => {
                    let work = move |machine: &Machine| machine.apply_entry(entry.log_id, EntryPayload::Normal(batch));
                    self.apart(work).await?
                }
                payload => self.apply_entry(entry.log_id, payload)?,
            };
            if has_others && turn.elapsed() > TURN {
                tokio::task::yield_now().await;
                turn = Instant::now();
            }
            if let Some(responder) = responder {
                responder.send(applied);
            }
        }
        Ok(())
    }

    /// Checkpoints are written on a thread of their own; the library is told of one when it is complete.
    async fn try_create_snapshot_builder(&mut self, _force: bool) -> Option<Builder> {
        let meta = self.replicated.lock().checkpoint.clone()?;
        Some(Builder { meta })
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        let meta = self.replicated.lock().checkpoint.clone().unwrap_or_default();
        Builder { meta }
    }

    async fn install_snapshot(&mut self, _meta: &SnapshotMeta, snapshot: Handle) -> io::Result<()> {
        let Handle::Received(loaded) = snapshot else {
            return Err(io::Error::other("a checkpoint of this replica comes back to it"));
        };
        let installed = match self.has_threads {
            true => self.apart(|machine| machine.install(*loaded)).await,
            false => self.install(*loaded),
        };
        installed.inspect_err(|error| {
            self.failure
                .set(format!("a checkpoint of another replica cannot be taken over: {error}"));
        })
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<SnapshotOf<Consensus, Handle>>> {
        let (meta, role, level) = {
            let replicated = self.replicated.lock();
            (replicated.checkpoint.clone(), replicated.role, replicated.level)
        };
        let Some(meta) = meta else { return Ok(None) };
        let snapshot = match role {
            Role::Data => {
                let index = meta.last_log_id.map_or(0, |id| id.index);
                let (file, length) = self.checkpoints.file(index)?;
                Handle::Sent { file, length, level }
            }
            // There are no rows in it for anybody.
            Role::Witness => Handle::Noted,
        };
        Ok(Some(Snapshot { meta, snapshot }))
    }
}

/// Presents the newest complete checkpoint.
pub(crate) struct Builder {
    meta: SnapshotMeta,
}

impl RaftSnapshotBuilder<Consensus> for Builder {
    type SnapshotData = Handle;

    async fn build_snapshot(&mut self) -> io::Result<SnapshotOf<Consensus, Handle>> {
        Ok(Snapshot {
            meta: self.meta.clone(),
            snapshot: Handle::Noted,
        })
    }
}
