//! The handshake: each side says who it is, and judges the other. No sockets here. Drawn in `docs/formats/frames.md`.
//!
//! ```text
//!   who calls ── hello ──▶ who answers calls      judges it; a refusal says why, in words
//!             ◀── hello ──                        and is judged in turn
//! ```
//!
//! The bytes keep their layout in every version of the protocol, so that even a refusal for its version can be read.

use thiserror::Error;

use crate::Lane;

pub const MAGIC: [u8; 8] = *b"LATSPEER";
pub const VERSION: u32 = 1;
pub const HELLO_BYTES: usize = 56;
/// A longer reason is cut.
pub const REASON_BYTES: usize = 512;

/// Who a node is, as itself and others say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// `None`: of no cluster yet.
    pub cluster: Option<u128>,
    /// 0: it has no id yet.
    pub node: u32,
    pub incarnation: u32,
    /// A number that the process drew when it started: two processes with one incarnation are two copies of a directory.
    pub instance: u64,
}

/// What each side says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    pub version: u32,
    pub lane: Lane,
    pub who: Identity,
    /// The node that it takes the other side for; 0: it does not know.
    pub expected: u32,
    /// Of an answer: how many bytes of a refusal's reason follow.
    pub verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Welcome,
    Refused { refusal: Refusal, reason_bytes: u16 },
}

/// Why a node does not talk to another one. The caller may react to what does not pass by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Refusal {
    /// Another version of the protocol.
    Version = 1,
    OtherCluster = 2,
    /// It belongs to no cluster, and calls on another lane than [`Lane::Control`]; or it is a member without an id.
    NotMember = 3,
    /// The node that is called belongs to no cluster yet.
    NoCluster = 4,
    /// Another node answers at this address.
    OtherNode = 5,
    /// It has this node's id.
    SameId = 6,
    /// A node has called itself.
    Itself = 7,
    /// Its incarnation is lower than one that was seen of the same node: its data directory is an old copy.
    OldCopy = 8,
    /// Two processes have one node id and one incarnation: a data directory was copied and started twice.
    Twin = 9,
    /// There are too many nodes.
    Crowded = 10,
    /// A reason that this version does not know.
    Unknown = 255,
}

impl Refusal {
    fn of(code: u8) -> Refusal {
        use Refusal::{
            Crowded, Itself, NoCluster, NotMember, OldCopy, OtherCluster, OtherNode, SameId, Twin, Unknown, Version,
        };
        [
            Version,
            OtherCluster,
            NotMember,
            NoCluster,
            OtherNode,
            SameId,
            Itself,
            OldCopy,
            Twin,
            Crowded,
        ]
        .into_iter()
        .find(|refusal| *refusal as u8 == code)
        .unwrap_or(Unknown)
    }
}

/// A refusal and what to do about it, in words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Refused {
    pub refusal: Refusal,
    pub reason: String,
}

/// Bytes that are no handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoHello {
    #[error("the other end does not speak the protocol of LatsDB's nodes")]
    Magic,
    #[error("the checksum of a handshake is wrong")]
    Checksum,
    #[error("a handshake for lane {0}, which does not exist")]
    Lane(u8),
}

impl Hello {
    pub fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12] = self.lane.code();
        if let Verdict::Refused { refusal, reason_bytes } = self.verdict {
            bytes[13] = refusal as u8;
            bytes[14..16].copy_from_slice(&reason_bytes.to_le_bytes());
        }
        bytes[16..32].copy_from_slice(&self.who.cluster.unwrap_or(0).to_le_bytes());
        bytes[32..36].copy_from_slice(&self.who.node.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.who.incarnation.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.who.instance.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.expected.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..52]);
        bytes[52..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8; HELLO_BYTES]) -> Result<Hello, NoHello> {
        if bytes[..8] != MAGIC {
            return Err(NoHello::Magic);
        }
        if crc32fast::hash(&bytes[..52]) != u32_at(bytes, 52) {
            return Err(NoHello::Checksum);
        }
        let lane = Lane::of_code(bytes[12]).ok_or(NoHello::Lane(bytes[12]))?;
        let cluster = u128::from_le_bytes(bytes[16..32].try_into().expect("sixteen bytes"));
        let verdict = match bytes[13] {
            0 => Verdict::Welcome,
            code => Verdict::Refused {
                refusal: Refusal::of(code),
                reason_bytes: u16::from_le_bytes([bytes[14], bytes[15]]),
            },
        };
        Ok(Hello {
            version: u32_at(bytes, 8),
            lane,
            who: Identity {
                cluster: (cluster != 0).then_some(cluster),
                node: u32_at(bytes, 32),
                incarnation: u32_at(bytes, 36),
                instance: u64::from_le_bytes(bytes[40..48].try_into().expect("eight bytes")),
            },
            expected: u32_at(bytes, 48),
            verdict,
        })
    }
}

