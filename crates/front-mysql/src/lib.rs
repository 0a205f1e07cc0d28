//! front-mysql
