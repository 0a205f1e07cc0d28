//! What a call costs between two nodes on loopback, each with its thread: the round trip of a lone one, calls and CPU with several in
//! flight, and that of a small call while another lane carries much.
//!
//! `cargo bench -p net`

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use net::{Answering, CallError, Caller, Config, Lane, Net, Service};

const ROUND: Duration = Duration::from_secs(3);
const DEADLINE: Duration = Duration::from_secs(10);

struct Echo;

impl Service for Echo {
    fn receive(&self, _from: Caller, _lane: Lane, request: Vec<u8>) -> Answering {
        Box::pin(std::future::ready(request))
    }
}

fn main() {
    let [one, two] = [1, 2].map(|node| start(node, 1, "127.0.0.1:0".parse().expect("an address")));
    one.set_peer(2, &two.local_addr().to_string());
    while !one.peers()[0].is_connected() {
        std::thread::sleep(Duration::from_millis(1));
    }

    let bare = bare_round_trips(100);
    report("a bare socket between two threads, 100 bytes", &bare);
    for bytes in [100, 4096] {
        report(&format!("1 caller, {bytes} bytes"), &lone(&one, Lane::Consensus, bytes));
    }
    for flying in [8, 64] {
        in_flight(&one, flying);
    }

    let is_over = Arc::new(AtomicBool::new(false));
    let carried = Arc::new(AtomicU64::new(0));
    let carrier = {
        let (one, is_over, carried) = (one.clone(), is_over.clone(), carried.clone());
        std::thread::spawn(move || {
            while !is_over.load(Relaxed) {
                call(&one, Lane::Storage, 32 << 20).expect("it arrives");
                carried.fetch_add(64 << 20, Relaxed);
            }
        })
    };
    let beside = lone(&one, Lane::Consensus, 100);
    report("1 caller, 100 bytes, beside calls of 32 MiB", &beside);
    let mib_per_second = (carried.load(Relaxed) >> 20) as f64 / ROUND.as_secs_f64();
    println!("{:44} {mib_per_second:8.0} MiB/s", "those, both ways together");
    is_over.store(true, Relaxed);
    carrier.join().expect("it does not panic");

    let mut two = two;
    let comes_back = (2..32).map(|incarnation| {
        let addr = two.local_addr();
        two.shutdown();
        while call(&one, Lane::Consensus, 1).is_ok() {}
        // As long as an election takes, and not in step with the attempts.
        std::thread::sleep(Duration::from_millis(100 + u64::from(incarnation)));
        two = start(2, incarnation, addr);
        let begun = Instant::now();
        while call(&one, Lane::Consensus, 1).is_err() {
            std::thread::sleep(Duration::from_micros(200));
        }
        begun.elapsed()
    });
    report(
        "a peer comes back, until a call is answered",
        &comes_back.collect::<Vec<_>>(),
    );
}

fn start(node: u32, incarnation: u32, addr: SocketAddr) -> Arc<Net> {
    let mut config = Config::new(node, incarnation, addr);
    config.cluster = Some(7);
    Arc::new(Net::start(config, Arc::new(Echo)).expect("loopback can be listened on"))
}

fn call(net: &Net, lane: Lane, bytes: usize) -> Result<Vec<u8>, CallError> {
    block_on(net.call(2, lane, vec![1; bytes], DEADLINE))
}

/// What the system takes for the same: two threads that read and write a socket and do nothing else.
fn bare_round_trips(bytes: usize) -> Vec<Duration> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
    let mut near = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
    let (mut far, _) = listener.accept().expect("somebody connects");
    for stream in [&near, &far] {
        stream.set_nodelay(true).expect("it is TCP");
    }
    let echo = std::thread::spawn(move || {
        let mut buffer = vec![0; bytes];
        while far.read_exact(&mut buffer).is_ok() && far.write_all(&buffer).is_ok() {}
    });
    let (mut taken, mut buffer, since) = (Vec::new(), vec![1; bytes], Instant::now());
    while since.elapsed() < ROUND {
        let begun = Instant::now();
        near.write_all(&buffer).expect("it is open");
        near.read_exact(&mut buffer).expect("it is open");
        taken.push(begun.elapsed());
    }
    drop(near);
    echo.join().expect("it does not panic");
    taken
}

fn lone(net: &Net, lane: Lane, bytes: usize) -> Vec<Duration> {
    let (mut taken, since) = (Vec::new(), Instant::now());
    while since.elapsed() < ROUND {
        let begun = Instant::now();
        call(net, lane, bytes).expect("it arrives");
        taken.push(begun.elapsed());
    }
    taken
}

fn in_flight(net: &Net, flying: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let since = Instant::now();
    let (cpu, mut taken) = (cpu_time(), Vec::new());
    let tasks = tokio::task::LocalSet::new();
    runtime.block_on(tasks.run_until(async {
        let callers = (0..flying).map(|_| async {
            let mut taken = Vec::new();
            while since.elapsed() < ROUND {
                let begun = Instant::now();
                net.call(2, Lane::Consensus, vec![1; 100], DEADLINE)
                    .await
                    .expect("it arrives");
                taken.push(begun.elapsed());
            }
            taken
        });
        for caller in futures_util::future::join_all(callers).await {
            taken.extend(caller);
        }
    }));
    report(&format!("{flying} in flight, 100 bytes"), &taken);
    let calls = taken.len() as f64;
    let cpu = (cpu_time() - cpu).as_secs_f64() / calls * 1e6;
    println!(
        "{:44} {:8.0} calls/s, {cpu:.1} µs of CPU each, on all three threads",
        "",
        calls / ROUND.as_secs_f64()
    );
}

fn report(what: &str, taken: &[Duration]) {
    let mut sorted = taken.to_vec();
    sorted.sort_unstable();
    let at = |share: f64| sorted[(sorted.len() as f64 * share) as usize].as_secs_f64() * 1e6;
    println!(
        "{what:44} p50 {:6.1} µs   p99 {:6.1} µs   p99.9 {:7.1} µs",
        at(0.5),
        at(0.99),
        at(0.999)
    );
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let (mut future, mut context) = (std::pin::pin!(future), std::task::Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(value) => return value,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
