//! Power cuts at every moment of random histories.
//!
//! Each seed makes a history of appends, syncs, votes, purges and truncations; the power goes at a random operation of
//! the disk; unsynced writes survive in part. Then everything that was promised must be there, and nothing else but a
//! prefix of what was under way; and the log must go on, and survive another cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{all_entries, entry, open_sim};
use env::{Random, SeededRandom, SimDisk};
use journal::{Entry, EntryId, Journal, JournalError, Vote};

/// What was promised, and what was attempted after it.
#[derive(Default, Debug, Clone)]
struct Model {
    /// Entries in the log, synced or not.
    entries: BTreeMap<u64, Entry>,
    /// Entries below this index are promised.
    synced: u64,
    purged: Option<EntryId>,
    vote: Option<Vote>,
    next: u64,
    term: u64,
    /// What the operation that met the power cut may have done.
    torn: Option<Torn>,
}

#[derive(Debug, Clone)]
enum Torn {
    Vote(Vote),
    Purge(EntryId),
    Truncate(u64),
}

/// Histories tried; each has four power cuts.
const SEEDS: u64 = 1000;

fn step(journal: &mut Journal, model: &mut Model, random: &SeededRandom) -> Result<(), JournalError> {
    match random.below(20) {
        0 => {
            model.term += 1;
            let vote = Vote {
                term: model.term,
                node: 1,
                committed: random.below(2) == 0,
            };
            model.torn = Some(Torn::Vote(vote));
            journal.save_vote(vote)?;
            model.vote = Some(vote);
            model.synced = model.next;
        }
        1 if model.synced > 0 => {
            let index = random.below(model.synced);
            let Some(id) = model.entries.get(&index).map(|entry| entry.id) else {
                return Ok(());
            };
            model.torn = Some(Torn::Purge(id));
            journal.purge(id)?;
            model.purged = Some(id);
            model.entries.retain(|&kept, _| kept > index);
            model.synced = model.next;
        }
        2 if model.entries.len() > 3 => {
            let next = model.next - 1 - random.below(2);
            if !model.entries.contains_key(&(next - 1)) {
                return Ok(());
            }
            let last = model.entries[&(next - 1)].id;
            model.torn = Some(Torn::Truncate(next));
            journal.truncate_after(Some(last))?;
            model.entries.retain(|&kept, _| kept < next);
            model.next = next;
            model.term += 1;
            model.synced = next;
        }
        3 => journal.mark()?,
        4..9 => {
            journal.sync()?;
            model.synced = model.next;
        }
        _ => {
            let count = 1 + random.below(4);
            let entries: Vec<Entry> = (0..count)
                .map(|n| {
                    let mut entry = entry(model.next + n, random.below(1500) as usize);
                    entry.id.term = model.term;
                    // Nothing that was torn may be completed by the like of itself.
                    let nonce = random.next_u64() as u8;
                    Arc::make_mut(&mut entry.payload)
                        .iter_mut()
                        .for_each(|byte| *byte ^= nonce);
                    entry
                })
                .collect();
            model
                .entries
                .extend(entries.iter().map(|entry| (entry.id.index, entry.clone())));
            model.next += count;
            journal.append(&entries)?;
        }
    }
    model.torn = None;
    Ok(())
}

/// Compares, and takes over what the crash decided.
fn check(journal: &Journal, model: &mut Model, seed: u64) {
    let reader = journal.reader();
    match model.torn.take() {
        Some(Torn::Vote(vote)) if reader.vote() == Some(vote) => {
            model.vote = Some(vote);
            model.synced = model.next;
        }
        Some(Torn::Purge(id)) if reader.purged() == Some(id) => {
            model.purged = Some(id);
            model.entries.retain(|&kept, _| kept > id.index);
        }
        Some(Torn::Truncate(next)) if reader.last().map_or(0, |last| last.index + 1) <= next => {
            model.entries.retain(|&kept, _| kept < next);
            model.next = next;
            model.synced = model.synced.min(next);
        }
        _ => {}
    }
    assert_eq!(reader.vote(), model.vote, "seed {seed}: vote");
    assert_eq!(reader.purged(), model.purged, "seed {seed}: purged");
    let found = all_entries(journal);
    let expected: Vec<_> = model.entries.values().take(found.len()).cloned().collect();
    let ids = |entries: &[Entry]| {
        entries
            .iter()
            .map(|entry| entry.id.to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(
        found == expected,
        "seed {seed}: found {} expected {}",
        ids(&found),
        ids(&expected)
    );
    let end = reader.last().map_or(0, |last| last.index + 1);
    assert!(
        end >= model.synced,
        "seed {seed}: {} was promised, the log ends at {end}",
        model.synced
    );
    model.entries.retain(|&kept, _| kept < end);
    model.next = end;
    model.synced = end;
}

fn history(seed: u64) {
    let disk: Arc<SimDisk> = SimDisk::new(seed);
    let random = SeededRandom::new(seed);
    let mut model = Model::default();
    for _ in 0..4 {
        disk.cut_power_after(random.below(60));
        if let Ok(mut journal) = open_sim(&disk) {
            while step(&mut journal, &mut model, &random).is_ok() {}
        }
        disk.restore_power();
        let journal = open_sim(&disk).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        check(&journal, &mut model, seed);
    }
}

#[test]
fn power_cuts_lose_nothing_promised() {
    for seed in 0..SEEDS {
        history(seed);
    }
}
