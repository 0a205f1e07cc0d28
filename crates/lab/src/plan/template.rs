//! The plan that `lab init` prints: it runs as it is against a server on this machine, and shows every section.

/// A commented plan.
pub const TEMPLATE: &str = include_str!("template.toml");
