//! The compressed protocol by zstd, as a client of it sees it. (Drivers' own tests go by zlib.)

use std::io::Read;

use mysql_wire::Capabilities;

use crate::support::{CAPABILITIES, Client, TestServer};

/// Reads one frame: its number and its bytes, unpacked.
fn read_frame(client: &mut Client) -> (u8, Vec<u8>) {
    let mut header = [0; 7];
    client.stream.read_exact(&mut header).unwrap();
    let number = |bytes: &[u8]| usize::from(bytes[0]) | usize::from(bytes[1]) << 8 | usize::from(bytes[2]) << 16;
    let (length, plain) = (number(&header[..3]), number(&header[4..]));
    let mut payload = vec![0; length];
    client.stream.read_exact(&mut payload).unwrap();
    if plain > 0 {
        let mut bytes = Vec::with_capacity(plain);
        zstd_safe::decompress(&mut bytes, &payload).unwrap();
        assert_eq!(bytes.len(), plain);
        assert!(length < plain);
        payload = bytes;
    }
    (header[3], payload)
}

fn frame(bytes: &[u8], is_packed: bool) -> Vec<u8> {
    let mut packed = Vec::with_capacity(zstd_safe::compress_bound(bytes.len()));
    let plain = match is_packed {
        true => {
            zstd_safe::compress(&mut packed, bytes, 3).unwrap();
            bytes.len()
        }
        false => {
            packed.extend_from_slice(bytes);
            0
        }
    };
    let (length, plain) = ((packed.len() as u32).to_le_bytes(), (plain as u32).to_le_bytes());
    [&length[..3], &[0], &plain[..3], &packed].concat()
}

fn query(text: &str) -> Vec<u8> {
    let length = (text.len() as u32 + 1).to_le_bytes();
    [&length[..3], &[0, 3], text.as_bytes()].concat()
}

#[test]
fn commands_and_answers_are_packed_by_zstd() {
    let server = TestServer::start();
    for level in [None, Some(1), Some(22), Some(255)] {
        let mut client = Client::bare(server.addr());
        client.zstd_level = level;
        client
            .log_in("root", "", None, CAPABILITIES | Capabilities::ZSTD_COMPRESSION)
            .ok();
        for is_packed in [true, false] {
            client.write_raw(&frame(&query("rows 50 1000"), is_packed));
            let (mut answer, mut next) = (Vec::new(), 1);
            while answer.len() < 50_000 {
                let (number, bytes) = read_frame(&mut client);
                assert_eq!(number, next);
                next += 1;
                answer.extend(bytes);
            }
            assert_eq!(
                answer
                    .windows(1000)
                    .filter(|bytes| bytes.iter().all(|byte| *byte == b'x'))
                    .count(),
                50
            );
            // The end of the answer.
            client.write_raw(&frame(&[1, 0, 0, 0, 14], is_packed));
            loop {
                let (_, bytes) = read_frame(&mut client);
                if bytes.ends_with(&[0, 0, 0, 2, 0, 0, 0]) && bytes.len() < 20 {
                    break;
                }
            }
        }
    }
}

#[test]
fn zlib_goes_before_zstd() {
    let server = TestServer::start();
    let mut client = Client::bare(server.addr());
    let both = Capabilities::ZSTD_COMPRESSION | Capabilities::COMPRESS;
    client.zstd_level = Some(3);
    client.log_in("root", "", None, CAPABILITIES | both).ok();
    // Deflated: a stream of zlib begins so, and one of zstd does not.
    client.write_raw(&frame(&query("rows 50 1000"), false));
    let mut start = [0; 9];
    client.stream.read_exact(&mut start).unwrap();
    assert_eq!(start[7] & 0x0f, 8);
}

#[test]
fn a_frame_that_is_not_of_zstd_ends_the_connection() {
    let server = TestServer::start();
    let mut client = Client::bare(server.addr());
    client
        .log_in("root", "", None, CAPABILITIES | Capabilities::ZSTD_COMPRESSION)
        .ok();
    client.write_raw(&[9, 0, 0, 0, 200, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(client.read_packet(), None);
}
