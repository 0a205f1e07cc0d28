//! Nodes that talk over real sockets, and strangers who try to.

#![allow(clippy::unwrap_used)]

mod calls;
mod chaos;
mod encrypted;
mod faults;
mod identities;
mod strangers;
mod support;
