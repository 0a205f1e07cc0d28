//! From a statement's tree to a plan: names, rights, access paths, the order of joins.
//!
//! A plan is bound to one version of the catalog, one list of parameter types and one sql_mode. It holds no values of
//! parameters and nothing of a transaction, so that sessions share it. What the planner needs of the node and of whoever asks it
//! declares as traits ([`node`]).
//!
//! In reading order:
//!
//! * [`planner`]: what planning one statement works with; [`plan`]: what comes out;
//! * [`table`]: a definition and its rows; [`temporary`]: a session's own tables; [`views`]: what names mean inside of a view;
//! * [`straight`]: queries with a direct path from the store to the client; [`query`]: all others;
//! * [`hints`]: what `/*+ … */` says of a plan; [`access`]: conditions to key ranges, and which index to read; `computed_keys`: those over
//!   expressions; [`full_text`]: searches;
//! * [`changes`], [`mod@foreign_keys`], [`load`]: changes of rows, planned by `dml`; [`files`]: rows into files;
//! * [`errors`]: errors of other layers as MySQL tells them; [`columns`], [`mod@column_type`], [`names`], [`text`]: what definitions say.

pub mod access;
pub mod changes;
pub mod column_type;
pub mod columns;
mod computed_keys;
mod dml;
pub mod errors;
pub mod files;
pub mod foreign_keys;
pub mod full_text;
pub mod hints;
pub mod load;
pub mod names;
mod nesting;
pub mod node;
pub mod plan;
pub mod planner;
pub mod query;
pub mod scope;
mod source_columns;
pub mod straight;
pub mod table;
pub mod temporary;
pub mod text;
pub mod views;
mod zero_dates;

pub use dml::{added_values, write_rules};
pub use foreign_keys::{RowChange, foreign_keys};
pub use node::{Authorizer, LockedTables, Node, VirtualTable, is_virtual_database};
pub use plan::{Plan, Planned, Uses};
pub use planner::{Planner, limit_value};
pub use query::QueryPlan;
pub use scope::TableScope;
pub use straight::StraightPlan;
pub use table::Table;
pub use temporary::TemporaryTables;
pub use views::{OpenViews, Purpose, invalid_view, view_query};
