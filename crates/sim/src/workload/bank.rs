//! Money that goes from one account to another, and those who count it.

use types::IndexId;

use super::{Done, Fail, Session};
use crate::schema::{ACCOUNT_COUNT, ACCOUNTS, BALANCE, Rows};

impl Session {
    /// Takes from one account and gives to another. Half of the transactions look at both before they lock them.
    pub(super) async fn transfer(&self) -> Done {
        let rows = Rows::of(ACCOUNTS);
        let mut running = self.begin();
        let (from, to) = (
            self.random.below(ACCOUNT_COUNT as u64) as i64,
            self.random.below(ACCOUNT_COUNT as u64) as i64,
        );
        if from == to {
            return Ok(());
        }
        let table = self.table(ACCOUNTS)?;
        if self.random.below(2) == 0 {
            self.read(&mut running).await?;
            running.transaction.check_readable(&table, IndexId::PRIMARY)?;
            for id in [from, to] {
                let known = running.transaction.get(&table, &rows.key(id), |_| ());
                known.ok_or_else(|| Fail::No("the account is not there".into()))?;
            }
        }
        let amount = 1 + self.random.below(5) as i64;
        for (id, more) in [(from, -amount), (to, amount)] {
            let key = rows.key(id);
            self.lock(&mut running, &table, &key).await?;
            let found = running.transaction.get_current(&table, &key, |row| rows.decode(row));
            let mut row = found.ok_or_else(|| Fail::No("the account is not there".into()))?;
            row.number += more;
            let (trace, name, now) = (&self.bench.trace, &self.name, row.number);
            trace.note(format_args!("{name} makes it {now} in account {id}, {more} more"));
            let progress = running.transaction.update(&table, &key, &key, &rows.encode(&row))?;
            self.wait(progress).await?;
            self.think().await;
        }
        self.commit(running).await.map(drop)
    }

    /// All accounts together have what they had at the beginning.
    pub(super) async fn sum(&self) -> Done {
        let mut running = self.begin();
        self.read(&mut running).await?;
        let rows = Rows::of(ACCOUNTS);
        let table = self.table(ACCOUNTS)?;
        running.transaction.check_readable(&table, IndexId::PRIMARY)?;
        let mut sum = 0;
        for id in 0..ACCOUNT_COUNT {
            let balance = running
                .transaction
                .get(&table, &rows.key(id), |row| rows.decode(row).number);
            sum += balance.ok_or_else(|| Fail::No("the account is not there".into()))?;
            // Others commit meanwhile.
            if self.random.below(4) == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        }
        if sum != ACCOUNT_COUNT * BALANCE {
            let report = &self.bench.report;
            report.violation("bank", format_args!("{} counts {sum}", self.name));
        }
        Ok(())
    }
}
