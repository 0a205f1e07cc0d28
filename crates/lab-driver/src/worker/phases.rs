//! What became of each phase of a load that varies over time.
//!
//! A transaction belongs to the phase in which it was due. What a phase's end finds due and not begun is its backlog; it is gone when
//! for the first time no transaction waits.

use lab_results::Latency;
use lab_results::run::Profile;
use lab_results::rung::PhaseResult;

use super::SECOND;

/// One worker's share of a phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct PhasePart {
    due: u64,
    answered: u64,
    latency: Latency,
    backlog: u64,
    /// From the phase's end until this worker had none waiting, nanoseconds.
    drained: Option<i64>,
}

pub(super) struct Phases {
    /// Nanoseconds since the measured interval began.
    ends: Vec<i64>,
    pub parts: Vec<PhasePart>,
    /// The phase of the last transaction that was due, and of the clock.
    due_in: usize,
    now_in: usize,
    /// Phases that are over and whose backlog is not gone.
    waiting: Vec<usize>,
}

impl Phases {
    pub fn new(profile: &Profile) -> Phases {
        let mut end = 0.0;
        let ends = profile.phases.iter().map(|phase| {
            end += phase.seconds;
            (end * SECOND as f64) as i64
        });
        Phases {
            ends: ends.collect(),
            parts: vec![PhasePart::default(); profile.phases.len()],
            due_in: 0,
            now_in: 0,
            waiting: Vec::new(),
        }
    }

    /// When the present phase ends.
    pub fn edge(&self) -> Option<i64> {
        self.ends.get(self.now_in).copied()
    }

    /// The present phase is over with so many waiting.
    pub fn next(&mut self, backlog: u64) {
        self.parts[self.now_in].backlog = backlog;
        if backlog > 0 {
            self.waiting.push(self.now_in);
        }
        self.now_in += 1;
    }

    /// A transaction was due, in the order of time: counts it and says in which phase; `None` while it warms up.
    #[inline]
    pub fn due(&mut self, at: i64) -> Option<usize> {
        if at < 0 {
            return None;
        }
        while at >= *self.ends.get(self.due_in)? {
            self.due_in += 1;
        }
        self.parts[self.due_in].due += 1;
        Some(self.due_in)
    }

    #[inline]
    pub fn answered(&mut self, due_in: Option<usize>, latency_us: u64) {
        if let Some(part) = self.parts.get_mut(self.now_in) {
            part.answered += 1;
        }
        if let Some(part) = due_in.and_then(|phase| self.parts.get_mut(phase)) {
            part.latency.record_us(latency_us);
        }
    }

    /// No transaction waits.
    #[inline]
    pub fn none_waits(&mut self, now: i64) {
        for phase in self.waiting.drain(..) {
            self.parts[phase].drained = Some(now - self.ends[phase]);
        }
    }
}

/// Adds one worker's phases to the others'.
pub(crate) fn merge_phases(sum: &mut Vec<PhasePart>, parts: Vec<PhasePart>) {
    if sum.is_empty() {
        *sum = parts.into_iter().map(PhasePart::settled).collect();
        return;
    }
    for (sum, part) in sum.iter_mut().zip(parts) {
        let part = part.settled();
        sum.due += part.due;
        sum.answered += part.answered;
        sum.latency.merge(&part.latency);
        sum.backlog += part.backlog;
        // Gone when the last worker's is.
        sum.drained = sum.drained.zip(part.drained).map(|(sum, part)| sum.max(part));
    }
}

impl PhasePart {
    /// Without backlog there is nothing to wait for.
    fn settled(mut self) -> PhasePart {
        if self.backlog == 0 {
            self.drained = Some(0);
        }
        self
    }
}

/// Of the phases that had begun by `end` (nanoseconds).
pub(crate) fn phase_results(profile: &Profile, parts: &[PhasePart], end: i64) -> Vec<PhaseResult> {
    let end_s = end as f64 / SECOND as f64;
    let mut at_s = 0.0;
    let mut results = Vec::new();
    for (phase, part) in profile.phases.iter().zip(parts) {
        if at_s < end_s {
            results.push(PhaseResult {
                name: phase.name.clone(),
                from_per_s: phase.from_per_s,
                to_per_s: phase.to_per_s,
                at_s,
                seconds: phase.seconds.min(end_s - at_s),
                due: part.due,
                transactions: part.answered,
                latency: part.latency.compacted(),
                backlog: part.backlog,
                drained_s: part.drained.map(|nanos| nanos.max(0) as f64 / SECOND as f64),
            });
        }
        at_s += phase.seconds;
    }
    results
}
