//! Commands on the connection and the server.

use std::fmt::Write as _;

use redis_wire::{Protocol, Reply};
use sql_api::session::SessionAccount;

use crate::call::is_word;
use crate::command::{BeginSearch, Command, Commands, FindKeys, KeySpec};
use crate::failure::{Failure, Outcome, not_integer, syntax, wrong_number_of_arguments};
use crate::glob::Glob;
use crate::session::SessionCall;
use crate::types::generic::database;

/// The version of Redis whose commands these are.
pub const REDIS_VERSION: &str = "7.2.0";

pub fn ok(call: &mut SessionCall) -> Outcome {
    call.reply.ok();
    Ok(())
}

pub fn ping(call: &mut SessionCall) -> Outcome {
    let text = match call.args {
        [_] => None,
        [_, text] => Some(*text),
        _ => return Err(wrong_number_of_arguments("ping")),
    };
    match text {
        // Among messages, the answer looks like one.
        text if call.session.only_listens() => {
            call.reply.array(2);
            call.reply.bulk(b"pong");
            call.reply.bulk(text.unwrap_or_default());
        }
        Some(text) => call.reply.bulk(text),
        None => call.reply.simple("PONG"),
    }
    Ok(())
}

pub fn echo(call: &mut SessionCall) -> Outcome {
    call.reply.bulk(call.args[1]);
    Ok(())
}

pub fn quit(call: &mut SessionCall) -> Outcome {
    call.session.ends = true;
    call.reply.ok();
    Ok(())
}

pub fn select(call: &mut SessionCall) -> Outcome {
    call.session.db = database(call.args[1])?;
    call.reply.ok();
    Ok(())
}

pub fn reset(call: &mut SessionCall) -> Outcome {
    let session = &mut *call.session;
    session.forget_transaction();
    session.stop_listening();
    session.db = 0;
    session.protocol = Protocol::Resp2;
    session.name.clear();
    call.reply.protocol = Protocol::Resp2;
    call.reply.simple("RESET");
    Ok(())
}

pub fn time(call: &mut SessionCall) -> Outcome {
    let micros = call.session.keyspace.engine().clock_micros();
    call.reply.array(2);
    call.reply.bulk((micros / 1_000_000).to_string().as_bytes());
    call.reply.bulk((micros % 1_000_000).to_string().as_bytes());
    Ok(())
}

pub fn lastsave(call: &mut SessionCall) -> Outcome {
    // Every answered change is on disk.
    call.reply.integer(call.session.keyspace.now_ms() / 1000);
    Ok(())
}

pub fn role(call: &mut SessionCall) -> Outcome {
    call.reply.array(3);
    call.reply.bulk(b"master");
    call.reply.integer(0);
    call.reply.array(0);
    Ok(())
}

/// How many replicas have all that was answered: a majority has, so all others that it takes for one.
pub fn wait(call: &mut SessionCall) -> Outcome {
    for arg in &call.args[1..] {
        let value = redis_wire::number::parse_i64(arg).ok_or_else(not_integer)?;
        if value < 0 {
            return Err(Failure::reply("ERR timeout is negative"));
        }
    }
    let nodes = call.session.keyspace.engine().participant().nodes().len();
    // Of n nodes with n / 2 + 1 a majority, one of which is asked.
    call.reply.integer((nodes / 2) as i64);
    Ok(())
}

// --- logging in ---

pub fn auth(call: &mut SessionCall) -> Outcome {
    let (user, password) = match call.args {
        [_, password] => (None, *password),
        [_, user, password] => (Some(*user), *password),
        _ => return Err(syntax()),
    };
    log_in(call, user, password)?;
    call.reply.ok();
    Ok(())
}

fn log_in(call: &mut SessionCall, user: Option<&[u8]>, password: &[u8]) -> Outcome {
    let denied = || Failure::reply("WRONGPASS invalid username-password pair or user is disabled.");
    let user = user
        .map(|user| std::str::from_utf8(user).map_err(|_| denied()))
        .transpose()?;
    // `default` is whom clients name that name nobody.
    let user = user.filter(|user| *user != "default");
    match call.session.surroundings.log_in(user, password, call.host) {
        Ok(account) => {
            call.session.account = Some(account);
            Ok(())
        }
        Err(_) => Err(denied()),
    }
}

