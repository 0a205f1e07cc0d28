//! The commands: what is known of each, and who runs it.
//!
//! `commands.json` has what Redis tells of its commands (COMMAND, COMMAND DOCS): names, numbers of arguments, flags, where the keys are,
//! categories of rights. [`handlers`] says who runs them. A command that nobody runs is refused by its name.

mod facts;
mod handlers;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use governor::hashing::FastHashing;

use crate::call::Call;
use crate::failure::Outcome;
use crate::session::{RunScript, SessionCall};

pub use facts::{Argument, BeginSearch, Fact, FindKeys, KeySpec};

/// Who runs a command.
#[derive(Clone, Copy)]
pub enum Handler {
    /// Works on keys, in a transaction.
    Data(fn(&mut Call<'_, '_>) -> Outcome),
    /// Works on keys by commands of its own, in one transaction.
    Script(RunScript),
    /// Works on the connection, or the server.
    Session(fn(&mut SessionCall<'_>) -> Outcome),
    /// Nobody: refused by name.
    Nobody,
}

/// A command, or a subcommand.
pub struct Command {
    pub fact: Fact,
    pub handler: Handler,
    pub flags: Flags,
    pub subcommands: Vec<Command>,
    /// Among all, subcommands too.
    pub number: usize,
    /// Where its only key is, if that is always so.
    only_key: Option<usize>,
    /// It writes, and takes little time: it runs in a transaction with those of other clients.
    pub shares: bool,
}

/// Commands that write, and whose time does not depend on how much there is.
const QUICK: &[&str] = &[
    "append",
    "bitfield",
    "decr",
    "decrby",
    "del",
    "expire",
    "expireat",
    "getdel",
    "getex",
    "getset",
    "hdel",
    "hincrby",
    "hincrbyfloat",
    "hmset",
    "hset",
    "hsetnx",
    "incr",
    "incrby",
    "incrbyfloat",
    "lmove",
    "lpop",
    "lpush",
    "lpushx",
    "lset",
    "mset",
    "msetnx",
    "persist",
    "pexpire",
    "pexpireat",
    "pfadd",
    "psetex",
    "rpop",
    "rpoplpush",
    "rpush",
    "rpushx",
    "sadd",
    "set",
    "setbit",
    "setex",
    "setnx",
    "setrange",
    "smove",
    "srem",
    "unlink",
    "xack",
    "xadd",
    "xdel",
    "zadd",
    "zincrby",
    "zpopmax",
    "zpopmin",
    "zrem",
];

/// Commands that show what others do.
const WATCHING: &[&str] = &["acl|log", "monitor", "slowlog|get"];

/// Commands that hold up others, or change what holds for all.
const ADMINISTERING: &[&str] = &[
    "client|pause",
    "client|unpause",
    "config|resetstat",
    "config|rewrite",
    "config|set",
    "latency|reset",
    "memory|purge",
    "slowlog|reset",
];

/// What decides how a command is run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flags {
    pub writes: bool,
    pub reads: bool,
    pub blocks: bool,
    pub not_in_scripts: bool,
    pub not_in_multi: bool,
    pub without_login: bool,
    /// It shows what others do.
    pub watches: bool,
    /// It holds up others, or changes what holds for all.
    pub administers: bool,
    /// It changes other databases than the one that is selected, or shows them.
    pub reaches_further: bool,
    /// It is not shown to those who monitor.
    pub is_hidden: bool,
}

impl Flags {
    fn of(fact: &Fact) -> Flags {
        let has = |flag: &str| fact.flags.iter().any(|known| known == flag);
        Flags {
            writes: has("write"),
            reads: has("readonly"),
            blocks: has("blocking"),
            not_in_scripts: has("noscript"),
            not_in_multi: has("no_multi"),
            without_login: has("no_auth"),
            watches: WATCHING.contains(&fact.name.as_str()),
            administers: ADMINISTERING.contains(&fact.name.as_str()),
            reaches_further: matches!(
                fact.name.as_str(),
                "client|tracking" | "copy" | "flushall" | "move" | "swapdb"
            ),
            is_hidden: has("admin"),
        }
    }
}

/// Whether a key that a command names is changed by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Reads,
    Writes,
}

impl Command {
    fn new(fact: Fact, count: &mut usize) -> Command {
        let number = *count;
        *count += 1;
        let subcommands = fact.subcommands.iter().cloned();
        let subcommands = subcommands.map(|fact| Command::new(fact, count)).collect();
        Command {
            number,
            handler: handlers::of(&fact.name),
            flags: Flags::of(&fact),
            subcommands,
            only_key: match fact.key_specifications.as_slice() {
                [only] if fact.name != "sort" => only.only(),
                _ => None,
            },
            shares: QUICK.contains(&fact.name.as_str()),
            fact,
        }
    }

    /// As messages name it.
    pub fn name(&self) -> &str {
        &self.fact.name
    }

