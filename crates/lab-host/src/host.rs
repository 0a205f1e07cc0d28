//! A node as the coordinator holds it, wherever it is: a line to its agent, whatever the line is made of.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use lab_results::host::NetworkProbe;
use lab_results::{NodeProbes, NodeSample, UnixMicros};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::line::{read_json, read_line, write_json};
use crate::agent::protocol::{FromAgent, Hello, LONGEST_ANSWER, Numbered, Request, VERSION};
use crate::agent::{AgentOptions, serve, token};
use crate::probe::network::{Door, Width};
use crate::{Context, HostError, ProbePlan, WatchPlan, watch};

const CONNECT_LIMIT: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_secs(10);
/// Lines before an agent's first one: a message of the day, an rc file that prints.
const MOST_GREETINGS: usize = 200;
const MOST_SAMPLES: usize = 100_000;
const CLOCK_ROUNDS: u32 = 15;
/// Of all pairs together.
const BANDWIDTH_TIME: Duration = Duration::from_secs(40);

/// How a node is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// This machine, this process.
    Local,
    /// `ssh destination command`, with the system's ssh and its configuration; `command` starts the agent there,
    /// usually `latsdb lab agent --stdio`.
    Ssh {
        destination: String,
        options: Vec<String>,
        command: String,
    },
    /// `latsdb lab agent --listen` at `host:port`.
    Agent { address: String, token: String },
}

/// A node with the line to its agent. Requests may be made from several threads at once. Dropping it ends the line.
pub struct Host {
    name: String,
    writer: Mutex<Box<dyn Write + Send>>,
    next_id: AtomicU64,
    shared: Arc<Shared>,
    line: Line,
}

/// What ends with the host.
enum Line {
    Local(UnixStream),
    Tcp(TcpStream),
    Ssh(Mutex<Child>),
}

/// What ssh says on stderr may be read a moment after its stdout ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

type Answer = Result<Value, String>;

/// What the reading thread fills.
#[derive(Default)]
struct Shared {
    waiting: Mutex<HashMap<u64, mpsc::SyncSender<Answer>>>,
    samples: Mutex<VecDeque<NodeSample>>,
    gone: Mutex<Option<String>>,
    /// The node's clock minus ours.
    offset_us: AtomicI64,
    /// The end of what ssh said on stderr, and whether it may still say something.
    complaint: Mutex<String>,
    may_complain: AtomicBool,
}

