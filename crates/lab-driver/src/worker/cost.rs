//! What a worker's thread cost: processor time and context switches, by the kernel's books.

use rustix::time::{ClockId, clock_gettime};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ThreadCost {
    pub cpu_s: f64,
    pub context_switches: u64,
}

impl ThreadCost {
    pub fn of_this_thread() -> ThreadCost {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        ThreadCost {
            cpu_s: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            context_switches: std::fs::read_to_string("/proc/thread-self/status")
                .map(|status| switches(&status))
                .unwrap_or_default(),
        }
    }

    pub fn since(self, begin: ThreadCost) -> ThreadCost {
        ThreadCost {
            cpu_s: self.cpu_s - begin.cpu_s,
            context_switches: self.context_switches.saturating_sub(begin.context_switches),
        }
    }
}

/// Voluntary and other switches together.
fn switches(status: &str) -> u64 {
    status
        .lines()
        .filter_map(|line| line.split_once("_ctxt_switches:"))
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_switches_count() {
        let status = "Threads:\t1\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches(status), 15);
        let real = std::fs::read_to_string("/proc/self/status").unwrap();
        assert_eq!(real.matches("_ctxt_switches:").count(), 2);
    }
}
