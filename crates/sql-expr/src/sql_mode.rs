//! `sql_mode`: a set of flags, its names, and the parts of it that other layers look at.

use std::fmt;

use types::error::{ErrorKind, SqlError};

/// The flags of `sql_mode`, with MySQL's bit numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlMode(u64);

macro_rules! modes {
    ($($name:ident = $bit:literal $text:literal;)*) => {
        impl SqlMode {
            $(pub const $name: SqlMode = SqlMode(1 << $bit);)*

            const NAMES: &[(&str, SqlMode)] = &[$(($text, SqlMode::$name),)*];
        }
    };
}

modes! {
    REAL_AS_FLOAT = 0 "REAL_AS_FLOAT";
    PIPES_AS_CONCAT = 1 "PIPES_AS_CONCAT";
    ANSI_QUOTES = 2 "ANSI_QUOTES";
    IGNORE_SPACE = 3 "IGNORE_SPACE";
    ONLY_FULL_GROUP_BY = 5 "ONLY_FULL_GROUP_BY";
    NO_UNSIGNED_SUBTRACTION = 6 "NO_UNSIGNED_SUBTRACTION";
    NO_DIR_IN_CREATE = 7 "NO_DIR_IN_CREATE";
    ANSI = 18 "ANSI";
    NO_AUTO_VALUE_ON_ZERO = 19 "NO_AUTO_VALUE_ON_ZERO";
    NO_BACKSLASH_ESCAPES = 20 "NO_BACKSLASH_ESCAPES";
    STRICT_TRANS_TABLES = 21 "STRICT_TRANS_TABLES";
    STRICT_ALL_TABLES = 22 "STRICT_ALL_TABLES";
    NO_ZERO_IN_DATE = 23 "NO_ZERO_IN_DATE";
    NO_ZERO_DATE = 24 "NO_ZERO_DATE";
    ALLOW_INVALID_DATES = 25 "ALLOW_INVALID_DATES";
    ERROR_FOR_DIVISION_BY_ZERO = 26 "ERROR_FOR_DIVISION_BY_ZERO";
    TRADITIONAL = 27 "TRADITIONAL";
    HIGH_NOT_PRECEDENCE = 29 "HIGH_NOT_PRECEDENCE";
    NO_ENGINE_SUBSTITUTION = 30 "NO_ENGINE_SUBSTITUTION";
    PAD_CHAR_TO_FULL_LENGTH = 31 "PAD_CHAR_TO_FULL_LENGTH";
    TIME_TRUNCATE_FRACTIONAL = 32 "TIME_TRUNCATE_FRACTIONAL";
}

impl SqlMode {
    pub const EMPTY: SqlMode = SqlMode(0);

    /// What `ANSI` stands for.
    const ANSI_MEMBERS: SqlMode = Self::EMPTY
        .with(Self::REAL_AS_FLOAT)
        .with(Self::PIPES_AS_CONCAT)
        .with(Self::ANSI_QUOTES)
        .with(Self::IGNORE_SPACE)
        .with(Self::ONLY_FULL_GROUP_BY);

    /// What `TRADITIONAL` stands for.
    const TRADITIONAL_MEMBERS: SqlMode = Self::EMPTY
        .with(Self::STRICT_TRANS_TABLES)
        .with(Self::STRICT_ALL_TABLES)
        .with(Self::NO_ZERO_IN_DATE)
        .with(Self::NO_ZERO_DATE)
        .with(Self::ERROR_FOR_DIVISION_BY_ZERO)
        .with(Self::NO_ENGINE_SUBSTITUTION);

