//! What one thread's latency is made of: messages × round trips, wake-ups, CPU, and the disk's syncs.
//!
//! A client that waits for each answer pays every step one after the other, so the steps can be added up; with more clients
//! they overlap, and the sum says nothing.

use lab_results::Latency;
use lab_results::host::NodeProbes;
use lab_results::rung::{LatencyExplanation, LatencyPart};

/// A transaction with one client, as the load generator and the watch saw it.
#[derive(Debug, Clone, Default)]
pub struct OneThread<'a> {
    /// Probes of the load node, with the network probe to the server's node (`server` names it; `self` for the same machine).
    pub load: Option<&'a NodeProbes>,
    pub server_name: &'a str,
    pub server: Option<&'a NodeProbes>,
    /// Requests per transaction, each answered before the next.
    pub round_trips_per_tx: f64,
    /// Mean bytes of an answer: which of the probed sizes comes closest.
    pub answer_bytes: f64,
    /// Processor time per transaction, µs.
    pub client_cpu_us: f64,
    pub server_cpu_us: f64,
    /// Waits for the disk per transaction, one after the other (flushes / transactions is a fair guess).
    pub syncs_per_tx: f64,
    /// Wake-ups from thread to thread within the server, per transaction (two per commit that another thread writes).
    pub hand_overs_per_tx: f64,
}

/// A transaction's steps, and the names of those that belong to it but whose probe is missing.
pub fn explain_one_thread(transaction: &OneThread<'_>) -> (LatencyExplanation, Vec<String>) {
    let mut parts = Vec::new();
    let mut missing = Vec::new();
    let mut add = |what: &str, per_transaction: f64, each_us: Option<f64>, source: String| match each_us {
        Some(each_us) if per_transaction > 0.0 => parts.push(LatencyPart {
            what: what.to_owned(),
            per_transaction,
            each_us,
            source,
        }),
        Some(_) => {}
        None if per_transaction > 0.0 => missing.push(what.to_owned()),
        None => {}
    };

    let network = transaction
        .load
        .and_then(|load| load.network.get(transaction.server_name));
    let round_trip = network.and_then(|network| {
        network.round_trips.iter().min_by(|a, b| {
            let distance = |size: u32| (f64::from(size).ln() - transaction.answer_bytes.max(1.0).ln()).abs();
            distance(*a.0).total_cmp(&distance(*b.0))
        })
    });
    // A probed round trip holds the wake-ups of both ends: its echo sleeps in its read as a server does. Their processor time
    // for sending and receiving is left out here, since the CPU parts hold it.
    let on_the_way = round_trip.and_then(|(size, latency)| {
        let cpu_us = network
            .and_then(|network| network.round_trip_cpu_us.get(size))
            .unwrap_or(&0.0);
        Some((usual_us(latency)? - cpu_us).max(0.0))
    });
    add(
        "network",
        transaction.round_trips_per_tx,
        on_the_way,
        round_trip.map_or_else(String::new, |(size, _)| {
            format!("mean round trip of {size} bytes without its processor time, both ends' wake-ups in it")
        }),
    );
    add(
        "wake-ups",
        transaction.hand_overs_per_tx,
        transaction
            .server
            .and_then(|server| server.wakeup.as_ref())
            .and_then(|wakeup| usual_us(&wakeup.other_core)),
        "mean wake-up of a thread on another core".to_owned(),
    );
    let cpu = "processor time per transaction in this rung".to_owned();
    add("client CPU", 1.0, Some(transaction.client_cpu_us), cpu.clone());
    add("server CPU", 1.0, Some(transaction.server_cpu_us), cpu);
    add(
        "log write",
        transaction.syncs_per_tx,
        transaction
            .server
            .and_then(|server| server.disk.as_ref())
            .and_then(|disk| usual_us(&disk.write_fdatasync)),
        "mean 4 KiB write and fdatasync".to_owned(),
    );
    (LatencyExplanation { parts }, missing)
}