    /// Whether it takes so many arguments, its name among them.
    pub fn takes(&self, args: usize) -> bool {
        match self.fact.arity {
            exact @ 0.. => args as i64 == exact,
            at_least => args as i64 >= -at_least,
        }
    }

    /// Whether it names keys only where it is told how many they are.
    pub fn may_be_without_keys(&self) -> bool {
        self.fact.flags.iter().any(|flag| flag == "no_mandatory_keys")
    }

    /// The subcommand that the arguments mean, or the command itself.
    pub fn meant_by(&self, args: &[&[u8]]) -> Option<&Command> {
        if self.subcommands.is_empty() {
            return Some(self);
        }
        let Some(&name) = args.get(1) else { return Some(self) };
        self.subcommand(name)
    }

    pub fn subcommand(&self, name: &[u8]) -> Option<&Command> {
        self.subcommands.iter().find(|subcommand| {
            let known = subcommand.fact.name.rsplit('|').next().unwrap_or_default();
            known.as_bytes().eq_ignore_ascii_case(name)
        })
    }

    /// Shows the positions of the arguments that are keys.
    pub fn each_key(&self, args: &[&[u8]], mut visit: impl FnMut(usize)) {
        match self.only_key {
            Some(at) if at < args.len() => visit(at),
            _ => self.each_specified(args, |at, _| visit(at)),
        }
    }

    /// The arguments that are keys.
    pub fn keys_in<'a>(&self, args: &[&'a [u8]]) -> Vec<&'a [u8]> {
        let mut keys = Vec::new();
        self.each_key(args, |at| keys.push(args[at]));
        keys
    }

    /// Shows the positions of keys with what the facts say of them: nothing of where a command stores that they do not know.
    fn each_specified<'s>(&'s self, args: &[&[u8]], mut visit: impl FnMut(usize, Option<&'s KeySpec>)) {
        let target = self.target(args);
        let mut is_told = target.is_none();
        for spec in &self.fact.key_specifications {
            let Some((range, step)) = spec.range(args) else {
                continue;
            };
            for at in range.step_by(step) {
                is_told |= Some(at) == target;
                visit(at, Some(spec));
            }
        }
        if let Some(at) = target.filter(|_| !is_told) {
            visit(at, None);
        }
    }

    /// The arguments that are keys, and what Redis says of what happens to them.
    pub fn flagged_keys(&self, args: &[&[u8]]) -> Vec<(usize, Vec<&str>)> {
        let has = |word: &str| args.iter().skip(3).any(|arg| arg.eq_ignore_ascii_case(word.as_bytes()));
        let mut keys = Vec::new();
        self.each_specified(args, |at, spec| {
            let flags = match (self.fact.name.as_str(), spec) {
                (_, None) => vec!["OW", "update"],
                // Where it depends on the arguments.
                ("set", _) if !has("GET") => vec!["OW", "update"],
                ("set", _) => vec!["RW", "access", "update"],
                ("bitfield", _)
                    if !has("SET") && !has("INCRBY") && !args[2..].first().is_some_and(|arg| is_change(arg)) =>
                {
                    vec!["RO", "access"]
                }
                ("bitfield", _) => vec!["RW", "access", "update"],
                (_, Some(spec)) => spec.flags.iter().map(String::as_str).collect(),
            };
            keys.push((at, flags));
        });
        keys
    }

    /// What the facts do not tell, or tell of the first such option: the last one says where SORT and GEORADIUS store.
    fn target(&self, args: &[&[u8]]) -> Option<usize> {
        match self.fact.name.as_str() {
            "sort" => last_target(args, 2, &["STORE"]),
            "georadius" => last_target(args, 6, &["STORE", "STOREDIST"]),
            "georadiusbymember" => last_target(args, 5, &["STORE", "STOREDIST"]),
            _ => None,
        }
    }

    /// The positions of the arguments that are keys, and what becomes of these.
    pub fn keys(&self, args: &[&[u8]]) -> Vec<(usize, Access)> {
        let mut keys = Vec::new();
        self.each_specified(args, |at, spec| {
            keys.push((at, spec.map_or(Access::Writes, KeySpec::access)))
        });
        keys
    }
}

/// The argument behind the last of these options, the first of which may stand at `from`.
fn last_target(args: &[&[u8]], from: usize, names: &[&str]) -> Option<usize> {
    let (mut at, mut found) = (from, None);
    while at + 1 < args.len() {
        let option = args[at].to_ascii_uppercase();
        let is_target = names.iter().any(|name| name.as_bytes() == option);
        if is_target {
            found = Some(at + 1);
        }
        at += match option.as_slice() {
            b"LIMIT" => 3,
            b"BY" | b"GET" => 2,
            _ if is_target => 2,
            _ => 1,
        };
    }
    found
}

/// Whether a word of BITFIELD changes the string.
fn is_change(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"SET") || word.eq_ignore_ascii_case(b"INCRBY")
}

