//! The SQL modes that change how text is read.

/// The part of `sql_mode` the parser needs, and the session's character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SqlMode {
    /// `"x"` is an identifier.
    pub ansi_quotes: bool,
    /// `||` is concatenation.
    pub pipes_as_concat: bool,
    /// `\` in strings is itself.
    pub no_backslash_escapes: bool,
    /// `NOT a BETWEEN b AND c` is `(NOT a) BETWEEN b AND c`.
    pub high_not_precedence: bool,
    /// Space may stand between a native function's name and `(`; such names are reserved then.
    pub ignore_space: bool,
    /// `REAL` is FLOAT.
    pub real_as_float: bool,
}
