//! A transaction that is too large for one entry of the log.

use super::{Done, Fail, Session};
use crate::schema::{PAGE_BYTES, PAGE_COUNT, PAGES, Rows};

impl Session {
    /// Gives all pages the same new number.
    pub(super) async fn all_pages(&self) -> Done {
        let rows = Rows::of(PAGES);
        let mut running = self.begin();
        let table = self.table(PAGES)?;
        let number = i64::from(self.bench.number());
        for id in 0..PAGE_COUNT {
            let key = rows.key(id);
            self.lock(&mut running, &table, &key).await?;
            let found = running.transaction.get_current(&table, &key, |row| rows.decode(row));
            let mut row = found.ok_or_else(|| Fail::No("the page is not there".into()))?;
            row.number = number;
            row.bytes = vec![number as u8; PAGE_BYTES];
            let progress = running.transaction.update(&table, &key, &key, &rows.encode(&row))?;
            self.wait(progress).await?;
        }
        self.commit(running).await.map(drop)
    }
}
