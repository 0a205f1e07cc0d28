//! The rules, each a figure against its limit. A rule gives a candidate with how full the thing was (1.0: to the brim).

use lab_results::rung::{Bottleneck, Verdict};

use super::figures::{DiskFigures, Figures, NodeFigures};
use super::{Evidence, NodeEvidence, WorkerEvidence};

/// From this share of a limit on, the thing counts as exhausted: queues grow long before 100 %.
pub const LIMIT: f64 = 0.85;
/// A load generator's threads that work more than this are late in sending and in reading the clock.
const WORKER_LIMIT: f64 = 0.90;
/// One core alone.
const CORE_LIMIT: f64 = 0.95;
/// Share of a quota's periods that ran out.
const THROTTLED_LIMIT: f64 = 0.5;
/// Share of the time in which some task waited for the disk.
const PRESSURE_LIMIT: f64 = 0.6;
const STEAL_LIMIT: f64 = 0.05;
/// Share of a machine that others may use before they are part of the answer; the kernel's own threads use some.
const OTHERS_LIMIT: f64 = 0.25;
/// Share of all clients' time that went into attempts which were thrown away.
const WASTED_LIMIT: f64 = 0.15;
const RETRIES_LIMIT: f64 = 0.2;
/// Locking statements that take so many times what they take with one thread, while the machine has time to spare.
const LOCK_WAIT_LIMIT: f64 = 4.0;
/// A second's bytes that differ so little from the next one's, with losses, were cut by something.
const WALL_VARIATION: f64 = 0.03;
const WALL_BYTES: f64 = 1e6;
/// A device's writes that take so many times the probed ones queue there.
const SLOW_WRITES: f64 = 3.0;

pub struct Candidate {
    pub bottleneck: Bottleneck,
    pub node: Option<String>,
    pub fullness: f64,
    /// 0..=1: how much the kind of evidence is worth; a counter that says so is worth more than a guess.
    pub trust: f64,
    pub evidence: Vec<String>,
}

/// In the order in which equals win.
pub fn candidates(evidence: &Evidence, figures: &Figures) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(
        evidence
            .driver
            .workers
            .iter()
            .filter_map(|workers| full_workers(evidence, workers)),
    );
    for node in &evidence.nodes {
        let Some(of_node) = figures.node(&node.name) else {
            continue;
        };
        found.extend(cpu(evidence, node, of_node));
    }
    for node in &evidence.nodes {
        let Some(of_node) = figures.node(&node.name) else {
            continue;
        };
        found.extend(bandwidth(evidence, node, of_node));
        found.extend(packets(node, of_node));
        if node.serves() {
            found.extend(disk(evidence, node, of_node));
        }
    }
    found.extend(locks(evidence, figures));
    found
}

/// A load node's threads, by their own account.
fn full_workers(evidence: &Evidence, workers: &WorkerEvidence) -> Option<Candidate> {
    let threads = workers.threads;
    let used = workers.cpu_s / evidence.measured_s.max(1e-9);
    let share = used / f64::from(threads.max(1));
    (share >= WORKER_LIMIT).then(|| Candidate {
        bottleneck: Bottleneck::LoadGenerator,
        node: Some(workers.node.clone()),
        fullness: share.min(1.0),
        trust: 1.0,
        evidence: vec![format!(
            "{}: the load generator used {used:.2} cores on {threads} threads: {} of what these can (limit {})",
            workers.node,
            percent(share),
            percent(WORKER_LIMIT)
        )],
    })
}

fn cpu(evidence: &Evidence, node: &NodeEvidence, figures: &NodeFigures) -> Option<Candidate> {
    if !node.is("load") && !node.serves() {
        return None;
    }
    // Stolen time is gone as much as used time.
    let full = figures.busy + figures.steal;
    let throttled = figures.throttled.unwrap_or(0.0);
    // A single client's work is one chain, which may well stay on one core and leave nobody waiting.
    let many = evidence.driver.threads > 1;
    let hot = figures.hottest_core.filter(|_| many).unwrap_or(0.0);
    let (fullness, trust, sentence) = if full >= LIMIT {
        (full.min(1.0), 1.0, cpu_sentence(figures))
    } else if throttled >= THROTTLED_LIMIT {
        let sentence = format!(
            "{}, its quota ran out in {} of the periods (limit {})",
            cpu_sentence(figures),
            percent(throttled),
            percent(THROTTLED_LIMIT)
        );
        (LIMIT + (1.0 - LIMIT) * throttled, 0.95, sentence)
    } else if hot >= CORE_LIMIT && figures.softirq * figures.cores < 0.5 {
        let sentence = format!(
            "{}, but its busiest core {} (limit {}): one thread does what more cannot share",
            cpu_sentence(figures),
            percent(hot),
            percent(CORE_LIMIT)
        );
        (hot.min(1.0), 0.7, sentence)
    } else {
        return None;
    };
    let mut sentences = vec![sentence];
    let (bottleneck, mut trust) = whose(node, figures, trust, &mut sentences);
    if let Some((share, sentence)) = others(node, figures) {
        sentences.push(sentence);
        trust *= 1.0 - share;
    }
    Some(Candidate {
        bottleneck,
        node: Some(node.name.clone()),
        fullness,
        trust,
        evidence: sentences,
    })
}