fn u32_at(bytes: &[u8; HELLO_BYTES], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Could these first bytes of a connection become a handshake?
pub fn may_be_hello(bytes: &[u8]) -> bool {
    bytes.iter().zip(&MAGIC).all(|(byte, magic)| byte == magic)
}

/// Whether `own` may talk to who said `theirs`, on either side of a connection. What was seen of nodes earlier is the roster's to judge.
/// `expected`: whom `own` has called, 0 for anybody.
pub fn judge(own: &Identity, expected: u32, theirs: &Hello) -> Result<(), Refused> {
    let refuse = |refusal, reason| Err(Refused { refusal, reason });
    let (node, who) = (theirs.who.node, &theirs.who);
    if theirs.version != VERSION {
        let reason = format!(
            "node {node} speaks version {} of the protocol between nodes, node {} speaks version {VERSION}: update the older one",
            theirs.version, own.node
        );
        return refuse(Refusal::Version, reason);
    }
    if who.instance == own.instance {
        let reason = format!("node {node} has called itself: name the address of another node");
        return refuse(Refusal::Itself, reason);
    }
    match (own.cluster, who.cluster) {
        (Some(ours), Some(other)) if ours != other => {
            let reason = format!(
                "node {node} is of cluster {other:032x}, node {} is of cluster {ours:032x}: correct the address, or let the node that \
                 is wrong here join with an empty data directory",
                own.node
            );
            return refuse(Refusal::OtherCluster, reason);
        }
        (_, None) if theirs.lane != Lane::Control => {
            let reason = format!("node {node} is no member of a cluster: let it join first");
            return refuse(Refusal::NotMember, reason);
        }
        (None, _) if theirs.lane != Lane::Control => {
            let reason = format!("node {} is no member of a cluster yet: let it join first", own.node);
            return refuse(Refusal::NoCluster, reason);
        }
        _ => {}
    }
    if node == 0 && who.cluster.is_some() {
        let reason = "a member of a cluster has an id, from 1 on".to_owned();
        return refuse(Refusal::NotMember, reason);
    }
    if node == own.node && node != 0 {
        let reason = format!(
            "two nodes have the id {node}: give one of them another id (and an empty data directory, if its directory was copied)"
        );
        return refuse(Refusal::SameId, reason);
    }
    if expected != 0 && node != expected {
        let reason =
            format!("node {node} answers where node {expected} was expected: correct the address of node {expected}");
        return refuse(Refusal::OtherNode, reason);
    }
    if theirs.expected != 0 && theirs.expected != own.node {
        let reason = format!(
            "node {} answers where node {} was expected: correct the address of node {}",
            own.node, theirs.expected, theirs.expected
        );
        return refuse(Refusal::OtherNode, reason);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn identity(node: u32) -> Identity {
        Identity {
            cluster: Some(7),
            node,
            incarnation: 3,
            instance: u64::from(node) + 100,
        }
    }

    fn hello(who: Identity, lane: Lane, expected: u32) -> Hello {
        Hello {
            version: VERSION,
            lane,
            who,
            expected,
            verdict: Verdict::Welcome,
        }
    }

    fn refusal(own: &Identity, theirs: &Hello) -> Option<Refusal> {
        judge(own, 0, theirs).err().map(|refused| refused.refusal)
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let hello = hello(identity(2), Lane::Storage, 1);
        let mut bytes = hello.encode();
        assert_eq!(Hello::decode(&bytes), Ok(hello));
        for bit in 0..HELLO_BYTES * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Hello::decode(&bytes).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn who_is_wrong_here_is_refused() {
        let own = identity(1);
        let ask = |change: &dyn Fn(&mut Hello)| {
            let mut theirs = hello(identity(2), Lane::Storage, 1);
            change(&mut theirs);
            refusal(&own, &theirs)
        };
        assert_eq!(ask(&|_| ()), None);
        assert_eq!(ask(&|hello| hello.version = 9), Some(Refusal::Version));
        assert_eq!(ask(&|hello| hello.who.cluster = Some(8)), Some(Refusal::OtherCluster));
        assert_eq!(ask(&|hello| hello.who.cluster = None), Some(Refusal::NotMember));
        assert_eq!(ask(&|hello| hello.who.node = 0), Some(Refusal::NotMember));
        assert_eq!(ask(&|hello| hello.who.node = 1), Some(Refusal::SameId));
        assert_eq!(ask(&|hello| hello.who.instance = own.instance), Some(Refusal::Itself));
        assert_eq!(ask(&|hello| hello.expected = 3), Some(Refusal::OtherNode));
        let other = judge(&own, 3, &hello(identity(2), Lane::Storage, 1));
        assert_eq!(other.unwrap_err().refusal, Refusal::OtherNode);
    }

    #[test]
    fn a_node_of_no_cluster_calls_on_the_control_lane_only() {
        let (member, mut joining) = (identity(1), identity(2));
        joining.cluster = None;
        assert_eq!(refusal(&member, &hello(joining, Lane::Control, 0)), None);
        assert_eq!(refusal(&joining, &hello(member, Lane::Control, 0)), None);
        assert_eq!(
            refusal(&member, &hello(joining, Lane::Consensus, 0)),
            Some(Refusal::NotMember)
        );
        assert_eq!(
            refusal(&joining, &hello(member, Lane::Consensus, 0)),
            Some(Refusal::NoCluster)
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_handshake_or_an_error(bytes in prop::collection::vec(any::<u8>(), HELLO_BYTES)) {
            let bytes = <[u8; HELLO_BYTES]>::try_from(bytes).unwrap();
            if let Ok(hello) = Hello::decode(&bytes) {
                prop_assert_eq!(Hello::decode(&hello.encode()), Ok(hello));
            }
        }
    }
}
