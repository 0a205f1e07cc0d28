//! The command lines of the examples: a few words in order, then `option=value` in any.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::str::FromStr;

use lab_driver::{Identity, Password, Pem, Target, Tls, TlsMode};

pub struct Arguments {
    words: std::vec::IntoIter<String>,
    usage: &'static str,
    options: BTreeMap<String, String>,
}

impl Arguments {
    pub fn read(usage: &'static str) -> Arguments {
        let (options, words): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|argument| argument.contains('='));
        let pair = |option: String| option.split_once('=').map(|(name, value)| (name.into(), value.into()));
        Arguments {
            words: words.into_iter(),
            usage,
            options: options.into_iter().filter_map(pair).collect(),
        }
    }

    /// The next word in order.
    pub fn word(&mut self) -> Result<String, Box<dyn Error>> {
        Ok(self.words.next().ok_or(self.usage)?)
    }

    pub fn take(&mut self, name: &str, default: &str) -> String {
        self.options.remove(name).unwrap_or_else(|| default.to_owned())
    }

    pub fn is_yes(&mut self, name: &str) -> bool {
        self.take(name, "no") == "yes"
    }

    pub fn number<N: FromStr>(&mut self, name: &str, default: N) -> Result<N, Box<dyn Error>> {
        match self.options.remove(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| format!("{name}={text} is no number").into()),
        }
    }

    /// `user`, `password`, `tls`, `tls_ca`, `tls_cert` and `tls_key` are its options.
    pub fn target(&mut self, servers: &str, database: String) -> Result<Target, Box<dyn Error>> {
        let mode = self.take("tls", "disabled");
        let mut pem = |name: &str| -> Result<Option<Pem>, Box<dyn Error>> {
            let path = self.options.remove(name);
            Ok(path.map(|path| Pem::read(Path::new(&path))).transpose()?)
        };
        let (ca, certificate, key) = (pem("tls_ca")?, pem("tls_cert")?, pem("tls_key")?);
        Ok(Target {
            servers: servers.split(',').map(str::to_owned).collect(),
            user: self.take("user", "root"),
            password: Password::new(self.take("password", "")),
            database,
            tls: Tls {
                mode: TlsMode::ALL
                    .into_iter()
                    .find(|known| known.name() == mode)
                    .ok_or("tls=?")?,
                ca,
                identity: certificate
                    .zip(key)
                    .map(|(certificate, key)| Identity { certificate, key }),
            },
        })
    }

    /// What nobody took: the workload's.
    pub fn rest(self) -> BTreeMap<String, String> {
        self.options
    }
}
