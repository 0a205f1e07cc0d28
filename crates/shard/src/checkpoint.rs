//! Checkpoints: the rows, and everything else that the log decided, at one log index.
//!
//! Writing one takes a snapshot and reads it in the background, while commits go on. Loading one uses all cores: chunks
//! are decoded in parallel, then tables are put together in parallel.
//!
//! The file is the journal's (`docs/formats/checkpoint.md`). Here are the contents of its header and of its chunks:
//! the stream of a chunk is its table's id, and one stream more holds the outcomes of transactions.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use env::{Env, Feature, File, Level, failpoints};
use journal::checkpoint::{Checkpoint, CheckpointDir, CheckpointWriter, Received, without_chunks};
use journal::{Damage, EntryId, Role};
use parking_lot::Mutex;
use store::{ApplyError, Cursor, KeyRange, LoadedTable, Snapshot, Store, Table, TableLoader, TableSpec};
use types::{IndexId, TableId, Timestamp};

use crate::bytes::{Bytes, put_bytes, put_id, put_u64};
use crate::consensus::{
    Form, LogId, SnapshotMeta, StoredMembership, decode_addresses, decode_membership, encode_membership, entry_id,
    log_id,
};
use crate::machine::Replicated;
use crate::outcomes::{Fate, Outcomes};
use crate::{Issuer, OpenError, TransactionId};

/// Rows are gathered into chunks of about this size.
const CHUNK_BYTES: usize = 512 << 10;
/// Rows read from the store at a time.
const SCAN_ROWS: usize = 1024;
/// The stream of the outcomes; no table has this id.
pub(crate) const OUTCOMES: u64 = u64::MAX;
const OUTCOME_BYTES: usize = 24;

/// In the place of a commit timestamp; no transaction commits at it.
const ABORTED: Timestamp = Timestamp::ZERO;

/// A witness's: no rows, nor what belongs to them. Of no other replica.
const VERSION_NO_ROWS: u8 = 5;
/// Has the level, and what the members speak. Not written before the cluster's level has them.
const VERSION: u8 = 4;
const VERSION_WITHOUT_LEVELS: u8 = 3;
/// Had one mark for all issuers.
const VERSION_ONE_MARK: u8 = 2;
/// Knew no aborted transactions, and differs from version 2 in nothing else.
const OLDEST_VERSION: u8 = 1;

/// A checkpoint on its way between replicas.
pub(crate) enum Handle {
    /// To be sent: this file, as it is; to a witness, what is without rows.
    Sent {
        file: Arc<dyn File>,
        length: u64,
        /// Not below that at the checkpoint's entry, and committed.
        level: Level,
    },
    /// It came, and can be read.
    Received(Box<Loaded>),
    /// The newest of this replica, of which the consensus library is told.
    Noted,
}

/// What a checkpoint from another replica holds, ready to take the place of everything.
pub(crate) struct Loaded {
    received: Received,
    meta: Meta,
    fates: Vec<(TransactionId, Fate)>,
    tables: Vec<LoadedTable>,
    /// Those of the observer's table, once more.
    observed: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A checkpoint that has its name.
pub(crate) struct Written {
    pub meta: SnapshotMeta,
    pub bytes: u64,
}

/// The state of a shard at one log index, held fast while it is written.
pub(crate) struct Cut {
    pub applied: LogId,
    role: Role,
    membership: StoredMembership,
    newest: Timestamp,
    level: Level,
    outcomes: Outcomes,
    tables: Vec<(Arc<Table>, u64)>,
    snapshot: Snapshot,
}

impl Cut {
    /// `None` if nothing has been applied yet. No large transaction is on its way: a checkpoint has none of its parts.
    pub fn take(replicated: &Replicated) -> Option<Cut> {
        let store = replicated.writer.store();
        let tables = store.tables().into_iter().map(|table| {
            let next = table.next_auto_increment();
            (table, next)
        });
        let mut applied = replicated.applied?;
        if failpoints::goes_wrong("checkpoint.position") {
            applied.index += 1;
        }
        Some(Cut {
            applied,
            role: replicated.role,
            membership: replicated.membership.clone(),
            newest: replicated.newest,
            level: replicated.level,
            outcomes: replicated.outcomes.clone(),
            tables: tables.collect(),
            snapshot: store.snapshot(),
        })
    }

