//! `bit`: operations on 32 bits.

use crate::frame::{Frame, Native, Raised};
use crate::library::add;

const FUNCTIONS: &[(&str, Native)] = &[
    ("tobit", |frame| fold(frame, |bits, _| bits, 1)),
    ("bnot", |frame| {
        let bits = bits_of(frame, 1)?;
        Ok(push(frame, !bits))
    }),
    ("band", |frame| fold(frame, |one, other| one & other, i32::MAX)),
    ("bor", |frame| fold(frame, |one, other| one | other, i32::MAX)),
    ("bxor", |frame| fold(frame, |one, other| one ^ other, i32::MAX)),
    ("lshift", |frame| shift(frame, |bits, by| bits << by)),
    ("rshift", |frame| shift(frame, |bits, by| bits >> by)),
    ("arshift", |frame| shift(frame, |bits, by| (bits as i32 >> by) as u32)),
    ("rol", |frame| shift(frame, u32::rotate_left)),
    ("ror", |frame| shift(frame, u32::rotate_right)),
    ("bswap", |frame| {
        let bits = bits_of(frame, 1)?;
        Ok(push(frame, bits.swap_bytes()))
    }),
    ("tohex", to_hex),
];

pub(crate) fn fill(frame: &mut Frame<'_>) {
    add(frame, FUNCTIONS);
}

/// The lower 32 bits of a number, rounded to the nearest whole one.
fn bits_of(frame: &Frame<'_>, at: i32) -> Result<u32, Raised> {
    // 2^52 + 2^51: what is left of the sum's fraction are the whole number's bits.
    const MAGIC: f64 = 6755399441055744.0;
    Ok((frame.check_number(at)? + MAGIC).to_bits() as u32)
}

fn push(frame: &Frame<'_>, bits: u32) -> i32 {
    frame.push_number(f64::from(bits as i32));
    1
}

fn fold(frame: &mut Frame<'_>, join: fn(u32, u32) -> u32, args: i32) -> Result<i32, Raised> {
    let mut bits = bits_of(frame, 1)?;
    for at in 2..=frame.args().min(args) {
        bits = join(bits, bits_of(frame, at)?);
    }
    Ok(push(frame, bits))
}

fn shift(frame: &mut Frame<'_>, shift: fn(u32, u32) -> u32) -> Result<i32, Raised> {
    let (bits, by) = (bits_of(frame, 1)?, bits_of(frame, 2)?);
    Ok(push(frame, shift(bits, by & 31)))
}

fn to_hex(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    let bits = bits_of(frame, 1)?;
    let digits = match frame.args() {
        1 => 8,
        _ => bits_of(frame, 2)? as i32,
    };
    let text = match digits < 0 {
        true => format!("{bits:08X}"),
        false => format!("{bits:08x}"),
    };
    let digits = digits.unsigned_abs().min(8) as usize;
    frame.push_bytes(&text.as_bytes()[8 - digits..]);
    Ok(1)
}
