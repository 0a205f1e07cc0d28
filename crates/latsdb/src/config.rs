//! One configuration from three sources: `latsdb.toml`, then `LATSDB_*` variables, then flags; the later wins.
//!
//! Every setting stands once, in [`SETTINGS`]: its flag, its variable and its key in the file are the same name in
//! three spellings (`--data-dir`, `LATSDB_DATA_DIR`, `data_dir`). A value keeps where it came from, so that a
//! complaint names the line to change. A setting of a part that this version does not have is refused, never ignored.

mod size;
mod sources;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use front::NODE_ID_MAX;
use net::Naming;
use shard::{Durability, Role};

pub use size::{format_bytes, parse_bytes};
pub use sources::{Layer, given_flags, layers};

/// A setting's names, what its value looks like, and what it means.
pub struct Setting {
    /// As in the file; the flag has `-` for `_`, the variable is in capitals behind `LATSDB_`.
    pub key: &'static str,
    /// Placeholder of the value in the help, or `None` for a switch.
    pub value: Option<&'static str>,
    pub default: Option<&'static str>,
    pub help: &'static str,
}

impl Setting {
    pub fn flag(&self) -> String {
        self.key.replace('_', "-")
    }

    pub fn variable(&self) -> String {
        format!("LATSDB_{}", self.key.to_uppercase())
    }
}

const fn setting(key: &'static str, value: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting {
        key,
        value: Some(value),
        default: Some(default),
        help,
    }
}

const fn optional(key: &'static str, value: &'static str, help: &'static str) -> Setting {
    Setting {
        key,
        value: Some(value),
        default: None,
        help,
    }
}

pub const SETTINGS: &[Setting] = &[
    setting(
        "data_dir",
        "DIR",
        "./latsdb-data",
        "Directory of the log and the checkpoints; one process at a time",
    ),
    setting(
        "mysql_addr",
        "HOST:PORT",
        "127.0.0.1:3306",
        "Address of the MySQL protocol",
    ),
    optional(
        "socket",
        "PATH",
        "Unix socket of the MySQL protocol [default: latsdb.sock in the data directory]",
    ),
    optional(
        "redis_addr",
        "HOST:PORT",
        "Address of the Redis protocol; none for no Redis clients [default: 127.0.0.1:6379, where it is free]",
    ),
    setting(
        "http_addr",
        "HOST:PORT",
        "127.0.0.1:8306",
        "Address of /metrics, /health and /status",
    ),
    optional(
        "peer_addr",
        "HOST:PORT",
        "Address for other nodes of the cluster; without it the node stays alone",
    ),
    setting("node_id", "N", "1", "This node's number in the cluster, from 1 on"),
    optional(
        "join",
        "HOST:PORT,...",
        "Peer addresses of nodes of the cluster to join, at the first start",
    ),
    optional(
        "peer_tls_ca",
        "FILE",
        "Certificate (PEM) by which other nodes prove who they are; with the next two, TLS between nodes",
    ),
    optional(
        "peer_tls_cert",
        "FILE",
        "This node's certificate chain (PEM) for other nodes",
    ),
    optional("peer_tls_key", "FILE", "Its private key (PEM)"),
    Setting {
        key: "peer_tls_require_node_name",
        value: None,
        default: None,
        help: "Refuse nodes whose certificate does not name them (URI:latsdb:node:N); one that names a node is always that node's alone",
    },
    Setting {
        key: "peer_plaintext",
        value: None,
        default: None,
        help: "Listen for other nodes beyond this machine without TLS: for networks that nobody else is on",
    },
    setting(
        "roles",
        "LIST",
        "sql,data,manager",
        "What this node does; this version does all of it",
    ),
    Setting {
        key: "witness",
        value: None,
        default: None,
        help: "Vote and keep the log, but no rows: a node that makes a majority with two others, and serves no clients",
    },
    setting(
        "memory_limit",
        "SIZE",
        "4GiB",
        "Hard limit of the memory for rows, indexes, transactions and queries",
    ),
    setting(
        "log_keep",
        "SIZE",
        "256MiB",
        "Log kept behind a checkpoint, for nodes that were away and for archives (backup --log); who lacks more gets a checkpoint",
    ),
    setting(
        "durability",
        "LEVEL",
        "majority_disk",
        "What a commit waits for: majority_disk, majority_memory or local_disk",
    ),
    setting(
        "secure_file_priv",
        "DIR",
        "NULL",
        "Directory whose files LOAD DATA and LOAD_FILE read and SELECT ... INTO OUTFILE makes; NULL: none",
    ),
    setting(
        "log_level",
        "LEVEL",
        "info",
        "How much is logged: error, warn, info, debug or trace",
    ),
    setting("log_format", "FORMAT", "text", "How it is logged: text or json"),
    setting(
        "report_turns",
        "MS",
        "0",
        "Log who keeps a thread busy for longer than so many milliseconds at once; 0: nobody",
    ),
];