    /// Writes the checkpoint, at most `bytes_per_second` fast (zero: as fast as it goes).
    pub async fn write(
        &self,
        env: &Env,
        dir: &CheckpointDir,
        bytes_per_second: u64,
        stopping: &AtomicBool,
    ) -> io::Result<Written> {
        let mut writer = dir.create(self.applied.index, &self.encode_meta())?;
        let pace = Pace {
            env,
            bytes_per_second,
            started: env.clock.monotonic(),
            stopping,
        };
        if self.role == Role::Data {
            self.write_rows(&mut writer, &pace).await?;
        }
        let bytes = writer.position();
        writer.finish()?;
        Ok(Written {
            meta: self.snapshot_meta(),
            bytes,
        })
    }

    async fn write_rows(&self, writer: &mut CheckpointWriter, pace: &Pace<'_>) -> io::Result<()> {
        for (table, _) in &self.tables {
            self.write_table(table, writer, pace).await?;
        }
        let mut outcomes = Vec::new();
        for (id, fate) in self.outcomes.iter() {
            let timestamp = match fate {
                Fate::Committed(timestamp) => timestamp,
                Fate::Aborted => ABORTED,
            };
            for number in [id.issuer.to_u64(), id.sequence, timestamp.0] {
                outcomes.extend_from_slice(&number.to_le_bytes());
            }
        }
        writer.add(OUTCOMES, &outcomes)
    }

    fn snapshot_meta(&self) -> SnapshotMeta {
        SnapshotMeta {
            last_log_id: Some(self.applied),
            last_membership: self.membership.clone(),
        }
    }

    async fn write_table(&self, table: &Table, writer: &mut CheckpointWriter, pace: &Pace<'_>) -> io::Result<()> {
        let stream = u64::from(table.id().0);
        let mut cursor = Cursor::forward(KeyRange::all());
        let mut chunk = Vec::with_capacity(CHUNK_BYTES * 2);
        while !cursor.is_finished() {
            table.scan(IndexId::PRIMARY, &mut cursor, &self.snapshot, SCAN_ROWS, |entry| {
                put_bytes(&mut chunk, entry.key());
                put_bytes(&mut chunk, entry.row());
                if chunk.len() < CHUNK_BYTES {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
            if chunk.len() >= CHUNK_BYTES || (cursor.is_finished() && !chunk.is_empty()) {
                writer.add(stream, &chunk)?;
                chunk.clear();
                pace.keep(writer.position()).await?;
            }
        }
        Ok(())
    }

    fn encode_meta(&self) -> Vec<u8> {
        if self.role == Role::Witness {
            return encode_without_rows(&self.applied, &self.membership, self.level);
        }
        let mut meta = match self.level.has(Feature::LevelsOnDisk) {
            true => vec![VERSION, self.level.0],
            false => vec![VERSION_WITHOUT_LEVELS],
        };
        put_id(&mut meta, Some(entry_id(&self.applied)));
        put_id(&mut meta, self.membership.log_id().as_ref().map(entry_id));
        put_bytes(
            &mut meta,
            &encode_membership(self.membership.membership(), Form::at(self.level)),
        );
        put_u64(&mut meta, self.newest.0);
        let marks: Vec<_> = self.outcomes.marks().collect();
        put_u64(&mut meta, marks.len() as u64);
        for (issuer, acknowledged) in marks {
            put_u64(&mut meta, issuer.to_u64());
            put_u64(&mut meta, acknowledged);
        }
        put_u64(&mut meta, self.tables.len() as u64);
        for (table, next_auto_increment) in &self.tables {
            put_bytes(&mut meta, &table.spec().encode());
            put_u64(&mut meta, *next_auto_increment);
        }
        meta
    }
}

/// The header's contents of a witness's checkpoint.
fn encode_without_rows(applied: &LogId, membership: &StoredMembership, level: Level) -> Vec<u8> {
    let mut meta = vec![VERSION_NO_ROWS, level.0];
    put_id(&mut meta, Some(entry_id(applied)));
    put_id(&mut meta, membership.log_id().as_ref().map(entry_id));
    put_bytes(&mut meta, &encode_membership(membership.membership(), Form::Levels));
    meta
}

/// The file of a checkpoint as a witness has it.
pub(crate) fn file_without_rows(meta: &SnapshotMeta, level: Level) -> io::Result<Vec<u8>> {
    let applied = meta.last_log_id.as_ref();
    let applied = applied.ok_or_else(|| io::Error::other("a checkpoint of nothing"))?;
    without_chunks(&encode_without_rows(applied, &meta.last_membership, level))
}

/// Keeps a checkpoint from taking the whole disk.
struct Pace<'a> {
    env: &'a Env,
    bytes_per_second: u64,
    started: Duration,
    stopping: &'a AtomicBool,
}

impl Pace<'_> {
    async fn keep(&self, position: u64) -> io::Result<()> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the shard is stopping"));
        }
        if self.bytes_per_second == 0 {
            return Ok(());
        }
        let due = self.started + Duration::from_micros(position * 1_000_000 / self.bytes_per_second);
        let now = self.env.clock.monotonic();
        if due > now {
            tokio::time::sleep(due - now).await;
        }
        Ok(())
    }
}