/// Work on the node that is neither the database's nor the load generator's, where all of theirs is known.
fn others(node: &NodeEvidence, figures: &NodeFigures) -> Option<(f64, String)> {
    let load = if node.is("load") { figures.load_cores? } else { 0.0 };
    let server = if node.serves() { figures.server_cores? } else { 0.0 };
    let others = figures.busy * figures.cores - load - server;
    (others >= OTHERS_LIMIT * figures.cores).then(|| {
        let sentence = format!(
            "{}: other processes used {others:.2} of {:.0} cores (limit {}): the figures are not the servers' alone",
            node.name,
            figures.cores,
            percent(OTHERS_LIMIT)
        );
        ((others / figures.cores).min(1.0), sentence)
    })
}

fn cpu_sentence(figures: &NodeFigures) -> String {
    let mut sentence = format!(
        "{}: CPU {} busy, {:.0} % of {:.0} × 100 % (limit {})",
        figures.name,
        percent(figures.busy),
        100.0 * figures.busy * figures.cores,
        figures.cores,
        percent(LIMIT)
    );
    if figures.cores.fract() > 0.01 {
        sentence = format!(
            "{}: CPU {} of its {:.2} cores busy (limit {})",
            figures.name,
            percent(figures.busy),
            figures.cores,
            percent(LIMIT)
        );
    }
    if figures.softirq >= 0.1 {
        sentence += &format!(", {} in interrupts", percent(figures.softirq));
    }
    if figures.runnable > figures.cores {
        sentence += &format!(", {:.1} tasks running or ready to", figures.runnable);
    }
    if let Some(pressure) = figures.pressure_cpu.filter(|pressure| *pressure >= 0.2) {
        sentence += &format!(", tasks waited for a core {} of the time", percent(pressure));
    }
    if figures.steal >= STEAL_LIMIT {
        sentence += &format!(", {} stolen by the hypervisor", percent(figures.steal));
    }
    sentence
}

/// A full machine with several roles: the processes tell.
fn whose(node: &NodeEvidence, figures: &NodeFigures, trust: f64, sentences: &mut Vec<String>) -> (Bottleneck, f64) {
    let server = if node.is("sql") {
        Bottleneck::SqlCpu
    } else {
        Bottleneck::DataCpu
    };
    let both = if node.is("sql") && node.is("data") {
        "; SQL and data share it as well"
    } else {
        ""
    };
    if !node.is("load") {
        if !both.is_empty() {
            sentences.push(format!("{}: SQL and data servers share this machine", node.name));
        }
        return (server, trust);
    }
    if !node.serves() {
        return (Bottleneck::LoadGenerator, trust);
    }
    match (figures.load_cores, figures.server_cores) {
        (Some(load), Some(servers)) => {
            sentences.push(format!(
                "{}: the load generator shares this machine with the server{both}; by process CPU: load generator {load:.2} \
                 cores, server {servers:.2}",
                node.name
            ));
            if load >= servers {
                (Bottleneck::LoadGenerator, trust * 0.9)
            } else {
                // With the load elsewhere the server would have had more.
                (server, trust * 0.9)
            }
        }
        _ => {
            sentences.push(format!(
                "{}: the load generator shares this machine with the server{both}, and their processes were not told apart",
                node.name
            ));
            (server, trust * 0.5)
        }
    }
}

