//! Any bytes: an error, or a request, never a panic; and however they are cut, the same.

use http_wire::chunked::Chunked;
use http_wire::{Body, Head, Scan, base64, response, target};
use proptest::prelude::*;

/// Text that looks like requests, with mistakes.
fn nearly_http() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("GET ".to_owned()),
        Just("/v1/x?y=%2".to_owned()),
        Just(" HTTP/1.1".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n".to_owned()),
        Just("host: x\r\n".to_owned()),
        Just("content-length: 3\r\n".to_owned()),
        Just("transfer-encoding: chunked\r\n".to_owned()),
        Just("3\r\nabc\r\n".to_owned()),
        Just("0\r\n\r\n".to_owned()),
        "[ -~]{0,9}",
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat().into_bytes())
}

/// What is read of the bytes, in one piece.
fn read(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut head = Head::default();
    let Ok(Scan::Complete(())) = head.scan(bytes) else {
        return None;
    };
    let rest = &bytes[head.info.len..];
    let body = match head.info.body {
        Body::Length(len) => rest.get(..usize::try_from(len).ok()?)?.to_vec(),
        Body::Chunked => {
            let (mut chunked, mut body) = (Chunked::default(), rest.to_vec());
            let Ok(Scan::Complete(taken)) = chunked.scan(rest, 1 << 20) else {
                return None;
            };
            assert!(taken <= rest.len());
            let len = chunked.join(&mut body);
            body.truncate(len);
            body
        }
    };
    Some((head.target(bytes).to_vec(), body))
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop_oneof![nearly_http(), prop::collection::vec(any::<u8>(), 0..200)]) {
        let whole = read(&bytes);
        // A head that is found in a part is found in all of it, and the same.
        for end in 0..bytes.len() {
            if let Some(found) = read(&bytes[..end]) {
                prop_assert_eq!(Some(found), whole.clone());
            }
        }
    }

    #[test]
    fn chunks_come_back(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..10)) {
        let mut bytes = Vec::new();
        for piece in &pieces {
            response::chunk(piece, &mut bytes);
        }
        bytes.extend_from_slice(response::LAST_CHUNK);
        let mut chunked = Chunked::default();
        let taken = chunked.scan(&bytes, 1 << 20);
        prop_assert_eq!(taken, Ok(Scan::Complete(bytes.len())));
        let len = chunked.join(&mut bytes);
        prop_assert_eq!(&bytes[..len], pieces.concat());
    }

    #[test]
    fn texts_come_back(bytes in prop::collection::vec(any::<u8>(), 0..50), text in ".{0,20}") {
        let mut encoded = Vec::new();
        base64::encode(&bytes, &mut encoded);
        prop_assert_eq!(base64::decode(&encoded), Some(bytes));
        let mut segment = String::new();
        target::encode(&text, &mut segment);
        let decoded = target::decoded(&segment);
        prop_assert_eq!(decoded.as_deref(), Some(text.as_str()));
    }
}
