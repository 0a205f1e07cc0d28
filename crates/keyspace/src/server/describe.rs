//! COMMAND: what commands there are.

use redis_wire::Reply;

use crate::call::is_word;
use crate::command::{Argument, BeginSearch, Command, Commands, FindKeys, Handler, KeySpec};
use crate::failure::{Failure, Outcome, syntax};
use crate::glob::Glob;
use crate::session::SessionCall;
use crate::types::help;

pub fn all(call: &mut SessionCall) -> Outcome {
    let all = Commands::get().all();
    call.reply.array(all.len());
    all.iter().for_each(|command| tell(call.reply, command));
    Ok(())
}

pub fn count(call: &mut SessionCall) -> Outcome {
    call.reply.integer(Commands::get().all().len() as i64);
    Ok(())
}

pub fn list(call: &mut SessionCall) -> Outcome {
    let all = Commands::get().all();
    let all = all
        .iter()
        .flat_map(|command| std::iter::once(command).chain(&command.subcommands));
    let filtered: Vec<&Command> = match call.args[2..] {
        [] => all.collect(),
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
                all.filter(|command| command.fact.acl_categories.contains(&category))
                    .collect()
            }
            kind if is_word(kind, "MODULE") => Vec::new(),
            _ => return Err(syntax()),
        },
        _ => return Err(syntax()),
    };
    call.reply.array(filtered.len());
    filtered
        .iter()
        .for_each(|command| call.reply.bulk(command.name().as_bytes()));
    Ok(())
}

/// `get`, `config|get`
pub(super) fn named(name: &[u8]) -> Option<&'static Command> {
    let mut parts = name.splitn(2, |&byte| byte == b'|');
    let command = Commands::get().find(parts.next()?)?;
    match parts.next() {
        None => Some(command),
        Some(sub) => command.subcommand(sub),
    }
}

pub fn info(call: &mut SessionCall) -> Outcome {
    if call.args.len() == 2 {
        return all(call);
    }
    call.reply.array(call.args.len() - 2);
    for name in &call.args[2..] {
        governor::tick()?;
        match named(name) {
            Some(command) => tell(call.reply, command),
            None => call.reply.null(),
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

pub fn docs(call: &mut SessionCall) -> Outcome {
    let found: Vec<&Command> = match call.args.len() {
        2 => Commands::get().all().iter().collect(),
        _ => call.args[2..].iter().filter_map(|name| named(name)).collect(),
    };
    call.reply.map(found.len());
    for command in found {
        governor::tick()?;
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

fn tell_arguments(reply: &mut Reply, arguments: &[Argument]) {
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

/// The command in some arguments, and its keys.
fn keys_of<'c>(args: &[&[u8]]) -> Outcome<Vec<(usize, Vec<&'c str>)>> {
    let command = Commands::get().find(args[0]).and_then(|command| command.meant_by(args));
    let command = command.ok_or_else(|| Failure::reply("ERR Invalid command specified"))?;
    if command.fact.key_specifications.is_empty() {
        return Err(Failure::reply("ERR The command has no key arguments"));
    }
    if !command.takes(args.len()) {
        return Err(Failure::reply("ERR Invalid number of arguments specified for command"));
    }
    let keys = command.flagged_keys(args);
    match keys.is_empty() && !command.may_be_without_keys() {
        true => Err(Failure::reply("ERR Invalid arguments specified for command")),
        false => Ok(keys),
    }
}

pub fn getkeys(call: &mut SessionCall) -> Outcome {
    let args = &call.args[2..];
    let keys = keys_of(args)?;
    call.reply.array(keys.len());
    keys.iter().for_each(|(at, _)| call.reply.bulk(args[*at]));
    Ok(())
}

pub fn getkeysandflags(call: &mut SessionCall) -> Outcome {
    let args = &call.args[2..];
    let keys = keys_of(args)?;
    call.reply.array(keys.len());
    for (at, flags) in keys {
        call.reply.array(2);
        call.reply.bulk(args[at]);
        call.reply.set(flags.len());
        flags.iter().for_each(|flag| call.reply.simple(flag));
    }
    Ok(())
}

/// The subcommands of a command (CLIENT HELP): those that somebody runs.
pub fn help(call: &mut SessionCall) -> Outcome {
    let Some(command) = Commands::get().find(call.args[0]) else {
        return Err(syntax());
    };
    match command.name() {
        "client" => return help::answer(call.reply, help::CLIENT),
        "command" => return help::answer(call.reply, help::COMMAND),
        "config" => return help::answer(call.reply, help::CONFIG),
        "pubsub" => return help::answer(call.reply, help::PUBSUB),
        "slowlog" => return help::answer(call.reply, help::SLOWLOG),
        _ => {}
    }
    let name = command.name().to_ascii_uppercase();
    let mut lines = vec![format!(
        "{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    )];
    let known = command
        .subcommands
        .iter()
        .filter(|subcommand| !matches!(subcommand.handler, Handler::Nobody));
    lines.extend(known.filter_map(|subcommand| {
        let name = subcommand.name().rsplit('|').next()?;
        Some(name.to_ascii_uppercase())
    }));
    call.reply.array(lines.len());
    lines.iter().for_each(|line| call.reply.simple(line));
    Ok(())
}