/// Settings of `serve`, read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub data_dir: PathBuf,
    pub mysql_addr: SocketAddr,
    /// None: in the data directory.
    pub socket: Option<PathBuf>,
    pub redis: RedisAddr,
    pub http_addr: SocketAddr,
    pub node_id: u32,
    /// A witness joins a cluster, and opens no address for MySQL clients.
    pub role: Role,
    /// None: the node stays alone.
    pub peer: Option<PeerConfig>,
    pub memory_limit_bytes: u64,
    /// Of log behind a checkpoint.
    pub log_keep_bytes: u64,
    pub durability: Durability,
    /// Files that statements may use.
    pub secure_file_priv: Option<PathBuf>,
    pub log_level: tracing::Level,
    pub log_format: LogFormat,
    pub report_turns: Option<Duration>,
}

/// Where Redis clients are listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedisAddr {
    /// Nobody has said: there, unless another server has the address.
    Usual(SocketAddr),
    At(SocketAddr),
    Nowhere,
}

const REDIS_ADDR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 6379);

/// How the node meets others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerConfig {
    pub addr: SocketAddr,
    /// Nodes of the cluster to join.
    pub join: Vec<String>,
    pub tls: Option<PeerTls>,
    /// Also beyond this machine without TLS.
    pub plaintext: bool,
}

/// Files of PEM texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerTls {
    pub ca: PathBuf,
    pub cert: PathBuf,
    pub key: PathBuf,
    /// Whether certificates have to name their nodes.
    pub naming: Naming,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// Why a configuration was not taken. `origin` is the flag, variable or file line as the user wrote it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ConfigError {
    #[error("{origin}: {value:?} is not {expected}")]
    BadValue {
        origin: String,
        value: String,
        expected: &'static str,
    },
    #[error("{origin}: {part} is not in this version of LatsDB ({})", env!("CARGO_PKG_VERSION"))]
    NotInThisVersion { origin: String, part: String },
    #[error("{origin} needs {needed}")]
    Needs { origin: String, needed: &'static str },
    #[error("{origin}: there is no such setting{}", near(.nearest))]
    Unknown {
        origin: String,
        nearest: Option<&'static str>,
    },
    #[error("{file}: {reason}")]
    File { file: String, reason: String },
}

fn near(nearest: &Option<&'static str>) -> String {
    nearest
        .map(|name| format!("; did you mean {name}?"))
        .unwrap_or_default()
}

impl Config {
    /// Merges the layers, the last one strongest, and checks every value.
    pub fn from_layers(layers: &[Layer]) -> Result<Self, ConfigError> {
        let given = Given { layers };
        given.refuse_what_is_missing()?;
        Ok(Self {
            data_dir: given.read("data_dir", "a directory", |text| {
                (!text.is_empty()).then(|| PathBuf::from(text))
            })?,
            mysql_addr: given.read("mysql_addr", ADDRESS, parse_address)?,
            socket: given.find("socket").map(|(path, _)| PathBuf::from(path)),
            redis: match given.find("redis_addr") {
                None => RedisAddr::Usual(REDIS_ADDR),
                Some(("none", _)) => RedisAddr::Nowhere,
                Some((value, origin)) => RedisAddr::At(parse_address(value).ok_or_else(|| ConfigError::BadValue {
                    origin,
                    value: value.to_owned(),
                    expected: ADDRESS,
                })?),
            },
            http_addr: given.read("http_addr", ADDRESS, parse_address)?,
            node_id: given.read("node_id", "a number from 1 to 4294967295", |text| {
                text.parse().ok().filter(|id| *id > 0)
            })?,
            role: given.role()?,
            peer: given.peer()?,
            memory_limit_bytes: given.read(
                "memory_limit",
                "a size of at least 64MiB, such as 512MiB or 4GiB",
                |text| parse_bytes(text).filter(|bytes| *bytes >= 64 << 20),
            )?,
            log_keep_bytes: given.read("log_keep", "a size such as 256MiB, or 0", |text| match text {
                "0" => Some(0),
                text => parse_bytes(text),
            })?,
            durability: given.read(
                "durability",
                "majority_disk, majority_memory or local_disk",
                Durability::by_name,
            )?,
            secure_file_priv: given.read("secure_file_priv", "an absolute path of a directory, or NULL", |text| {
                match text {
                    "NULL" => Some(None),
                    path => Path::new(path).is_absolute().then(|| Some(PathBuf::from(path))),
                }
            })?,
            log_level: given.read("log_level", "error, warn, info, debug or trace", |text| {
                text.parse().ok()
            })?,
            log_format: given.read("log_format", "text or json", |text| match text {
                "text" => Some(LogFormat::Text),
                "json" => Some(LogFormat::Json),
                _ => None,
            })?,
            report_turns: given
                .read("report_turns", "a number of milliseconds", |text| text.parse().ok())
                .map(|ms| (ms > 0).then(|| Duration::from_millis(ms)))?,
        })
    }
}

