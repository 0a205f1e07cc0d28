//! `kill -9` at random moments.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use env::{Random, SeededRandom};

use crate::ledger::{Ledger, Step};
use crate::server::{Server, Setup};
use crate::workload::{self, DATABASE, Ended, Writer};

pub const WRITERS: u32 = 6;

/// How long a server lives before it is killed.
const LIFE_MIN_MS: u64 = 20;
const LIFE_MAX_MS: u64 = 400;

/// After so many kills it is stopped.
const STOP_EVERY: u32 = 10;

/// How a server's life ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Kill,
    Stop,
}

/// A writer's memory, which outlives the server.
struct Memory {
    writer: Writer,
    ledger: Ledger,
    in_flight: Option<Step>,
    acknowledged: u64,
}

pub fn run(setup: &Setup, times: u32, seed: u64) -> Result<()> {
    let _ = std::fs::remove_dir_all(&setup.dir);
    std::fs::create_dir_all(&setup.dir)?;
    let random = SeededRandom::new(seed);
    let mut server = setup.start()?;
    workload::prepare(&mut server.connect(None)?, WRITERS)?;
    let mut memories: Vec<Memory> = (0..WRITERS)
        .map(|number| Memory {
            writer: Writer {
                number,
                random: SeededRandom::new(random.next_u64()),
                next_sequence: 1,
            },
            ledger: Ledger::default(),
            in_flight: None,
            acknowledged: 0,
        })
        .collect();
    let mut slowest = Duration::ZERO;
    for number in 1..=times {
        let life = Duration::from_millis(LIFE_MIN_MS + random.below(LIFE_MAX_MS - LIFE_MIN_MS));
        live_and_die(server, &mut memories, life, End::Kill).with_context(|| format!("before kill {number}"))?;
        let started = Instant::now();
        server = setup.start()?;
        slowest = slowest.max(started.elapsed());
        verify(&server, &mut memories).with_context(|| format!("after kill {number} of {times}, seed {seed}"))?;
        // Now and then it is stopped in the proper way, which must lose nothing either.
        if number % STOP_EVERY == 0 {
            live_and_die(server, &mut memories, life, End::Stop)
                .with_context(|| format!("stop after kill {number}"))?;
            server = setup.start()?;
            verify(&server, &mut memories)
                .with_context(|| format!("after the stop behind kill {number}, seed {seed}"))?;
        }
    }
    let acknowledged: u64 = memories.iter().map(|memory| memory.acknowledged).sum();
    ensure!(
        acknowledged > u64::from(times),
        "there was hardly any work: {acknowledged} transactions"
    );
    println!(
        "kill: {times} times, {acknowledged} acknowledged transactions, all there and none by half; slowest restart {} ms",
        slowest.as_millis()
    );
    Ok(())
}

fn live_and_die(server: Server, memories: &mut [Memory], life: Duration, end: End) -> Result<()> {
    let is_dying = AtomicBool::new(false);
    let pid = server.pid();
    let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
        let (server, is_dying) = (&server, &is_dying);
        let writers: Vec<_> = memories
            .iter_mut()
            .map(|memory| scope.spawn(move || work(server, memory, is_dying)))
            .collect();
        // The moment is the test's random choice.
        std::thread::sleep(life);
        is_dying.store(true, Ordering::SeqCst);
        let signal = match end {
            End::Kill => "-KILL",
            End::Stop => "-TERM",
        };
        let killed = std::process::Command::new("kill")
            .arg(signal)
            .arg(pid.to_string())
            .status();
        let mut outcomes: Vec<Result<()>> = writers
            .into_iter()
            .map(|writer| writer.join().expect("writers do not panic"))
            .collect();
        outcomes.push(killed.map(|_| ()).context("kill"));
        outcomes
    });
    outcomes.into_iter().collect::<Result<()>>()?;
    match end {
        End::Kill => server.kill(),
        End::Stop => {
            let status = server.ended()?;
            ensure!(status.success(), "stopped with {status}");
            Ok(())
        }
    }
}

/// Does step after step until the server dies.
fn work(server: &Server, memory: &mut Memory, is_dying: &AtomicBool) -> Result<()> {
    let mut client = match server.connect(Some(DATABASE)) {
        Ok(client) => client,
        Err(_) if is_dying.load(Ordering::SeqCst) => return Ok(()),
        Err(error) => return Err(error),
    };
    loop {
        let step = memory.writer.next_step(&memory.ledger);
        memory.in_flight = Some(step.clone());
        match workload::perform(&mut client, memory.writer.number, &step)? {
            Ended::Acknowledged => {
                memory.ledger.apply(&step);
                memory.acknowledged += 1;
                memory.in_flight = None;
            }
            Ended::Refused => memory.in_flight = None,
            Ended::Unknown => {
                ensure!(
                    is_dying.load(Ordering::SeqCst),
                    "the connection broke before the server was killed"
                );
                return Ok(());
            }
        }
    }
}

fn verify(server: &Server, memories: &mut [Memory]) -> Result<()> {
    let mut client = server.connect(Some(DATABASE))?;
    for Memory {
        writer,
        ledger,
        in_flight,
        ..
    } in memories.iter_mut()
    {
        let in_flight = in_flight.take();
        let found = workload::read_back(&mut client, writer.number, ledger, in_flight.as_ref())?;
        let settled = ledger.settle(&found, in_flight.as_ref());
        settled.map_err(|difference| anyhow::anyhow!("writer {}: {difference}", writer.number))?;
    }
    let made = memories.iter().map(|memory| memory.ledger.tables.len()).sum();
    workload::check_sums(&mut client, made)
}
