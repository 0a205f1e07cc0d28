//! Running plans.
//!
//! In reading order:
//!
//! * [`runtime`]: what a running statement works with;
//! * [`rows`]: stored rows into values; [`seen`]: which of them came before;
//! * [`straight`]: point and range reads from the store to the client without a detour;
//! * [`query`]: joins, grouping, subqueries, set operations; [`full_text`]: searches;
//! * [`dml`]: changes of rows;
//! * [`measure`]: what EXPLAIN ANALYZE tells of a run;
//! * [`answer`]: what a statement did.

pub mod answer;
pub mod dml;
pub mod full_text;
pub mod measure;
pub mod query;
pub mod rows;
pub mod runtime;
mod seen;
pub mod straight;

pub use answer::{Answer, counted};
pub use runtime::{Runtime, ServerTables};