fn bandwidth(evidence: &Evidence, node: &NodeEvidence, figures: &NodeFigures) -> Option<Candidate> {
    let candidate = |fullness: f64, trust: f64, sentence: String| {
        Some(Candidate {
            bottleneck: Bottleneck::NetworkBandwidth,
            node: Some(node.name.clone()),
            fullness,
            trust,
            evidence: vec![sentence + &losses(figures)],
        })
    };
    if figures.bandwidth_allowance > 0 {
        let sentence = format!(
            "{}: the cloud's bandwidth allowance was exceeded {} times (limit 0), at {} out and {} in",
            node.name,
            figures.bandwidth_allowance,
            bits(figures.tx_bytes),
            bits(figures.rx_bytes)
        );
        return candidate(1.0, 1.0, sentence);
    }
    let ceilings = Ceilings::of(evidence, node);
    let ways = [
        ("out", figures.tx_bytes, ceilings.out),
        ("in", figures.rx_bytes, ceilings.into),
    ];
    let fullest = ways
        .into_iter()
        .filter_map(|(way, rate, ceiling)| Some((way, rate, ceiling?)))
        .max_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)));
    if let Some((way, rate, ceiling)) = fullest {
        let share = rate / ceiling;
        if share >= LIMIT {
            let sentence = format!(
                "{}: network {way} {}, {} of the probed {} (limit {})",
                node.name,
                bits(rate),
                percent(share),
                bits(ceiling),
                percent(LIMIT)
            );
            // Where both ends are full, the one that sends is the narrow one: what is lost is lost behind it.
            let at_most = if way == "out" { 1.0 } else { 0.99 };
            return candidate(share.min(at_most), 1.0, sentence);
        }
        return None;
    }
    // Nobody probed: a flat line with losses is a wall all the same.
    let variation = figures.tx_variation?;
    let lossy = figures.drops + figures.retransmits > 1.0;
    (variation < WALL_VARIATION && lossy && figures.tx_bytes > WALL_BYTES && figures.busy < LIMIT)
        .then(|| {
            let sentence = format!(
                "{}: {} out varies by {:.1} % from second to second (a wall below {}), and its ceiling was not probed",
                node.name,
                bits(figures.tx_bytes),
                100.0 * variation,
                percent(WALL_VARIATION)
            );
            candidate(LIMIT, 0.7, sentence)
        })
        .flatten()
}

fn packets(node: &NodeEvidence, figures: &NodeFigures) -> Option<Candidate> {
    let candidate = |fullness: f64, trust: f64, sentence: String| {
        Some(Candidate {
            bottleneck: Bottleneck::NetworkPackets,
            node: Some(node.name.clone()),
            fullness,
            trust,
            evidence: vec![sentence + &losses(figures)],
        })
    };
    if figures.packet_allowance > 0 {
        let sentence = format!(
            "{}: the cloud's packet allowance was exceeded {} times (limit 0), at {:.0} packets/s",
            node.name, figures.packet_allowance, figures.packets
        );
        return candidate(1.0, 1.0, sentence);
    }
    let hot = figures.hottest_core.unwrap_or(0.0);
    let in_interrupts = figures.softirq * figures.cores;
    if hot >= CORE_LIMIT && in_interrupts >= 0.5 && figures.busy < LIMIT {
        let sentence = format!(
            "{}: its busiest core {} (limit {}), {in_interrupts:.2} cores in interrupts at {:.0} packets/s",
            node.name,
            percent(hot),
            percent(CORE_LIMIT),
            figures.packets
        );
        return candidate(hot.min(1.0), 0.8, sentence);
    }
    // A single sender of small datagrams finds no more than a lower bound: it counts only with losses.
    let ceiling = node
        .probes
        .iter()
        .flat_map(|probes| &probes.network)
        .filter(|(to, _)| *to != "self")
        .filter_map(|(_, network)| network.packets_per_s)
        .max_by(f64::total_cmp)?;
    let share = figures.packets / ceiling;
    let lossy = figures.drops > 1.0 || figures.retransmits > 0.001 * figures.packets;
    if share >= LIMIT && lossy {
        let sentence = format!(
            "{}: {:.0} packets/s, {} of the probed {ceiling:.0} (limit {})",
            node.name,
            figures.packets,
            percent(share),
            percent(LIMIT)
        );
        return candidate(share.min(1.0), 0.8, sentence);
    }
    None
}

fn losses(figures: &NodeFigures) -> String {
    let mut text = String::new();
    if figures.drops >= 1.0 {
        text += &format!(", {:.0} drops/s", figures.drops);
    }
    if figures.retransmits >= 1.0 {
        text += &format!(", {:.0} TCP retransmits/s", figures.retransmits);
    }
    text
}

/// What the probes between the nodes found that a node can send and receive, bytes per second.
struct Ceilings {
    out: Option<f64>,
    into: Option<f64>,
}

