//! The values that a statement gets from outside of its text: of a prepared one those that the client sent, in a stored program
//! the variables of its frame.

use std::borrow::Cow;

use types::{CollationId, SqlType, Value};

#[derive(Debug, Clone, Copy)]
pub struct Parameters<'a> {
    pub values: &'a [Value],
    /// As they were declared; `None`: as the values tell.
    types: Option<&'a [SqlType]>,
}

impl<'a> Parameters<'a> {
    pub const NONE: Parameters<'static> = Parameters {
        values: &[],
        types: None,
    };

    /// A frame of a stored program.
    pub fn declared(values: &'a [Value], types: &'a [SqlType]) -> Parameters<'a> {
        Parameters {
            values,
            types: Some(types),
        }
    }

    pub fn types(&self, collation: CollationId) -> Cow<'a, [SqlType]> {
        match self.types {
            Some(types) => Cow::Borrowed(types),
            None => self
                .values
                .iter()
                .map(|value| crate::expr::type_of_value(value, collation))
                .collect::<Vec<_>>()
                .into(),
        }
    }
}

impl<'a> From<&'a [Value]> for Parameters<'a> {
    fn from(values: &'a [Value]) -> Parameters<'a> {
        Parameters { values, types: None }
    }
}
