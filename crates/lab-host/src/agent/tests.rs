use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Instant;

use super::*;
use crate::host::probe_pairs_for;
use crate::probe::network::Width;
use crate::{Host, ProbePlan, Reach, WatchPlan};

const TOKEN: &str = "sixteen characters and more";
const LIMIT: Duration = Duration::from_secs(30);

fn agent(options: AgentOptions) -> SocketAddr {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || serve_tcp("127.0.0.1:0", TOKEN, &options, |address| sender.send(address).unwrap()));
    receiver.recv_timeout(LIMIT).unwrap()
}

fn reach(address: SocketAddr, token: &str) -> Reach {
    Reach::Agent {
        address: address.to_string(),
        token: token.to_owned(),
    }
}

fn wait_for_samples(host: &Host, count: usize) -> Vec<lab_results::NodeSample> {
    let began = Instant::now();
    let mut samples = Vec::new();
    while samples.len() < count {
        assert!(began.elapsed() < LIMIT, "{} samples only", samples.len());
        samples.extend(host.take_samples());
        thread::sleep(Duration::from_millis(10));
    }
    samples
}

/// The same requests over any line give the same.
fn does_everything(host: &Host) {
    let (offset, half) = host.clock_offset().unwrap();
    assert!(offset.unsigned_abs() <= half + 2_000, "one clock: {offset} ± {half}");

    let plan = WatchPlan {
        interval_ms: 100,
        ..WatchPlan::default()
    };
    host.watch(&plan).unwrap();
    let samples = wait_for_samples(host, 3);
    assert!(samples.windows(2).all(|pair| pair[0].at < pair[1].at));
    assert!(samples.iter().all(|sample| sample.node == host.name()));

    let plan = ProbePlan {
        memory: false,
        wakeup: false,
        network: false,
        stalls_s: 0.05,
        ..ProbePlan::default()
    };
    let probes = host.probe(&plan).unwrap();
    assert_eq!(probes.node, host.name());
    assert!(probes.cpu.unwrap().events_per_s > 0.0);
    assert!(probes.clock_offset_us.is_some());

    let output = host.run("echo $((6 * 7))", LIMIT).unwrap();
    assert_eq!(output.stdout, "42\n");
    let error = host.run("sleep 60", Duration::from_millis(50)).unwrap_err();
    assert!(error.to_string().contains("limit"), "{error}");
}

#[test]
fn this_machine_is_a_host() {
    does_everything(&Host::connect("here", &Reach::Local).unwrap());
}

#[test]
fn an_agent_over_tcp_is_a_host() {
    let address = agent(AgentOptions {
        allow_commands: true,
        ..AgentOptions::default()
    });
    does_everything(&Host::connect("there", &reach(address, TOKEN)).unwrap());
}

#[test]
fn a_wrong_token_opens_nothing() {
    let address = agent(AgentOptions::default());
    let error = Host::connect("there", &reach(address, "another token, as long")).unwrap_err();
    assert!(error.to_string().contains("token"), "{error}");

    // Without any proof: the challenge, and no answer to a request.
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    line::read_line(&mut reader, 1024).unwrap().unwrap();
    stream.write_all(b"{\"id\":1,\"do\":\"time\"}\n").unwrap();
    let mut rest = Vec::new();
    let _ = reader.read_to_end(&mut rest);
    assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
}

#[test]
fn a_short_token_is_refused() {
    let error = serve_tcp("127.0.0.1:0", "short", &AgentOptions::default(), |_| {}).unwrap_err();
    assert!(error.to_string().contains("16 characters"), "{error}");
}

#[test]
fn commands_are_refused_unless_allowed() {
    let address = agent(AgentOptions::default());
    let host = Host::connect("there", &reach(address, TOKEN)).unwrap();
    let error = host.run("echo", LIMIT).unwrap_err();
    assert!(error.to_string().contains("--allow-commands"), "{error}");
}

#[test]
fn a_group_that_is_not_there_is_an_answer() {
    let host = Host::connect("here", &Reach::Local).unwrap();
    let plan = WatchPlan {
        cgroup: Some("/lab/no-such-group".to_owned()),
        ..WatchPlan::default()
    };
    let error = host.watch(&plan).unwrap_err();
    assert!(error.to_string().contains("/lab/no-such-group"), "{error}");
    assert!(host.alive());
}

