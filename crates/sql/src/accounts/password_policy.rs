//! The policy of `validate_password`: how a password has to look. (MySQL manual, "Password Validation Component Options and
//! Variables".)
//!
//! The component is always there, and off: `validate_password.policy` has the value `OFF` beside MySQL's three.

use crate::engine::Engine;
use crate::variables;

/// Lengths below this have no strength at all.
const WEAK_LEN: usize = 4;

/// The variables' values at one moment. STRONG adds a dictionary to MEDIUM, and there is none.
pub struct Policy {
    checks_characters: bool,
    checks_user_name: bool,
    length: usize,
    mixed_case: usize,
    numbers: usize,
    specials: usize,
}

impl Policy {
    /// The policy that holds, if one does.
    pub fn of(engine: &Engine) -> Option<Policy> {
        let policy = variables::find("validate_password.policy").ok()?;
        let policy = engine.globals().get(policy);
        let number = |name: &str| engine.global_number(name) as usize;
        (&*policy != "OFF").then(|| Policy {
            checks_characters: &*policy != "LOW",
            checks_user_name: engine.is_on("validate_password.check_user_name"),
            length: number("validate_password.length"),
            mixed_case: number("validate_password.mixed_case_count"),
            numbers: number("validate_password.number_count"),
            specials: number("validate_password.special_char_count"),
        })
    }

    /// Whether somebody with one of these names may choose the password.
    pub fn allows(&self, password: &[u8], names: &[&str]) -> bool {
        let is_name = |name: &&str| {
            let forward = name.bytes();
            !name.is_empty()
                && (forward.clone().eq(password.iter().copied()) || forward.rev().eq(password.iter().copied()))
        };
        let text = String::from_utf8_lossy(password);
        if self.checks_user_name && names.iter().any(is_name) {
            return false;
        }
        text.chars().count() >= self.length && (!self.checks_characters || self.has_kinds(&text))
    }

    fn has_kinds(&self, text: &str) -> bool {
        let count = |is: fn(&char) -> bool| text.chars().filter(is).count();
        count(|c| c.is_lowercase()) >= self.mixed_case
            && count(|c| c.is_uppercase()) >= self.mixed_case
            && count(char::is_ascii_digit) >= self.numbers
            && count(|c| !c.is_alphanumeric()) >= self.specials
    }

    /// `VALIDATE_PASSWORD_STRENGTH()`: 0, 25, 50 or 100.
    pub fn strength(&self, password: &str) -> i64 {
        match password.chars().count() {
            length if length < WEAK_LEN => 0,
            length if length < self.length => 25,
            _ if !self.has_kinds(password) => 50,
            _ => 100,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEDIUM: Policy = Policy {
        checks_characters: true,
        checks_user_name: true,
        length: 8,
        mixed_case: 1,
        numbers: 1,
        specials: 1,
    };

    #[test]
    fn strengths_are_mysqls() {
        let of = |password| MEDIUM.strength(password);
        let recorded = [
            ("", 0),
            ("abc", 0),
            ("abcd", 25),
            ("abcdefgh", 50),
            ("Abcdef12", 50),
            ("Abcdef1!", 100),
        ];
        for (password, strength) in recorded {
            assert_eq!(of(password), strength, "{password}");
        }
    }

    #[test]
    fn the_policies_ask_for_more_and_more() {
        let low = Policy {
            checks_characters: false,
            ..MEDIUM
        };
        assert!(low.allows(b"abcdefgh", &[]) && !low.allows(b"abcdefg", &[]));
        assert!(MEDIUM.allows(b"Abcdef1!", &[]));
        for weak in ["", "abcdefgh", "abcdef1!", "ABCDEF1!", "Abcdefg!", "Abcdef12", "Abc1!"] {
            assert!(!MEDIUM.allows(weak.as_bytes(), &[]), "{weak}");
        }
        assert!(!MEDIUM.allows(b"Abcdef1!", &["Abcdef1!"]));
        assert!(!MEDIUM.allows(b"!1fedcbA", &["Abcdef1!"]));
    }
}
