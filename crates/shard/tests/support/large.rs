//! Large transactions, and what nobody may ever see of them.

use store::WriteSet;

use super::Accounts;

/// Enough for three chunks.
pub const ROWS: i64 = 5000;
/// Where they begin: behind the purses.
pub const FIRST: i64 = 100_000;

/// Every row gets this balance.
pub fn all(accounts: &Accounts, balance: i64) -> WriteSet {
    let mut writes = WriteSet::new();
    for id in FIRST..FIRST + ROWS {
        accounts.put(&mut writes, id, balance, b"");
    }
    writes
}

/// The balance of all rows of the large transactions; `None`: there are no such rows.
pub fn balance(rows: &[(i64, i64)], happened: &str) -> Option<i64> {
    let large: Vec<_> = rows.iter().filter(|(id, _)| *id >= FIRST).collect();
    let first = large.first()?.1;
    assert_eq!(large.len() as i64, ROWS, "{happened}: a part of a large transaction");
    assert!(
        large.iter().all(|(_, balance)| *balance == first),
        "{happened}: a mixture"
    );
    Some(first)
}
