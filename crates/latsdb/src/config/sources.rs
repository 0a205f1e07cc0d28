//! The three sources, each read into a [`Layer`] of plain texts.

use std::collections::BTreeMap;
use std::path::Path;

use clap::ArgMatches;
use toml::{Table, Value};

use super::{ConfigError, SETTINGS};

const DEFAULT_FILE: &str = "latsdb.toml";
const FILE_VARIABLE: &str = "LATSDB_CONFIG";

/// What one source says, by key.
#[derive(Debug)]
pub struct Layer {
    kind: Kind,
    pub(super) values: BTreeMap<&'static str, String>,
}

#[derive(Debug)]
enum Kind {
    File(String),
    Variables,
    Flags,
}

impl Layer {
    pub fn flags(values: BTreeMap<&'static str, String>) -> Self {
        Self {
            kind: Kind::Flags,
            values,
        }
    }

    /// Takes every `LATSDB_*` out of the environment; one that is no setting is a mistake, not noise.
    pub fn variables(environment: impl IntoIterator<Item = (String, String)>) -> Result<Self, ConfigError> {
        let mut values = BTreeMap::new();
        for (name, value) in environment
            .into_iter()
            .filter(|(name, _)| name.starts_with("LATSDB_") && name != FILE_VARIABLE)
        {
            match SETTINGS.iter().find(|setting| setting.variable() == name) {
                Some(setting) => values.insert(setting.key, value),
                None => {
                    let nearest = nearest_key(&name["LATSDB_".len()..].to_lowercase());
                    return Err(ConfigError::Unknown { origin: name, nearest });
                }
            };
        }
        Ok(Self {
            kind: Kind::Variables,
            values,
        })
    }

    pub fn file(name: &str, text: &str) -> Result<Self, ConfigError> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| ConfigError::File {
            file: name.to_owned(),
            reason: error.to_string(),
        })?;
        let mut values = BTreeMap::new();
        for (key, value) in table {
            let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) else {
                return Err(ConfigError::Unknown {
                    origin: format!("{key} in {name}"),
                    nearest: nearest_key(&key),
                });
            };
            let text = plain(&value).ok_or_else(|| ConfigError::BadValue {
                origin: format!("{key} in {name}"),
                value: value.type_str().to_owned(),
                expected: "a text, a number, true or false, or a list of texts",
            })?;
            values.insert(setting.key, text);
        }
        Ok(Self {
            kind: Kind::File(name.to_owned()),
            values,
        })
    }

    /// How the user would recognise the value of `key` in this source.
    pub(super) fn origin(&self, key: &str) -> String {
        match &self.kind {
            Kind::File(file) => format!("{key} in {file}"),
            Kind::Variables => format!("LATSDB_{}", key.to_uppercase()),
            Kind::Flags => format!("--{}", key.replace('_', "-")),
        }
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Boolean(switch) => Some(switch.to_string()),
        Value::Array(list) => list
            .iter()
            .map(|item| item.as_str())
            .collect::<Option<Vec<_>>>()
            .map(|items| items.join(",")),
        _ => None,
    }
}

/// The setting that the user may have meant: the one whose name differs least, if it differs little.
fn nearest_key(wrong: &str) -> Option<&'static str> {
    let wrong = wrong.replace('-', "_");
    SETTINGS
        .iter()
        .map(|setting| (edit_distance(&wrong, setting.key), setting.key))
        .min()
        .filter(|(distance, key)| *distance <= key.len() / 3)
        .map(|(_, key)| key)
}

/// Levenshtein's distance, over bytes: the names are ASCII.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The flags that were given on the command line (not the defaults).
pub fn given_flags(matches: &ArgMatches) -> Layer {
    let mut values = BTreeMap::new();
    for setting in SETTINGS {
        let value = match setting.value {
            Some(_) => matches.try_get_one::<String>(setting.key).ok().flatten().cloned(),
            None => matches
                .try_get_one::<bool>(setting.key)
                .ok()
                .flatten()
                .filter(|on| **on)
                .map(|_| "true".to_owned()),
        };
        if let Some(value) = value {
            values.insert(setting.key, value);
        }
    }
    Layer::flags(values)
}

/// All sources, weakest first. A file named by `--config` or `LATSDB_CONFIG` must exist; `latsdb.toml` may.
pub fn layers(config_flag: Option<&str>, flags: Layer) -> Result<Vec<Layer>, ConfigError> {
    let named = config_flag
        .map(str::to_owned)
        .or_else(|| std::env::var(FILE_VARIABLE).ok());
    let mut layers = Vec::new();
    if named.is_some() || Path::new(DEFAULT_FILE).exists() {
        let file = named.unwrap_or_else(|| DEFAULT_FILE.to_owned());
        let text = std::fs::read_to_string(&file).map_err(|error| ConfigError::File {
            file: file.clone(),
            reason: format!("cannot be read: {error}"),
        })?;
        layers.push(Layer::file(&file, &text)?);
    }
    // A variable that is not UTF-8 is nobody's setting.
    let environment =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    layers.push(Layer::variables(environment)?);
    layers.push(flags);
    Ok(layers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest_one() {
        let error = Layer::file("latsdb.toml", "memory-limit = '1GiB'").unwrap_err();
        assert_eq!(
            error.to_string(),
            "memory-limit in latsdb.toml: there is no such setting; did you mean memory_limit?"
        );
        let error = Layer::variables([("LATSDB_DATADIR".to_owned(), "x".to_owned())]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "LATSDB_DATADIR: there is no such setting; did you mean data_dir?"
        );
        let error = Layer::file("latsdb.toml", "innodb_buffer_pool_size = 1").unwrap_err();
        assert_eq!(
            error.to_string(),
            "innodb_buffer_pool_size in latsdb.toml: there is no such setting"
        );
    }

    #[test]
    fn a_file_may_use_toml_types() {
        let layer = Layer::file(
            "f",
            "memory_limit = 1073741824\nwitness = false\nroles = ['sql', 'data']",
        )
        .unwrap();
        assert_eq!(layer.values["memory_limit"], "1073741824");
        assert_eq!(layer.values["witness"], "false");
        assert_eq!(layer.values["roles"], "sql,data");
        assert!(Layer::file("f", "data_dir = { a = 1 }").is_err());
        assert!(Layer::file("f", "data_dir = ").is_err());
    }
}
