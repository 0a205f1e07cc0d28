//! mysql-wire
