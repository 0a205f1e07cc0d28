//! Lists and objects of any length, an entry at a time.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

/// Hands every element of a list to a function, which may refuse the list.
pub struct EachOf<T, F> {
    look: F,
    of: PhantomData<T>,
}

impl<T, F: FnMut(T) -> Result<(), String>> EachOf<T, F> {
    pub fn new(look: F) -> Self {
        EachOf { look, of: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> DeserializeSeed<'de> for EachOf<T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> Visitor<'de> for EachOf<T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element::<T>()? {
            (self.look)(element).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}
