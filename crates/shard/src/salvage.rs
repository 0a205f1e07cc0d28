//! The rows of a damaged directory, as far as they can be read.
//!
//! Opening a shard refuses damage: acknowledged transactions may be missing. Here the operator has decided to take what there is.
//! Chunks of the checkpoint and records of the log that are not sound are left out and named; what is left is applied in log order
//! as ever, and a transaction that does not fit what there is (its table was in a part that is lost) is left out, too. Nothing is
//! written.

use std::path::Path;
use std::sync::Arc;

use env::{Env, LockError};
use journal::checkpoint::{Checkpoint, CheckpointDir};
use journal::{Identity, Role};
use openraft::EntryPayload;
use store::{MemoryBudget, Store, TableLoader};

use crate::api::OpenError;
use crate::checkpoint::{OUTCOMES, decode_meta, rows_of};
use crate::consensus::{from_journal_entry, log_id};
use crate::machine::Replicated;
use crate::observer::Observer;

/// What could be read.
pub struct Salvage {
    pub store: Arc<Store>,
    /// What could not, or is not as it should be: file, place and reason.
    pub problems: Vec<String>,
    /// Keeps the trees.
    _replicated: Replicated,
}

/// Reads a directory that nobody uses. An error: there is nothing to read.
pub fn salvage(
    env: &Env,
    dir: &Path,
    memory: Arc<MemoryBudget>,
    observer: Arc<dyn Observer>,
) -> Result<Salvage, OpenError> {
    let env = env.read_only();
    if let Ok(Some(Identity {
        role: role @ Role::Witness,
        ..
    })) = Identity::read(&env, dir)
    {
        let dir = dir.to_owned();
        return Err(OpenError::OtherRole { dir, role });
    }
    let _lock = env.disk.lock(&dir.join("LOCK")).map_err(|error| match error {
        LockError::Held { pid } => OpenError::Locked {
            dir: dir.to_owned(),
            pid,
        },
        LockError::Io(error) => OpenError::Replay(format!("{}: {error}", dir.display())),
    })?;
    let (store, writer) = Store::new(memory);
    let mut replicated = Replicated::new(Role::Data, writer, Some(observer));
    let mut problems = Vec::new();
    let checkpoints = CheckpointDir::open(&env, &dir.join("checkpoint"))?;
    let (checkpoint, damage) = checkpoints.salvage()?;
    problems.extend(damage.iter().map(ToString::to_string));
    if let Some(checkpoint) = &checkpoint {
        load(checkpoint, &mut replicated, &mut problems);
        if let Err(error) = replicated.restore_observer() {
            problems.push(error);
        }
    }
    let log = journal::salvage::salvage(&env, &dir.join("log"))?;
    problems.extend(log.damage.iter().map(ToString::to_string));
    if checkpoint.is_none() && log.entries.first().is_some_and(|first| first.id.index > 1) {
        problems.push(format!(
            "{}: the log begins later, and no checkpoint can be read",
            dir.display()
        ));
    }
    for entry in log.entries {
        let id = log_id(entry.id);
        if replicated.applied.is_some_and(|applied| id <= applied) {
            continue;
        }
        match from_journal_entry(entry).map(|entry| entry.payload) {
            Ok(EntryPayload::Normal(batch)) => replicated.salvage(id, &batch, &mut problems),
            Ok(_) => {}
            Err(error) => problems.push(error.to_string()),
        }
        replicated.applied = Some(id);
    }
    Ok(Salvage {
        store,
        problems,
        _replicated: replicated,
    })
}

/// Takes the chunks that are sound.
fn load(checkpoint: &Checkpoint, replicated: &mut Replicated, problems: &mut Vec<String>) {
    let path = checkpoint.path().display().to_string();
    let Some(meta) = decode_meta(checkpoint.meta()) else {
        problems.push(format!("{path}: the header's contents are not sound"));
        return;
    };
    let store = replicated.writer.store().clone();
    for (spec, next_auto_increment) in &meta.tables {
        let loader = TableLoader::new(&store, spec.clone(), meta.newest, *next_auto_increment);
        let mut pieces = Vec::new();
        let stream = u64::from(spec.id.0);
        for chunk in (0..checkpoint.chunks()).filter(|&chunk| checkpoint.stream(chunk) == stream) {
            let mut piece = loader.piece();
            let read = checkpoint.read(chunk).map_err(|error| error.to_string());
            let loaded = read.and_then(|bytes| {
                rows_of(&bytes).try_for_each(|row| {
                    let (key, row) = row.ok_or_else(|| format!("chunk {chunk} does not end with a row"))?;
                    piece.push(key, row).map_err(|error| error.to_string())
                })
            });
            if let Err(error) = loaded {
                problems.push(format!("{path}: rows of table {} are lost: {error}", spec.id));
            }
            pieces.push(piece);
        }
        let installed = loader.finish(pieces).map_err(|error| error.to_string());
        let installed = installed.and_then(|table| replicated.writer.install(table).map_err(|error| error.to_string()));
        if let Err(error) = installed {
            problems.push(format!("{path}: {error}"));
        }
    }
    let known = |stream: u64| stream == OUTCOMES || meta.tables.iter().any(|(spec, _)| u64::from(spec.id.0) == stream);
    for stream in (0..checkpoint.chunks()).map(|chunk| checkpoint.stream(chunk)) {
        if !known(stream) {
            problems.push(format!("{path}: rows of an unknown table {stream}"));
        }
    }
    replicated.applied = Some(log_id(meta.applied));
    replicated.newest = meta.newest;
    replicated.writer.restore_timestamp(meta.newest);
}