    pub const fn with(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 | other.0)
    }

    pub const fn without(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 & !other.0)
    }

    pub const fn has(self, other: SqlMode) -> bool {
        self.0 & other.0 == other.0
    }

    pub const fn bits(self) -> u64 {
        self.0
    }

    /// `STRICT_TRANS_TABLES` or `STRICT_ALL_TABLES`.
    pub fn is_strict(self) -> bool {
        self.has(Self::STRICT_TRANS_TABLES) || self.has(Self::STRICT_ALL_TABLES)
    }

    /// The mode with these names, separated by commas; the combinations are expanded.
    /// 1231 for an unknown one.
    pub fn parse(text: &str) -> Result<SqlMode, SqlError> {
        let unknown = |name: &str| SqlError::new(ErrorKind::WrongValueForVar, &[&"sql_mode", &name]);
        text.split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .try_fold(Self::EMPTY, |mode, name| {
                Self::NAMES
                    .iter()
                    .find(|(known, _)| known.eq_ignore_ascii_case(name))
                    .map(|(_, flag)| mode.with(flag.expanded()))
                    .ok_or_else(|| unknown(name))
            })
    }

    /// The mode with these bits; 1231 when there are others.
    pub fn from_bits(bits: u64) -> Result<SqlMode, SqlError> {
        let known = Self::NAMES.iter().fold(0, |all, (_, flag)| all | flag.0);
        if bits & !known != 0 {
            return Err(SqlError::new(ErrorKind::WrongValueForVar, &[&"sql_mode", &bits]));
        }
        Ok(SqlMode(bits).expanded())
    }

    fn expanded(self) -> SqlMode {
        let mut mode = self;
        if self.has(Self::ANSI) {
            mode = mode.with(Self::ANSI_MEMBERS);
        }
        if self.has(Self::TRADITIONAL) {
            mode = mode.with(Self::TRADITIONAL_MEMBERS);
        }
        mode
    }

    /// What the parser looks at.
    pub fn for_parser(self) -> parser::SqlMode {
        parser::SqlMode {
            ansi_quotes: self.has(Self::ANSI_QUOTES),
            pipes_as_concat: self.has(Self::PIPES_AS_CONCAT),
            no_backslash_escapes: self.has(Self::NO_BACKSLASH_ESCAPES),
            high_not_precedence: self.has(Self::HIGH_NOT_PRECEDENCE),
            ignore_space: self.has(Self::IGNORE_SPACE),
            real_as_float: self.has(Self::REAL_AS_FLOAT),
        }
    }

    /// What conversions look at.
    pub fn for_casts(self) -> types::cast::SqlMode {
        types::cast::SqlMode {
            strict: self.is_strict(),
            ignores_errors: false,
            no_zero_date: self.has(Self::NO_ZERO_DATE),
            no_zero_in_date: self.has(Self::NO_ZERO_IN_DATE),
            allow_invalid_dates: self.has(Self::ALLOW_INVALID_DATES),
            truncates_fractions: self.has(Self::TIME_TRUNCATE_FRACTIONAL),
        }
    }
}

impl Default for SqlMode {
    /// The default of MySQL 8.0.
    fn default() -> SqlMode {
        Self::EMPTY
            .with(Self::ONLY_FULL_GROUP_BY)
            .with(Self::STRICT_TRANS_TABLES)
            .with(Self::NO_ZERO_IN_DATE)
            .with(Self::NO_ZERO_DATE)
            .with(Self::ERROR_FOR_DIVISION_BY_ZERO)
            .with(Self::NO_ENGINE_SUBSTITUTION)
    }
}

impl fmt::Display for SqlMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for (name, flag) in Self::NAMES {
            if self.has(*flag) {
                write!(f, "{comma}{name}")?;
                comma = ",";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_it_parsed_in_mysqls_order() {
        let default = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                       ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
        assert_eq!(SqlMode::default().to_string(), default);
        assert_eq!(SqlMode::parse(default).unwrap(), SqlMode::default());
        assert_eq!(SqlMode::parse("").unwrap(), SqlMode::EMPTY);
        let ansi = SqlMode::parse(" ansi ,no_zero_date").unwrap();
        assert_eq!(
            ansi.to_string(),
            "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI,NO_ZERO_DATE"
        );
    }

    #[test]
    fn unknown_mode_is_1231() {
        assert_eq!(SqlMode::parse("STRICT_TRANS_TABLES,nonsense").unwrap_err().code(), 1231);
        assert_eq!(SqlMode::from_bits(1 << 60).unwrap_err().code(), 1231);
    }
}