pub(crate) struct Meta {
    pub applied: EntryId,
    /// Of whoever may load it.
    role: Role,
    membership: StoredMembership,
    pub newest: Timestamp,
    level: Level,
    /// Of each issuer, from which sequence on its transactions are known.
    marks: Vec<(Issuer, u64)>,
    pub tables: Vec<(TableSpec, u64)>,
}

/// Fills an empty replica from a checkpoint.
pub(crate) fn load(checkpoint: &Checkpoint, replicated: &mut Replicated) -> Result<(), OpenError> {
    let meta = read_meta(checkpoint, replicated.role)?;
    let tables = load_tables(checkpoint, replicated.writer.store(), &meta)?;
    let fates = read_fates(checkpoint)?;
    install(replicated, meta, &fates, tables).map_err(|error| damage(checkpoint, error.to_string()))?;
    replicated.writer.restore_timestamp(replicated.newest);
    Ok(())
}

impl Loaded {
    /// Reads a checkpoint that came from another replica, all of it. Takes the memory that its rows will have.
    pub fn read(
        received: Received,
        role: Role,
        store: &Arc<Store>,
        observed: Option<TableId>,
    ) -> Result<Loaded, OpenError> {
        let checkpoint = received.checkpoint();
        let meta = read_meta(checkpoint, role)?;
        let fates = read_fates(checkpoint)?;
        let tables = load_tables(checkpoint, store, &meta)?;
        let observed = match observed {
            Some(table) => read_rows(checkpoint, table)?,
            None => Vec::new(),
        };
        Ok(Loaded {
            received,
            meta,
            fates,
            tables,
            observed,
        })
    }

    pub fn applied(&self) -> EntryId {
        self.meta.applied
    }

    pub fn level(&self) -> Level {
        self.meta.level
    }

    pub fn snapshot_meta(&self) -> SnapshotMeta {
        SnapshotMeta {
            last_log_id: Some(log_id(self.meta.applied)),
            last_membership: self.meta.membership.clone(),
        }
    }

    /// Puts it in the place of everything. The log must begin after it already.
    pub fn install(self, replicated: &mut Replicated) -> io::Result<()> {
        self.received.accept()?;
        let newest = self.meta.newest;
        install(replicated, self.meta, &self.fates, self.tables).map_err(io::Error::other)?;
        // In this order: who sees the rows finds what the observer made of them.
        replicated
            .observe_anew(&self.observed, newest)
            .map_err(io::Error::other)?;
        replicated.writer.restore_timestamp(newest);
        replicated.tell_of_other_rows();
        Ok(())
    }
}