const ADDRESS: &str = "an address such as 127.0.0.1:3306";

pub fn parse_address(text: &str) -> Option<SocketAddr> {
    text.to_socket_addrs().ok()?.next()
}

/// The layers, asked by key.
struct Given<'a> {
    layers: &'a [Layer],
}

impl Given<'_> {
    /// The strongest layer's value and where it came from.
    fn find(&self, key: &str) -> Option<(&str, String)> {
        self.layers.iter().rev().find_map(|layer| {
            let value = layer.values.get(key)?;
            Some((value.as_str(), layer.origin(key)))
        })
    }

    fn read<T>(
        &self,
        key: &'static str,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ConfigError> {
        let setting = SETTINGS
            .iter()
            .find(|setting| setting.key == key)
            .expect("every key read is in SETTINGS");
        let default = setting.default.expect("a setting that is read has a default");
        let (value, origin) = self.find(key).unwrap_or((default, format!("--{}", setting.flag())));
        parse(value).ok_or_else(|| ConfigError::BadValue {
            origin,
            value: value.to_owned(),
            expected,
        })
    }

    fn peer(&self) -> Result<Option<PeerConfig>, ConfigError> {
        let needs = |key: &'static str, needed: &'static str| match self.find(key) {
            Some((_, origin)) => Err(ConfigError::Needs { origin, needed }),
            None => Ok(None),
        };
        let Some((value, origin)) = self.find("peer_addr") else {
            let keys = [
                "join",
                "peer_tls_ca",
                "peer_tls_cert",
                "peer_tls_key",
                "peer_tls_require_node_name",
            ];
            return keys.into_iter().try_fold(None, |_, key| needs(key, "--peer-addr"));
        };
        let addr = parse_address(value).ok_or_else(|| ConfigError::BadValue {
            origin,
            value: value.to_owned(),
            expected: ADDRESS,
        })?;
        let join: Vec<String> = match self.find("join") {
            Some((list, _)) => list.split(',').map(|addr| addr.trim().to_owned()).collect(),
            None => Vec::new(),
        };
        if let Some((list, origin)) = self.find("join") {
            if join.iter().any(|addr| !addr.contains(':')) {
                return Err(ConfigError::BadValue {
                    origin,
                    value: list.to_owned(),
                    expected: "a list of addresses such as 10.0.0.1:7306,10.0.0.2:7306",
                });
            }
            if self.find("node_id").is_none() {
                let needed = "--node-id, a number that no other node of the cluster has";
                return Err(ConfigError::Needs { origin, needed });
            }
        }
        if let Some((id, origin)) = self.find("node_id")
            && id.parse::<u32>().is_ok_and(|id| id > u32::from(NODE_ID_MAX))
        {
            return Err(ConfigError::BadValue {
                origin,
                value: id.to_owned(),
                expected: "a number from 1 to 255, as nodes of a cluster have them: it is a part of the ids of connections",
            });
        }
        let file = |key| self.find(key).map(|(path, _)| PathBuf::from(path));
        let naming = match self.switch("peer_tls_require_node_name")? {
            true => Naming::Required,
            false => Naming::Optional,
        };
        let tls = match (file("peer_tls_ca"), file("peer_tls_cert"), file("peer_tls_key")) {
            (Some(ca), Some(cert), Some(key)) => Some(PeerTls { ca, cert, key, naming }),
            (None, None, None) if naming == Naming::Required => {
                let needed = "--peer-tls-ca, --peer-tls-cert and --peer-tls-key";
                return needs("peer_tls_require_node_name", needed);
            }
            (None, None, None) => None,
            _ => {
                let given = ["peer_tls_ca", "peer_tls_cert", "peer_tls_key"];
                let origin = given
                    .into_iter()
                    .find_map(|key| self.find(key))
                    .map(|(_, origin)| origin);
                return Err(ConfigError::Needs {
                    origin: origin.expect("one of them is given"),
                    needed: "the other two of --peer-tls-ca, --peer-tls-cert and --peer-tls-key",
                });
            }
        };
        Ok(Some(PeerConfig {
            addr,
            join,
            tls,
            plaintext: self.switch("peer_plaintext")?,
        }))
    }

    fn role(&self) -> Result<Role, ConfigError> {
        if !self.switch("witness")? {
            return Ok(Role::Data);
        }
        let (_, origin) = self.find("witness").expect("it was switched on");
        if self.find("join").is_none() {
            let needed = "--join: a witness has no rows, so that it cannot found a cluster";
            return Err(ConfigError::Needs { origin, needed });
        }
        match self.find("roles") {
            Some((value, origin)) => Err(ConfigError::BadValue {
                origin,
                value: value.to_owned(),
                expected: "to be given beside --witness, which has no role but that",
            }),
            None => Ok(Role::Witness),
        }
    }

    fn switch(&self, key: &'static str) -> Result<bool, ConfigError> {
        match self.find(key) {
            None | Some(("false", _)) => Ok(false),
            Some(("true", _)) => Ok(true),
            Some((value, origin)) => Err(ConfigError::BadValue {
                origin,
                value: value.to_owned(),
                expected: "true or false",
            }),
        }
    }

    /// Refuses by name what belongs to the cluster and to the other protocols.
    fn refuse_what_is_missing(&self) -> Result<(), ConfigError> {
        let refuse = |origin: String, part: String| Err(ConfigError::NotInThisVersion { origin, part });
        if let Some((value, origin)) = self.find("roles") {
            let mut roles: Vec<&str> = value.split(',').map(str::trim).collect();
            roles.sort_unstable();
            if let Some(unknown) = roles.iter().find(|role| !ROLES.contains(role)) {
                let value = (*unknown).to_owned();
                return Err(ConfigError::BadValue {
                    origin,
                    value,
                    expected: "a list of sql, data and manager",
                });
            }
            if roles != ROLES {
                return refuse(origin, "a node with some of the roles only".to_owned());
            }
        }
        if let Some((value @ ("majority_memory" | "local_disk"), origin)) = self.find("durability")
            && self.find("peer_addr").is_some()
        {
            return refuse(origin, format!("the durability level {value} on a node of a cluster"));
        }
        Ok(())
    }
}

