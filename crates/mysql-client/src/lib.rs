//! A small blocking client of the MySQL protocol, for the shell and for tests: statements in, whole answers out.
//!
//! * [`Client`]: a connection; statements by the text protocol or prepared, answers as text;
//! * [`Login`]: who connects and where;
//! * [`Answer`], [`Column`]: what a server said.

mod answer;
mod client;
mod error;
mod login;
mod stream;

pub use answer::{Answer, Column};
pub use client::{Client, Protocol};
pub use error::ClientError;
pub use login::Login;
pub use mysql_wire::column::ColumnType;
