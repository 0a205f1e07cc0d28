//! Steps of statements at which a test can inject a failure ([`env::failpoints`]).
//!
//! | step | where |
//! |---|---|
//! | `statement.planned` | a query or a change has its plan |
//! | `statement.ran` | it has run, its transaction is still open |
//! | `commit.proposing` | a transaction is about to go into the log |
//! | `commit.answered` | it has been committed, nobody has been told |
//! | `xa.preparing`, `xa.prepared` | XA PREPARE, before its commit and after it |
//! | `xa.deciding` | XA COMMIT or XA ROLLBACK of what is prepared, before its commit |
//! | `ddl.locked` | a change of the schema holds what it is about |
//! | `ddl.catalog` | it holds the catalog, too; nothing is left to wait for |
//! | `ddl.prepared` | its work is done, the catalog's rows are not yet written |
//! | `ddl.committing` | it is about to be committed |
//! | `ddl.committed` | it is committed |
//! | `ids.leasing`, `ids.leased` | before and after a lease of table ids |
//! | `alter.copy_made` | the empty copy of a table is there |
//! | `alter.copied_some` | a part of the rows is copied |
//! | `alter.copied` | all of them are |
//! | `alter.indexed` | a new index is built, the table does not have it yet |
//! | `create_as.made`, `create_as.filled` | CREATE TABLE ... SELECT |
//! | `temporary.made` | the rows' place of a temporary table is there |
//! | `shard.logging`, `shard.applying` | in the shard: the batch before its record is written, each transaction before it is applied |

use types::{SqlError, SqlResult};

/// Fails, panics or dies if a test wants it.
#[inline]
pub(crate) fn hit(step: &'static str) -> SqlResult<()> {
    env::failpoints::hit(step).map_err(SqlError::internal)
}