/// The mean without the slowest hundredth: means add up where medians do not, and a probe is too short to know how often the
/// rarest things happen.
fn usual_us(latency: &Latency) -> Option<f64> {
    let limit = latency.quantile_us(0.99)?;
    let (sum, count) = latency
        .buckets()
        .take_while(|(us, _)| *us <= limit)
        .fold((0.0, 0.0), |(sum, count), (us, of_bucket)| {
            (sum + us as f64 * of_bucket as f64, count + of_bucket as f64)
        });
    // In the lowest bucket of all the limit may lie below its highest value.
    if count > 0.0 {
        Some(sum / count)
    } else {
        latency.mean_us()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lab_results::host::{DiskProbe, NetworkProbe, WakeupProbe};

    use super::*;

    fn always(us: u64) -> Latency {
        let mut latency = Latency::default();
        latency.record_us(us);
        latency
    }

    fn load() -> NodeProbes {
        let network = NetworkProbe {
            round_trips: BTreeMap::from([(1, always(50)), (120, always(60)), (12_000, always(90))]),
            round_trip_cpu_us: BTreeMap::from([(12_000, 15.0)]),
            bytes_per_s: 1e9,
            streams: 4,
            packets_per_s: None,
        };
        NodeProbes {
            network: BTreeMap::from([("sql".to_owned(), network)]),
            ..NodeProbes::default()
        }
    }

    fn server() -> NodeProbes {
        NodeProbes {
            wakeup: Some(WakeupProbe {
                same_core: always(2),
                other_core: always(20),
                sleep_overshoot: always(30),
            }),
            disk: Some(DiskProbe {
                path: String::new(),
                filesystem: String::new(),
                sync_write: always(700),
                write_fdatasync: always(800),
                write_fdatasync_mdev_us: 0.0,
                random_write_fdatasync: always(900),
            }),
            ..NodeProbes::default()
        }
    }

    fn sum(explanation: &LatencyExplanation) -> f64 {
        explanation
            .parts
            .iter()
            .map(|part| part.per_transaction * part.each_us)
            .sum()
    }

    #[test]
    fn every_step_counts() {
        let (load, server) = (load(), server());
        let (explanation, missing) = explain_one_thread(&OneThread {
            load: Some(&load),
            server_name: "sql",
            server: Some(&server),
            round_trips_per_tx: 20.0,
            answer_bytes: 9_000.0,
            client_cpu_us: 100.0,
            server_cpu_us: 300.0,
            syncs_per_tx: 1.0,
            hand_overs_per_tx: 2.0,
        });
        assert!(missing.is_empty(), "{missing:?}");
        // 20 × (90 - 15) + 2 × 20 + 100 + 300 + 800
        assert_eq!(sum(&explanation), 2740.0);
    }

    #[test]
    fn rare_outliers_do_not_count_and_two_usual_cases_do() {
        let mut latency = Latency::default();
        for us in [100, 200].repeat(100) {
            latency.record_us(us);
        }
        latency.record_us(1_000_000);
        assert_eq!(usual_us(&latency), Some(150.0));
        assert_eq!(usual_us(&Latency::default()), None);
        assert!(usual_us(&always(5_000)).is_some_and(|us| (us - 5_000.0).abs() < 10.0));
    }

    #[test]
    fn the_size_that_is_nearest_by_ratio_is_taken() {
        let load = load();
        for (bytes, each_us) in [(1.0, 50.0), (40.0, 60.0), (1_000.0, 60.0), (5_000.0, 75.0), (1e9, 75.0)] {
            let (explanation, _) = explain_one_thread(&OneThread {
                load: Some(&load),
                server_name: "sql",
                round_trips_per_tx: 1.0,
                answer_bytes: bytes,
                ..OneThread::default()
            });
            assert_eq!(explanation.parts[0].each_us, each_us, "{bytes} bytes");
        }
    }

    #[test]
    fn what_was_not_probed_is_named_and_not_guessed() {
        let (explanation, missing) = explain_one_thread(&OneThread {
            server_name: "sql",
            round_trips_per_tx: 20.0,
            client_cpu_us: 100.0,
            syncs_per_tx: 1.0,
            ..OneThread::default()
        });
        assert_eq!(missing, ["network", "log write"]);
        assert_eq!(sum(&explanation), 100.0);
    }
}
