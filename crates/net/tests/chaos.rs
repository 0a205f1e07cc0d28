//! Three nodes that call each other while wires are cut, bits flip and nodes die.
//!
//! | what must hold | |
//! |---|---|
//! | an answer is that of its call | under faults |
//! | a call arrives once at most | under faults |
//! | a call that was not sent has not arrived | under faults |
//! | a call ends by its deadline | under faults |
//! | everybody reaches everybody | when the faults are over |

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use net::{Answering, CallError, Caller, Lane, Net, Service};
use parking_lot::{Mutex, RwLock};

use crate::support::wire::Wire;
use crate::support::{PATIENCE, config, until, wait};

/// `NET_CHAOS_SECONDS` makes it longer.
const SECONDS: u64 = 2;

/// Requests begin with a number of their own; an answer is it, and the rest turned around.
#[derive(Default)]
struct Arrivals(Mutex<HashMap<u64, u32>>);

struct Turning(Arc<Arrivals>);

impl Service for Turning {
    fn receive(&self, _from: Caller, _lane: Lane, request: Vec<u8>) -> Answering {
        let number = u64::from_le_bytes(request[..8].try_into().unwrap());
        *self.0.0.lock().entry(number).or_default() += 1;
        Box::pin(async move {
            if number % 7 == 0 {
                tokio::time::sleep(Duration::from_millis(number % 50)).await;
            }
            turned(request)
        })
    }
}

fn turned(mut request: Vec<u8>) -> Vec<u8> {
    request[8..].reverse();
    request
}

/// xorshift64*: the schedule can be had again from its seed, the sockets' part in it cannot.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound
    }
}

struct Cluster {
    arrivals: Arc<Arrivals>,
    nodes: Vec<RwLock<Option<Net>>>,
    /// From each node to each.
    wires: HashMap<(usize, usize), Wire>,
    numbers: AtomicU64,
    unsent: Mutex<HashSet<u64>>,
    answered: AtomicU64,
}

impl Cluster {
    fn start(&self, node: usize, incarnation: u32) {
        let mut config = config(node as u32 + 1, incarnation);
        config.limits.beat = Duration::from_millis(50);
        config.limits.silent_beats = 6;
        config.limits.connect_timeout = Duration::from_millis(300);
        config.limits.handshake_timeout = Duration::from_millis(300);
        config.limits.storage.calls = 20;
        let net = Net::start(config, Arc::new(Turning(self.arrivals.clone()))).unwrap();
        for (&(from, to), wire) in &self.wires {
            if from == node {
                net.set_peer(to as u32 + 1, &wire.addr);
            }
            if to == node {
                wire.leads_to(net.local_addr().to_string());
            }
        }
        *self.nodes[node].write() = Some(net);
    }

    /// One call after the other, some given up, until it is over.
    fn keep_calling(&self, from: usize, seed: u64, is_over: &AtomicBool) {
        let mut random = Random(seed);
        while !is_over.load(SeqCst) {
            let to = (from + 1 + random.below(2) as usize) % 3;
            let number = self.numbers.fetch_add(1, SeqCst);
            let length = match random.below(10) {
                0 => random.below(1 << 18),
                _ => random.below(500),
            };
            let mut request = number.to_le_bytes().to_vec();
            request.extend((0..length).map(|byte| (byte * 7 + number) as u8));
            let lane = Lane::ALL[random.below(3) as usize];
            let deadline = Duration::from_millis(1 + random.below(400));
            let begun = Instant::now();
            let call = match &*self.nodes[from].read() {
                Some(net) => net.call(to as u32 + 1, lane, request.clone(), deadline),
                None => continue,
            };
            if random.below(20) == 0 {
                continue;
            }
            match wait(call) {
                Ok(answer) => {
                    assert!(answer == turned(request), "the answer of another call");
                    self.answered.fetch_add(1, SeqCst);
                }
                Err(error) => {
                    assert!(
                        !matches!(error, CallError::TooLong { .. } | CallError::Failed { .. }),
                        "{error}"
                    );
                    if !error.may_have_arrived() {
                        self.unsent.lock().insert(number);
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            assert!(
                begun.elapsed() < deadline + PATIENCE / 2,
                "a call outlives its deadline"
            );
        }
    }

    fn break_things(&self, seed: u64, duration: Duration) {
        let (mut random, since) = (Random(seed), Instant::now());
        let mut incarnation = 1;
        while since.elapsed() < duration {
            std::thread::sleep(Duration::from_millis(5 + random.below(60)));
            let (from, by) = (random.below(3) as usize, 1 + random.below(2) as usize);
            let wire = &self.wires[&(from, (from + by) % 3)];
            match random.below(8) {
                0 | 1 => wire.cut(),
                2 | 3 => wire.tear(),
                4 | 5 => wire.flip_a_bit(),
                6 => {
                    incarnation += 1;
                    drop(self.nodes[from].write().take());
                    self.start(from, incarnation);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn calls_are_kept_apart_under_faults_and_nodes_found_again_after_them() {
    let seconds = std::env::var("NET_CHAOS_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let seed = std::env::var("NET_CHAOS_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()) * 2_654_435_761 + 1);
    println!("NET_CHAOS_SEED={seed}");

    let pairs = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
    let cluster = Cluster {
        arrivals: Arc::default(),
        nodes: (0..3).map(|_| RwLock::new(None)).collect(),
        wires: pairs
            .into_iter()
            .map(|pair| (pair, Wire::to("127.0.0.1:1".into())))
            .collect(),
        numbers: AtomicU64::new(0),
        unsent: Mutex::default(),
        answered: AtomicU64::new(0),
    };
    (0..3).for_each(|node| cluster.start(node, 1));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for caller in 0..6 {
            let (cluster, is_over) = (&cluster, &is_over);
            scope.spawn(move || cluster.keep_calling(caller % 3, seed + caller as u64 + 1, is_over));
        }
        cluster.break_things(seed, Duration::from_secs(seconds.unwrap_or(SECONDS)));
        is_over.store(true, SeqCst);
    });

    let connected = |node: &RwLock<Option<Net>>| {
        let peers = node.read().as_ref().unwrap().peers();
        peers
            .iter()
            .all(|peer| peer.is_connected() && peer.lanes.iter().all(|lane| lane.calls == 0))
    };
    until(|| cluster.nodes.iter().all(connected));
    for (from, to) in pairs {
        until(|| {
            let request = u64::MAX.to_le_bytes().to_vec();
            let call =
                cluster.nodes[from]
                    .read()
                    .as_ref()
                    .unwrap()
                    .call(to as u32 + 1, Lane::Control, request, PATIENCE);
            wait(call).is_ok()
        });
    }
    let mut arrived = cluster.arrivals.0.lock().clone();
    arrived.remove(&u64::MAX);
    assert_eq!(arrived.values().max(), Some(&1), "a call has arrived twice");
    let unsent = cluster.unsent.lock();
    let lied_about = unsent.iter().find(|number| arrived.contains_key(number));
    assert_eq!(lied_about, None, "a call has arrived that was not sent");
    let answered = cluster.answered.load(SeqCst);
    println!(
        "{answered} answered, {} not sent, of {}",
        unsent.len(),
        cluster.numbers.load(SeqCst)
    );
    assert!(answered > 0);
}
