//! What the planner asks of the node, of whoever asks, and of the session.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use catalog::{AccountDef, Catalog, DynamicPrivilege, Privileges, TableDef};
use sql_api::result::ResultColumn;
use types::{SqlError, SqlResult};

use crate::table::Table;

/// The node whose tables are named.
pub trait Node {
    /// A definition with its rows; `None` while a table is being dropped.
    fn table(&self, def: &Arc<TableDef>) -> Option<Arc<Table>>;

    /// What an account may do whose views are read: that of its default roles, too.
    fn authorizer_of(&self, catalog: &Catalog, definer: &AccountDef) -> Arc<dyn Authorizer>;

    /// A table of the server's own databases, whatever the case of its name.
    fn virtual_table(&self, database: &str, name: &str) -> Option<&'static dyn VirtualTable>;

    /// `local_infile`: whether clients may send files.
    fn takes_local_files(&self) -> bool;

    /// `secure_file_priv`: whether statements may use files of the server at all.
    fn has_server_files(&self) -> bool;
}

/// Says what may be done with the tables that a statement names, and how it is refused.
pub trait Authorizer: Debug {
    /// 1142 where one of the privileges on a table is missing.
    fn check_table(&self, database: &str, table: &str, wanted: Privileges) -> SqlResult<()>;

    /// 1142 where one of the privileges is neither held on the table nor on a column of it.
    fn check_table_or_columns(&self, database: &str, table: &str, wanted: Privileges) -> SqlResult<()>;

    /// 1143 where a privilege on a column is missing.
    fn check_column(&self, database: &str, table: &str, column: &str, wanted: Privileges) -> SqlResult<()>;

    /// 1142, named after `command`, where a locking read is not allowed.
    fn check_may_lock(&self, database: &str, table: &str, wanted: Privileges, command: &str) -> SqlResult<()>;

    /// 1227, named `named`, where none of these is held on everything.
    fn require_any(&self, privileges: Privileges, dynamic: &[DynamicPrivilege], named: &str) -> SqlResult<()>;

    /// 1370 where a stored function may not be called.
    fn check_function(&self, database: &str, name: &str) -> SqlResult<()>;

    /// 1142
    fn table_denied(&self, command: &str, table: &str) -> SqlError;

    /// 1044
    fn database_denied(&self, database: &str) -> SqlError;
}

/// What LOCK TABLES lets a session use.
pub trait LockedTables {
    /// 1100 for a table that is not among the locked ones, under the name that the statement gives it.
    fn check_use(&self, database: &str, name: &str, alias: &str) -> SqlResult<()>;

    /// Whether statements of the session need no table lock of their own.
    fn holds(&self, table: &Table) -> bool;
}

/// A table that is made up when it is read: of `information_schema` and its kin.
pub trait VirtualTable: Any + Debug + Sync {
    fn database(&self) -> &'static str;

    fn name(&self) -> &'static str;

    /// Its columns under an alias.
    fn columns(&self, alias: &str) -> Vec<ResultColumn>;

    /// Whether it is a view in MySQL, over the tables of its dictionary.
    fn is_view(&self) -> bool;
}

/// Databases that exist without being stored.
pub const VIRTUAL: [&str; 3] = ["information_schema", "performance_schema", "mysql"];

/// Whether a database is one of those that are made up when they are read.
pub fn is_virtual_database(name: &str) -> bool {
    VIRTUAL.iter().any(|known| known.eq_ignore_ascii_case(name))
}