impl Ceilings {
    fn of(evidence: &Evidence, node: &NodeEvidence) -> Ceilings {
        let best = |probes: &mut dyn Iterator<Item = f64>| probes.max_by(f64::total_cmp);
        let from = |node: &NodeEvidence| {
            node.probes
                .iter()
                .flat_map(|probes| probes.network.clone())
                .collect::<Vec<_>>()
        };
        let out = best(
            &mut from(node)
                .iter()
                .filter(|(to, _)| to != "self")
                .map(|(_, network)| network.bytes_per_s),
        );
        let into = best(
            &mut evidence
                .nodes
                .iter()
                .flat_map(from)
                .filter(|(to, _)| *to == node.name)
                .map(|(_, network)| network.bytes_per_s),
        );
        Ceilings { out, into }
    }
}

fn disk(evidence: &Evidence, node: &NodeEvidence, figures: &NodeFigures) -> Option<Candidate> {
    let disk = figures.disk.as_ref()?;
    let probed_ms = node
        .probes
        .as_ref()
        .and_then(|probes| probes.disk.as_ref())
        .and_then(|disk| disk.write_fdatasync.quantile_us(0.5))
        .map(|us| us as f64 / 1000.0);
    let mut sentences = Vec::new();
    let mut fullest: Option<(f64, f64)> = None;
    let mut found = |fullness: f64, trust: f64, sentence: String| {
        sentences.push(sentence);
        if fullest.is_none_or(|(before, _)| before < fullness) {
            fullest = Some((fullness, trust));
        }
    };
    for (rate, limit, unit) in [
        (disk.writes, disk.write_limit, "writes/s"),
        (
            disk.written_bytes / 1e6,
            disk.write_limit_bytes.map(|limit| limit / 1e6),
            "MB/s written",
        ),
    ] {
        let Some(limit) = limit.filter(|limit| *limit > 0.0 && rate / limit >= LIMIT) else {
            continue;
        };
        found(
            (rate / limit).min(1.0),
            1.0,
            format!(
                "{}: {} {rate:.1} {unit}, {} of the {limit:.1} that it may (limit {})",
                node.name,
                disk.name,
                percent(rate / limit),
                percent(LIMIT)
            ),
        );
    }
    let slow = probed_ms.is_some_and(|probed| disk.write_ms >= SLOW_WRITES * probed);
    // A disk is busy while one write is under way; only a queue, or tasks that stand still for it, makes it the limit.
    if disk.busy >= LIMIT && (slow || figures.pressure_io.unwrap_or(figures.iowait) >= PRESSURE_LIMIT / 2.0) {
        found(
            disk.busy.min(1.0),
            0.9,
            format!(
                "{}: {} busy {} of the time (limit {}), {:.0} writes/s at {:.2} ms each{}",
                node.name,
                disk.name,
                percent(disk.busy),
                percent(LIMIT),
                disk.writes,
                disk.write_ms,
                against(probed_ms)
            ),
        );
    }
    let commits = commit_share(evidence);
    if let Some(pressure) = figures.pressure_io
        && pressure >= PRESSURE_LIMIT
        && disk.writes > 0.0
        && figures.busy < LIMIT
        && commits.is_none_or(|share| share >= 0.3)
    {
        let mut sentence = format!(
            "{}: tasks waited for the disk {} of the time (limit {}), {:.0} writes/s{}",
            node.name,
            percent(pressure),
            percent(PRESSURE_LIMIT),
            disk.writes,
            against(probed_ms)
        );
        if let Some(share) = commits {
            sentence += &format!("; COMMIT is {} of a transaction's latency", percent(share));
        }
        let trust = if commits.is_some() { 0.9 } else { 0.8 };
        found(LIMIT + (1.0 - LIMIT) * pressure, trust, sentence);
    }
    let (fullness, trust) = fullest?;
    Some(Candidate {
        bottleneck: Bottleneck::Disk,
        node: Some(node.name.clone()),
        fullness,
        trust,
        evidence: sentences,
    })
}

fn against(probed_ms: Option<f64>) -> String {
    probed_ms.map_or_else(String::new, |probed| {
        format!(" (probed: {probed:.2} ms a write and sync)")
    })
}

/// Share of a transaction's latency that its COMMIT takes.
fn commit_share(evidence: &Evidence) -> Option<f64> {
    let driver = &evidence.driver;
    Some((driver.commit_latency_us? / driver.mean_latency_us.filter(|mean| *mean > 0.0)?).min(1.0))
}

