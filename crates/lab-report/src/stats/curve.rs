//! What a ladder says as a whole: where latency leaves its floor, which rate a service level allows, where two
//! curves cross.

use super::Outcome;

/// How much of its lowest p95 a rung may show and still count as flat.
pub const FLAT: f64 = 2.0;

/// One rung of a ladder: rate and latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    pub rate: f64,
    pub latency: f64,
}

/// The rung with the highest rate whose latency, and that of all lighter rungs, is at most [`FLAT`] times the
/// lowest. Steps in rising order of load; `None` unless there are three.
pub fn knee(steps: &[Step]) -> Option<usize> {
    if steps.len() < 3 {
        return None;
    }
    let floor = steps.iter().map(|step| step.latency).fold(f64::INFINITY, f64::min);
    let flat = steps.iter().take_while(|step| step.latency <= FLAT * floor).count();
    (0..flat).max_by(|&a, &b| steps[a].rate.total_cmp(&steps[b].rate))
}

/// The rung with the highest rate whose latency holds `limit`.
pub fn within(steps: &[Step], limit: f64) -> Option<usize> {
    (0..steps.len())
        .filter(|&at| steps[at].latency <= limit)
        .max_by(|&a, &b| steps[a].rate.total_cmp(&steps[b].rate))
}

/// Where the lead passes from one to the other: the loads just before and after, and who leads after.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossover {
    pub before: f64,
    pub after: f64,
    /// `Higher` or `Lower` of the other against the base.
    pub then: Outcome,
}

/// Over the loads both have measured, in rising order, with what was shown at each. Loads without a shown
/// difference are passed over: a crossover needs a lead on both sides.
pub fn crossovers(outcomes: &[(f64, Outcome)]) -> Vec<Crossover> {
    let led: Vec<_> = outcomes
        .iter()
        .filter(|(_, outcome)| matches!(outcome, Outcome::Higher | Outcome::Lower))
        .collect();
    led.windows(2)
        .filter(|pair| pair[0].1 != pair[1].1)
        .map(|pair| Crossover {
            before: pair[0].0,
            after: pair[1].0,
            then: pair[1].1,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder(steps: &[(f64, f64)]) -> Vec<Step> {
        steps.iter().map(|&(rate, latency)| Step { rate, latency }).collect()
    }

    #[test]
    fn the_knee_is_where_latency_leaves_its_floor() {
        let steps = ladder(&[
            (100.0, 2.0),
            (200.0, 2.0),
            (390.0, 2.1),
            (700.0, 3.9),
            (800.0, 9.0),
            (810.0, 30.0),
        ]);
        assert_eq!(knee(&steps), Some(3));
        assert_eq!(knee(&steps[..2]), None);
    }

    #[test]
    fn a_late_dip_does_not_move_the_knee() {
        let steps = ladder(&[(100.0, 2.0), (200.0, 9.0), (300.0, 2.0)]);
        assert_eq!(knee(&steps), Some(0));
    }

    #[test]
    fn the_service_level_takes_the_highest_rate_not_the_last_rung() {
        let steps = ladder(&[(100.0, 2.0), (900.0, 15.0), (850.0, 19.0), (870.0, 25.0)]);
        assert_eq!(within(&steps, 20.0), Some(1));
        assert_eq!(within(&steps, 1.0), None);
    }

    #[test]
    fn curves_cross_only_between_shown_leads() {
        use Outcome::*;
        let found = crossovers(&[
            (1.0, Higher),
            (8.0, Higher),
            (16.0, NoneShown),
            (32.0, Lower),
            (64.0, Lower),
        ]);
        assert_eq!(
            found,
            [Crossover {
                before: 8.0,
                after: 32.0,
                then: Lower
            }]
        );
        assert_eq!(crossovers(&[(1.0, Higher), (2.0, NoneShown), (4.0, Higher)]), []);
        assert_eq!(crossovers(&[(1.0, Untested), (2.0, Lower)]), []);
    }
}
