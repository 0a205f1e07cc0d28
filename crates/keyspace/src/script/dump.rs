//! What FUNCTION DUMP gives, and FUNCTION RESTORE takes: Redis's form, sealed as the payload of DUMP is.
//!
//! ```text
//!   (0xF5, code as a string of RDB)… | version, 2 bytes | CRC-64, 8 bytes
//! ```

use crate::failure::{Failure, Outcome};
use crate::types::dump::{self, VERSION};

/// A library, in this form.
const LIBRARY: u8 = 0xF5;

pub fn write(codes: &[&[u8]]) -> Outcome<Vec<u8>> {
    let mut out = Vec::new();
    for code in codes {
        out.push(LIBRARY);
        dump::write_string(&mut out, code);
    }
    dump::seal(&mut out, VERSION)?;
    Ok(out)
}

/// The code of each library.
pub fn read(payload: &[u8]) -> Outcome<Vec<Vec<u8>>> {
    let mut reader = dump::unseal(payload)?;
    let mut codes = Vec::new();
    while !reader.bytes.is_empty() {
        if reader.take(1)? != [LIBRARY] {
            return Err(Failure::reply("ERR given type is not a function"));
        }
        codes.push(reader.string()?);
    }
    Ok(codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_is_read_again_and_a_broken_one_is_not() {
        let long = vec![b'x'; 20000];
        let codes: [&[u8]; 3] = [b"a", &[b'y'; 100], &long];
        let dump = write(&codes).unwrap();
        assert_eq!(read(&dump).unwrap(), codes);
        for at in (0..dump.len()).step_by(97) {
            let mut broken = dump.clone();
            broken[at] ^= 1;
            assert!(read(&broken).is_err());
        }
    }

    #[test]
    fn what_redis_has_made_small_is_read() {
        // `FUNCTION DUMP` of Redis 7.0.15: a library whose code LZF has packed.
        let dump = include_bytes!("function.dump");
        let codes = read(dump).unwrap();
        assert!(
            codes.len() == 1 && codes[0].starts_with(b"#!lua name=packed\n"),
            "{codes:?}"
        );
    }
}
