//! What `commands.json` says.

use serde::Deserialize;

/// What is known of a command, or of a subcommand (`config|get`).
#[derive(Debug, Clone, Deserialize)]
pub struct Fact {
    pub name: String,
    /// How many arguments, the name among them; less than zero: at least so many.
    pub arity: i64,
    pub flags: Vec<String>,
    pub first_key: i64,
    pub last_key: i64,
    pub key_step: i64,
    pub acl_categories: Vec<String>,
    pub tips: Vec<String>,
    pub key_specifications: Vec<KeySpec>,
    pub subcommands: Vec<Fact>,
    #[serde(default)]
    pub since: String,
    #[serde(default)]
    pub group: String,
    #[serde(default)]
    pub arguments: Vec<Argument>,
}

/// An argument, as COMMAND DOCS describes it.
#[derive(Debug, Clone, Deserialize)]
pub struct Argument {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub token: Option<String>,
    #[serde(default)]
    pub key_spec_index: Option<i64>,
    #[serde(default)]
    pub since: Option<String>,
    #[serde(default)]
    pub flags: Vec<String>,
    #[serde(default)]
    pub arguments: Vec<Argument>,
}

/// Where some of the keys are.
#[derive(Debug, Clone, Deserialize)]
pub struct KeySpec {
    #[serde(default)]
    pub notes: Option<String>,
    pub flags: Vec<String>,
    pub begin_search: BeginSearch,
    pub find_keys: FindKeys,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(from = "RawBegin")]
pub enum BeginSearch {
    Index { index: usize },
    Keyword { keyword: String, startfrom: i64 },
    Unknown,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(from = "RawFind")]
pub enum FindKeys {
    Range {
        lastkey: i64,
        keystep: usize,
        limit: i64,
    },
    Keynum {
        keynumidx: usize,
        firstkey: usize,
        keystep: usize,
    },
    Unknown,
}

#[derive(Deserialize)]
struct RawBegin {
    #[serde(rename = "type")]
    kind: String,
    spec: RawSpec,
}

#[derive(Deserialize)]
struct RawFind {
    #[serde(rename = "type")]
    kind: String,
    spec: RawSpec,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawSpec {
    index: usize,
    keyword: String,
    startfrom: i64,
    lastkey: i64,
    keystep: usize,
    limit: i64,
    keynumidx: usize,
    firstkey: usize,
}

impl From<RawBegin> for BeginSearch {
    fn from(RawBegin { kind, spec }: RawBegin) -> BeginSearch {
        match kind.as_str() {
            "index" => BeginSearch::Index { index: spec.index },
            "keyword" => BeginSearch::Keyword {
                keyword: spec.keyword,
                startfrom: spec.startfrom,
            },
            _ => BeginSearch::Unknown,
        }
    }
}

impl From<RawFind> for FindKeys {
    fn from(RawFind { kind, spec }: RawFind) -> FindKeys {
        let keystep = spec.keystep.max(1);
        match kind.as_str() {
            "range" => FindKeys::Range {
                lastkey: spec.lastkey,
                keystep,
                limit: spec.limit,
            },
            "keynum" => FindKeys::Keynum {
                keynumidx: spec.keynumidx,
                firstkey: spec.firstkey,
                keystep,
            },
            _ => FindKeys::Unknown,
        }
    }
}

#[derive(Deserialize)]
struct File {
    commands: Vec<Fact>,
}

/// All commands, without those that only replicas and tools of Redis's own use.
pub fn read() -> Vec<Fact> {
    let file: File = serde_json::from_str(include_str!("commands.json")).expect("the file is a part of the program");
    file.commands
}
