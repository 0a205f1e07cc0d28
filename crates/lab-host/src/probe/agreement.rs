//! Whether a probe and the tool that it is held against agree: by the medians of their turns, and by how far the turns of each
//! lie apart, since two runs on a machine that other work disturbs agree with nothing, not even with themselves.

use std::fmt;

use lab_results::host::CrossCheck;

/// How far apart the medians may be.
pub const AGREE_WITHIN: f64 = 0.10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// The medians are within [`AGREE_WITHIN`].
    Agrees,
    /// They are not, and no turn of one side came near the other's.
    Differs,
    /// They are not, but the turns of the two sides overlap: the machine was not quiet.
    Unsteady,
}

impl Agreement {
    pub fn of(check: &CrossCheck) -> Agreement {
        let (ours, theirs) = ranges(check);
        if difference(check).abs() <= AGREE_WITHIN {
            Agreement::Agrees
        } else if ours.0 <= theirs.1 && theirs.0 <= ours.1 {
            Agreement::Unsteady
        } else {
            Agreement::Differs
        }
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Agreement::Agrees => "agrees",
            Agreement::Differs => "DIFFERS",
            Agreement::Unsteady => "unsteady",
        })
    }
}

/// Ours less theirs, as a share of theirs.
pub fn difference(check: &CrossCheck) -> f64 {
    check.ours / check.theirs - 1.0
}

/// Lowest and highest turn of ours and of theirs.
fn ranges(check: &CrossCheck) -> ((f64, f64), (f64, f64)) {
    let range = |median: f64, of: fn(&(f64, f64)) -> f64| {
        let turns = check.turns.iter().map(of);
        (turns.clone().fold(median, f64::min), turns.fold(median, f64::max))
    };
    (range(check.ours, |turn| turn.0), range(check.theirs, |turn| turn.1))
}

/// `agrees   sysbench, cpu, 1 thread: ours 359.0 (358.1 to 360.2), theirs 362.1 (…) events/s, -0.9 %: within 10 %`
pub fn sentence(check: &CrossCheck) -> String {
    let agreement = Agreement::of(check);
    let (ours, theirs) = ranges(check);
    let verdict = match agreement {
        Agreement::Agrees => "within 10 %",
        Agreement::Differs => "not within 10 %",
        Agreement::Unsteady => "not within 10 %, but the turns of both overlap: try again when the machine is quiet",
    };
    format!(
        "{:<9}{}, {}: ours {:.1} ({:.1} to {:.1}), theirs {:.1} ({:.1} to {:.1}) {}, {:+.1} %: {verdict}",
        agreement.to_string(),
        check.tool,
        check.what,
        check.ours,
        ours.0,
        ours.1,
        check.theirs,
        theirs.0,
        theirs.1,
        check.unit,
        100.0 * difference(check),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(turns: &[(f64, f64)]) -> CrossCheck {
        let middle = turns[turns.len() / 2];
        CrossCheck {
            tool: "tool".to_owned(),
            what: "thing".to_owned(),
            unit: "s".to_owned(),
            ours: middle.0,
            theirs: middle.1,
            turns: turns.to_vec(),
        }
    }

    #[test]
    fn near_medians_agree_whatever_the_turns() {
        let said = check(&[(50.0, 99.0), (105.0, 100.0), (200.0, 101.0)]);
        assert_eq!(Agreement::of(&said), Agreement::Agrees);
        assert_eq!(
            sentence(&said),
            "agrees   tool, thing: ours 105.0 (50.0 to 200.0), theirs 100.0 (99.0 to 101.0) s, +5.0 %: within 10 %"
        );
    }

    #[test]
    fn far_medians_differ_only_if_no_turn_came_near() {
        let apart = check(&[(112.0, 99.0), (115.0, 100.0), (116.0, 101.0)]);
        assert_eq!(Agreement::of(&apart), Agreement::Differs);
        let noise = check(&[(98.0, 99.0), (115.0, 100.0), (116.0, 101.0)]);
        assert_eq!(Agreement::of(&noise), Agreement::Unsteady);
    }
}
