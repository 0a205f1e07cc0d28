//! The n-th write fails, the n-th sync fails: the journal takes nothing more, says why, and has lost nothing it promised.

use std::sync::Arc;

use crate::support::{all_entries, entry, open, open_sim};
use env::{Env, Fault, FaultyDisk, SimDisk};
use journal::{Journal, JournalError};

fn run_with(fault: Fault, sync: fn(&mut Journal) -> Result<(), JournalError>) -> bool {
    let sim = SimDisk::new(5);
    let disk = Arc::new(FaultyDisk::new(sim.clone()));
    let env = Env {
        disk: disk.clone(),
        ..Env::simulated(sim.clone(), 5)
    };
    let mut journal = open(&env).unwrap();
    disk.inject(fault);
    let mut promised = 0;
    let failure = loop {
        if promised == 150 {
            return false;
        }
        let entry = entry(promised, 300);
        match journal.append(&[entry]).and_then(|()| sync(&mut journal)) {
            Ok(()) => promised += 1,
            Err(failure) => break failure,
        }
    };
    assert!(disk.is_spent());
    let JournalError::Poisoned(reason) = failure else {
        panic!("{failure}")
    };
    assert!(reason.contains(".log") && reason.contains("error"), "{reason}");
    // The disk works again, the journal does not: what a failed sync left is unknown.
    for result in [
        journal.append(&[entry(promised, 10)]),
        journal.sync(),
        journal.reserve(10),
        journal.mark(),
    ] {
        let Err(JournalError::Poisoned(again)) = result else {
            panic!("a poisoned journal took something")
        };
        assert_eq!(again, reason);
    }
    assert_eq!(journal.poison(), Some(reason));
    drop(journal);
    sim.restore_power();
    let journal = open_sim(&sim).unwrap();
    let found = all_entries(&journal).len() as u64;
    assert!(found == promised || found == promised + 1, "{found} of {promised}");
    true
}

/// On another thread.
fn sync_beside(journal: &mut Journal) -> Result<(), JournalError> {
    let unsynced = journal.unsynced();
    std::thread::spawn(move || unsynced.sync()).join().unwrap()
}

#[test]
fn the_nth_write_fails() {
    let failed = (1..200)
        .take_while(|&n| run_with(Fault::Write(n), Journal::sync))
        .count();
    assert!(failed > 150, "every write of the run failed once: {failed}");
}

#[test]
fn the_nth_sync_fails() {
    for sync in [Journal::sync, sync_beside] {
        let failed = (1..200).take_while(|&n| run_with(Fault::Sync(n), sync)).count();
        assert!(failed > 150, "every sync of the run failed once: {failed}");
    }
}
