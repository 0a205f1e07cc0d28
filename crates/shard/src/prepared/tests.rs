use store::{IndexId, LockKey, LockMode, LockModes, LockTarget, WriteOp, WriteOps, WriteSet};

use super::*;

const ROWS: TableId = TableId(100);

fn modes(of: &[LockMode]) -> LockModes {
    let mut modes = LockModes::default();
    of.iter().for_each(|&mode| modes.add(mode));
    modes
}

fn sample(rows: u32) -> PreparedTransaction {
    let mut writes = WriteSet::new();
    for row in 0..rows {
        writes.put(ROWS, &row.to_be_bytes(), &[7; 100]);
    }
    PreparedTransaction::new(PreparedName::new(b"global", b"branch", 3), 5, writes.into_bytes())
}

/// Two names are one where the numbers alone differ, and two where the parts meet elsewhere.
#[test]
fn a_name_is_its_two_parts() {
    let key = |global: &[u8], branch: &[u8], format| PreparedName::new(global, branch, format).key().to_vec();
    assert_eq!(key(b"a", b"b", 1), key(b"a", b"b", 2));
    assert_ne!(key(b"ab", b"", 1), key(b"a", b"b", 1));
    assert_ne!(key(b"", b"ab", 1), key(b"ab", b"", 1));
    let long = [b'x'; 64];
    assert_ne!(key(&long, &long, 1), key(&long, &long[1..], 1));
}

#[test]
fn locks_come_back_in_the_modes_that_others_are_kept_away_by() {
    let mut prepared = sample(1);
    let exclusive = modes(&[LockMode::Exclusive]);
    let both = modes(&[LockMode::Shared, LockMode::IntentionExclusive]);
    let key = LockTarget::Key(ROWS, IndexId(4), vec![9; 300]);
    prepared.add_lock(&key, exclusive);
    prepared.add_lock(&LockTarget::Table(ROWS), both);
    // Only to use it; and nothing of what was done under a name, or of a definition that was to be changed.
    prepared.add_lock(&LockTarget::Definition(ROWS), both);
    prepared.add_lock(&LockTarget::Definition(TableId(101)), exclusive);
    prepared.add_lock(&LockTarget::Name(b"name".to_vec()), exclusive);
    let locks: Vec<_> = prepared.locks().map(Result::unwrap).collect();
    assert_eq!(
        locks,
        [
            (key.key(), exclusive),
            (LockKey::Table(ROWS), both),
            (LockKey::Definition(ROWS), modes(&[LockMode::IntentionExclusive])),
        ]
    );
}

/// What puts its rows, and what takes them away.
#[test]
fn its_end_takes_away_every_row_that_it_has_put() {
    for rows in [0, 1, 5000] {
        let mut prepared = sample(rows);
        prepared.add_lock(&LockTarget::Table(ROWS), modes(&[LockMode::IntentionExclusive]));
        let prepare = prepared.prepare();
        let put: Vec<_> = WriteOps::decode_all(prepare.as_bytes())
            .unwrap()
            .into_iter()
            .map(|op| match op {
                WriteOp::Put { table, key, .. } => (table, key.to_vec()),
                other => panic!("{other:?}"),
            })
            .collect();
        let gone = |set: &WriteSet| -> Vec<_> {
            let ops = WriteOps::decode_all(set.as_bytes()).unwrap().into_iter();
            let deleted = ops.filter_map(|op| match op {
                WriteOp::Delete { table, key } => Some((table, key.to_vec())),
                _ => None,
            });
            deleted.collect()
        };
        assert_eq!(put.last().unwrap(), &(PREPARED, prepared.name.key().to_vec()));
        assert_eq!(gone(&prepared.roll_back()), put);
        let commit = prepared.commit().unwrap();
        assert_eq!(gone(&commit), put);
        let ops = WriteOps::decode_all(commit.as_bytes()).unwrap();
        let changes = ops.iter().filter(|op| matches!(op, WriteOp::Put { table: ROWS, .. }));
        assert_eq!(changes.count(), rows as usize);
    }
}
