//! Several transactions in random order, against a model of snapshots, locks and first committer wins.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Rows = BTreeMap<i64, (i64, Option<i64>)>;
type OwnRows = BTreeMap<i64, Option<(i64, Option<i64>)>>;

/// What is locked: a row, or a value of the unique index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Row(i64),
    Unique(i64),
}

/// All that was ever committed, and who holds which lock.
struct Model {
    history: BTreeMap<Timestamp, Rows>,
    changed: BTreeMap<i64, Timestamp>,
    locks: BTreeMap<Key, usize>,
}

struct ModelTransaction {
    options: Options,
    snapshot: Option<Timestamp>,
    own: OwnRows,
    savepoints: Vec<OwnRows>,
}

/// What a statement must come to.
#[derive(Debug, PartialEq)]
enum Expected {
    Done,
    Waits,
    Duplicate(IndexId, i64),
    Conflict,
}

impl Model {
    fn newest(&self) -> Timestamp {
        *self.history.last_key_value().unwrap().0
    }

    fn at(&self, ts: Timestamp) -> &Rows {
        &self.history[&ts]
    }

    fn lock(&mut self, me: usize, key: Key) -> bool {
        *self.locks.entry(key).or_insert(me) == me
    }

    fn current(&self, t: &ModelTransaction) -> Rows {
        overlaid(self.at(self.newest()), &t.own)
    }

    /// Whether writing the row is a conflict.
    fn conflicts(&self, t: &ModelTransaction, id: i64) -> bool {
        let (Some(snapshot), SNAPSHOT) = (t.snapshot, t.options) else {
            return false;
        };
        if t.own.contains_key(&id) {
            return false;
        }
        match self.at(self.newest()).contains_key(&id) {
            true => self.changed[&id] > snapshot,
            false => self.at(snapshot).contains_key(&id),
        }
    }

    fn insert(&mut self, me: usize, t: &mut ModelTransaction, (id, v, u): Row) -> Expected {
        if !self.lock(me, Key::Row(id)) {
            return Expected::Waits;
        }
        if self.current(t).contains_key(&id) {
            return Expected::Duplicate(IndexId::PRIMARY, id);
        }
        if self.conflicts(t, id) {
            return Expected::Conflict;
        }
        let expected = self.claim(me, t, id, None, u);
        if expected == Expected::Done {
            t.own.insert(id, Some((v, u)));
        }
        expected
    }

    fn claim(&mut self, me: usize, t: &ModelTransaction, id: i64, old: Option<i64>, new: Option<i64>) -> Expected {
        if old == new {
            return Expected::Done;
        }
        for key in old.into_iter().chain(new) {
            if !self.lock(me, Key::Unique(key)) {
                return Expected::Waits;
            }
        }
        let has_it = |(&other, &(_, u)): (&i64, &(i64, Option<i64>))| {
            (other != id && new.is_some() && u == new).then_some(other)
        };
        match self.current(t).iter().find_map(has_it) {
            Some(existing) => Expected::Duplicate(BY_UNIQUE, existing),
            None => Expected::Done,
        }
    }

    fn update(&mut self, me: usize, t: &mut ModelTransaction, id: i64, v: i64, u: Option<i64>) -> Expected {
        if !self.lock(me, Key::Row(id)) {
            return Expected::Waits;
        }
        if self.conflicts(t, id) {
            return Expected::Conflict;
        }
        let Some(&(_, old)) = self.current(t).get(&id) else {
            return Expected::Done;
        };
        let expected = self.claim(me, t, id, old, u);
        if expected == Expected::Done {
            t.own.insert(id, Some((v, u)));
        }
        expected
    }

    fn delete(&mut self, me: usize, t: &mut ModelTransaction, id: i64) -> Expected {
        if !self.lock(me, Key::Row(id)) {
            return Expected::Waits;
        }
        if self.conflicts(t, id) {
            return Expected::Conflict;
        }
        let Some(&(_, old)) = self.current(t).get(&id) else {
            return Expected::Done;
        };
        if let Some(old) = old
            && !self.lock(me, Key::Unique(old))
        {
            return Expected::Waits;
        }
        t.own.insert(id, None);
        Expected::Done
    }