fn install(
    replicated: &mut Replicated,
    meta: Meta,
    fates: &[(TransactionId, Fate)],
    tables: Vec<LoadedTable>,
) -> Result<(), ApplyError> {
    replicated.writer.replace(tables)?;
    replicated.outcomes = Outcomes::default();
    if !failpoints::goes_wrong("checkpoint.outcomes") {
        replicated.outcomes.restore(&meta.marks, fates);
    }
    replicated.applied = Some(log_id(meta.applied));
    replicated.membership = meta.membership.clone();
    replicated.newest = meta.newest;
    replicated.level = meta.level;
    replicated.checkpoint = Some(SnapshotMeta {
        last_log_id: Some(log_id(meta.applied)),
        last_membership: meta.membership,
    });
    Ok(())
}

fn damage(checkpoint: &Checkpoint, what: impl Into<String>) -> Damage {
    Damage {
        file: checkpoint.path().to_owned(),
        offset: 0,
        what: what.into(),
    }
}

/// For a replica that keeps this.
fn read_meta(checkpoint: &Checkpoint, role: Role) -> Result<Meta, OpenError> {
    let meta = decode_meta(checkpoint.meta());
    let meta = meta.ok_or_else(|| damage(checkpoint, "the header's contents are not sound"))?;
    match meta.role == role {
        true => Ok(meta),
        false => Err(OpenError::OtherRole {
            dir: checkpoint.path().to_owned(),
            role: meta.role,
        }),
    }
}

/// The rows of one table, in key order.
fn read_rows(checkpoint: &Checkpoint, table: TableId) -> Result<Vec<(Vec<u8>, Vec<u8>)>, OpenError> {
    let mut rows = Vec::new();
    let of_table = |chunk: &usize| checkpoint.stream(*chunk) == u64::from(table.0);
    for chunk in (0..checkpoint.chunks()).filter(of_table) {
        for row in rows_of(&checkpoint.read(chunk)?) {
            let (key, row) = row.ok_or_else(|| damage(checkpoint, format!("chunk {chunk} does not end with a row")))?;
            rows.push((key.to_vec(), row.to_vec()));
        }
    }
    Ok(rows)
}

fn read_fates(checkpoint: &Checkpoint) -> Result<Vec<(TransactionId, Fate)>, OpenError> {
    let mut fates = Vec::new();
    for chunk in (0..checkpoint.chunks()).filter(|&chunk| checkpoint.stream(chunk) == OUTCOMES) {
        for outcome in checkpoint.read(chunk)?.chunks_exact(OUTCOME_BYTES) {
            let number = |at: usize| u64::from_le_bytes(outcome[at..at + 8].try_into().expect("eight bytes"));
            let id = TransactionId {
                issuer: Issuer::from_u64(number(0)),
                sequence: number(8),
            };
            let fate = match Timestamp(number(16)) {
                ABORTED => Fate::Aborted,
                timestamp => Fate::Committed(timestamp),
            };
            fates.push((id, fate));
        }
    }
    Ok(fates)
}