#[test]
fn an_endless_line_ends_the_connection() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let agent = thread::spawn(move || serve(theirs.try_clone().unwrap(), theirs, &AgentOptions::default()));
    let mut writer = ours.try_clone().unwrap();
    // The agent may hang up before it has taken everything.
    let _ = writer.write_all(&vec![b'x'; protocol::LONGEST_REQUEST + 1]);
    let error = agent.join().unwrap().unwrap_err();
    assert!(error.to_string().contains("bytes"), "{error}");
}

/// An agent that serves one connection at a time, and ends it when it is told to.
struct Mortal {
    address: SocketAddr,
    end: mpsc::Sender<()>,
}

fn mortal(lives: usize) -> Mortal {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (end, ended) = mpsc::channel();
    thread::spawn(move || {
        for _ in 0..lives {
            let (stream, _) = listener.accept().unwrap();
            let kept = stream.try_clone().unwrap();
            thread::spawn(move || {
                serve_connection(
                    stream,
                    TOKEN,
                    &AgentOptions {
                        allow_commands: true,
                        ..AgentOptions::default()
                    },
                )
            });
            if ended.recv().is_err() {
                return;
            }
            kept.shutdown(std::net::Shutdown::Both).unwrap();
        }
    });
    Mortal { address, end }
}

fn wait_until(what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < LIMIT);
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_host_whose_agent_ends_says_so_at_once() {
    let agent = mortal(1);
    let host = Host::connect("there", &reach(agent.address, TOKEN)).unwrap();
    assert!(host.alive());
    agent.end.send(()).unwrap();
    wait_until(|| !host.alive());
    for _ in 0..2 {
        let began = Instant::now();
        let error = host.run("echo", LIMIT).unwrap_err();
        assert!(matches!(error, HostError::Gone { .. }), "{error}");
        assert!(began.elapsed() < LIMIT);
    }
}

#[test]
fn a_broken_line_is_opened_again_and_the_samples_go_on() {
    let agent = mortal(3);
    let host = Host::connect("there", &reach(agent.address, TOKEN)).unwrap();
    let plan = WatchPlan {
        interval_ms: 100,
        ..WatchPlan::default()
    };
    host.watch(&plan).unwrap();
    wait_for_samples(&host, 2);

    // By the next request.
    agent.end.send(()).unwrap();
    wait_until(|| !host.alive());
    assert_eq!(host.run("echo again", LIMIT).unwrap().stdout, "again\n");
    wait_for_samples(&host, 2);

    // By whoever waits for samples.
    agent.end.send(()).unwrap();
    wait_until(|| !host.alive());
    host.take_samples();
    wait_for_samples(&host, 2);
    assert!(host.alive());
}

#[test]
fn a_command_killed_by_a_signal_has_no_status() {
    let host = Host::connect("here", &Reach::Local).unwrap();
    assert_eq!(host.run("kill -9 $$", LIMIT).unwrap().status, None);
}

#[test]
fn pairs_are_probed_each_way() {
    let one = Host::connect("one", &Reach::Local).unwrap();
    let other = Host::connect("other", &Reach::Local).unwrap();
    let addresses = BTreeMap::from([
        ("one".to_owned(), "127.0.0.1".to_owned()),
        ("other".to_owned(), "localhost".to_owned()),
    ]);
    let width = Width {
        streams: 1,
        seconds: 0.1,
    };
    let (probes, problems) = probe_pairs_for(&[&one, &other], &addresses, width);
    assert!(problems.is_empty(), "{problems:?}");
    assert!(probes["one"]["other"].bytes_per_s > 0.0);
    assert!(probes["other"]["one"].round_trips[&120].count() > 0);
}

/// A stand-in for ssh's other end: a shell that greets first, as login shells do.
#[test]
fn what_comes_before_the_first_line_is_skipped() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut greeting = theirs.try_clone().unwrap();
    greeting.write_all(b"Welcome!\n{\"motd\":1}\n").unwrap();
    thread::spawn(move || serve(theirs.try_clone().unwrap(), theirs, &AgentOptions::default()));
    let mut reader = BufReader::new(ours);
    assert!(crate::link::greeting(&mut reader).is_ok());
}

/// Says again what it hears; ends the talk at the word `end`, and does not listen at all after `sleep`.
#[derive(Debug)]
struct Echo;

impl Service for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn serve(&self, talk: &Talk<'_>) {
        while let Heard::Said(said) = talk.hear(LIMIT) {
            match said.as_str() {
                Some("end") => return,
                Some("sleep") => thread::sleep(LIMIT),
                _ => talk.say(&said).unwrap(),
            }
        }
    }
}

