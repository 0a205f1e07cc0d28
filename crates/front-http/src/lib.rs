//! front-http
