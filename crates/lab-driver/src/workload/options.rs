//! Options as words: read with a default, checked, and written down as what holds.

use std::collections::BTreeMap;

use super::WorkloadError;

pub(super) struct OptionReader<'a> {
    kind: &'a str,
    given: BTreeMap<String, &'a str>,
    described: BTreeMap<String, String>,
}

impl<'a> OptionReader<'a> {
    pub fn new(kind: &'a str, given: &'a BTreeMap<String, String>) -> OptionReader<'a> {
        OptionReader {
            kind,
            given: given
                .iter()
                .map(|(name, value)| (name.replace('-', "_"), value.as_str()))
                .collect(),
            described: BTreeMap::new(),
        }
    }

    fn take(&mut self, name: &str) -> Option<&'a str> {
        self.given.remove(name)
    }

    pub fn number(&mut self, name: &str, default: u32, least: u32) -> Result<u32, WorkloadError> {
        let value = match self.take(name) {
            None => default,
            Some(text) => text
                .replace('_', "")
                .parse()
                .ok()
                .filter(|value| *value >= least)
                .ok_or_else(|| {
                    refused(
                        name,
                        text,
                        if least == 0 {
                            "a number from 0"
                        } else {
                            "a number of at least 1"
                        },
                    )
                })?,
        };
        self.described.insert(name.to_owned(), value.to_string());
        Ok(value)
    }

    /// A number with a fraction, between the limits (exclusive).
    pub fn real(&mut self, name: &str, default: f64, above: f64, below: f64) -> Result<f64, WorkloadError> {
        let value = match self.take(name) {
            None => default,
            Some(text) => text
                .parse()
                .ok()
                .filter(|value| *value > above && *value < below)
                .ok_or_else(|| refused(name, text, "a number within this option's limits"))?,
        };
        self.described.insert(name.to_owned(), value.to_string());
        Ok(value)
    }

    pub fn switch(&mut self, name: &str, default: bool) -> Result<bool, WorkloadError> {
        let value = match self.take(name) {
            None => default,
            Some("on" | "yes" | "true" | "1") => true,
            Some("off" | "no" | "false" | "0") => false,
            Some(text) => return Err(refused(name, text, "on or off")),
        };
        self.described
            .insert(name.to_owned(), if value { "on" } else { "off" }.to_owned());
        Ok(value)
    }

    pub fn text(&mut self, name: &str, default: &str) -> String {
        let value = self.take(name).unwrap_or(default).to_owned();
        self.described.insert(name.to_owned(), value.clone());
        value
    }

    /// One of `choices`, by name; the first is the default.
    pub fn choice<T: Copy>(
        &mut self,
        name: &str,
        wanted: &'static str,
        choices: &[(&str, T)],
    ) -> Result<T, WorkloadError> {
        let text = self.take(name).unwrap_or(choices[0].0);
        let (described, value) = choices
            .iter()
            .find(|(choice, _)| *choice == text)
            .ok_or_else(|| refused(name, text, wanted))?;
        self.described.insert(name.to_owned(), (*described).to_owned());
        Ok(*value)
    }

    /// What holds, once every given option was read.
    pub fn finish(self) -> Result<BTreeMap<String, String>, WorkloadError> {
        match self.given.into_keys().next() {
            None => Ok(self.described),
            Some(option) => Err(WorkloadError::Option {
                kind: self.kind.to_owned(),
                option,
                known: self.described.into_keys().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

fn refused(option: &str, value: &str, wanted: &'static str) -> WorkloadError {
    WorkloadError::Value {
        option: option.to_owned(),
        value: value.to_owned(),
        wanted,
    }
}
