//! Decimals against a bignum model.

use super::*;
use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::{Signed, Zero};
use proptest::prelude::*;

fn dec(text: &str) -> Decimal {
    Decimal::parse(text).unwrap_or_else(|| panic!("{text}"))
}

fn pow10(n: u32) -> BigInt {
    BigInt::from(10).pow(n)
}

/// Coefficient as a bignum.
fn model(d: Decimal) -> BigInt {
    let bytes: Vec<u8> = d.wide().0.iter().flat_map(|w| w.to_le_bytes()).collect();
    BigInt::from_bytes_le(if d.negative { Sign::Minus } else { Sign::Plus }, &bytes)
}

/// `n / 10^from` at another scale, half away from zero.
fn rescale(n: &BigInt, from: u32, to: u32) -> BigInt {
    if to >= from {
        return n * pow10(to - from);
    }
    round_div(n, &pow10(from - to))
}

fn round_div(n: &BigInt, d: &BigInt) -> BigInt {
    let (q, r) = n.abs().div_rem(&d.abs());
    let q = if r * 2 >= d.abs() { q + 1 } else { q };
    if n.is_negative() != d.is_negative() { -q } else { q }
}

prop_compose! {
    fn decimals()(digits in prop_oneof![1usize..8, 1usize..=20, 1usize..=65], seed in "[0-9]{65}", scale in 0usize..=30, negative: bool)
        -> Decimal {
        let text = &seed[..digits];
        let scale = scale.min(digits);
        let (integer, fraction) = text.split_at(digits - scale);
        let sign = if negative { "-" } else { "" };
        dec(&format!("{sign}0{integer}.{fraction}"))
    }
}

