//! A thread that only looks at the clock: whatever is longer than a millisecond between two looks is time that the machine
//! did not give (another guest's turn, deep sleep, another process).

use std::time::{Duration, Instant};

use lab_results::Latency;
use lab_results::host::StallProbe;

const STALL: Duration = Duration::from_millis(1);

pub fn probe(time: Duration) -> StallProbe {
    let began = Instant::now();
    watch(std::iter::from_fn(|| Some(began.elapsed())).take_while(|now| *now < time))
}

fn watch(clock: impl Iterator<Item = Duration>) -> StallProbe {
    let mut stalls = Latency::default();
    let mut longest = Duration::ZERO;
    let mut last = None;
    for now in clock {
        let gap = now - last.unwrap_or(now);
        longest = longest.max(gap);
        if gap > STALL {
            stalls.record_us(gap.as_micros() as u64);
        }
        last = Some(now);
    }
    StallProbe {
        watched_s: last.unwrap_or_default().as_secs_f64(),
        stalls,
        longest_us: longest.as_micros() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_over_a_millisecond_are_stalls() {
        let looks = [0, 10, 900, 1_950, 1_960, 202_000, 202_005];
        let probe = watch(looks.into_iter().map(Duration::from_micros));
        assert_eq!(probe.stalls.count(), 2);
        assert_eq!(probe.longest_us, 200_040);
        assert!((probe.watched_s - 0.202_005).abs() < 1e-9);
    }
}
