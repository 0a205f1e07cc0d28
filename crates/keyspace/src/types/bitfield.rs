//! BITFIELD: integers of any width within a string.

use redis_wire::number::parse_i64;

use crate::call::{Call, is_word};
use crate::failure::{Failure, Outcome, syntax};
use crate::types::bitmap::offset;
use crate::work::Class;

/// `i5`, `u63`
#[derive(Clone, Copy)]
struct Width {
    bits: u32,
    is_signed: bool,
}

impl Width {
    fn of(arg: &[u8]) -> Outcome<Width> {
        let wrong = || {
            Failure::reply(
                "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
            )
        };
        let (is_signed, most) = match arg.first() {
            Some(b'i') => (true, 64),
            Some(b'u') => (false, 63),
            _ => return Err(wrong()),
        };
        let bits = parse_i64(&arg[1..]).filter(|bits| (1..=most).contains(bits));
        let bits = bits.ok_or_else(wrong)? as u32;
        Ok(Width { bits, is_signed })
    }

    /// The least and the greatest number that fit.
    fn limits(self) -> (i128, i128) {
        match self.is_signed {
            true => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            false => (0, (1 << self.bits) - 1),
        }
    }

    /// The lower bits of a number.
    fn wrapped(self, value: i128) -> i64 {
        let bits = value & ((1 << self.bits) - 1);
        match self.is_signed && bits >> (self.bits - 1) == 1 {
            true => (bits - (1 << self.bits)) as i64,
            false => bits as i64,
        }
    }

    fn get(self, bytes: &[u8], offset: u64) -> i64 {
        let mut value: i128 = 0;
        for bit in offset..offset + u64::from(self.bits) {
            let byte = bytes.get((bit >> 3) as usize).copied().unwrap_or(0);
            value = value << 1 | i128::from(byte >> (7 - (bit & 7)) & 1);
        }
        self.wrapped(value)
    }

    fn put(self, bytes: &mut [u8], offset: u64, value: i64) {
        for at in 0..u64::from(self.bits) {
            let bit = offset + at;
            let mask = 1 << (7 - (bit & 7));
            let byte = &mut bytes[(bit >> 3) as usize];
            match value >> (u64::from(self.bits) - 1 - at) & 1 {
                0 => *byte &= !mask,
                _ => *byte |= mask,
            }
        }
    }

    /// How many bytes hold it.
    fn end(self, offset: u64) -> usize {
        ((offset + u64::from(self.bits) - 1) >> 3) as usize + 1
    }
}

/// What happens to a number that does not fit.
#[derive(Clone, Copy, PartialEq)]
enum Overflow {
    Wraps,
    Saturates,
    Fails,
}

impl Overflow {
    /// `None`: nothing is to be written.
    fn fit(self, width: Width, value: i128) -> Option<i64> {
        let (least, greatest) = width.limits();
        match self {
            _ if (least..=greatest).contains(&value) => Some(value as i64),
            Overflow::Wraps => Some(width.wrapped(value)),
            Overflow::Saturates => Some(value.clamp(least, greatest) as i64),
            Overflow::Fails => None,
        }
    }
}

enum Action {
    Get,
    Set(i64),
    Increment(i64),
}

struct Step {
    action: Action,
    width: Width,
    offset: u64,
    overflow: Overflow,
}

fn steps(call: &Call) -> Outcome<Vec<Step>> {
    let (mut steps, mut overflow) = (Vec::new(), Overflow::Wraps);
    let mut options = call.options(2);
    while let Some(option) = options.next() {
        governor::tick()?;
        // GET needs two more arguments, SET and INCRBY three.
        let left = options.rest().len();
        let which = match option {
            option if is_word(option, "GET") && left >= 2 => 0,
            option if is_word(option, "SET") && left >= 3 => 1,
            option if is_word(option, "INCRBY") && left >= 3 => 2,
            option if is_word(option, "OVERFLOW") && left >= 1 => {
                overflow = match options.value()? {
                    how if is_word(how, "WRAP") => Overflow::Wraps,
                    how if is_word(how, "SAT") => Overflow::Saturates,
                    how if is_word(how, "FAIL") => Overflow::Fails,
                    _ => return Err(Failure::reply("ERR Invalid OVERFLOW type specified")),
                };
                continue;
            }
            _ => return Err(syntax()),
        };
        let width = Width::of(options.value()?)?;
        let offset = offset(options.value()?, Some(width.bits))?;
        let action = match which {
            0 => Action::Get,
            1 => Action::Set(options.integer()?),
            _ => Action::Increment(options.integer()?),
        };
        steps.push(Step {
            action,
            width,
            offset,
            overflow,
        });
    }
    Ok(steps)
}

pub fn bitfield(call: &mut Call) -> Outcome {
    let steps = steps(call)?;
    run(call, &steps)
}

pub fn bitfield_ro(call: &mut Call) -> Outcome {
    let steps = steps(call)?;
    if !steps.iter().all(|step| matches!(step.action, Action::Get)) {
        return Err(Failure::reply("ERR BITFIELD_RO only supports the GET subcommand"));
    }
    run(call, &steps)
}

fn run(call: &mut Call, steps: &[Step]) -> Outcome {
    let key = call.arg(1);
    let written = steps.iter().filter(|step| !matches!(step.action, Action::Get));
    let needed = written.map(|step| step.width.end(step.offset)).max();
    let is_long = call.is_long(key, needed.unwrap_or(0))?;
    let mut value = match is_long {
        true => Vec::new(),
        false => call.string_of_len(key, needed.unwrap_or(0))?,
    };
    call.reply.array(steps.len());
    let mut changes = 0;
    for step in steps {
        governor::tick()?;
        // Of a long string the bytes that it is in.
        let first = match is_long {
            true => (step.offset >> 3) as usize,
            false => 0,
        };
        let offset = step.offset - 8 * first as u64;
        if is_long {
            value = call.padded_part(key, first..step.width.end(step.offset))?;
        }
        let old = step.width.get(&value, offset);
        let (new, answers_new) = match step.action {
            Action::Get => {
                call.reply.integer(old);
                continue;
            }
            Action::Set(new) if step.width.is_signed => (i128::from(new), false),
            // What is negative is a large number without a sign.
            Action::Set(new) => (i128::from(new as u64), false),
            Action::Increment(by) => (i128::from(old) + i128::from(by), true),
        };
        match step.overflow.fit(step.width, new) {
            None => call.reply.null(),
            Some(new) => {
                step.width.put(&mut value, offset, new);
                if is_long {
                    call.change_part(key, first, &value)?;
                }
                call.reply.integer(if answers_new { new } else { old });
                changes += 1;
            }
        }
    }
    match needed {
        Some(needed) if is_long => {
            call.change_part(key, needed, b"")?;
        }
        Some(_) => call.change_string(key, &value)?,
        None => {}
    }
    if changes > 0 {
        call.note(Class::String, "setbit", key);
    }
    Ok(())
}
