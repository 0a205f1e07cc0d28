//! What tells versions of a row apart (RFC 9110, 8.8.3): a hash of all its columns as JSON.

use crate::problem::Problem;
use crate::request::Request;

/// Not against who makes collisions on purpose: whoever can write the row could write it anyway.
fn hash(bytes: &[u8]) -> u64 {
    const KEY: u128 = 0x9e37_79b9_7f4a_7c15;
    let fold = |word: u64| {
        let product = u128::from(word) * KEY;
        (product >> 64) as u64 ^ product as u64
    };
    let mut state = 0x243f_6a88_85a3_08d3 ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word)).wrapping_add(0xa409_3822_299f_31d0);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    fold(fold(state ^ u64::from_le_bytes(last)) ^ 0x082e_fa98_ec4e_6c89)
}

/// The strong tag of a row; of a part of it, or of another form, a weak one.
pub fn tag(row: &[u8], is_whole: bool) -> String {
    let hash = hash(row);
    match is_whole {
        true => format!("\"{hash:016x}\""),
        false => format!("W/\"{hash:016x}\""),
    }
}

/// Whether a client has this version already: `If-None-Match` of a read.
pub fn is_known(request: &Request<'_>, tag: &str) -> bool {
    let Some(known) = request.header("if-none-match") else {
        return false;
    };
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    known.trim() == "*" || known.split(',').any(|known| bare(known) == bare(tag))
}

/// What a write depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condition {
    if_match: Option<String>,
    if_none_match: Option<String>,
}

impl Condition {
    pub fn of(request: &Request<'_>) -> Condition {
        let of = |name| request.header(name).map(str::to_owned);
        Condition {
            if_match: of("if-match"),
            if_none_match: of("if-none-match"),
        }
    }

    pub fn new(if_match: Option<String>, if_none_match: Option<String>) -> Condition {
        Condition {
            if_match,
            if_none_match,
        }
    }

    pub fn is_none(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }

    /// 412 where the row is not as the client has seen it; `None`: there is no row.
    pub fn check(&self, tag: Option<&str>) -> Result<(), Problem> {
        let names = |list: &str| match tag {
            None => false,
            Some(tag) => list.trim() == "*" || list.split(',').any(|known| known.trim() == tag),
        };
        let is_met = self.if_match.as_deref().is_none_or(names) && !self.if_none_match.as_deref().is_some_and(names);
        match is_met {
            true => Ok(()),
            false => Err(Problem::new(
                412,
                "precondition-failed",
                "The row is another one now",
                match tag {
                    Some(tag) => format!("its tag is {tag}"),
                    None => "there is none".to_owned(),
                },
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_on_tags() {
        let of = |a: Option<&str>, b: Option<&str>| Condition::new(a.map(str::to_owned), b.map(str::to_owned));
        let tag = tag(b"{}", true);
        assert!(of(Some(&tag), None).check(Some(&tag)).is_ok());
        assert!(of(Some("\"x\", *"), None).check(Some("\"y\"")).is_err());
        assert!(of(Some("*"), None).check(Some(&tag)).is_ok());
        assert!(of(Some("*"), None).check(None).is_err());
        assert!(of(None, Some("*")).check(None).is_ok());
        assert!(of(None, Some("*")).check(Some(&tag)).is_err());
        assert!(of(Some(&format!("W/{tag}")), None).check(Some(&tag)).is_err());
    }

    #[test]
    fn rows_have_different_tags() {
        assert_ne!(tag(b"{\"a\":1}", true), tag(b"{\"a\":2}", true));
        assert_ne!(tag(b"", true), tag(b"\0", true));
    }
}
