//! One line to a coordinator, from its first byte to its last.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::line::{read_json, write_json};
use super::protocol::{FromAgent, Hello, LONGEST_ANSWER, LONGEST_REQUEST, Numbered, Request, VERSION};
use super::service::Talk;
use super::{AgentOptions, command};
use crate::probe::network::{self, Listener};
use crate::probe::probe;
use crate::watch::Watcher;
use crate::{Context, HostError};

const MOST_REQUESTS: u32 = 8;
const MOST_LISTENERS: usize = 4;
const MOST_TALKS: usize = 8;
/// What a service has not heard yet; one that does not listen is cut off.
const MOST_UNHEARD: usize = 256;
const LONGEST_COMMAND: Duration = Duration::from_secs(600);

struct Line<W> {
    options: AgentOptions,
    writer: Mutex<W>,
    ended: AtomicBool,
    under_way: AtomicU32,
    /// Counts up with each watch: an older one sees it and ends.
    watches: AtomicU64,
    listeners: Mutex<Vec<Listener>>,
    /// To the services, by the numbers of their talks. Dropping one ends its talk.
    talks: Mutex<HashMap<u64, SyncSender<Value>>>,
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
        talks: Mutex::new(HashMap::new()),
    });
    let result = line.serve(reader);
    line.ended.store(true, Ordering::Relaxed);
    line.talks().clear();
    result
}

impl<W: Write + Send + 'static> Line<W> {
    fn serve(self: &Arc<Self>, reader: impl Read) -> Result<(), HostError> {
        let what = || "the line to the coordinator".to_owned();
        self.write(&Hello { lab_agent: VERSION }).context(what)?;
        let mut reader = BufReader::new(reader);
        while let Some(Numbered { id, request }) = read_json(&mut reader, LONGEST_REQUEST).context(what)? {
            let request = match request {
                // In the order in which they came, so not on threads of their own.
                Request::Open { service } => {
                    let opened = self.open(id, &service);
                    self.answer(id, opened);
                    continue;
                }
                Request::Say { talk, said } => {
                    self.said(talk, said);
                    continue;
                }
                Request::Close { talk } => {
                    self.talks().remove(&talk);
                    continue;
                }
                other => other,
            };
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
            Request::Time => Ok(json!(self.options.clock.now())),
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
            Request::Open { .. } | Request::Say { .. } | Request::Close { .. } => Err("out of its turn".to_owned()),
        }
    }

    fn talks(&self) -> std::sync::MutexGuard<'_, HashMap<u64, SyncSender<Value>>> {
        self.talks.lock().expect("no holder panics")
    }

    fn open(self: &Arc<Self>, number: u64, name: &str) -> Result<Value, String> {
        let service = self.options.services.iter().find(|service| service.name() == name);
        let Some(service) = service.cloned() else {
            return Err(format!(
                "this agent has no service `{name}`: start it with `latsdb lab agent`"
            ));
        };
        let (sender, inbox) = mpsc::sync_channel(MOST_UNHEARD);
        let mut talks = self.talks();
        if talks.len() >= MOST_TALKS {
            return Err(format!("{MOST_TALKS} talks are under way already"));
        }
        let line = self.clone();
        let serve = move || {
            let say = |said| line.say(number, said);
            service.serve(&Talk {
                inbox: Mutex::new(inbox),
                say: &say,
                clock: line.options.clock,
            });
            line.over(number, "the service ended it");
        };
        thread::Builder::new()
            .name(format!("lab-{name}"))
            .spawn(serve)
            .map_err(|error| error.to_string())?;
        talks.insert(number, sender);
        Ok(Value::Null)
    }

    fn say(&self, talk: u64, said: Value) -> io::Result<()> {
        let mut line = serde_json::to_vec(&FromAgent::Said { talk, said })?;
        if line.len() >= LONGEST_ANSWER {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "longer than a line may be"));
        }
        line.push(b'\n');
        let mut writer = self.writer.lock().expect("no holder panics");
        writer.write_all(&line)?;
        writer.flush()
    }

    fn said(&self, talk: u64, said: Value) {
        let mut talks = self.talks();
        let full = match talks.get(&talk).map(|service| service.try_send(said)) {
            // A talk that is over: what was still said of it crossed its end.
            None | Some(Ok(())) => return,
            Some(Err(TrySendError::Full(_))) => true,
            Some(Err(TrySendError::Disconnected(_))) => false,
        };
        talks.remove(&talk);
        drop(talks);
        if full {
            self.over(talk, "the service did not listen");
        }
    }

    fn over(&self, talk: u64, why: &str) {
        self.talks().remove(&talk);
        let over = why.to_owned();
        if self.write(&FromAgent::Over { talk, over }).is_err() {
            self.ended.store(true, Ordering::Relaxed);
        }
    }

    fn stream(&self, mut watcher: Watcher, number: u64) {
        loop {
            let mut sample = Box::new(watcher.next_sample());
            sample.at = sample.at.map(|at| self.options.clock.of(at));
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