pub fn hello(call: &mut SessionCall) -> Outcome {
    let mut protocol = call.session.protocol;
    let mut options = call.args[1..].iter().copied();
    if let Some(version) = options.next() {
        protocol = match redis_wire::number::parse_i64(version) {
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            Some(_) => return Err(Failure::reply("NOPROTO unsupported protocol version")),
            None => return Err(Failure::reply("ERR Protocol version is not an integer or out of range")),
        };
    }
    let mut name = None;
    while let Some(option) = options.next() {
        let unknown = || {
            let option = String::from_utf8_lossy(option);
            Failure::Reply(format!("ERR Syntax error in HELLO option '{option}'").into())
        };
        match option {
            option if is_word(option, "AUTH") => {
                let (Some(user), Some(password)) = (options.next(), options.next()) else {
                    return Err(unknown());
                };
                log_in(call, Some(user), password)?;
            }
            option if is_word(option, "SETNAME") => {
                let value = options.next().ok_or_else(unknown)?;
                check_name(value, "Client names")?;
                name = Some(value);
            }
            _ => return Err(unknown()),
        }
    }
    if call.session.account.is_none() {
        return Err(Failure::reply(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option \
             can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    if let Some(name) = name {
        call.session.name = name.to_vec();
    }
    call.session.protocol = protocol;
    let reply = &mut *call.reply;
    reply.protocol = protocol;
    reply.map(7);
    reply.bulk(b"server");
    reply.bulk(b"redis");
    reply.bulk(b"version");
    reply.bulk(REDIS_VERSION.as_bytes());
    reply.bulk(b"proto");
    reply.integer(if protocol == Protocol::Resp3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.integer(call.session.id as i64);
    reply.bulk(b"mode");
    reply.bulk(b"standalone");
    reply.bulk(b"role");
    reply.bulk(b"master");
    reply.bulk(b"modules");
    reply.array(0);
    Ok(())
}

// --- CLIENT ---

fn check_name(name: &[u8], what: &str) -> Outcome {
    match name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        true => Ok(()),
        false => Err(Failure::Reply(
            format!("ERR {what} cannot contain spaces, newlines or special characters.").into(),
        )),
    }
}

pub fn client_setname(call: &mut SessionCall) -> Outcome {
    check_name(call.args[2], "Client names")?;
    call.session.name = call.args[2].to_vec();
    call.reply.ok();
    Ok(())
}

pub fn client_getname(call: &mut SessionCall) -> Outcome {
    match call.session.name.is_empty() {
        true => call.reply.null(),
        false => call.reply.bulk(&call.session.name),
    }
    Ok(())
}

pub fn client_setinfo(call: &mut SessionCall) -> Outcome {
    let (option, value) = (call.args[2], call.args[3]);
    let shown = String::from_utf8_lossy(option).into_owned();
    let target = match option {
        option if is_word(option, "LIB-NAME") => &mut call.session.library.0,
        option if is_word(option, "LIB-VER") => &mut call.session.library.1,
        _ => return Err(Failure::Reply(format!("ERR Unrecognized option '{shown}'").into())),
    };
    check_name(value, &shown)?;
    *target = value.to_vec();
    call.reply.ok();
    Ok(())
}

pub fn client_id(call: &mut SessionCall) -> Outcome {
    call.reply.integer(call.session.id as i64);
    Ok(())
}

pub fn client_flag(call: &mut SessionCall) -> Outcome {
    match call.args[2] {
        flag if is_word(flag, "ON") || is_word(flag, "OFF") => call.reply.ok(),
        _ => return Err(syntax()),
    }
    Ok(())
}

pub fn client_info(call: &mut SessionCall) -> Outcome {
    let session = &*call.session;
    let user = match &session.account {
        Some(SessionAccount::Account { user, .. }) => user.as_str(),
        Some(SessionAccount::Server) | None => "default",
    };
    let line = format!(
        "id={} addr={} name={} db={} user={} resp={} lib-name={} lib-ver={}\n",
        session.id,
        session.surroundings.address(),
        String::from_utf8_lossy(&session.name),
        session.db,
        user,
        if session.protocol == Protocol::Resp3 { 3 } else { 2 },
        String::from_utf8_lossy(&session.library.0),
        String::from_utf8_lossy(&session.library.1),
    );
    call.reply.verbatim("txt", line.as_bytes());
    Ok(())
}

pub fn client_list(call: &mut SessionCall) -> Outcome {
    let lines = call.session.surroundings.clients().join("\n");
    call.reply.verbatim("txt", format!("{lines}\n").as_bytes());
    Ok(())
}

pub fn client_kill(call: &mut SessionCall) -> Outcome {
    let [_, _, filter, value] = call.args else {
        return Err(syntax());
    };
    if !is_word(filter, "ID") {
        return Err(Failure::reply("ERR the only filter of CLIENT KILL here is ID"));
    }
    let id = redis_wire::number::parse_u64(value);
    let id = id.ok_or_else(|| Failure::reply("ERR client-id should be greater than 0"))?;
    let killed = call.session.surroundings.kill(id);
    call.reply.integer(i64::from(killed));
    Ok(())
}

// --- COMMAND ---

pub fn command(call: &mut SessionCall) -> Outcome {
    let all = Commands::get().all();
    call.reply.array(all.len());
    all.iter().for_each(|command| tell(call.reply, command));
    Ok(())
}

pub fn command_count(call: &mut SessionCall) -> Outcome {
    call.reply.integer(Commands::get().all().len() as i64);
    Ok(())
}

pub fn command_list(call: &mut SessionCall) -> Outcome {
    let all = Commands::get().all();
    let filtered: Vec<&Command> = match call.args[2..] {
        [] => all.iter().collect(),
        [by, kind, value] if is_word(by, "FILTERBY") => match kind {
            kind if is_word(kind, "PATTERN") => {
                let glob = Glob::new(value);
                let mut found = Vec::new();
                for command in all {
                    if glob.matches(command.name().as_bytes())? {
                        found.push(command);
                    }
                }
                found
            }
            kind if is_word(kind, "ACLCAT") => {
                let category = format!("@{}", String::from_utf8_lossy(value).to_ascii_lowercase());
                all.iter()
                    .filter(|command| command.fact.acl_categories.contains(&category))
                    .collect()
            }
            kind if is_word(kind, "MODULE") => Vec::new(),
            _ => return Err(syntax()),
        },
        _ => return Err(syntax()),
    };
    call.reply.set(filtered.len());
    filtered
        .iter()
        .for_each(|command| call.reply.bulk(command.name().as_bytes()));
    Ok(())
}

fn named<'a>(names: &[&[u8]]) -> Vec<Option<&'a Command>> {
    let find = |name: &&[u8]| {
        let mut parts = name.splitn(2, |&byte| byte == b'|');
        let command = Commands::get().find(parts.next()?)?;
        match parts.next() {
            None => Some(command),
            Some(sub) => command.meant_by(&[command.name().as_bytes(), sub]),
        }
    };
    names.iter().map(find).collect()
}

pub fn command_info(call: &mut SessionCall) -> Outcome {
    if call.args.len() == 2 {
        return command(call);
    }
    let found = named(&call.args[2..]);
    call.reply.array(found.len());
    for command in found {
        match command {
            Some(command) => tell(call.reply, command),
            None => call.reply.null_array(),
        }
    }
    Ok(())
}

fn tell(reply: &mut Reply, command: &Command) {
    let fact = &command.fact;
    reply.array(10);
    reply.bulk(fact.name.as_bytes());
    reply.integer(fact.arity);
    reply.set(fact.flags.len());
    fact.flags.iter().for_each(|flag| reply.simple(flag));
    reply.integer(fact.first_key);
    reply.integer(fact.last_key);
    reply.integer(fact.key_step);
    reply.set(fact.acl_categories.len());
    fact.acl_categories.iter().for_each(|category| reply.simple(category));
    reply.array(fact.tips.len());
    fact.tips.iter().for_each(|tip| reply.bulk(tip.as_bytes()));
    reply.array(fact.key_specifications.len());
    fact.key_specifications.iter().for_each(|spec| tell_keys(reply, spec));
    reply.array(command.subcommands.len());
    command
        .subcommands
        .iter()
        .for_each(|subcommand| tell(reply, subcommand));
}

fn tell_keys(reply: &mut Reply, spec: &KeySpec) {
    reply.map(3 + usize::from(spec.notes.is_some()));
    if let Some(notes) = &spec.notes {
        reply.bulk(b"notes");
        reply.bulk(notes.as_bytes());
    }
    reply.bulk(b"flags");
    reply.set(spec.flags.len());
    spec.flags.iter().for_each(|flag| reply.simple(flag));
    let mut part = |name: &str, kind: &str, values: &[(&str, Result<i64, &str>)]| {
        reply.bulk(name.as_bytes());
        reply.map(2);
        reply.bulk(b"type");
        reply.bulk(kind.as_bytes());
        reply.bulk(b"spec");
        reply.map(values.len());
        for (name, value) in values {
            reply.bulk(name.as_bytes());
            match value {
                Ok(number) => reply.integer(*number),
                Err(text) => reply.bulk(text.as_bytes()),
            }
        }
    };
    match &spec.begin_search {
        BeginSearch::Index { index } => part("begin_search", "index", &[("index", Ok(*index as i64))]),
        BeginSearch::Keyword { keyword, startfrom } => part(
            "begin_search",
            "keyword",
            &[("keyword", Err(keyword)), ("startfrom", Ok(*startfrom))],
        ),
        BeginSearch::Unknown => part("begin_search", "unknown", &[]),
    }
    match spec.find_keys {
        FindKeys::Range {
            lastkey,
            keystep,
            limit,
        } => part(
            "find_keys",
            "range",
            &[
                ("lastkey", Ok(lastkey)),
                ("keystep", Ok(keystep as i64)),
                ("limit", Ok(limit)),
            ],
        ),
        FindKeys::Keynum {
            keynumidx,
            firstkey,
            keystep,
        } => part(
            "find_keys",
            "keynum",
            &[
                ("keynumidx", Ok(keynumidx as i64)),
                ("firstkey", Ok(firstkey as i64)),
                ("keystep", Ok(keystep as i64)),
            ],
        ),
        FindKeys::Unknown => part("find_keys", "unknown", &[]),
    }
}

pub fn command_docs(call: &mut SessionCall) -> Outcome {
    let found: Vec<&Command> = match call.args.len() {
        2 => Commands::get().all().iter().collect(),
        _ => named(&call.args[2..]).into_iter().flatten().collect(),
    };
    call.reply.map(found.len());
    for command in found {
        call.reply.bulk(command.name().as_bytes());
        tell_docs(call.reply, command);
    }
    Ok(())
}

fn tell_docs(reply: &mut Reply, command: &Command) {
    let fact = &command.fact;
    let parts = 2 + usize::from(!fact.arguments.is_empty()) + usize::from(!command.subcommands.is_empty());
    reply.map(parts);
    reply.bulk(b"since");
    reply.bulk(fact.since.as_bytes());
    reply.bulk(b"group");
    reply.bulk(fact.group.as_bytes());
    if !fact.arguments.is_empty() {
        reply.bulk(b"arguments");
        tell_arguments(reply, &fact.arguments);
    }
    if !command.subcommands.is_empty() {
        reply.bulk(b"subcommands");
        reply.map(command.subcommands.len());
        for subcommand in &command.subcommands {
            reply.bulk(subcommand.name().as_bytes());
            tell_docs(reply, subcommand);
        }
    }
}

fn tell_arguments(reply: &mut Reply, arguments: &[crate::command::Argument]) {
    reply.array(arguments.len());
    for argument in arguments {
        let optional = [
            argument.key_spec_index.is_some(),
            argument.token.is_some(),
            argument.since.is_some(),
            !argument.flags.is_empty(),
            !argument.arguments.is_empty(),
        ];
        reply.map(2 + optional.iter().filter(|is_there| **is_there).count());
        reply.bulk(b"name");
        reply.bulk(argument.name.as_bytes());
        reply.bulk(b"type");
        reply.bulk(argument.kind.as_bytes());
        if let Some(index) = argument.key_spec_index {
            reply.bulk(b"key_spec_index");
            reply.integer(index);
        }
        for (name, value) in [("token", &argument.token), ("since", &argument.since)] {
            if let Some(value) = value {
                reply.bulk(name.as_bytes());
                reply.bulk(value.as_bytes());
            }
        }
        if !argument.flags.is_empty() {
            reply.bulk(b"flags");
            reply.set(argument.flags.len());
            argument.flags.iter().for_each(|flag| reply.simple(flag));
        }
        if !argument.arguments.is_empty() {
            reply.bulk(b"arguments");
            tell_arguments(reply, &argument.arguments);
        }
    }
}

pub fn command_getkeys(call: &mut SessionCall) -> Outcome {
    let args = &call.args[2..];
    let command = Commands::get().find(args[0]).and_then(|command| command.meant_by(args));
    let command = command.ok_or_else(|| Failure::reply("ERR Invalid command specified"))?;
    if !command.takes(args.len()) {
        return Err(Failure::reply("ERR Invalid number of arguments specified for command"));
    }
    let keys = command.keys(args);
    if keys.is_empty() {
        return Err(Failure::reply("ERR The command has no key arguments"));
    }
    call.reply.array(keys.len());
    keys.iter().for_each(|(at, _)| call.reply.bulk(args[*at]));
    Ok(())
}

// --- CONFIG and INFO ---

/// Parameters that there are, and their values: what is asked for here is decided elsewhere, or always so.
fn parameters(call: &SessionCall) -> Vec<(&'static str, String)> {
    let memory = call.session.keyspace.engine().participant().store().memory().limit();
    vec![
        ("appendfsync", "always".into()),
        ("appendonly", "yes".into()),
        ("databases", crate::tables::DATABASES.to_string()),
        ("maxmemory", memory.to_string()),
        ("maxmemory-policy", "noeviction".into()),
        ("notify-keyspace-events", String::new()),
        ("proto-max-bulk-len", redis_wire::request::BULK_MAX.to_string()),
        ("save", String::new()),
        ("timeout", "0".into()),
    ]
}

pub fn config_get(call: &mut SessionCall) -> Outcome {
    let mut found = Vec::new();
    let parameters = parameters(call);
    for pattern in &call.args[2..] {
        let glob = Glob::new(&pattern.to_ascii_lowercase());
        for (name, value) in &parameters {
            if glob.matches(name.as_bytes())? && !found.contains(&(*name, value)) {
                found.push((*name, value));
            }
        }
    }
    call.reply.map(found.len());
    for (name, value) in found {
        call.reply.bulk(name.as_bytes());
        call.reply.bulk(value.as_bytes());
    }
    Ok(())
}

/// Takes what is so already.
pub fn config_set(call: &mut SessionCall) -> Outcome {
    let pairs = &call.args[2..];
    if pairs.len() % 2 == 1 {
        return Err(wrong_number_of_arguments("config|set"));
    }
    let parameters = parameters(call);
    for pair in pairs.chunks(2) {
        let name = String::from_utf8_lossy(pair[0]).to_ascii_lowercase();
        match parameters.iter().find(|(known, _)| *known == name) {
            None => {
                let text = format!("ERR Unknown option or number of arguments for CONFIG SET - '{name}'");
                return Err(Failure::Reply(text.into()));
            }
            Some((_, value)) if value.as_bytes() != pair[1] => {
                let text = format!(
                    "ERR CONFIG SET failed (possibly related to argument '{name}') - can't set immutable config"
                );
                return Err(Failure::Reply(text.into()));
            }
            Some(_) => {}
        }
    }
    call.reply.ok();
    Ok(())
}

pub fn info(call: &mut SessionCall) -> Outcome {
    let wanted: Vec<String> = call.args[1..]
        .iter()
        .map(|section| String::from_utf8_lossy(section).to_ascii_lowercase())
        .collect();
    let is_wanted = |section: &str| {
        wanted.is_empty()
            || wanted
                .iter()
                .any(|wanted| matches!(wanted.as_str(), "all" | "default" | "everything") || wanted == section)
    };
    let mut text = String::new();
    let mut section = |name: &str, lines: &[(&str, String)]| {
        if !is_wanted(name) {
            return;
        }
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        let mut title = name.to_owned();
        title[..1].make_ascii_uppercase();
        let _ = write!(text, "# {title}\r\n");
        for (name, value) in lines {
            let _ = write!(text, "{name}:{value}\r\n");
        }
    };
    let engine = call.session.keyspace.engine().clone();
    let memory = engine.participant().store().memory();
    section(
        "server",
        &[
            ("redis_version", REDIS_VERSION.into()),
            ("redis_mode", "standalone".into()),
            ("server_name", "latsdb".into()),
            ("arch_bits", "64".into()),
            ("process_id", std::process::id().to_string()),
            ("uptime_in_seconds", engine.uptime_seconds().to_string()),
            ("uptime_in_days", (engine.uptime_seconds() / 86_400).to_string()),
        ],
    );
    section(
        "clients",
        &[
            ("connected_clients", call.session.surroundings.connections().to_string()),
            ("blocked_clients", call.session.keyspace.hub.waiting().to_string()),
        ],
    );
    section(
        "memory",
        &[
            ("used_memory", memory.used().to_string()),
            ("maxmemory", memory.limit().to_string()),
            ("maxmemory_policy", "noeviction".into()),
        ],
    );
    section(
        "persistence",
        &[
            ("loading", "0".into()),
            ("aof_enabled", "1".into()),
            ("rdb_bgsave_in_progress", "0".into()),
            ("aof_rewrite_in_progress", "0".into()),
        ],
    );
    section(
        "replication",
        &[("role", "master".into()), ("connected_slaves", "0".into())],
    );
    section("cluster", &[("cluster_enabled", "0".into())]);
    if is_wanted("keyspace") {
        let mut lines = Vec::new();
        for number in 0..crate::tables::DATABASES {
            if let Some(db) = call.session.keyspace.existing_db(number)? {
                let keys = db.table(crate::tables::Part::Keys).rows.estimated_rows();
                if keys > 0 {
                    lines.push((format!("db{number}"), format!("keys={keys},expires=0,avg_ttl=0")));
                }
            }
        }
        let lines: Vec<(&str, String)> = lines
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        section("keyspace", &lines);
    }
    call.reply.verbatim("txt", text.as_bytes());
    Ok(())
}
