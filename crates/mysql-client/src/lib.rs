//! A small blocking client of the MySQL protocol, for the shell and for tests: statements in, whole answers out.
//!
//! * [`Client`]: a connection; statements by the text protocol or prepared, answers as text;
//! * [`Login`]: who connects and where;
//! * [`Parameter`]: a value for a prepared statement, in the type that it is sent in;
//! * [`Answer`], [`Column`]: what a server said.

mod answer;
mod client;
mod error;
mod login;
mod parameter;
mod stream;

pub use answer::{Answer, Column};
pub use client::{Client, Protocol};
pub use error::ClientError;
pub use login::Login;
pub use mysql_wire::column::ColumnType;
pub use mysql_wire::value::{BinaryDateTime, BinaryTime};
pub use parameter::Parameter;