fn load_tables(checkpoint: &Checkpoint, store: &Arc<Store>, meta: &Meta) -> Result<Vec<LoadedTable>, OpenError> {
    let damaged = |what: String| damage(checkpoint, what);
    let mut loaders = Vec::new();
    let mut chunks_of = BTreeMap::new();
    for (spec, next_auto_increment) in &meta.tables {
        chunks_of.insert(u64::from(spec.id.0), Vec::new());
        loaders.push(TableLoader::new(store, spec.clone(), meta.newest, *next_auto_increment));
    }
    for chunk in (0..checkpoint.chunks()).filter(|&chunk| checkpoint.stream(chunk) != OUTCOMES) {
        let stream = checkpoint.stream(chunk);
        let chunks = chunks_of
            .get_mut(&stream)
            .ok_or_else(|| damaged(format!("rows of an unknown table {stream}")))?;
        chunks.push(chunk);
    }
    let work: Vec<(usize, usize)> = meta
        .tables
        .iter()
        .enumerate()
        .flat_map(|(table, (spec, _))| {
            chunks_of[&u64::from(spec.id.0)]
                .iter()
                .map(move |&chunk| (table, chunk))
        })
        .collect();
    let pieces = in_parallel(work.len(), |number| {
        let (table, chunk) = work[number];
        let mut piece = loaders[table].piece();
        let bytes = checkpoint.read(chunk)?;
        for row in rows_of(&bytes) {
            let (key, row) = row.ok_or_else(|| damaged(format!("chunk {chunk} does not end with a row")))?;
            piece.push(key, row).map_err(|error| damaged(error.to_string()))?;
        }
        piece.seal();
        Ok::<_, OpenError>((table, piece))
    })?;
    let mut pieces_of: Vec<Vec<_>> = loaders.iter().map(|_| Vec::new()).collect();
    for (table, piece) in pieces {
        pieces_of[table].push(piece);
    }
    let unfinished: Vec<_> = loaders
        .into_iter()
        .zip(pieces_of)
        .map(|work| Mutex::new(Some(work)))
        .collect();
    in_parallel(unfinished.len(), |number| {
        let (loader, pieces) = unfinished[number].lock().take().expect("each table is finished once");
        loader
            .finish(pieces)
            .map_err(|error| OpenError::from(damaged(error.to_string())))
    })
}

/// The rows of a chunk with their keys; `None` where it does not end with a whole row.
pub(crate) fn rows_of(chunk: &[u8]) -> impl Iterator<Item = Option<(&[u8], &[u8])>> {
    let mut bytes = Bytes::new(chunk);
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let row = bytes.bytes().and_then(|key| Some((key, bytes.bytes()?)));
        if row.is_none() {
            bytes = Bytes::new(&[]);
        }
        Some(row)
    })
}

/// Does `count` pieces of work on all cores; the results are in order.
fn in_parallel<T: Send, E: Send>(count: usize, work: impl Fn(usize) -> Result<T, E> + Sync) -> Result<Vec<T>, E> {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(count.max(1));
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(done);
            }
            done.push((number, work(number)?));
        }
    };
    let mut results = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let mut results: Vec<(usize, T)> = worker()?;
        for worker in workers {
            results.extend(worker.join().expect("loading does not panic")?);
        }
        Ok(results)
    })?;
    results.sort_by_key(|(number, _)| *number);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

pub(crate) fn decode_meta(bytes: &[u8]) -> Option<Meta> {
    let bytes = &mut Bytes::new(bytes);
    let version = bytes.u8()?;
    if version == VERSION_NO_ROWS {
        return decode_without_rows(bytes);
    }
    if !(OLDEST_VERSION..=VERSION).contains(&version) {
        return None;
    }
    let is_former = version <= VERSION_ONE_MARK;
    let level = match version {
        VERSION => take_level(bytes)?,
        _ => Level::FIRST,
    };
    let applied = bytes.id()??;
    let membership_id = bytes.id()?.map(log_id);
    let members = bytes.bytes()?;
    let membership = match is_former {
        true => decode_addresses(members)?,
        false if version == VERSION_WITHOUT_LEVELS => decode_membership(members, Form::Roles)?,
        false => decode_membership(members, Form::Levels)?,
    };
    let newest = Timestamp(bytes.u64()?);
    let marks = match is_former {
        true => one_mark(bytes.id()?),
        false => take_marks(bytes)?,
    };
    let mut tables = Vec::new();
    for _ in 0..bytes.u64()? {
        let spec = TableSpec::decode(bytes.bytes()?).ok()?;
        spec.check().ok()?;
        tables.push((spec, bytes.u64()?));
    }
    bytes.is_empty().then_some(Meta {
        applied,
        role: Role::Data,
        membership: StoredMembership::new(membership_id, membership),
        newest,
        level,
        marks,
        tables,
    })
}

