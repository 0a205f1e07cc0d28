//! A line to an agent, whatever it is made of, from its first word to its end.

use std::collections::{HashMap, VecDeque};
use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use lab_results::{NodeSample, UnixMicros};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::agent::line::{read_json, read_line, write_json};
use crate::agent::protocol::{FromAgent, Hello, LONGEST_ANSWER, Numbered, Request, VERSION};
use crate::agent::{AgentOptions, notice_death, serve, token};
use crate::{Context, HostError, Reach, WatchPlan, watch};

const CONNECT_LIMIT: Duration = Duration::from_secs(20);
pub const SHORT: Duration = Duration::from_secs(10);
/// Lines before an agent's first one: a message of the day, an rc file that prints.
const MOST_GREETINGS: usize = 200;
const MOST_SAMPLES: usize = 100_000;
const CLOCK_ROUNDS: u32 = 15;

/// Requests may be made from several threads at once. Dropping it ends the line.
pub struct Link {
    name: String,
    writer: Mutex<Box<dyn Write + Send>>,
    next_id: AtomicU64,
    shared: Arc<Shared>,
    line: Line,
}

/// What ends with the link.
enum Line {
    Local(UnixStream),
    Tcp(TcpStream),
    Ssh(Mutex<Child>),
}

/// What ssh says on stderr may be read a moment after its stdout ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

type Answer = Result<Value, String>;

/// Gets everything that is said in a talk, and its end. It may hold the line up, but not for ever.
pub type Listener = Arc<dyn Fn(FromTalk) + Send + Sync>;

/// From the other end of a talk.
#[derive(Debug, Clone, PartialEq)]
pub enum FromTalk {
    Said(Value),
    /// Nothing more will come, and why.
    Over(String),
}

/// What the reading thread fills.
#[derive(Default)]
struct Shared {
    waiting: Mutex<HashMap<u64, mpsc::SyncSender<Answer>>>,
    samples: Mutex<VecDeque<NodeSample>>,
    /// Who listens to the talks with the node's services, by their numbers.
    talks: Mutex<HashMap<u64, Listener>>,
    gone: Mutex<Option<String>>,
    /// The node's clock minus ours.
    offset_us: AtomicI64,
    /// The end of what ssh said on stderr, and whether it may still say something.
    complaint: Mutex<String>,
    may_complain: AtomicBool,
}

impl Link {
    /// Connects and takes the node's clock offset.
    /// `options` are those of this machine's own agent.
    pub fn connect(name: &str, reach: &Reach, options: &AgentOptions) -> Result<Link, HostError> {
        let link = match reach {
            Reach::Local => Link::local(name, options.clone()),
            Reach::Ssh {
                destination,
                options,
                command,
            } => Link::ssh(name, destination, options, command),
            Reach::Agent { address, token } => Link::tcp(name, address, token),
        }?;
        link.clock_offset()?;
        Ok(link)
    }

    fn local(name: &str, options: AgentOptions) -> Result<Link, HostError> {
        let what = || format!("{name}: the agent of this machine");
        let (ours, theirs) = UnixStream::pair().context(what)?;
        let (reader, writer) = (theirs.try_clone().context(what)?, theirs);
        let agent = move || {
            // The line ends when the host is dropped; there is nobody left to tell.
            let _ = serve(reader, writer, &options);
        };
        thread::Builder::new()
            .name("lab-agent".to_owned())
            .spawn(agent)
            .context(what)?;
        let (reader, writer) = (ours.try_clone().context(what)?, ours.try_clone().context(what)?);
        Link::with(name, reader, writer, Line::Local(ours))
    }

