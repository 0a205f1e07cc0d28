//! Numbers to text and back, as MySQL does it: integer formatting for the protocol's hot path, doubles in their shortest form
//! ([`write_double`]), and the reading of a number from the start of any string ("12abc" is 12, with a warning).

mod float_text;
mod int_text;
mod parse;

pub use float_text::{write_double, write_double_within, write_fixed, write_float};
pub use int_text::{write_i64, write_u64};
pub use parse::{ParsedDouble, ParsedInt, parse_double, parse_integer, parse_rounded_integer};

/// The printed form of a double.
pub fn double_to_string(v: f64) -> String {
    into_string(|out| write_double(v, out))
}

/// The printed form of a FLOAT: six digits.
pub fn float_to_string(v: f32) -> String {
    into_string(|out| write_float(v, out))
}

fn into_string(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::with_capacity(24);
    write(&mut out);
    String::from_utf8(out).expect("numbers print as ASCII")
}