    fn end(&mut self, me: usize, t: ModelTransaction, committed: Option<Timestamp>) {
        self.locks.retain(|_, owner| *owner != me);
        if let Some(ts) = committed {
            let rows = overlaid(self.at(self.newest()), &t.own);
            self.changed.extend(t.own.keys().map(|&id| (id, ts)));
            self.history.insert(ts, rows);
        }
    }
}

fn overlaid(rows: &Rows, own: &OwnRows) -> Rows {
    let mut rows = rows.clone();
    for (&id, row) in own {
        match row {
            Some(row) => rows.insert(id, *row),
            None => rows.remove(&id),
        };
    }
    rows
}

#[derive(Debug, Clone)]
enum Action {
    Insert(Row),
    Update(i64, i64, Option<i64>),
    Delete(i64),
    Get(i64),
    GetForUpdate(i64),
    Select(usize),
    Savepoint,
    RollbackTo(prop::sample::Index),
    Commit,
    Rollback,
}

fn action() -> impl Strategy<Value = Action> {
    let (id, v, u) = (0i64..8, 0i64..4, prop::option::of(0i64..4));
    prop_oneof![
        5 => (id.clone(), v.clone(), u.clone()).prop_map(Action::Insert),
        5 => (id.clone(), v, u).prop_map(|(id, v, u)| Action::Update(id, v, u)),
        3 => id.clone().prop_map(Action::Delete),
        3 => id.clone().prop_map(Action::Get),
        1 => id.prop_map(Action::GetForUpdate),
        3 => (1usize..6).prop_map(Action::Select),
        1 => Just(Action::Savepoint),
        1 => any::<prop::sample::Index>().prop_map(Action::RollbackTo),
        4 => Just(Action::Commit),
        1 => Just(Action::Rollback),
    ]
}

struct Session {
    real: Transaction,
    model: ModelTransaction,
    savepoints: Vec<Savepoint>,
}

impl Session {
    fn begin(f: &Fixture, options: Options) -> Session {
        let model = ModelTransaction {
            options,
            snapshot: None,
            own: BTreeMap::new(),
            savepoints: Vec::new(),
        };
        Session {
            real: f.begin(options),
            model,
            savepoints: Vec::new(),
        }
    }

    fn read_at(&mut self, model: &Model) -> Rows {
        if self.model.options.isolation != Isolation::RepeatableRead || self.model.snapshot.is_none() {
            self.model.snapshot = Some(model.newest());
        }
        overlaid(model.at(self.model.snapshot.unwrap()), &self.model.own)
    }
}

fn check<R: std::fmt::Debug>(f: &Fixture, real: &Result<R, Failure>, expected: &Expected) {
    let matches = match (real, expected) {
        (Ok(_), Expected::Done) | (Err(Failure::Waits), Expected::Waits) => true,
        (Err(Failure::Error(TransactionError::WriteConflict(_))), Expected::Conflict) => true,
        (Err(Failure::Error(TransactionError::DuplicateKey { index, existing, .. })), Expected::Duplicate(i, id)) => {
            index == i && *existing == f.key(*id)
        }
        _ => false,
    };
    assert!(matches, "{real:?}, expected {expected:?}");
}