/// What a command on a node did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// Exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// The last 64 KiB of each.
    pub stdout: String,
    pub stderr: String,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Host {
    /// Connects and takes the node's clock offset.
    pub fn connect(name: &str, reach: &Reach) -> Result<Host, HostError> {
        let host = match reach {
            Reach::Local => Host::local(name),
            Reach::Ssh {
                destination,
                options,
                command,
            } => Host::ssh(name, destination, options, command),
            Reach::Agent { address, token } => Host::tcp(name, address, token),
        }?;
        host.clock_offset()?;
        Ok(host)
    }

    fn local(name: &str) -> Result<Host, HostError> {
        let what = || format!("{name}: the agent of this machine");
        let (ours, theirs) = UnixStream::pair().context(what)?;
        let (reader, writer) = (theirs.try_clone().context(what)?, theirs);
        let options = AgentOptions {
            allow_commands: true,
            cgroup: None,
        };
        let agent = move || {
            // The line ends when the host is dropped; there is nobody left to tell.
            let _ = serve(reader, writer, &options);
        };
        thread::Builder::new()
            .name("lab-agent".to_owned())
            .spawn(agent)
            .context(what)?;
        let (reader, writer) = (ours.try_clone().context(what)?, ours.try_clone().context(what)?);
        Host::with(name, reader, writer, Line::Local(ours))
    }

    fn tcp(name: &str, address: &str, token: &str) -> Result<Host, HostError> {
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
        stream.set_nodelay(true).context(what)?;
        stream.set_read_timeout(Some(token::TIME_LIMIT)).context(what)?;
        stream.set_write_timeout(Some(CONNECT_LIMIT)).context(what)?;
        token::enter(&stream, token).map_err(|error| named(name, error))?;
        stream.set_read_timeout(None).context(what)?;
        let (reader, writer) = (stream.try_clone().context(what)?, stream.try_clone().context(what)?);
        Host::with(name, reader, writer, Line::Tcp(stream))
    }

    fn ssh(name: &str, destination: &str, options: &[String], command: &str) -> Result<Host, HostError> {
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
            .spawn()
            .context(what)?;
        let writer = child.stdin.take().expect("stdin is piped");
        let reader = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        let host = Host::over(name, writer, Line::Ssh(Mutex::new(child)));
        let shared = host.shared.clone();
        shared.may_complain.store(true, Ordering::Relaxed);
        thread::spawn(move || {
            keep_complaint(stderr, &shared);
            shared.may_complain.store(false, Ordering::Relaxed);
        });
        host.greeted(reader)
    }

    fn with(
        name: &str,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        line: Line,
    ) -> Result<Host, HostError> {
        Host::over(name, writer, line).greeted(reader)
    }

    fn over(name: &str, writer: impl Write + Send + 'static, line: Line) -> Host {
        Host {
            name: name.to_owned(),
            writer: Mutex::new(Box::new(writer)),
            next_id: AtomicU64::new(1),
            shared: Arc::default(),
            line,
        }
    }

    /// Waits for the agent's first line, then lets a thread read the rest.
    fn greeted(self, reader: impl Read + Send + 'static) -> Result<Host, HostError> {
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

    pub fn name(&self) -> &str {
        &self.name
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

    /// Probes the node; what fails is named in `problems`. Takes up to a minute, two with cross-checks.
    pub fn probe(&self, plan: &ProbePlan) -> Result<NodeProbes, HostError> {
        let offset = self.clock_offset()?;
        let limit = Duration::from_secs(if plan.cross_checks { 300 } else { 120 });
        let request = Request::Probe {
            node: self.name.clone(),
            plan: plan.clone(),
        };
        let mut probes: NodeProbes = self.ask(request, limit)?;
        probes.clock_offset_us = Some(offset);
        Ok(probes)
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

    /// Runs `command` with the node's `sh -c`, to its end or for `limit` (10 minutes at most).
    pub fn run(&self, command: &str, limit: Duration) -> Result<CommandOutput, HostError> {
        let request = Request::Run {
            command: command.to_owned(),
            limit_ms: limit.as_millis() as u64,
        };
        self.ask(request, limit + SHORT)
    }

    /// Opens a listener for network probes on the node, which its other nodes reach at `address`.
    pub fn network_listener(&self, address: &str) -> Result<Door, HostError> {
        let bind = match address.parse::<IpAddr>() {
            Ok(IpAddr::V6(_)) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
            _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        };
        let mut door: Door = self.ask(Request::Listen { bind }, SHORT)?;
        // The agent gives `:port`.
        door.address = match address.contains(':') && !address.starts_with('[') {
            true => format!("[{address}]{}", door.address),
            false => format!("{address}{}", door.address),
        };
        Ok(door)
    }

    /// Measures the network from this node to the one behind `door`.
    pub fn network_probe(&self, door: &Door, width: Width) -> Result<NetworkProbe, HostError> {
        let limit = Duration::from_secs_f64(40.0 + width.seconds.clamp(0.0, 60.0));
        let request = Request::NetworkProbe {
            door: door.clone(),
            width,
        };
        self.ask(request, limit)
    }

    fn ask<T: DeserializeOwned>(&self, request: Request, limit: Duration) -> Result<T, HostError> {
        let what = request.what();
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
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

    fn gone(&self, otherwise: &str) -> HostError {
        let gone = self.shared.gone.lock().expect("no holder panics").clone();
        HostError::Gone {
            node: self.name.clone(),
            why: self.with_complaint(&gone.unwrap_or_else(|| otherwise.to_owned())),
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

impl Drop for Host {
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
        *self.gone.lock().expect("no holder panics") = Some(why);
        self.waiting.lock().expect("no holder panics").clear();
    }
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

/// Probes the network between every two of `hosts`, each way, one pair at a time. `addresses`: node name → the address at
/// which the other nodes reach it. The result: from node → to node → probe; and what could not be probed.
pub fn probe_pairs(
    hosts: &[&Host],
    addresses: &BTreeMap<String, String>,
) -> (BTreeMap<String, BTreeMap<String, NetworkProbe>>, Vec<String>) {
    // Many nodes have very many pairs: each gets less of the time then.
    let pairs = (hosts.len() * hosts.len().saturating_sub(1)).max(1);
    let width = Width::default();
    let seconds = (BANDWIDTH_TIME.as_secs_f64() / pairs as f64).clamp(0.3, width.seconds);
    probe_pairs_for(hosts, addresses, Width { seconds, ..width })
}

/// [`probe_pairs`] with so many streams for so long: 20 s show what a cloud gives when its credit for bursts is spent.
pub fn probe_pairs_for(
    hosts: &[&Host],
    addresses: &BTreeMap<String, String>,
    width: Width,
) -> (BTreeMap<String, BTreeMap<String, NetworkProbe>>, Vec<String>) {
    let mut probes: BTreeMap<String, BTreeMap<String, NetworkProbe>> = BTreeMap::new();
    let mut problems = Vec::new();
    for to in hosts {
        let Some(address) = addresses.get(to.name()) else {
            problems.push(format!("network to {}: no address is known", to.name()));
            continue;
        };
        for from in hosts.iter().filter(|from| from.name() != to.name()) {
            let probe = to
                .network_listener(address)
                .and_then(|door| from.network_probe(&door, width));
            match probe {
                Ok(probe) => {
                    let of_node = probes.entry(from.name().to_owned()).or_default();
                    of_node.insert(to.name().to_owned(), probe);
                }
                Err(error) => problems.push(format!("network from {} to {}: {error}", from.name(), to.name())),
            }
        }
    }
    (probes, problems)
}
