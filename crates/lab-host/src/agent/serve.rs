//! One line to a coordinator, from its first byte to its last.

use std::io::{BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::line::{read_json, write_json};
use super::protocol::{FromAgent, Hello, LONGEST_REQUEST, Numbered, Request, VERSION};
use super::{AgentOptions, command};
use crate::probe::network::{self, Listener};
use crate::probe::probe;
use crate::watch::{self, Watcher};
use crate::{Context, HostError};

const MOST_REQUESTS: u32 = 8;
const MOST_LISTENERS: usize = 4;
const LONGEST_COMMAND: Duration = Duration::from_secs(600);

struct Line<W> {
    options: AgentOptions,
    writer: Mutex<W>,
    ended: AtomicBool,
    under_way: AtomicU32,
    /// Counts up with each watch: an older one sees it and ends.
    watches: AtomicU64,
    listeners: Mutex<Vec<Listener>>,
}

/// Serves requests until the coordinator closes its end.
pub(crate) fn serve(
    reader: impl Read,
    writer: impl Write + Send + 'static,
    options: &AgentOptions,
) -> Result<(), HostError> {
    let line = Arc::new(Line {
        options: options.clone(),
        writer: Mutex::new(writer),
        ended: AtomicBool::new(false),
        under_way: AtomicU32::new(0),
        watches: AtomicU64::new(0),
        listeners: Mutex::new(Vec::new()),
    });
    let result = line.serve(reader);
    line.ended.store(true, Ordering::Relaxed);
    result
}

impl<W: Write + Send + 'static> Line<W> {
    fn serve(self: &Arc<Self>, reader: impl Read) -> Result<(), HostError> {
        let what = || "the line to the coordinator".to_owned();
        self.write(&Hello { lab_agent: VERSION }).context(what)?;
        let mut reader = BufReader::new(reader);
        while let Some(Numbered { id, request }) = read_json(&mut reader, LONGEST_REQUEST).context(what)? {
            if self.under_way.fetch_add(1, Ordering::Relaxed) >= MOST_REQUESTS {
                self.under_way.fetch_sub(1, Ordering::Relaxed);
                self.answer(id, Err(format!("{MOST_REQUESTS} requests are under way already")));
                continue;
            }
            let line = self.clone();
            let answer = move || {
                let answer = line.fulfil(request);
                line.under_way.fetch_sub(1, Ordering::Relaxed);
                line.answer(id, answer);
            };
            if let Err(error) = thread::Builder::new().name("lab-agent".to_owned()).spawn(answer) {
                self.under_way.fetch_sub(1, Ordering::Relaxed);
                self.answer(id, Err(error.to_string()));
            }
        }
        Ok(())
    }

    fn write(&self, value: &impl serde::Serialize) -> std::io::Result<()> {
        write_json(&mut *self.writer.lock().expect("no holder panics"), value)
    }

    fn answer(&self, id: u64, answer: Result<Value, String>) {
        let answer = match answer {
            Ok(ok) => FromAgent::Ok { id, ok },
            Err(error) => FromAgent::Error { id, error },
        };
        if self.write(&answer).is_err() {
            self.ended.store(true, Ordering::Relaxed);
        }
    }

    fn fulfil(self: &Arc<Self>, request: Request) -> Result<Value, String> {
        match request {
            Request::Time => Ok(json!(watch::now())),
            Request::Probe { node, plan } => value(&probe(&node, &plan)),
            Request::Watch { node, mut plan } => {
                if plan.cgroup.is_none() {
                    plan.cgroup.clone_from(&self.options.cgroup);
                }
                let watcher = Watcher::new(&node, &plan).map_err(|error| error.to_string())?;
                let number = self.watches.fetch_add(1, Ordering::Relaxed) + 1;
                let line = self.clone();
                thread::Builder::new()
                    .name("lab-watch".to_owned())
                    .spawn(move || line.stream(watcher, number))
                    .map_err(|error| error.to_string())?;
                Ok(Value::Null)
            }
            Request::Listen { bind } => {
                let listener = Listener::start(bind).map_err(|error| error.to_string())?;
                let door = listener.door("");
                let mut listeners = self.listeners.lock().expect("no holder panics");
                if listeners.len() == MOST_LISTENERS {
                    listeners.remove(0);
                }
                listeners.push(listener);
                value(&door)
            }
            Request::NetworkProbe { door, width } => {
                let probe = network::probe(&door, width);
                value(&probe.map_err(|error| format!("{}: {error}", door.address))?)
            }
            Request::Run { command, limit_ms } => {
                if !self.options.allow_commands {
                    return Err(
                        "this agent runs no commands: start it with --allow-commands, or reach it over ssh".to_owned(),
                    );
                }
                let limit = Duration::from_millis(limit_ms).min(LONGEST_COMMAND);
                value(&command::run(&command, limit)?)
            }
        }
    }

    fn stream(&self, mut watcher: Watcher, number: u64) {
        loop {
            let sample = Box::new(watcher.next_sample());
            if self.ended.load(Ordering::Relaxed) || self.watches.load(Ordering::Relaxed) != number {
                return;
            }
            // A coordinator that does not read holds this thread up, and no memory; the next sample covers the whole gap.
            if self.write(&FromAgent::Sample { sample }).is_err() {
                return;
            }
        }
    }
}

fn value(value: &impl serde::Serialize) -> Result<Value, String> {
    serde_json::to_value(value).map_err(|error| error.to_string())
}
