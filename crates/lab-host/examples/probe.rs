//! This machine's probes, beside what sysbench, ioping and fio say where they are installed, with a verdict on each: whether the
//! medians of turns agree within 10 %. It fails if one does not: `cargo run --release -p lab-host --example probe -- [DIRECTORY]`.

use std::path::PathBuf;
use std::process::ExitCode;

use lab_host::ProbePlan;
use lab_host::probe::agreement::{Agreement, sentence};
use lab_results::Latency;

fn main() -> ExitCode {
    let directory = std::env::args_os()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let plan = ProbePlan {
        directory: Some(directory),
        cross_checks: true,
        ..ProbePlan::default()
    };
    let began = std::time::Instant::now();
    let probes = lab_host::probe::probe("here", &plan);

    let identity = &probes.identity;
    println!(
        "{} · {} cores · {:.0} bogomips",
        identity.cpu_model, identity.cores, identity.bogomips
    );
    println!(
        "{:.1} GiB · Linux {} · {} · governor {} · huge pages {} · hypervisor {} · NIC {}",
        identity.memory_bytes as f64 / (1u64 << 30) as f64,
        identity.kernel,
        identity.distribution,
        identity.governor.as_deref().unwrap_or("-"),
        identity.transparent_huge_pages.as_deref().unwrap_or("-"),
        identity.hypervisor.as_deref().unwrap_or("-"),
        identity.nic_driver.as_deref().unwrap_or("-"),
    );
    if let Some(cpu) = &probes.cpu {
        println!(
            "primes          {:.0} events/s, {:.0} on all cores",
            cpu.events_per_s, cpu.events_per_s_all_cores
        );
    }
    if let Some(memory) = &probes.memory {
        println!(
            "memory          {:.0} MiB/s in 1 KiB writes, {:.0} MiB/s read, {:.1} ns a random read",
            memory.write_1k_mib_per_s, memory.sequential_read_mib_per_s, memory.random_read_ns
        );
    }
    if let Some(disk) = &probes.disk {
        println!("disk            {} ({})", disk.path, disk.filesystem);
        row("write+fdatasync", &disk.write_fdatasync);
        row("random", &disk.random_write_fdatasync);
        row("direct, sync", &disk.sync_write);
    }
    for (to, network) in &probes.network {
        println!(
            "network to {to}: {:.2} Gb/s in {} streams, {:.0} packets/s",
            network.bytes_per_s * 8e-9,
            network.streams,
            network.packets_per_s.unwrap_or(0.0)
        );
        for (size, latency) in &network.round_trips {
            row(&format!("{size} bytes"), latency);
        }
    }
    if let Some(wakeup) = &probes.wakeup {
        row("wake, same core", &wakeup.same_core);
        row("wake, other core", &wakeup.other_core);
        row("sleep 50 µs +", &wakeup.sleep_overshoot);
    }
    if let Some(stalls) = &probes.stalls {
        println!(
            "stalls > 1 ms   {} in {:.1} s, the longest gap {} µs",
            stalls.stalls.count(),
            stalls.watched_s,
            stalls.longest_us
        );
    }
    println!();
    for check in &probes.cross_checks {
        println!("{}", sentence(check));
    }
    for problem in &probes.problems {
        println!("problem: {problem}");
    }
    println!("took {:.1} s", began.elapsed().as_secs_f64());
    let agrees = |check| Agreement::of(check) == Agreement::Agrees;
    let agreeing = probes.cross_checks.iter().filter(|check| agrees(check)).count();
    println!("{agreeing} of {} agree", probes.cross_checks.len());
    if agreeing == probes.cross_checks.len() && agreeing > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn row(what: &str, latency: &Latency) {
    let quantile = |q| latency.quantile_us(q).unwrap_or(0);
    println!(
        "  {what:<16} min {:>6} µs  mean {:>8.1}  p50 {:>6}  p95 {:>6}  p99 {:>6}  max {:>7}  ({} times)",
        latency.min_us().unwrap_or(0),
        latency.mean_us().unwrap_or(0.0),
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        latency.max_us().unwrap_or(0),
        latency.count()
    );
}