    fn tcp(name: &str, address: &str, token: &str) -> Result<Link, HostError> {
        let what = || format!("{name}: connecting to the agent at {address}");
        let addresses = address.to_socket_addrs().context(what)?;
        let mut last = Err(std::io::Error::from(std::io::ErrorKind::NotFound)).context(what);
        for address in addresses {
            last = TcpStream::connect_timeout(&address, SHORT).context(what);
            if last.is_ok() {
                break;
            }
        }
        let stream = last?;
        notice_death(&stream).context(what)?;
        stream.set_nodelay(true).context(what)?;
        stream.set_read_timeout(Some(token::TIME_LIMIT)).context(what)?;
        stream.set_write_timeout(Some(CONNECT_LIMIT)).context(what)?;
        token::enter(&stream, token).map_err(|error| named(name, error))?;
        stream.set_read_timeout(None).context(what)?;
        let (reader, writer) = (stream.try_clone().context(what)?, stream.try_clone().context(what)?);
        Link::with(name, reader, writer, Line::Tcp(stream))
    }

    fn ssh(name: &str, destination: &str, options: &[String], command: &str) -> Result<Link, HostError> {
        if destination.starts_with('-') || destination.is_empty() {
            return Err(HostError::Refused {
                node: name.to_owned(),
                why: format!("{destination:?} is no ssh destination"),
            });
        }
        let what = || format!("{name}: ssh {destination}");
        let mut child = Command::new("ssh")
            // Nobody is there to be asked for a password, and a dead node must not hold the line for hours.
            .args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"])
            .args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"])
            .args(options)
            .args(["--", destination, command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C is for us, who then end what runs there in order.
            .process_group(0)
            .spawn()
            .context(what)?;
        let writer = child.stdin.take().expect("stdin is piped");
        let reader = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        let link = Link::over(name, writer, Line::Ssh(Mutex::new(child)));
        let shared = link.shared.clone();
        shared.may_complain.store(true, Ordering::Relaxed);
        thread::spawn(move || {
            keep_complaint(stderr, &shared);
            shared.may_complain.store(false, Ordering::Relaxed);
        });
        link.greeted(reader)
            .map_err(|error| advised(error, destination, command))
    }

    fn with(
        name: &str,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        line: Line,
    ) -> Result<Link, HostError> {
        Link::over(name, writer, line).greeted(reader)
    }

    fn over(name: &str, writer: impl Write + Send + 'static, line: Line) -> Link {
        Link {
            name: name.to_owned(),
            writer: Mutex::new(Box::new(writer)),
            next_id: AtomicU64::new(1),
            shared: Arc::default(),
            line,
        }
    }

    /// Waits for the agent's first line, then lets a thread read the rest.
    fn greeted(self, reader: impl Read + Send + 'static) -> Result<Link, HostError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let shared = self.shared.clone();
        let read = move || {
            let mut reader = BufReader::new(reader);
            let greeting = greeting(&mut reader);
            let welcome = greeting.is_ok();
            if sender.send(greeting).is_err() || !welcome {
                return;
            }
            let why = shared.read(&mut reader);
            shared.end(why);
        };
        thread::Builder::new()
            .name("lab-host".to_owned())
            .spawn(read)
            .context(|| self.name.clone())?;
        match receiver.recv_timeout(CONNECT_LIMIT) {
            Ok(Ok(())) => Ok(self),
            Ok(Err(why)) => Err(HostError::Protocol {
                node: self.name.clone(),
                why: self.with_complaint(&why),
            }),
            Err(_) => Err(HostError::TimedOut {
                node: self.name.clone(),
                what: self.with_complaint("the agent's first line"),
                after: CONNECT_LIMIT,
            }),
        }
    }

    /// Ends it as if the other end had.
    pub fn hang_up(&self) {
        self.shared.end("hung up".to_owned());
    }

    /// `false` once the line to the node has ended.
    pub fn alive(&self) -> bool {
        self.shared.gone.lock().expect("no holder panics").is_none()
    }

    /// The node's clock minus this machine's, and half the round trip it was taken over, in microseconds.
    /// The samples' times are put right by the last one taken.
    pub fn clock_offset(&self) -> Result<(i64, u64), HostError> {
        let mut best: Option<(i64, u64)> = None;
        for _ in 0..CLOCK_ROUNDS {
            let (asked, start) = (watch::now(), Instant::now());
            let theirs: UnixMicros = self.ask(Request::Time, SHORT)?;
            let half = start.elapsed().as_micros() as u64 / 2;
            let offset = theirs.0.cast_signed() - (asked.0 + half).cast_signed();
            // The shortest round trip leaves the least room for error.
            if best.is_none_or(|(_, best)| half < best) {
                best = Some((offset, half));
            }
        }
        let best = best.expect("there is at least one round");
        self.shared.offset_us.store(best.0, Ordering::Relaxed);
        Ok(best)
    }

    /// Starts (or restarts, with another plan) the stream of samples.
    pub fn watch(&self, plan: &WatchPlan) -> Result<(), HostError> {
        self.clock_offset()?;
        let request = Request::Watch {
            node: self.name.clone(),
            plan: plan.clone(),
        };
        self.ask(request, SHORT)
    }

    /// The samples that came since the last call (the last 100,000 of them), times by this machine's clock.
    pub fn take_samples(&self) -> Vec<NodeSample> {
        self.shared
            .samples
            .lock()
            .expect("no holder panics")
            .drain(..)
            .collect()
    }

    /// Begins a talk with a service of the node; `listener` is called by the thread that reads the line.
    pub fn talk(&self, service: &str, listener: Listener) -> Result<u64, HostError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        // Before it is asked for: the first word may come with the answer.
        self.shared.talks().insert(id, listener);
        let request = Request::Open {
            service: service.to_owned(),
        };
        let opened: Result<(), HostError> = self.ask_as(id, request, SHORT);
        if opened.is_err() {
            self.close(id);
        }
        opened.map(|()| id)
    }

    pub fn say(&self, talk: u64, said: Value) -> Result<(), HostError> {
        if !self.alive() {
            return Err(self.gone(""));
        }
        let request = Request::Say { talk, said };
        let sent = write_json(
            &mut *self.writer.lock().expect("no holder panics"),
            &Numbered { id: 0, request },
        );
        sent.map_err(|error| self.gone(&error.to_string()))
    }

    /// Nothing of it is heard any more.
    pub fn close(&self, talk: u64) {
        self.shared.talks().remove(&talk);
        let request = Request::Close { talk };
        // Whoever cannot be told any more has ended it.
        let _ = write_json(
            &mut *self.writer.lock().expect("no holder panics"),
            &Numbered { id: 0, request },
        );
    }

    pub fn ask<T: DeserializeOwned>(&self, request: Request, limit: Duration) -> Result<T, HostError> {
        self.ask_as(self.next_id.fetch_add(1, Ordering::Relaxed), request, limit)
    }

    fn ask_as<T: DeserializeOwned>(&self, id: u64, request: Request, limit: Duration) -> Result<T, HostError> {
        let what = request.what();
        let (sender, receiver) = mpsc::sync_channel(1);
        self.shared.waiting.lock().expect("no holder panics").insert(id, sender);
        let sent = {
            let mut writer = self.writer.lock().expect("no holder panics");
            write_json(&mut *writer, &Numbered { id, request })
        };
        // The reading thread may have ended before our entry was there for it to clear: then nobody will answer any more.
        let limit_now = if self.alive() { limit } else { Duration::ZERO };
        let answer = match sent.map(|()| receiver.recv_timeout(limit_now)) {
            Ok(Ok(Ok(value))) => serde_json::from_value(value).map_err(|error| HostError::Protocol {
                node: self.name.clone(),
                why: format!("{what}: {error}"),
            }),
            Ok(Ok(Err(why))) => Err(HostError::Refused {
                node: self.name.clone(),
                why,
            }),
            Ok(Err(RecvTimeoutError::Timeout)) if self.alive() => Err(HostError::TimedOut {
                node: self.name.clone(),
                what: what.to_owned(),
                after: limit,
            }),
            Ok(Err(_)) => Err(self.gone("")),
            Err(error) => Err(self.gone(&error.to_string())),
        };
        self.shared.waiting.lock().expect("no holder panics").remove(&id);
        answer
    }

    /// That the line has ended, and why; and that opening another failed.
    pub fn gone_and(&self, error: &HostError) -> HostError {
        self.gone_with(|why| format!("{why}; connecting again: {error}"))
    }

    /// That the line has ended, and why.
    pub fn gone(&self, otherwise: &str) -> HostError {
        self.gone_with(|why| {
            if why.is_empty() {
                otherwise.to_owned()
            } else {
                why.to_owned()
            }
        })
    }

    fn gone_with(&self, words: impl Fn(&str) -> String) -> HostError {
        let gone = self.shared.gone.lock().expect("no holder panics").clone();
        HostError::Gone {
            node: self.name.clone(),
            why: self.with_complaint(&words(&gone.unwrap_or_default())),
        }
    }

    fn with_complaint(&self, why: &str) -> String {
        let began = Instant::now();
        while self.shared.may_complain.load(Ordering::Relaxed) && began.elapsed() < LAST_WORDS {
            thread::sleep(Duration::from_millis(5));
        }
        let complaint = self.shared.complaint.lock().expect("no holder panics");
        match complaint.trim() {
            "" => why.to_owned(),
            complaint => format!("{why} ({complaint})"),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        match &self.line {
            Line::Local(stream) => {
                let _ = stream.shutdown(Shutdown::Both);
            }
            Line::Tcp(stream) => {
                let _ = stream.shutdown(Shutdown::Both);
            }
            Line::Ssh(child) => {
                // With its stdin closed the agent ends, and ssh after it; a line that hangs is cut.
                *self.writer.lock().expect("no holder panics") = Box::new(std::io::sink());
                let mut child = child.lock().expect("no holder panics");
                let began = Instant::now();
                while matches!(child.try_wait(), Ok(None)) && began.elapsed() < Duration::from_secs(2) {
                    thread::sleep(Duration::from_millis(10));
                }
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

impl Shared {
    /// Reads until the line ends; says why.
    fn read(&self, reader: &mut BufReader<impl Read>) -> String {
        loop {
            match read_json::<FromAgent>(reader, LONGEST_ANSWER) {
                Ok(Some(FromAgent::Ok { id, ok })) => self.answer(id, Ok(ok)),
                Ok(Some(FromAgent::Error { id, error })) => self.answer(id, Err(error)),
                Ok(Some(FromAgent::Sample { mut sample })) => {
                    let offset = self.offset_us.load(Ordering::Relaxed);
                    sample.at = sample.at.map(|at| UnixMicros(at.0.saturating_add_signed(-offset)));
                    let mut samples = self.samples.lock().expect("no holder panics");
                    if samples.len() == MOST_SAMPLES {
                        samples.pop_front();
                    }
                    samples.push_back(*sample);
                }
                Ok(Some(FromAgent::Said { talk, said })) => {
                    // Called without the lock: who listens may hold this thread up, and end talks meanwhile.
                    let listener = self.talks().get(&talk).cloned();
                    if let Some(listener) = listener {
                        listener(FromTalk::Said(said));
                    }
                }
                Ok(Some(FromAgent::Over { talk, over })) => {
                    let listener = self.talks().remove(&talk);
                    if let Some(listener) = listener {
                        listener(FromTalk::Over(over));
                    }
                }
                Ok(None) => return "the agent ended".to_owned(),
                Err(error) => return error.to_string(),
            }
        }
    }

    fn answer(&self, id: u64, answer: Answer) {
        let waiting = self.waiting.lock().expect("no holder panics").remove(&id);
        if let Some(sender) = waiting {
            // Whoever asked may have lost patience.
            let _ = sender.try_send(answer);
        }
    }

    fn end(&self, why: String) {
        *self.gone.lock().expect("no holder panics") = Some(why.clone());
        self.waiting.lock().expect("no holder panics").clear();
        let listeners = std::mem::take(&mut *self.talks());
        for listener in listeners.into_values() {
            listener(FromTalk::Over(format!("the connection ended: {why}")));
        }
    }

    fn talks(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Listener>> {
        self.talks.lock().expect("no holder panics")
    }
}

/// The host that `ssh` with these options would connect to for `destination`: an alias of its configuration, resolved by itself.
pub fn ssh_host_name(destination: &str, options: &[String]) -> Option<String> {
    if destination.starts_with('-') {
        return None;
    }
    let asked = Command::new("ssh")
        .arg("-G")
        .args(options)
        .args(["--", destination])
        .stdin(Stdio::null())
        .output();
    let said = String::from_utf8_lossy(&asked.ok()?.stdout).into_owned();
    let name = said.lines().find_map(|line| line.strip_prefix("hostname "));
    name.map(str::to_owned)
}

pub(crate) fn greeting(reader: &mut BufReader<impl Read>) -> Result<(), String> {
    for _ in 0..MOST_GREETINGS {
        let line = match read_line(reader, LONGEST_ANSWER) {
            Ok(Some(line)) => line,
            Ok(None) => return Err("the connection ended before the agent's first line".to_owned()),
            Err(error) => return Err(error.to_string()),
        };
        match serde_json::from_slice::<Hello>(&line) {
            Ok(hello) if hello.lab_agent == VERSION => return Ok(()),
            Ok(hello) => {
                return Err(format!(
                    "the agent there speaks version {}, this one {VERSION}: use the same latsdb on both",
                    hello.lab_agent
                ));
            }
            Err(_) => {}
        }
    }
    Err(format!("no agent's first line within {MOST_GREETINGS} lines"))
}

fn keep_complaint(mut stderr: impl Read, shared: &Shared) {
    let mut chunk = [0; 1024];
    while let Ok(read @ 1..) = stderr.read(&mut chunk) {
        let mut kept = shared.complaint.lock().expect("no holder panics");
        kept.push_str(&String::from_utf8_lossy(&chunk[..read]));
        let start = kept.len().saturating_sub(1000);
        *kept = kept
            .chars()
            .skip(kept[..kept.floor_char_boundary(start)].chars().count())
            .collect();
    }
}

/// What ssh said, with what to do about it.
fn advised(error: HostError, destination: &str, command: &str) -> HostError {
    match error {
        HostError::Protocol { node, why } => HostError::Protocol {
            node,
            why: match remedy(&why) {
                Some(remedy) => format!("{why}: {}", remedy.replace("DESTINATION", destination)),
                None => why,
            },
        },
        HostError::TimedOut { node, what, after } => HostError::TimedOut {
            node,
            what: format!("{what}, which `ssh {destination} {command}` should bring"),
            after,
        },
        error => error,
    }
}

/// By what the complaint holds, the surest first.
const REMEDIES: &[(&str, &str)] = &[
    ("HOST IDENTIFICATION HAS CHANGED", UNKNOWN_KEY),
    ("Host key verification failed", UNKNOWN_KEY),
    (
        "Permission denied",
        "nobody is asked for a password: give it a key (`ssh-copy-id DESTINATION`), or one that ssh-agent holds",
    ),
    ("unexpected argument", OTHER_VERSION),
    ("unrecognized subcommand", OTHER_VERSION),
    ("not found", NO_PROGRAM),
    ("No such file or directory", NO_PROGRAM),
    ("Could not resolve", UNREACHABLE),
    ("onnection refused", UNREACHABLE),
    ("timed out", UNREACHABLE),
    ("No route to host", UNREACHABLE),
];
const UNKNOWN_KEY: &str =
    "connect by hand once (`ssh DESTINATION`) and look whether the key that it shows is the right one";
const OTHER_VERSION: &str = "another version is installed there: use the same latsdb on both sides";
const NO_PROGRAM: &str = "install latsdb there, or say in `agent_command` where it is";
const UNREACHABLE: &str = "is it up, and are the name and the port right? `ssh DESTINATION` by hand shows the same";

fn remedy(complaint: &str) -> Option<&'static str> {
    let known = REMEDIES.iter().find(|(said, _)| complaint.contains(said));
    known.map(|(_, remedy)| *remedy)
}

fn named(name: &str, error: HostError) -> HostError {
    match error {
        HostError::Refused { why, .. } => HostError::Refused {
            node: name.to_owned(),
            why,
        },
        HostError::Io { what, source } => HostError::Io {
            what: format!("{name}: {what}"),
            source,
        },
        other => other,
    }
}
