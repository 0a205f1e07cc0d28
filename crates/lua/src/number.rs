//! Numbers as C's `printf` writes them.

/// `%.{precision}g`
pub fn write_g(value: f64, precision: usize, out: &mut Vec<u8>) {
    use std::io::Write as _;
    if value.is_nan() {
        return out.extend_from_slice(if value.is_sign_negative() { b"-nan" } else { b"nan" });
    }
    if value.is_infinite() {
        return out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    }
    let precision = precision.max(1);
    let scientific = format!("{value:.*e}", precision - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("this form has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    if (-4..precision as i32).contains(&exponent) {
        let decimals = (precision as i32 - 1 - exponent) as usize;
        let fixed = format!("{value:.decimals$}");
        return out.extend_from_slice(without_zeros(&fixed).as_bytes());
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{}e{sign}{:02}", without_zeros(mantissa), exponent.abs());
}

fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// The number at the beginning of a text as C's `strtod` reads it, and how long it is. None: there is none.
pub fn strtod(text: &[u8]) -> Option<(f64, usize)> {
    let sign_len = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let sign = if text.first() == Some(&b'-') { -1.0 } else { 1.0 };
    let rest = &text[sign_len..];
    let has = |word: &[u8]| {
        rest.get(..word.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(word))
    };
    for (word, value) in [
        (&b"infinity"[..], f64::INFINITY),
        (b"inf", f64::INFINITY),
        (b"nan", f64::NAN),
    ] {
        if has(word) {
            return Some((sign * value, sign_len + word.len()));
        }
    }
    if has(b"0x")
        && let Some((value, len)) = hexadecimal(&rest[2..])
    {
        return Some((sign * value, sign_len + 2 + len));
    }
    let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(0);
    let mut len = whole;
    let mut fraction = 0;
    if rest.get(len) == Some(&b'.') {
        fraction = digits(len + 1);
        len += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    if matches!(rest.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest.get(len + 1), Some(b'+' | b'-')));
        let exponent = if len + 1 + sign <= rest.len() {
            digits(len + 1 + sign)
        } else {
            0
        };
        if exponent > 0 {
            len += 1 + sign + exponent;
        }
    }
    let value: f64 = std::str::from_utf8(&rest[..len]).ok()?.parse().ok()?;
    Some((sign * value, sign_len + len))
}

/// `1.8p3`
fn hexadecimal(text: &[u8]) -> Option<(f64, usize)> {
    let (mut value, mut at, mut digits, mut scale) = (0.0f64, 0, 0, 0i32);
    let mut is_fraction = false;
    while let Some(&byte) = text.get(at) {
        match char::from(byte).to_digit(16) {
            Some(digit) => {
                value = value * 16.0 + f64::from(digit);
                digits += 1;
                scale -= if is_fraction { 4 } else { 0 };
            }
            None if byte == b'.' && !is_fraction => is_fraction = true,
            None => break,
        }
        at += 1;
    }
    if digits == 0 {
        return None;
    }
    if matches!(text.get(at), Some(b'p' | b'P')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let begin = at + 1 + sign;
        let len = text.iter().skip(begin).take_while(|byte| byte.is_ascii_digit()).count();
        if len > 0 {
            let exponent = std::str::from_utf8(&text[begin..begin + len])
                .ok()?
                .parse()
                .unwrap_or(100_000);
            scale = scale.saturating_add(if text[at + 1] == b'-' { -exponent } else { exponent });
            at = begin + len;
        }
    }
    Some((value * 2f64.powi(scale), at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_c_does() {
        for (value, precision, text) in [
            (0.1, 17, "0.10000000000000001"),
            (1e20, 17, "1e+20"),
            (123456789012345678.0, 17, "1.2345678901234568e+17"),
            (1.0 / 3.0, 14, "0.33333333333333"),
            (1e14, 14, "1e+14"),
            (99999999999999.0, 14, "99999999999999"),
            (0.0001, 14, "0.0001"),
            (0.00001, 14, "1e-05"),
            (-0.0, 14, "-0"),
            (std::f64::consts::PI, 3, "3.14"),
            (9.999, 3, "10"),
            (f64::NEG_INFINITY, 3, "-inf"),
        ] {
            let mut out = Vec::new();
            write_g(value, precision, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
