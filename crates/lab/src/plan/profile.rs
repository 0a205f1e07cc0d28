//! A rate that varies, as the phases that the driver carries out.

use lab_results::run;

use super::{Profile, Span};

impl Profile {
    /// The phases in the order of time: the steps so many times over; or the base rate and the burst in turns, and the base rate at
    /// the end, in which a backlog can be seen to go.
    pub fn to_results(&self) -> run::Profile {
        let phase = |name: &str, from_per_s: f64, to_per_s: f64, length: Span| run::Phase {
            name: name.to_owned(),
            from_per_s,
            to_per_s,
            seconds: length.as_secs_f64(),
        };
        let mut phases = Vec::new();
        for _ in 0..self.times {
            for step in &self.steps {
                let name = step.name.as_deref().unwrap_or_default();
                phases.push(phase(name, step.rate, step.to.unwrap_or(step.rate), step.length));
            }
            if let Some(burst) = &self.burst {
                let before = Span(burst.every.0.saturating_sub(burst.length.0));
                phases.push(phase("base", burst.base, burst.base, before));
                phases.push(phase("burst", burst.peak, burst.peak, burst.length));
            }
        }
        if let Some(burst) = &self.burst {
            let after = Span(burst.every.0.saturating_sub(burst.length.0));
            phases.push(phase("base", burst.base, burst.base, after));
        }
        run::Profile {
            name: self.name.clone(),
            phases,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(text: &str) -> Vec<(f64, f64, f64)> {
        let profile: Profile = toml::from_str(text).unwrap();
        let phases = profile.to_results().phases.into_iter();
        phases
            .map(|phase| (phase.from_per_s, phase.to_per_s, phase.seconds))
            .collect()
    }

    #[test]
    fn steps_are_repeated_as_they_stand() {
        let text =
            "name = \"x\"\ntimes = 2\nsteps = [{ rate = 5, for = \"10s\" }, { rate = 5, to = 20, for = \"500ms\" }]";
        let once = [(5.0, 5.0, 10.0), (5.0, 20.0, 0.5)];
        assert_eq!(phases(text), [once, once].concat());
    }

    #[test]
    fn a_burst_ends_with_the_base_rate() {
        let text = "name = \"x\"\ntimes = 2\nburst = { base = 5, peak = 50, every = \"10s\", length = \"2s\" }";
        let (base, peak) = ((5.0, 5.0, 8.0), (50.0, 50.0, 2.0));
        assert_eq!(phases(text), [base, peak, base, peak, base]);
    }
}