impl KeySpec {
    fn access(&self) -> Access {
        match self.flags.iter().any(|flag| flag == "RO") {
            true => Access::Reads,
            false => Access::Writes,
        }
    }

    /// The position of the key, if it is always the same one.
    fn only(&self) -> Option<usize> {
        match (&self.begin_search, &self.find_keys) {
            (BeginSearch::Index { index }, FindKeys::Range { lastkey: 0, .. }) => Some(*index),
            _ => None,
        }
    }

    fn range(&self, args: &[&[u8]]) -> Option<(Range<usize>, usize)> {
        let begin = match &self.begin_search {
            BeginSearch::Index { index } => *index,
            BeginSearch::Keyword { keyword, startfrom } => {
                let is_it = |arg: &&[u8]| arg.eq_ignore_ascii_case(keyword.as_bytes());
                match *startfrom {
                    from if from >= 0 => from as usize + args.iter().skip(from as usize).position(is_it)? + 1,
                    from => {
                        let last = args.len().checked_sub(from.unsigned_abs() as usize)?;
                        args[..=last].iter().rposition(is_it)? + 1
                    }
                }
            }
            BeginSearch::Unknown => return None,
        };
        if begin >= args.len() {
            return None;
        }
        match self.find_keys {
            FindKeys::Range {
                lastkey,
                keystep,
                limit,
            } => {
                let last = match lastkey {
                    at if at >= 0 => begin + at as usize,
                    at => {
                        let last = args.len().checked_sub(at.unsigned_abs() as usize)?;
                        match limit {
                            0 | 1 => last,
                            // So many parts of what is left: keys, then what belongs to them.
                            parts => begin + (last + 1 - begin) / parts as usize - 1,
                        }
                    }
                };
                (last < args.len()).then_some((begin..last + 1, keystep))
            }
            FindKeys::Keynum {
                keynumidx,
                firstkey,
                keystep,
            } => {
                let count = args.get(begin + keynumidx)?;
                let count = usize::try_from(redis_wire::number::parse_i64(count)?).ok()?;
                let first = begin + firstkey;
                let end = first.checked_add(count.checked_mul(keystep)?)?;
                (end <= args.len()).then_some((first..end, keystep))
            }
            FindKeys::Unknown => None,
        }
    }
}

/// All commands, by name in upper case.
pub struct Commands {
    all: Vec<Command>,
    by_name: HashMap<Box<[u8]>, usize, FastHashing>,
    count: usize,
}

/// No name is longer.
const NAME_MAX: usize = 32;

impl Commands {
    pub fn get() -> &'static Commands {
        static COMMANDS: OnceLock<Commands> = OnceLock::new();
        COMMANDS.get_or_init(|| {
            let mut count = 0;
            let facts = facts::read().into_iter();
            let all: Vec<Command> = facts.map(|fact| Command::new(fact, &mut count)).collect();
            let mut by_name = HashMap::with_hasher(FastHashing::default());
            for (at, command) in all.iter().enumerate() {
                by_name.insert(command.fact.name.to_ascii_uppercase().into_bytes().into(), at);
            }
            Commands { all, by_name, count }
        })
    }

    #[inline]
    pub fn find(&self, name: &[u8]) -> Option<&Command> {
        let mut upper = [0; NAME_MAX];
        let upper = upper.get_mut(..name.len())?;
        upper.copy_from_slice(name);
        upper.make_ascii_uppercase();
        self.by_name.get(&*upper).map(|&at| &self.all[at])
    }

    /// How many there are, subcommands too.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn all(&self) -> &[Command] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys_of(line: &str) -> Vec<(&str, Access)> {
        let words: Vec<&str> = line.split(' ').collect();
        let args: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let command = Commands::get().find(args[0]).unwrap();
        let command = command.meant_by(&args).unwrap();
        command
            .keys(&args)
            .into_iter()
            .map(|(at, access)| (words[at], access))
            .collect()
    }

    #[test]
    fn keys_are_found_where_the_facts_say() {
        use Access::{Reads, Writes};
        assert_eq!(keys_of("get a"), [("a", Reads)]);
        assert_eq!(keys_of("mset a 1 b 2"), [("a", Writes), ("b", Writes)]);
        assert_eq!(keys_of("bitop and d a b"), [("d", Writes), ("a", Reads), ("b", Reads)]);
        assert_eq!(
            keys_of("zunionstore d 2 a b weights 1 2"),
            [("d", Writes), ("a", Reads), ("b", Reads)]
        );
        assert_eq!(keys_of("xread count 1 streams a b 0 0"), [("a", Reads), ("b", Reads)]);
        assert_eq!(keys_of("eval x 2 a b c"), [("a", Writes), ("b", Writes)]);
        assert_eq!(keys_of("sort a by x store b"), [("a", Reads), ("b", Writes)]);
        assert_eq!(keys_of("object encoding a"), [("a", Reads)]);
        assert_eq!(keys_of("ping"), []);
        assert_eq!(keys_of("eval x 5 a"), []);
    }
}