/// Behind the version.
fn decode_without_rows(bytes: &mut Bytes<'_>) -> Option<Meta> {
    let level = take_level(bytes)?;
    let applied = bytes.id()??;
    let membership_id = bytes.id()?.map(log_id);
    let membership = decode_membership(bytes.bytes()?, Form::Levels)?;
    bytes.is_empty().then_some(Meta {
        applied,
        role: Role::Witness,
        membership: StoredMembership::new(membership_id, membership),
        newest: Timestamp::ZERO,
        level,
        marks: Vec::new(),
        tables: Vec::new(),
    })
}

fn take_level(bytes: &mut Bytes<'_>) -> Option<Level> {
    bytes.u8().filter(|level| *level > 0).map(Level)
}

fn take_marks(bytes: &mut Bytes<'_>) -> Option<Vec<(Issuer, u64)>> {
    let mut marks = Vec::new();
    for _ in 0..bytes.u64()? {
        marks.push((Issuer::from_u64(bytes.u64()?), bytes.u64()?));
    }
    Some(marks)
}

/// The greatest id that a former version had forgotten: its term stands for the issuer, its index for the sequence.
fn one_mark(forgotten: Option<EntryId>) -> Vec<(Issuer, u64)> {
    let mark = |id: EntryId| (Issuer::from_u64(id.term), id.index + 1);
    forgotten.map(mark).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Member;
    use crate::consensus::Membership;

    fn of_a_witness() -> (LogId, StoredMembership, Vec<u8>) {
        let members = [(1, Role::Data), (2, Role::Data), (3, Role::Witness)];
        let member = |(id, role)| {
            let member = Member {
                role,
                ..Member::default()
            };
            (id, member)
        };
        let nodes: BTreeMap<u64, Member> = members.map(member).into();
        let membership = Membership::new(vec![[1, 2, 3].into()], nodes).unwrap();
        let id = |index| log_id(EntryId { term: 4, index });
        let membership = StoredMembership::new(Some(id(7)), membership);
        let meta = encode_without_rows(&id(90), &membership, Level(2));
        (id(90), membership, meta)
    }

    #[test]
    fn what_a_witness_writes_comes_back_and_every_cut_is_an_error() {
        let (applied, membership, bytes) = of_a_witness();
        assert_eq!(bytes[..2], [5, 2], "version and level");
        let meta = decode_meta(&bytes).unwrap();
        assert_eq!((meta.applied, meta.level), (entry_id(&applied), Level(2)));
        assert_eq!((meta.role, &meta.membership), (Role::Witness, &membership));
        assert!(meta.tables.is_empty() && meta.marks.is_empty());
        for length in 0..bytes.len() {
            assert!(decode_meta(&bytes[..length]).is_none(), "{length} bytes");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(decode_meta(&longer).is_none());
        let at_no_level = [&[5, 0], &bytes[2..]].concat();
        assert!(decode_meta(&at_no_level).is_none());
    }

    /// The file that a witness is sent is one as it writes them itself.
    #[test]
    fn what_a_witness_is_sent_is_a_checkpoint() {
        let (applied, membership, meta) = of_a_witness();
        let sent = file_without_rows(
            &SnapshotMeta {
                last_log_id: Some(applied),
                last_membership: membership,
            },
            Level(2),
        );
        let env = Env::simulated(env::SimDisk::new(1), 1);
        let dir = CheckpointDir::open(&env, std::path::Path::new("checkpoint")).unwrap();
        dir.create(90, &meta).unwrap().finish().unwrap();
        let (file, length) = dir.file(90).unwrap();
        let mut written = vec![0; length as usize];
        file.read_exact_at(&mut written, 0).unwrap();
        assert_eq!(sent.unwrap(), written);
        let read = dir.newest().unwrap().unwrap();
        assert!(matches!(read_meta(&read, Role::Witness), Ok(Meta { .. })));
        assert!(matches!(
            read_meta(&read, Role::Data),
            Err(OpenError::OtherRole {
                role: Role::Witness,
                ..
            })
        ));
    }
}