fn check(result: Result<Decimal, Overflow>, exact: &BigInt, exact_scale: u32) {
    match result {
        Ok(d) => {
            assert_eq!(model(d), rescale(exact, exact_scale, u32::from(d.scale)));
            assert!(model(d).abs() < pow10(65));
        }
        Err(Overflow) => assert!(rescale(exact, exact_scale, 0).abs() >= pow10(65)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn add_sub_mul_are_exact(a in decimals(), b in decimals()) {
        let s = u32::from(a.scale.max(b.scale));
        let (ma, mb) = (rescale(&model(a), a.scale.into(), s), rescale(&model(b), b.scale.into(), s));
        check(a.checked_add(b), &(&ma + &mb), s);
        check(a.checked_sub(b), &(&ma - &mb), s);
        check(a.checked_mul(b), &(model(a) * model(b)), u32::from(a.scale + b.scale));
        prop_assert_eq!(a.cmp(&b), ma.cmp(&mb));
    }

    #[test]
    fn division_rounds_to_the_asked_scale(a in decimals(), b in decimals(), scale in 0u8..=30) {
        match a.div_to_scale(b, scale) {
            Ok(None) => prop_assert!(b.is_zero()),
            Ok(Some(q)) => {
                let n = model(a) * pow10(u32::from(q.scale()) + u32::from(b.scale));
                let d = model(b) * pow10(a.scale.into());
                let exact = round_div(&n, &d);
                // A result that had to give digits back is rounded twice, by at most one unit.
                let error = (model(q) - exact).abs();
                prop_assert!(error <= BigInt::from(u8::from(q.scale() != scale)));
            }
            Err(Overflow) => {
                let whole = round_div(&(model(a) * pow10(b.scale.into())), &(model(b) * pow10(a.scale.into())));
                prop_assert!(whole.abs() >= pow10(65) - 1);
            }
        }
    }

    #[test]
    fn remainder_has_the_sign_of_the_dividend(a in decimals(), b in decimals()) {
        let s = u32::from(a.scale.max(b.scale));
        match a.checked_rem(b) {
            None => prop_assert!(b.is_zero()),
            Some(r) => {
                let exact = rescale(&model(a), a.scale.into(), s) % rescale(&model(b), b.scale.into(), s);
                prop_assert_eq!(rescale(&model(r), r.scale.into(), s), rescale(&rescale(&exact, s, r.scale.into()), r.scale.into(), s));
            }
        }
    }

    #[test]
    fn rounding(a in decimals(), digits in -70i32..=30) {
        let unit = |m: &BigInt, up: bool| if digits >= 0 {
            rescale(m, a.scale.into(), digits as u32)
        } else {
            let u = pow10(u32::from(a.scale) + digits.unsigned_abs());
            let q = if up { round_div(m, &u) } else { m / &u };
            q * pow10(digits.unsigned_abs())
        };
        if let Ok(r) = a.round_at(digits) {
            prop_assert_eq!(model(r), unit(&model(a), true));
        }
        if let (Ok(t), true) = (a.truncate_at(digits), digits >= 0) {
            let s = u32::from(a.scale).saturating_sub(digits as u32);
            let expected = model(a) / pow10(s) * pow10((digits as u32).saturating_sub(a.scale.into()));
            prop_assert_eq!(model(t), expected);
        }
        let (floor, ceil) = (a.floor().unwrap_or(a), a.ceil().unwrap_or(a));
        prop_assert!(floor <= a && a <= ceil);
        prop_assert_eq!(model(floor), model(a).div_floor(&pow10(a.scale.into())));
    }

    #[test]
    fn text_round_trip(a in decimals()) {
        let text = a.to_string();
        let back = dec(&text);
        prop_assert_eq!(model(back), model(a));
        prop_assert_eq!(back.scale, a.scale);
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        prop_assert_eq!(digits.parse::<BigInt>().unwrap(), model(a).abs());
    }

    #[test]
    fn sortable_form_orders_and_round_trips(a in decimals(), b in decimals(), scale in 0u8..=30) {
        let round = |d: Decimal| d.round(scale.min(65 - d.integer_digits()));
        let (Ok(a), Ok(b)) = (round(a), round(b)) else { return Ok(()) };
        let scale = a.scale.min(b.scale);
        let (a, b) = (a.round(scale).unwrap(), b.round(scale).unwrap());
        let len = Decimal::sortable_len(a.precision().max(b.precision()));
        let bytes = |d: Decimal| { let mut v = Vec::new(); d.write_sortable(scale, len, &mut v); v };
        prop_assert_eq!(bytes(a).cmp(&bytes(b)), a.cmp(&b));
        prop_assert_eq!(bytes(a).len(), len);
        prop_assert_eq!(Decimal::read_sortable(&bytes(a), scale), Some(a));
    }

    #[test]
    fn any_text_parses_without_panic(text in "[-+ ]{0,2}[0-9]{0,80}[.]?[0-9]{0,80}(e[-+]?[0-9]{0,6})?") {
        let p = Decimal::parse_prefix(text.as_bytes());
        prop_assert!(p.consumed <= text.len());
    }

    #[test]
    fn doubles_round_trip(v in -1e15f64..1e15) {
        prop_assert_eq!(Decimal::from_f64(v).unwrap().to_f64(), v);
    }

    #[test]
    fn hash_agrees_with_equality(a in decimals(), zeros in 0u8..10) {
        use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
        let scale = (a.scale + zeros).min(30);
        if let Ok(b) = a.round(scale) {
            let hasher = BuildHasherDefault::<DefaultHasher>::default();
            prop_assert_eq!(a, b);
            prop_assert_eq!(hasher.hash_one(a), hasher.hash_one(b));
        }
    }
}

#[test]
fn literals() {
    for (text, printed) in [
        ("0", "0"),
        ("-0.00", "0.00"),
        (".5", "0.5"),
        ("5.", "5"),
        ("+1.50", "1.50"),
        ("1e3", "1000"),
        ("1.25e1", "12.5"),
        ("1e-3", "0.001"),
        ("12e-1", "1.2"),
        ("  7", "7"),
        ("00012.0", "12.0"),
    ] {
        assert_eq!(dec(text).to_string(), printed, "{text}");
    }
    for text in ["", "-", ".", "abc", "1x", "1e", "--1"] {
        assert!(Decimal::parse(text).is_none(), "{text}");
    }
    let p = Decimal::parse_prefix(b"12abc");
    assert_eq!((p.value, p.consumed), (dec("12"), 2));
    assert!(Decimal::parse_prefix(b"1e66").overflow);
    assert!(!Decimal::parse_prefix(b"1e64").overflow);
    assert_eq!(Decimal::parse_prefix(b"1e-31").value, Decimal::ZERO);
    assert_eq!(
        Decimal::parse_prefix(b"5e-31").value,
        dec("0.000000000000000000000000000001")
    );
    let nines = "9".repeat(65) + ".9";
    assert!(Decimal::parse_prefix(nines.as_bytes()).overflow);
}

#[test]
fn division_by_the_manual() {
    // MySQL manual, section 14.6.1: the scale of the dividend plus div_precision_increment.
    let q = |a: &str, b: &str, increment| dec(a).checked_div(dec(b), increment).unwrap().map(|d| d.to_string());
    assert_eq!(q("1", "7", 4).as_deref(), Some("0.1429"));
    assert_eq!(q("1", "7", 12).as_deref(), Some("0.142857142857"));
    assert_eq!(q("5.05", "0.014", 4).as_deref(), Some("360.714286"));
    assert_eq!(q("1", "0", 4), None);
    assert_eq!(dec("7.5").int_div(dec("2")).unwrap(), Some(dec("3")));
    assert_eq!(dec("-7.5").int_div(dec("2")).unwrap(), Some(dec("-3")));
}

#[test]
fn integers_and_limits() {
    assert_eq!(dec("1.5").to_i64(), Ok(2));
    assert_eq!(dec("-1.5").to_i64(), Ok(-2));
    assert_eq!(dec("9223372036854775807.4").to_i64(), Ok(i64::MAX));
    assert_eq!(dec("9223372036854775807.5").to_i64(), Err(i64::MAX));
    assert_eq!(dec("-9223372036854775808").to_i64(), Ok(i64::MIN));
    assert_eq!(dec("18446744073709551615").to_u64(), Ok(u64::MAX));
    assert_eq!(dec("-0.4").to_u64(), Ok(0));
    assert_eq!(dec("-0.5").to_u64(), Err(0));
    assert_eq!(Decimal::max(4, 2).to_string(), "99.99");
    assert!(dec("99.9900").fits(4, 2) && !dec("100").fits(4, 2) && !dec("1.001").fits(4, 2));
    assert_eq!(
        (dec("0.050").precision(), dec("0").precision(), dec("120.5").precision()),
        (3, 1, 4)
    );
    assert_eq!(Decimal::max(65, 0).checked_add(Decimal::ONE), Err(Overflow));
    assert!(
        model(Decimal::max(65, 30)) == pow10(65) - 1
            && !model(Decimal::ZERO).is_positive()
            && model(Decimal::ZERO).is_zero()
    );
    assert_eq!(
        (
            Decimal::sortable_len(10),
            Decimal::sortable_len(18),
            Decimal::sortable_len(65)
        ),
        (5, 8, 28)
    );
}
