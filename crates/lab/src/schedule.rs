//! In which order rungs run.
//!
//! The machine that measures drifts: caches warm, clouds throttle, neighbours come. If one target always ran first, the
//! drift would look like a difference between targets. So the targets take turns at each load, and whoever went first
//! goes last the next time (A B, B A); repeats are spread over the whole series instead of following each other.

use crate::plan::Order;

/// One rung to run, by places in the plan's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    pub target: usize,
    pub workload: usize,
    pub load: usize,
    /// From 1.
    pub repeat: u32,
}

/// How much of each there is.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    pub targets: usize,
    pub workloads: usize,
    pub loads: usize,
}

/// The whole order for `repeats` rounds.
pub fn slots(order: Order, extent: Extent, repeats: u32) -> Vec<Slot> {
    match order {
        Order::Abba => (1..=repeats).flat_map(|repeat| abba_round(extent, repeat)).collect(),
        Order::Sequential => (0..extent.targets)
            .flat_map(|target| (1..=repeats).flat_map(move |repeat| target_round(extent, target, repeat)))
            .collect(),
    }
}

/// One more round, for what was not settled after the others.
pub fn extra_round(order: Order, extent: Extent, repeat: u32) -> Vec<Slot> {
    match order {
        Order::Abba => abba_round(extent, repeat).collect(),
        Order::Sequential => (0..extent.targets)
            .flat_map(|target| target_round(extent, target, repeat))
            .collect(),
    }
}

fn abba_round(extent: Extent, repeat: u32) -> impl Iterator<Item = Slot> {
    (0..extent.workloads).flat_map(move |workload| {
        (0..extent.loads).flat_map(move |load| {
            // Every load begins where the one before ended, and the next repeat turns it around.
            let forward = (load + repeat as usize) % 2 == 1;
            (0..extent.targets).map(move |place| Slot {
                target: if forward { place } else { extent.targets - 1 - place },
                workload,
                load,
                repeat,
            })
        })
    })
}

fn target_round(extent: Extent, target: usize, repeat: u32) -> impl Iterator<Item = Slot> {
    (0..extent.workloads).flat_map(move |workload| {
        (0..extent.loads).map(move |load| Slot {
            target,
            workload,
            load,
            repeat,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(order: Order, extent: Extent, repeats: u32) -> String {
        slots(order, extent, repeats)
            .iter()
            .map(|slot| {
                let target = (b'A' + u8::try_from(slot.target).unwrap()) as char;
                format!("{target}{}{}", slot.load, slot.repeat)
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    const TWO: Extent = Extent {
        targets: 2,
        workloads: 1,
        loads: 2,
    };

    #[test]
    fn targets_take_turns_and_turn_around() {
        assert_eq!(drawn(Order::Abba, TWO, 2), "A01 B01 B11 A11 B02 A02 A12 B12");
    }

    #[test]
    fn sequential_ends_one_target_before_the_next() {
        assert_eq!(drawn(Order::Sequential, TWO, 2), "A01 A11 A02 A12 B01 B11 B02 B12");
    }

    #[test]
    fn every_rung_runs_once_and_no_target_is_always_first() {
        let extent = Extent {
            targets: 3,
            workloads: 2,
            loads: 3,
        };
        for order in [Order::Abba, Order::Sequential] {
            let mut slots = slots(order, extent, 4);
            let count = slots.len();
            slots.sort();
            slots.dedup();
            assert_eq!((count, slots.len()), (3 * 2 * 3 * 4, count));
        }
        for load in 0..3 {
            let order = slots(Order::Abba, extent, 4);
            let firsts = (1..=4).map(|repeat| {
                let mut slots = order.iter().filter(|slot| slot.load == load && slot.repeat == repeat);
                slots.next().unwrap().target
            });
            assert_eq!(firsts.filter(|target| *target == 0).count(), 2, "load {load}");
        }
    }
}