fn run(options: [Options; 3], actions: Vec<(usize, Action)>, collects: usize) {
    let f = Fixture::new(&[(0, 0, Some(0)), (1, 1, None), (2, 2, Some(2))]);
    *f.local.collects.lock() = collects;
    let newest = f.local.store.published();
    let mut rows = Rows::new();
    rows.extend([(0, (0, Some(0))), (1, (1, None)), (2, (2, Some(2)))]);
    let changed = rows.keys().map(|&id| (id, newest)).collect();
    let mut model = Model {
        history: BTreeMap::from([(newest, rows)]),
        changed,
        locks: BTreeMap::new(),
    };
    let mut sessions = options.map(|options| Session::begin(&f, options));
    for (me, action) in actions {
        let session = &mut sessions[me];
        match action {
            Action::Insert(row) => {
                let real = f.insert(&mut session.real, row);
                check(&f, &real, &model.insert(me, &mut session.model, row));
            }
            Action::Update(id, v, u) => {
                let real = f.update(&mut session.real, id, |(id, _, _)| (id, v, u));
                check(&f, &real, &model.update(me, &mut session.model, id, v, u));
            }
            Action::Delete(id) => {
                let real = f.delete(&mut session.real, id);
                check(&f, &real, &model.delete(me, &mut session.model, id));
            }
            Action::Get(id) => {
                let expected = session.read_at(&model).get(&id).map(|(v, _)| *v);
                assert_eq!(f.get(&mut session.real, id), expected);
            }
            Action::GetForUpdate(id) => {
                let real = f.get_locked(&mut session.real, id, LockMode::Exclusive, LockPolicy::Wait);
                match model.lock(me, Key::Row(id)) {
                    false => check(&f, &real, &Expected::Waits),
                    true if model.conflicts(&session.model, id) => check(&f, &real, &Expected::Conflict),
                    true => {
                        let expected = model.current(&session.model).get(&id).map(|(v, _)| *v);
                        assert_eq!(real, Ok(expected));
                    }
                }
            }
            Action::Select(most) => {
                let expected: Vec<Row> = session
                    .read_at(&model)
                    .into_iter()
                    .map(|(id, (v, u))| (id, v, u))
                    .collect();
                for (index, order) in [
                    (IndexId::PRIMARY, (|row: &Row| (row.0, 0)) as fn(&Row) -> (i64, i64)),
                    (BY_VALUE, |row| (row.1, row.0)),
                    (BY_UNIQUE, |row| (row.2.unwrap_or(-1), row.0)),
                ] {
                    let mut expected = expected.clone();
                    expected.sort_by_key(order);
                    assert_eq!(
                        f.select(&mut session.real, index, Direction::Forward, most),
                        expected,
                        "{index}"
                    );
                    expected.reverse();
                    assert_eq!(
                        f.select(&mut session.real, index, Direction::Backward, most),
                        expected,
                        "{index}"
                    );
                }
            }
            Action::Savepoint => {
                session.savepoints.push(session.real.savepoint());
                session.model.savepoints.push(session.model.own.clone());
            }
            Action::RollbackTo(at) if !session.savepoints.is_empty() => {
                let at = at.index(session.savepoints.len());
                session.real.rollback_to(session.savepoints[at]);
                session.model.own = session.model.savepoints[at].clone();
                session.savepoints.truncate(at + 1);
                session.model.savepoints.truncate(at + 1);
            }
            Action::RollbackTo(_) => {}
            Action::Commit => {
                let ended = std::mem::replace(session, Session::begin(&f, options[me]));
                let committed = done(ended.real.commit()).unwrap();
                assert_eq!(committed.is_some(), !ended.model.own.is_empty());
                model.end(me, ended.model, committed);
            }
            Action::Rollback => {
                let ended = std::mem::replace(session, Session::begin(&f, options[me]));
                ended.real.rollback();
                model.end(me, ended.model, None);
            }
        }
    }
    drop(sessions);
    assert_eq!(f.local.store.locks().inspect(), []);
    let committed = model
        .at(model.newest())
        .iter()
        .map(|(&id, &(v, _))| (id, v))
        .collect::<Vec<_>>();
    assert_eq!(f.committed(), committed);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn transactions_are_as_isolated_as_they_say(
        options in prop::array::uniform3(prop::sample::select(&[SNAPSHOT, SNAPSHOT, COMPATIBLE, READ_COMMITTED][..])),
        actions in prop::collection::vec((0usize..3, action()), 1..120),
        collects in 0usize..4,
    ) {
        run(options, actions, collects);
    }
}