fn locks(evidence: &Evidence, figures: &Figures) -> Option<Candidate> {
    let driver = &evidence.driver;
    let transactions = driver.transactions.max(1) as f64;
    let clients_us = f64::from(driver.threads.max(1)) * evidence.measured_s * 1e6;
    let wasted = driver.wasted_us as f64 / clients_us.max(1.0);
    let retries = (driver.retries.max(driver.lock_errors)) as f64 / transactions;
    let mut sentences = Vec::new();
    let mut fullness = 0.0f64;
    if wasted >= WASTED_LIMIT {
        sentences.push(format!(
            "{} of the clients' time went into attempts that were thrown away (limit {})",
            percent(wasted),
            percent(WASTED_LIMIT)
        ));
        fullness = fullness.max(LIMIT + wasted / 2.0);
    }
    if retries >= RETRIES_LIMIT {
        sentences.push(format!(
            "{retries:.2} retries or lock errors per transaction (limit {RETRIES_LIMIT})"
        ));
        fullness = fullness.max(LIMIT + retries / 4.0);
    }
    let idle = figures.nodes.iter().all(|node| node.busy + node.steal < LIMIT);
    if let (Some(here), Some(alone)) = (driver.locking_latency_us, driver.locking_latency_one_thread_us)
        && alone > 0.0
        && here / alone >= LOCK_WAIT_LIMIT
        && idle
        && !figures.nodes.is_empty()
        // Everything being slower alike is a queue elsewhere.
        && driver
            .mean_latency_us
            .zip(driver.one_thread_latency_us)
            .is_none_or(|(mean, one)| one <= 0.0 || here / alone >= 1.5 * mean / one)
    {
        sentences.push(format!(
            "statements that lock take {:.1} times as long as with one thread ({:.0} against {:.0} µs, limit \
             {LOCK_WAIT_LIMIT:.0} times), while no CPU is full",
            here / alone,
            here,
            alone
        ));
        fullness = fullness.max(LIMIT);
    }
    (!sentences.is_empty()).then_some(Candidate {
        bottleneck: Bottleneck::Locks,
        node: None,
        fullness: fullness.min(1.0),
        trust: 0.9,
        evidence: sentences,
    })
}

/// Nothing was exhausted: how far from it everything was.
pub fn nothing(evidence: &Evidence, figures: &Figures) -> Verdict {
    let mut sentences = Vec::new();
    let mut closest = 0.0f64;
    if let Some(busiest) = figures.nodes.iter().max_by(|a, b| a.busy.total_cmp(&b.busy)) {
        closest = closest.max(busiest.busy + busiest.steal);
        sentences.push(format!("no CPU is full: the busiest is {}", cpu_sentence(busiest)));
    }
    let ways = figures.nodes.iter().filter_map(|of_node| {
        let node = evidence.nodes.iter().find(|node| node.name == of_node.name)?;
        let ceilings = Ceilings::of(evidence, node);
        let out = ceilings.out.map(|ceiling| of_node.tx_bytes / ceiling);
        let into = ceilings.into.map(|ceiling| of_node.rx_bytes / ceiling);
        Some((node, out.into_iter().chain(into).max_by(f64::total_cmp)?))
    });
    if let Some((node, share)) = ways.max_by(|a, b| a.1.total_cmp(&b.1)) {
        closest = closest.max(share);
        sentences.push(format!(
            "no network is full: the fullest is {}'s, {} of its probed ceiling (limit {})",
            node.name,
            percent(share),
            percent(LIMIT)
        ));
    }
    let disks = figures
        .nodes
        .iter()
        .filter_map(|node| Some((node, node.disk.as_ref()?)));
    let written = disks.filter(|(_, disk)| disk.writes > 0.0);
    let servers = written.filter(|(node, _)| evidence.nodes.iter().any(|of| of.name == node.name && of.serves()));
    let by_busy = |a: &(&NodeFigures, &DiskFigures), b: &(&NodeFigures, &DiskFigures)| a.1.busy.total_cmp(&b.1.busy);
    if let Some((node, disk)) = servers.max_by(by_busy) {
        sentences.push(format!(
            "no disk is full: {}'s {} is busy {} of the time",
            node.name,
            disk.name,
            percent(disk.busy)
        ));
    }
    sentences.push(match evidence.driver.threads {
        0 | 1 => "one client waits for each answer: the latency is the limit".to_owned(),
        threads => format!("{threads} clients wait for answers: more of them may bring more"),
    });
    Verdict {
        bottleneck: Bottleneck::None,
        node: None,
        confidence: if closest > 0.7 { 0.5 } else { 0.8 },
        evidence: sentences,
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn bits(bytes_per_s: f64) -> String {
    let bits = bytes_per_s * 8.0;
    if bits >= 1e9 {
        format!("{:.2} Gb/s", bits / 1e9)
    } else {
        format!("{:.1} Mb/s", bits / 1e6)
    }
}
