//! Names that one row at a time may have, under automatic ids.

use transaction::TransactionError;
use types::IndexId;

use super::{Done, Fail, Session};
use crate::schema::{CLAIMS, Row, Rows};

const NAMES: u64 = 12;

impl Session {
    /// Claims a name, or gives up one that is taken.
    pub(super) async fn claim(&self) -> Done {
        let rows = Rows::of(CLAIMS);
        let mut running = self.begin();
        let table = self.table(CLAIMS)?;
        let name = format!("name {}", self.random.below(NAMES)).into_bytes();
        loop {
            match running.transaction.reserve_auto_increments(&table, 1, 1, 1)? {
                transaction::Progress::Done => break,
                progress => self.wait(progress).await?,
            }
        }
        let id = running.transaction.take_auto_increments(&table, 1, 1, 1).start;
        let id = i64::try_from(id).map_err(|_| Fail::No("there are no more ids".into()))?;
        let row = Row {
            id,
            number: i64::from(self.node),
            bytes: name,
        };
        let (key, bytes) = (rows.key(id), rows.encode(&row));
        let taken = loop {
            match running.transaction.insert(&table, &key, &bytes) {
                Ok(transaction::Progress::Done) => break None,
                Ok(progress) => self.wait(progress).await?,
                Err(TransactionError::DuplicateKey { index, existing, .. }) => break Some((index, existing)),
                Err(error) => return Err(error.into()),
            }
        };
        if let Some((index, existing)) = taken {
            if index == IndexId::PRIMARY {
                let report = &self.bench.report;
                report.violation(
                    "ids",
                    format_args!("{} was given the automatic id {id}, which a row has", self.name),
                );
                return Err(Fail::No("a duplicate id".into()));
            }
            self.lock(&mut running, &table, &existing).await?;
            if running.transaction.get_current(&table, &existing, |_| ()).is_none() {
                return Err(Fail::No("the name is free again".into()));
            }
            loop {
                match running.transaction.delete(&table, &existing)? {
                    transaction::Progress::Done => break,
                    progress => self.wait(progress).await?,
                }
            }
        }
        self.commit(running).await.map(drop)
    }
}
