//! Lists to which numbers are appended, each of them once.

use std::time::Duration;

use types::{IndexId, Timestamp};

use super::{Done, Fail, Running, Session};
use crate::invariants::lists::{Append, End, Read};
use crate::schema::{LIST_COUNT, LISTS, Rows, list_of};

/// For how long a lone statement is sent again that was not applied.
const INSISTS: Duration = Duration::from_secs(8);

impl Session {
    fn some_list(&self) -> i64 {
        self.random.below(LIST_COUNT as u64) as i64
    }

    /// Appends to so many lists in a transaction, which often has read before.
    pub(super) async fn append(&self, count: usize) -> Done {
        let mut running = self.begin();
        if self.random.below(2) == 0 {
            let snapshot = self.read(&mut running).await?;
            let list = self.some_list();
            self.read_list(&mut running, snapshot, list)?;
        }
        let mut appends = Vec::new();
        for _ in 0..count {
            let list = self.some_list();
            if appends.iter().any(|append: &Append| append.list == list) {
                continue;
            }
            appends.push(self.append_in(&mut running, list, self.bench.number()).await?);
        }
        self.commit_appends(running, appends).await.1
    }

    /// As a statement outside of a transaction: where nothing was applied, it is sent again.
    pub(super) async fn append_until_done(&self) -> Done {
        let (list, number) = (self.some_list(), self.bench.number());
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < INSISTS {
            let mut running = self.begin();
            let done = match self.append_in(&mut running, list, number).await {
                Ok(append) => match self.commit_appends(running, vec![append]).await {
                    (attempt, Err(Fail::No(reason))) => {
                        // Nothing of it was applied.
                        self.bench.lists.end(attempt, End::SentAgain);
                        Err(Fail::No(reason))
                    }
                    (_, done) => done,
                },
                Err(fail) => Err(fail),
            };
            match done {
                Err(Fail::No(_)) => tokio::time::sleep(Duration::from_millis(100)).await,
                done => return done,
            }
        }
        Err(Fail::No("tried for too long".into()))
    }

    async fn append_in(&self, running: &mut Running, list: i64, number: u32) -> Done<Append> {
        let rows = Rows::of(LISTS);
        let table = self.table(LISTS)?;
        let key = rows.key(list);
        self.lock(running, &table, &key).await?;
        self.think().await;
        let found = running.transaction.get_current(&table, &key, |row| rows.decode(row));
        let mut row = found.ok_or_else(|| Fail::No("the list is not there".into()))?;
        let behind = list_of(&row.bytes);
        row.number += 1;
        row.bytes.extend_from_slice(&number.to_be_bytes());
        let progress = running.transaction.update(&table, &key, &key, &rows.encode(&row))?;
        self.wait(progress).await?;
        self.think().await;
        Ok(Append { list, number, behind })
    }

    async fn commit_appends(&self, running: Running, appends: Vec<Append>) -> (usize, Done) {
        let numbers: Vec<u32> = appends.iter().map(|append| append.number).collect();
        self.bench.trace.note(format_args!("{} commits {numbers:?}", self.name));
        let attempt = self.bench.lists.begin(self.name.clone(), appends);
        let committed = self.commit(running).await;
        let end = match &committed {
            Ok(Some(at)) => End::Committed(*at),
            Err(Fail::Unknown(_)) => End::Unknown,
            Ok(None) | Err(Fail::No(_)) => End::Failed,
        };
        self.bench.lists.end(attempt, end);
        (attempt, committed.map(drop))
    }

    pub(super) async fn read_lists(&self) -> Done {
        let mut running = self.begin();
        let snapshot = self.read(&mut running).await?;
        for _ in 0..3 {
            let list = self.some_list();
            self.read_list(&mut running, snapshot, list)?;
            // The snapshot stays, whatever is committed meanwhile.
            tokio::time::sleep(Duration::from_millis(self.random.below(30))).await;
        }
        Ok(())
    }

    fn read_list(&self, running: &mut Running, snapshot: Timestamp, list: i64) -> Done {
        let rows = Rows::of(LISTS);
        let table = self.table(LISTS)?;
        running.transaction.check_readable(&table, IndexId::PRIMARY)?;
        let found = running.transaction.get(&table, &rows.key(list), |row| rows.decode(row));
        let row = found.ok_or_else(|| Fail::No("the list is not there".into()))?;
        self.bench.lists.read(Read {
            who: self.name.clone(),
            snapshot,
            list,
            found: list_of(&row.bytes),
        });
        Ok(())
    }
}