/// In alphabetical order.
pub const ROLES: [&str; 3] = ["data", "manager", "sql"];
/// Of a witness.
pub const WITNESS_ROLES: [&str; 1] = ["witness"];

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(values: &[(&'static str, &str)]) -> Layer {
        Layer::flags(values.iter().map(|(key, value)| (*key, (*value).to_owned())).collect())
    }

    fn error(values: &[(&'static str, &str)]) -> String {
        Config::from_layers(&[flags(values)]).unwrap_err().to_string()
    }

    #[test]
    fn defaults_are_those_of_the_manual() {
        let config = Config::from_layers(&[]).unwrap();
        assert_eq!(config.data_dir, PathBuf::from("./latsdb-data"));
        assert_eq!(config.mysql_addr.to_string(), "127.0.0.1:3306");
        assert_eq!(config.http_addr.to_string(), "127.0.0.1:8306");
        assert_eq!(config.memory_limit_bytes, 4 << 30);
        assert_eq!(config.durability, Durability::MajorityDisk);
    }

    #[test]
    fn flags_beat_variables_beat_the_file() {
        let file = Layer::file(
            "latsdb.toml",
            "memory_limit = '1GiB'\nhttp_addr = '127.0.0.1:1'\nmysql_addr = '127.0.0.1:2'",
        )
        .unwrap();
        let variables = Layer::variables([
            ("LATSDB_MYSQL_ADDR".to_owned(), "127.0.0.1:3".to_owned()),
            ("LATSDB_HTTP_ADDR".to_owned(), "127.0.0.1:4".to_owned()),
            ("PATH".to_owned(), "/bin".to_owned()),
        ])
        .unwrap();
        let config = Config::from_layers(&[file, variables, flags(&[("http_addr", "127.0.0.1:5")])]).unwrap();
        assert_eq!(config.memory_limit_bytes, 1 << 30);
        assert_eq!(config.mysql_addr.port(), 3);
        assert_eq!(config.http_addr.port(), 5);
    }

    #[test]
    fn what_is_not_in_this_version_is_refused_by_name() {
        assert_eq!(
            error(&[("roles", "sql")]),
            "--roles: a node with some of the roles only is not in this version of LatsDB (0.1.0)"
        );
        assert_eq!(
            error(&[("durability", "local_disk"), ("peer_addr", "127.0.0.1:7306")]),
            "--durability: the durability level local_disk on a node of a cluster is not in this version of LatsDB (0.1.0)"
        );
    }

    #[test]
    fn a_node_of_a_cluster_has_a_number_and_an_address() {
        assert_eq!(error(&[("join", "10.0.0.1:7306")]), "--join needs --peer-addr");
        assert_eq!(
            error(&[("join", "10.0.0.1:7306"), ("peer_addr", "127.0.0.1:7306")]),
            "--join needs --node-id, a number that no other node of the cluster has"
        );
        assert_eq!(
            error(&[("peer_addr", "127.0.0.1:7306"), ("peer_tls_key", "k")]),
            "--peer-tls-key needs the other two of --peer-tls-ca, --peer-tls-cert and --peer-tls-key"
        );
        let required = ("peer_tls_require_node_name", "true");
        assert_eq!(
            error(&[("peer_addr", "127.0.0.1:7306"), required]),
            "--peer-tls-require-node-name needs --peer-tls-ca, --peer-tls-cert and --peer-tls-key"
        );
        let files = [("peer_tls_ca", "a"), ("peer_tls_cert", "c"), ("peer_tls_key", "k")];
        for (more, naming) in [(vec![], Naming::Optional), (vec![required], Naming::Required)] {
            let given = [vec![("peer_addr", "127.0.0.1:7306")], files.to_vec(), more].concat();
            let config = Config::from_layers(&[flags(&given)]).unwrap();
            assert_eq!(config.peer.unwrap().tls.unwrap().naming, naming);
        }
        assert!(error(&[("node_id", "0")]).starts_with("--node-id: \"0\" is not a number"));
        let message = error(&[("peer_addr", "127.0.0.1:7306"), ("node_id", "256")]);
        assert!(
            message.starts_with("--node-id: \"256\" is not a number from 1 to 255"),
            "{message}"
        );
        let config = Config::from_layers(&[flags(&[
            ("join", "10.0.0.1:7306, b:1"),
            ("peer_addr", "127.0.0.1:7306"),
            ("node_id", "3"),
        ])])
        .unwrap();
        assert_eq!(config.node_id, 3);
        let peer = config.peer.unwrap();
        assert_eq!(peer.join, ["10.0.0.1:7306", "b:1"]);
        assert_eq!((peer.tls, peer.plaintext), (None, false));
    }

    #[test]
    fn a_witness_joins_and_does_nothing_else() {
        assert_eq!(
            error(&[("witness", "true"), ("peer_addr", "127.0.0.1:7306")]),
            "--witness needs --join: a witness has no rows, so that it cannot found a cluster"
        );
        let joins = [
            ("witness", "true"),
            ("peer_addr", "127.0.0.1:7306"),
            ("join", "b:1"),
            ("node_id", "3"),
        ];
        let config = Config::from_layers(&[flags(&joins)]).unwrap();
        assert_eq!(config.role, Role::Witness);
        assert_eq!(
            error(&[&joins[..], &[("roles", "sql")]].concat()),
            "--roles: a node with some of the roles only is not in this version of LatsDB (0.1.0)"
        );
        assert_eq!(
            error(&[&joins[..], &[("roles", "sql,data,manager")]].concat()),
            "--roles: \"sql,data,manager\" is not to be given beside --witness, which has no role but that"
        );
    }

    #[test]
    fn what_comes_to_the_same_as_the_default_is_accepted() {
        Config::from_layers(&[flags(&[
            ("roles", "manager, sql,data"),
            ("witness", "false"),
            ("node_id", "1"),
        ])])
        .unwrap();
    }

    #[test]
    fn a_bad_value_is_named_with_its_origin() {
        assert_eq!(
            error(&[("log_format", "xml")]),
            "--log-format: \"xml\" is not text or json"
        );
        let variables = Layer::variables([("LATSDB_MEMORY_LIMIT".to_owned(), "lots".to_owned())]).unwrap();
        assert_eq!(
            Config::from_layers(&[variables]).unwrap_err().to_string(),
            "LATSDB_MEMORY_LIMIT: \"lots\" is not a size of at least 64MiB, such as 512MiB or 4GiB"
        );
        let file = Layer::file("my.toml", "mysql_addr = 'here'").unwrap();
        assert_eq!(
            Config::from_layers(&[file]).unwrap_err().to_string(),
            "mysql_addr in my.toml: \"here\" is not an address such as 127.0.0.1:3306"
        );
        assert_eq!(
            error(&[("roles", "sql,data,chef")]),
            "--roles: \"chef\" is not a list of sql, data and manager"
        );
    }
}
