use std::fs;
use std::time::Instant;

use super::*;

#[test]
fn a_second_of_this_machine() {
    let plan = WatchPlan {
        processes: vec![std::process::id().to_string()],
        interval_ms: 300,
        ..WatchPlan::default()
    };
    let mut watcher = Watcher::new("here", &plan).unwrap();
    let began = Instant::now();
    let mut spun = 0u64;
    while began.elapsed() < Duration::from_millis(250) {
        spun = spun.wrapping_add(1);
    }
    std::hint::black_box(spun);
    let sample = watcher.sample();
    let cpu = &sample.cpu;
    let sum = cpu.user + cpu.system + cpu.softirq + cpu.iowait + cpu.steal + cpu.idle;
    assert!((sum - 1.0).abs() < 1e-6, "{cpu:?}");
    assert!((0.2..30.0).contains(&sample.span_s), "{}", sample.span_s);
    assert_eq!(sample.cores.len() as f64, sample.cpu_limit);
    assert!(sample.cores.iter().all(|busy| (0.0..=1.0).contains(busy)));
    assert!(sample.processes[&std::process::id().to_string()] > 0.0);
    assert!(sample.memory_available_bytes > 0);
    assert!(sample.context_switches > 0);

    let next = watcher.next_sample();
    assert!(next.at > sample.at);
}

#[test]
fn a_group_that_is_not_there_is_refused() {
    let plan = WatchPlan {
        cgroup: Some("/lab/no-such-group".to_owned()),
        ..WatchPlan::default()
    };
    let error = Watcher::new("here", &plan).unwrap_err();
    assert!(error.to_string().contains("/lab/no-such-group"), "{error}");
}

/// The group that this test runs in, if it is one that a figure can be read of.
#[test]
fn the_own_group_has_processor_time() {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::")) else {
        return;
    };
    let Ok(group) = Group::find(path) else { return };
    let counters = group.read();
    assert!(counters.user_us + counters.system_us > 0);
}
