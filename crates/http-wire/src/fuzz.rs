//! Any bytes as a request, for the crate `fuzz`.

use crate::chunked::Chunked;
use crate::target::{self, Target};
use crate::{Body, Head, Scan, base64, field};

/// Of a body in chunks.
const LEN_MAX: usize = 1 << 16;

/// What is read of a request is the same whether it comes at once or byte by byte.
pub fn request(bytes: &[u8]) {
    let mut head = Head::default();
    let Ok(Scan::Complete(())) = head.scan(bytes) else {
        return;
    };
    let info = head.info;
    let (own, rest) = bytes.split_at(info.len);
    for end in 0..own.len() {
        assert_eq!(Head::default().scan(&own[..end]), Ok(Scan::Incomplete));
    }
    if let Some(target) = Target::parse(head.target(bytes)) {
        assert!(target.path.starts_with('/'));
        let _ = (target::decoded(target.path), target.pairs().count());
    }
    for (_, value) in head.headers(bytes).iter() {
        let _ = field::preferred(value, &["zstd", "gzip"]);
        if let Some(decoded) = base64::decode(value) {
            let mut text = Vec::new();
            base64::encode(&decoded, &mut text);
            assert_eq!(base64::decode(&text), Some(decoded));
        }
    }
    if info.body == Body::Chunked {
        let mut at_once = Chunked::default();
        let found = at_once.scan(rest, LEN_MAX);
        let mut piecemeal = Chunked::default();
        let first = (0..=rest.len())
            .map(|end| piecemeal.scan(&rest[..end], LEN_MAX))
            .find(|found| *found != Ok(Scan::Incomplete));
        assert_eq!(first.unwrap_or(Ok(Scan::Incomplete)), found);
        if found != Ok(Scan::Incomplete) && found.is_ok() {
            let (mut one, mut other) = (rest.to_vec(), rest.to_vec());
            let len = at_once.join(&mut one);
            assert_eq!((len, piecemeal.join(&mut other)), (at_once.joined_len(), len));
            assert_eq!(one[..len], other[..len]);
        }
    }
}

pub fn requests() -> Vec<Vec<u8>> {
    [
        "GET /v1/tables/a/b/rows/1%2C2?columns=a,b&x=+%C3%A4 HTTP/1.1\r\nHost: localhost:8306\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n",
        "\r\nPOST http://db/v1/sql HTTP/1.1\r\nHOST: db\r\nContent-Length: 2\r\nConnection: close, x\r\nExpect: 100-continue\r\n\r\n{}",
        "POST /v1/sql HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nAccept-Encoding: gzip;q=0.5, *;q=0\r\n\r\n4\r\nWiki\r\nA;x=y\r\npedia, the\r\n0\r\nX: y\r\n\r\n",
        "HEAD /?a&b=%zz HTTP/1.0\r\nConnection: keep-alive\r\nX:\t1 \r\n\r\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
