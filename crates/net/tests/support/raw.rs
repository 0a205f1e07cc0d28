//! The protocol by hand, as `docs/formats/frames.md` draws it, for those who do not keep to it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::{CLUSTER, PATIENCE};

/// What a node says first.
#[derive(Clone, Copy)]
pub struct Hello {
    pub version: u32,
    pub lane: u8,
    pub cluster: u128,
    pub node: u32,
    pub incarnation: u32,
    pub instance: u64,
    pub expected: u32,
}

/// The second node, on the storage lane.
pub const HELLO: Hello = Hello {
    version: 1,
    lane: 2,
    cluster: CLUSTER,
    node: 2,
    incarnation: 1,
    instance: 77,
    expected: 0,
};

impl Hello {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = b"LATSPEER".to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend([self.lane, 0, 0, 0]);
        bytes.extend(self.cluster.to_le_bytes());
        bytes.extend(self.node.to_le_bytes());
        bytes.extend(self.incarnation.to_le_bytes());
        bytes.extend(self.instance.to_le_bytes());
        bytes.extend(self.expected.to_le_bytes());
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }
}

pub const REQUEST: u8 = 1;
pub const ANSWER: u8 = 2;
pub const PING: u8 = 4;
pub const PONG: u8 = 5;

pub fn frame(kind: u8, lane: u8, call: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = header(kind, lane, call, body.len() as u32);
    let checksum = crc32fast::hash(&[&bytes[..16], body].concat());
    bytes.extend_from_slice(body);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

pub fn header(kind: u8, lane: u8, call: u64, length: u32) -> Vec<u8> {
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend([kind, lane, 0, 0]);
    bytes.extend(call.to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// A frame's kind, call and body.
pub fn read_frame(stream: &mut TcpStream) -> std::io::Result<(u8, u64, Vec<u8>)> {
    let mut header = [0; 20];
    stream.read_exact(&mut header)?;
    let mut body = vec![0; u32::from_le_bytes(header[..4].try_into().unwrap()) as usize];
    stream.read_exact(&mut body)?;
    stream.read_exact(&mut [0; 4])?;
    Ok((header[4], u64::from_le_bytes(header[8..16].try_into().unwrap()), body))
}

/// Reads frames until one is a request; returns its call.
pub fn read_request(stream: &mut TcpStream) -> u64 {
    loop {
        let (kind, call, _) = read_frame(stream).unwrap();
        if kind == REQUEST {
            return call;
        }
    }
}

pub fn connect(addr: &str) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Returns the connection, and what the other end says: why it refuses, and in which words.
pub fn shake_hands(addr: &str, hello: &Hello) -> (TcpStream, u8, String) {
    let mut stream = connect(addr);
    stream.write_all(&hello.encode()).unwrap();
    let mut answer = [0; 56];
    stream.read_exact(&mut answer).unwrap();
    let length = match answer[13] {
        0 => 0,
        _ => usize::from(u16::from_le_bytes([answer[14], answer[15]])),
    };
    let mut reason = vec![0; length];
    stream.read_exact(&mut reason).unwrap();
    (stream, answer[13], String::from_utf8(reason).unwrap())
}

/// A socket that another node takes for a peer.
pub struct Peer {
    listener: TcpListener,
    /// Of other lanes; nothing happens there.
    others: Vec<TcpStream>,
}

impl Peer {
    pub fn new() -> Peer {
        Peer {
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
            others: Vec::new(),
        }
    }

    pub fn addr(&self) -> String {
        self.listener.local_addr().unwrap().to_string()
    }

    /// The next connection that is made on `hello`'s lane, and is answered by it.
    pub fn accept(&mut self, hello: &Hello) -> TcpStream {
        loop {
            let (mut stream, _) = self.listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut theirs = [0; 56];
            stream.read_exact(&mut theirs).unwrap();
            let lane = theirs[12];
            stream.write_all(&Hello { lane, ..*hello }.encode()).unwrap();
            if lane == hello.lane {
                return stream;
            }
            self.others.push(stream);
        }
    }
}

/// Whether the other end closes the connection, with or without a few words.
pub fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}
