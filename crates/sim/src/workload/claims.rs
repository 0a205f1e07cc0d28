//! Names that one row at a time may have, under automatic ids.

use transaction::{Progress, TransactionError};
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
        self.until_done(|| {
            running
                .transaction
                .reserve_auto_increments(&table, 1, 1, 1, i64::MAX as u64)
        })
        .await?;
        let id = running.transaction.take_auto_increments(&table, 1, 1, 1).start;
        let id = i64::try_from(id).map_err(|_| Fail::No("there are no more ids".into()))?;
        let row = Row {
            id,
            number: i64::from(self.node),
            bytes: name,
        };
        let (key, bytes) = (rows.key(id), rows.encode(&row));
        let mut taken = None;
        running.transaction.begin_claims();
        self.until_done(|| match running.transaction.insert(&table, &key, &bytes) {
            Err(TransactionError::DuplicateKey { index, existing, .. }) => {
                taken = Some((index, existing));
                Ok(Progress::Done)
            }
            progress => progress,
        })
        .await?;
        self.until_done(|| running.transaction.settle_claims()).await?;
        running.transaction.end_claims();
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
            self.until_done(|| running.transaction.delete(&table, &existing))
                .await?;
        }
        self.think().await;
        if self.commit(running).await?.is_some() {
            self.bench.ids.committed(&self.name, id, &self.bench.report);
        }
        Ok(())
    }
}
