//! What an operator asks: SLOWLOG, LATENCY, MEMORY, DEBUG.

use std::pin::pin;
use std::time::Duration;

use sql_api::host::WaitEnd;

use super::describe::named;
use crate::call::is_word;
use crate::command::{Command, Commands};
use crate::failure::{Failure, Outcome, not_float};
use crate::session::SessionCall;
use crate::types::help;

pub fn slowlog_get(call: &mut SessionCall) -> Outcome {
    let most = match call.args.get(2) {
        None => 10,
        Some(count) => match redis_wire::number::parse_i64(count) {
            Some(-1) => usize::MAX,
            Some(count) if count >= 0 => usize::try_from(count).unwrap_or(usize::MAX),
            _ => return Err(Failure::reply("ERR count should be greater than or equal to -1")),
        },
    };
    let entries = call.session.keyspace.slowlog.newest(most);
    call.reply.array(entries.len());
    for entry in entries {
        call.reply.array(6);
        call.reply.integer(entry.id as i64);
        call.reply.integer(entry.at);
        call.reply.integer(entry.micros as i64);
        call.reply.array(entry.args.len());
        entry.args.iter().for_each(|arg| call.reply.bulk(arg));
        call.reply.bulk(entry.address.as_bytes());
        call.reply.bulk(&entry.name);
    }
    Ok(())
}

pub fn slowlog_len(call: &mut SessionCall) -> Outcome {
    call.reply.integer(call.session.keyspace.slowlog.len() as i64);
    Ok(())
}

pub fn slowlog_reset(call: &mut SessionCall) -> Outcome {
    call.session.keyspace.slowlog.clear();
    call.reply.ok();
    Ok(())
}

pub fn monitor(call: &mut SessionCall) -> Outcome {
    if call.session.held_messages.is_some() {
        return Err(Failure::reply("ERR MONITOR isn't allowed for DENY BLOCKING client"));
    }
    // As Redis, which answers a second one with nothing.
    if !call.session.monitors {
        call.session.begin_monitoring();
        call.reply.ok();
    }
    Ok(())
}

// --- LATENCY ---

pub fn latency_help(call: &mut SessionCall) -> Outcome {
    help::answer(call.reply, help::LATENCY)
}

pub fn latency_latest(call: &mut SessionCall) -> Outcome {
    let all = call.session.keyspace.spikes.all();
    call.reply.array(all.len());
    for (kind, series) in all {
        let (at, ms) = series.spikes.back().copied().unwrap_or_default();
        call.reply.array(4);
        call.reply.bulk(kind.as_bytes());
        call.reply.integer(at);
        call.reply.integer(ms as i64);
        call.reply.integer(series.worst_ms as i64);
    }
    Ok(())
}

pub fn latency_history(call: &mut SessionCall) -> Outcome {
    let found = call.session.keyspace.spikes.of(call.args[2]);
    let spikes = found.map(|(_, series)| series.spikes).unwrap_or_default();
    call.reply.array(spikes.len());
    for (at, ms) in spikes {
        call.reply.array(2);
        call.reply.integer(at);
        call.reply.integer(ms as i64);
    }
    Ok(())
}

pub fn latency_reset(call: &mut SessionCall) -> Outcome {
    let spikes = &call.session.keyspace.spikes;
    let forgotten: usize = match &call.args[2..] {
        [] => spikes.clear(None),
        kinds => kinds.iter().map(|kind| spikes.clear(Some(kind))).sum(),
    };
    call.reply.integer(forgotten as i64);
    Ok(())
}

pub fn latency_graph(call: &mut SessionCall) -> Outcome {
    let keyspace = &call.session.keyspace;
    let Some((kind, series)) = keyspace.spikes.of(call.args[2]) else {
        return Err(Failure::naming(
            "ERR No samples available for event '{}'",
            &[call.args[2]],
        ));
    };
    let graph = series.graph(kind, keyspace.now_ms() / 1000);
    call.reply.verbatim("txt", graph.as_bytes());
    Ok(())
}

const NOT_WATCHED: &str = "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis instance. You may use \"CONFIG \
    SET latency-monitor-threshold <milliseconds>.\" in order to enable it. If we weren't in a deep space mission I'd suggest to take a look \
    at https://redis.io/topics/latency-monitor.\n";
const NO_SPIKES: &str = "Dave, no latency spike was observed during the lifetime of this Redis instance, not in the slightest bit. I honestly \
    think you ought to sit down calmly, take a stress pill, and think things over.\n";
const ADVICE: &str = "\nI have a few advices for you:\n\n- Check your Slow Log to understand what are the commands you are running which are \
    too slow to execute. Please check https://redis.io/commands/slowlog for more information.\n";

