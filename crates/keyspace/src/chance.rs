//! Choosing at random.

use std::collections::HashSet;

use env::Random;

use crate::failure::{Failure, Outcome, out_of_range};

/// The most that one reply chooses with repetition.
const CHOSEN_MAX: i64 = 1 << 30;

/// Positions out of `len`: one where no count is given; so many different ones; for a negative count so many, some perhaps several times.
pub fn choose(random: &std::sync::Arc<dyn Random>, len: usize, count: Option<i64>) -> Outcome<Vec<usize>> {
    let below = |end: usize| (random.next_u64() % end.max(1) as u64) as usize;
    match count {
        None => Ok(vec![below(len)]),
        Some(count) if count < 0 => {
            let count = count
                .checked_neg()
                .filter(|&count| count <= CHOSEN_MAX)
                .ok_or_else(out_of_range)?;
            governor::ensure(count as usize * size_of::<usize>())?;
            let mut chosen = Vec::with_capacity(count as usize);
            for _ in 0..count {
                governor::tick()?;
                chosen.push(below(len));
            }
            Ok(chosen)
        }
        Some(count) => {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            if count >= len {
                return Ok((0..len).collect());
            }
            // Floyd's way to a sample without repetition.
            let mut chosen = HashSet::with_capacity(count);
            let mut order = Vec::with_capacity(count);
            for end in len - count..len {
                governor::tick()?;
                let at = below(end + 1);
                let at = if chosen.contains(&at) { end } else { at };
                chosen.insert(at);
                order.push(at);
            }
            Ok(order)
        }
    }
}

/// The count of a command that chooses: less than nothing for some several times.
pub fn count_of(arg: &[u8]) -> Outcome<i64> {
    match redis_wire::number::parse_i64(arg) {
        None => Err(crate::failure::not_integer()),
        Some(i64::MIN) => Err(Failure::reply(
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        )),
        Some(count) => Ok(count),
    }
}