fn with_echo() -> AgentOptions {
    AgentOptions {
        services: vec![Arc::new(Echo)],
        ..AgentOptions::default()
    }
}

/// Talks to `echo` on `host`, and what comes of it.
fn talk(host: &Host) -> (crate::Conversation, mpsc::Receiver<crate::FromTalk>) {
    let (sender, receiver) = mpsc::channel();
    let conversation = host.talk("echo", move |said| sender.send(said).unwrap_or(())).unwrap();
    (conversation, receiver)
}

fn echoes(receiver: &mpsc::Receiver<crate::FromTalk>) -> serde_json::Value {
    match receiver.recv_timeout(LIMIT).unwrap() {
        crate::FromTalk::Said(said) => said,
        crate::FromTalk::Over(why) => panic!("{why}"),
    }
}

fn end(receiver: &mpsc::Receiver<crate::FromTalk>) -> String {
    loop {
        if let crate::FromTalk::Over(why) = receiver.recv_timeout(LIMIT).unwrap() {
            return why;
        }
    }
}

#[test]
fn talks_keep_their_order_and_do_not_mix() {
    let host = Host::connect("there", &reach(agent(with_echo()), TOKEN)).unwrap();
    let (one, from_one) = talk(&host);
    let (other, from_other) = talk(&host);
    for number in 0..100 {
        one.say(&number).unwrap();
        other.say(&format!("other {number}")).unwrap();
    }
    for number in 0..100 {
        assert_eq!(echoes(&from_one), number);
        assert_eq!(echoes(&from_other), format!("other {number}"));
    }
    one.say(&"end").unwrap();
    assert!(end(&from_one).contains("ended"));
    // The other talk, and the line, go on.
    other.say(&"still here").unwrap();
    assert_eq!(echoes(&from_other), "still here");
    host.clock_offset().unwrap();
}

#[test]
fn an_agent_says_which_service_it_lacks() {
    let host = Host::connect("there", &reach(agent(AgentOptions::default()), TOKEN)).unwrap();
    let error = host.talk("echo", |_| {}).err().unwrap().to_string();
    assert!(error.contains("no service `echo`"), "{error}");
    assert!(host.alive());
}

#[test]
fn a_service_that_does_not_listen_is_cut_off_and_takes_no_memory() {
    let host = Host::connect("there", &reach(agent(with_echo()), TOKEN)).unwrap();
    let (conversation, heard) = talk(&host);
    conversation.say(&"sleep").unwrap();
    for number in 0..1000 {
        conversation.say(&number).unwrap();
    }
    assert!(end(&heard).contains("did not listen"));
    assert!(host.alive());
}

#[test]
fn a_talk_ends_with_its_line() {
    let host = Host::connect_with("here", &Reach::Local, vec![Arc::new(Echo)]).unwrap();
    let (conversation, heard) = talk(&host);
    conversation.say(&1).unwrap();
    assert_eq!(echoes(&heard), 1);
    host.hang_up();
    assert!(end(&heard).contains("connection ended"));
    assert!(conversation.say(&2).is_err());
}

#[test]
fn more_talks_than_a_line_may_have_are_refused() {
    let host = Host::connect_with("here", &Reach::Local, vec![Arc::new(Echo)]).unwrap();
    let mut talks = Vec::new();
    let error = loop {
        match host.talk("echo", |_| {}) {
            Ok(talk) => talks.push(talk),
            Err(error) => break error.to_string(),
        }
    };
    assert!(talks.len() >= 4 && error.contains("under way"), "{error}");
    drop(talks);
    wait_until(|| host.talk("echo", |_| {}).is_ok());
}

#[test]
fn an_agents_clock_may_be_off_and_its_samples_are_put_right() {
    let ahead = AgentOptions {
        clock: Clock {
            ahead_us: 5_000_000_000,
        },
        ..AgentOptions::default()
    };
    let host = Host::connect("there", &reach(agent(ahead), TOKEN)).unwrap();
    let (offset, half) = host.clock_offset().unwrap();
    assert!(
        (offset - 5_000_000_000).unsigned_abs() <= half + 2_000,
        "{offset} ± {half}"
    );
    let plan = WatchPlan {
        interval_ms: 100,
        ..WatchPlan::default()
    };
    host.watch(&plan).unwrap();
    let now = crate::watch::now().0;
    let at = wait_for_samples(&host, 1)[0].at.unwrap().0;
    assert!(at.abs_diff(now) < 60_000_000, "{at} {now}");
}