pub fn latency_doctor(call: &mut SessionCall) -> Outcome {
    let spikes = &call.session.keyspace.spikes;
    let all = spikes.all();
    let text = match all.is_empty() {
        true if spikes.threshold_ms() == 0 => NOT_WATCHED.to_owned(),
        true => NO_SPIKES.to_owned(),
        false => {
            let mut text = "Dave, I have observed latency spikes in this Redis instance. You don't mind talking about it, do you Dave?\n\n".to_owned();
            for (at, (kind, series)) in all.iter().enumerate() {
                text.push_str(&series.summary(at + 1, kind));
            }
            text + ADVICE
        }
    };
    call.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

pub fn latency_histogram(call: &mut SessionCall) -> Outcome {
    let all = Commands::get().all();
    let with_subcommands = |command: &'static Command| match command.subcommands.is_empty() {
        true => std::slice::from_ref(command),
        false => &command.subcommands[..],
    };
    let mut wanted: Vec<&Command> = Vec::new();
    match &call.args[2..] {
        [] => wanted.extend(all.iter().flat_map(with_subcommands)),
        names => {
            for name in names {
                governor::tick()?;
                wanted.extend(named(name).into_iter().flat_map(with_subcommands));
            }
        }
    }
    let latencies = &call.session.keyspace.latencies;
    let (list, mut found) = (call.reply.open(), 0);
    for command in wanted {
        governor::tick()?;
        let Some(histogram) = latencies.of(command) else {
            continue;
        };
        found += 1;
        call.reply.bulk(command.name().as_bytes());
        call.reply.map(2);
        call.reply.bulk(b"calls");
        call.reply.integer(histogram.calls as i64);
        call.reply.bulk(b"histogram_usec");
        call.reply.map(histogram.at_most.len());
        for (micros, count) in histogram.at_most {
            call.reply.integer(micros as i64);
            call.reply.integer(count as i64);
        }
    }
    call.reply.close(list, |reply| reply.map(found));
    Ok(())
}

// --- MEMORY ---

pub fn memory_doctor(call: &mut SessionCall) -> Outcome {
    let memory = call.session.keyspace.engine().participant().store().memory();
    let (used, limit) = (memory.used(), memory.limit());
    let text = match () {
        () if used < EMPTY => EMPTY_INSTANCE.to_owned(),
        () if used > limit / 10 * 9 => format!(
            "Sam, I detected a few issues in this Redis instance memory implants:\n\n * Little is left: {used} of {limit} bytes \
             (memory_limit) are used. Commands that need more will answer OOM; nothing is evicted.\n\nI'm here to keep you safe, Sam. I want to \
             help you.\n"
        ),
        () => {
            "Hi Sam, I can't find any memory issue in your instance. I can only account for what occurs on this base.\n"
                .to_owned()
        }
    };
    call.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

const EMPTY: u64 = 5 << 20;
const EMPTY_INSTANCE: &str = "Hi Sam, this instance is empty or is using very little memory, my issues detector can't be used in these \
    conditions. Please, leave for your mission on Earth and fill it with some data. The new Sam and I will be back to our programming as soon \
    as I finished rebooting.\n";

/// Pages that are free go back to the operating system, in the background.
pub fn memory_purge(call: &mut SessionCall) -> Outcome {
    governor::large::want_back();
    call.reply.ok();
    Ok(())
}

pub fn memory_malloc_stats(call: &mut SessionCall) -> Outcome {
    call.reply.bulk(b"Stats not supported for the current allocator");
    Ok(())
}

/// What is known here of what Redis tells.
pub fn memory_stats(call: &mut SessionCall) -> Outcome {
    let keyspace = call.session.keyspace.clone();
    let memory = keyspace.engine().participant().store().memory();
    let mut keys = 0;
    for number in 0..crate::tables::DATABASES {
        if let Some(db) = keyspace.existing_db(number)? {
            keys += db.table(crate::tables::Part::Keys).rows.estimated_rows();
        }
    }
    let used = memory.used();
    let lines = [
        ("total.allocated", used),
        ("keys.count", keys),
        ("keys.bytes-per-key", used / keys.max(1)),
        ("dataset.bytes", used),
        ("maxmemory", memory.limit()),
    ];
    call.reply.map(lines.len());
    for (name, value) in lines {
        call.reply.bulk(name.as_bytes());
        call.reply.integer(value as i64);
    }
    Ok(())
}

/// DEBUG SLEEP, and what tests of clients say before they begin.
pub fn debug(call: &mut SessionCall) -> Outcome {
    let what = call.args.get(1).copied().unwrap_or_default();
    match what {
        what if is_word(what, "SLEEP") && call.args.len() == 3 => {
            let seconds = redis_wire::number::parse_f64(call.args[2]).ok_or_else(not_float)?;
            let time = Duration::try_from_secs_f64(seconds).map_err(|_| not_float())?;
            let waited = call.host.wait_interruptible(pin!(std::future::pending()), Some(time));
            if let WaitEnd::Interrupted(interrupt) = waited {
                return Err(governor::Stop::Interrupt(interrupt).into());
            }
        }
        what if [
            "SET-ACTIVE-EXPIRE",
            "JMAP",
            "QUICKLIST-PACKED-THRESHOLD",
            "STRINGMATCH-LEN",
            "DICT-RESIZING",
        ]
        .iter()
        .any(|known| is_word(what, known)) => {}
        _ => return Err(Failure::reply("ERR DEBUG is not implemented, but for SLEEP")),
    }
    call.reply.ok();
    Ok(())
}
