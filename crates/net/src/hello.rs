//! The handshake: each side says who it is, and judges the other. No sockets here. Drawn in `docs/formats/frames.md`.
//!
//! ```text
//!   who calls ── hello ──▶ who answers calls      judges it; a refusal says why, in words
//!             ◀── hello ──                        and is judged in turn
//! ```
//!
//! The bytes keep their layout in every version of the protocol, so that even a refusal for its version can be read.

use env::{Level, Levels};
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
    pub verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Feature levels that it speaks.
    Welcome { speaks: Levels },
    /// So many bytes of the reason follow.
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
    /// It does not speak the cluster's feature level.
    Level = 11,
    /// Its certificate is another node's, or names none where one is asked for.
    Certificate = 12,
    /// A reason that this version does not know.
    Unknown = 255,
}

impl Refusal {
    fn of(code: u8) -> Refusal {
        use Refusal::{
            Certificate, Crowded, Itself, Level, NoCluster, NotMember, OldCopy, OtherCluster, OtherNode, SameId, Twin,
            Unknown, Version,
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
            Level,
            Certificate,
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
    #[error("a handshake of somebody who speaks feature levels {0} to {1}")]
    Levels(u8, u8),
}

impl Hello {
    pub fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12] = self.lane.code();
        match self.verdict {
            Verdict::Welcome { speaks } => bytes[14..16].copy_from_slice(&[speaks.lowest.0, speaks.highest.0]),
            Verdict::Refused { refusal, reason_bytes } => {
                bytes[13] = refusal as u8;
                bytes[14..16].copy_from_slice(&reason_bytes.to_le_bytes());
            }
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
            0 => Verdict::Welcome {
                speaks: levels(bytes[14], bytes[15])?,
            },
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

/// Former versions wrote zeros, and overlook what stands there.
fn levels(lowest: u8, highest: u8) -> Result<Levels, NoHello> {
    match (lowest, highest) {
        (0, 0) => Ok(Levels::FIRST),
        (1.., _) if lowest <= highest => Ok(Levels {
            lowest: Level(lowest),
            highest: Level(highest),
        }),
        _ => Err(NoHello::Levels(lowest, highest)),
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

/// A node by its number; who has none is no node.
pub fn called(node: u32) -> String {
    match node {
        0 => "a program that is no node".to_owned(),
        node => format!("node {node}"),
    }
}

/// What a node speaks, and what it knows of its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub speaks: Levels,
    /// The cluster's level. Where the node was away it may have risen.
    pub level: Level,
}

/// Whether `own` and who said `theirs` can read each other.
pub fn judge_levels(own: &Identity, standing: Standing, theirs: &Hello) -> Result<(), Refused> {
    let Verdict::Welcome { speaks } = theirs.verdict else {
        return Ok(());
    };
    let (they, level) = (called(theirs.who.node), standing.level);
    let refuse = |reason| {
        Err(Refused {
            refusal: Refusal::Level,
            reason,
        })
    };
    if own.cluster.is_some() && speaks.highest < level {
        return refuse(format!(
            "{they} speaks feature level {speaks}, and the cluster is at level {level}: install a version of LatsDB there that speaks level \
             {level}, such as that of node {}",
            own.node
        ));
    }
    // Of a node that came by its own directory the cluster's level is to be believed: it rose while this one was away.
    let knows_the_cluster = own.cluster.is_some() && theirs.who.cluster == own.cluster;
    if own.cluster.is_some() && speaks.lowest > level && !knows_the_cluster {
        return refuse(format!(
            "{they} speaks feature level {speaks}, and the cluster is at level {level}: first raise the cluster's level (latsdb admin \
             upgrade), or install a version of LatsDB there that speaks level {level}"
        ));
    }
    if speaks.lowest > standing.speaks.highest || speaks.highest < standing.speaks.lowest {
        return refuse(format!(
            "{they} speaks feature level {speaks}, and {} speaks {}: install a version of LatsDB on one of them that speaks a level of the \
             other, too",
            called(own.node),
            standing.speaks
        ));
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
            verdict: Verdict::Welcome { speaks: Levels::FIRST },
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

    fn speaks(lowest: u8, highest: u8) -> Levels {
        levels(lowest, highest).unwrap()
    }

    #[test]
    fn levels_stand_where_former_versions_do_not_look() {
        let welcome = Hello {
            verdict: Verdict::Welcome { speaks: speaks(2, 5) },
            ..hello(identity(2), Lane::Storage, 1)
        };
        assert_eq!(Hello::decode(&welcome.encode()), Ok(welcome));
        let mut bytes = welcome.encode();
        let with = |bytes: &mut [u8; HELLO_BYTES], lowest, highest| {
            bytes[14..16].copy_from_slice(&[lowest, highest]);
            let checksum = crc32fast::hash(&bytes[..52]);
            bytes[52..].copy_from_slice(&checksum.to_le_bytes());
            Hello::decode(bytes).map(|hello| hello.verdict)
        };
        let first = Ok(Verdict::Welcome { speaks: Levels::FIRST });
        assert_eq!(with(&mut bytes, 0, 0), first);
        for (lowest, highest) in [(0, 2), (3, 2), (1, 0)] {
            let refused = Err(NoHello::Levels(lowest, highest));
            assert_eq!(with(&mut bytes, lowest, highest), refused);
        }
    }

    #[test]
    fn who_does_not_speak_the_clusters_level_is_refused() {
        let judged = |own: Levels, level: u8, theirs: Levels, cluster: Option<u128>| {
            let mut theirs = Hello {
                verdict: Verdict::Welcome { speaks: theirs },
                ..hello(identity(2), Lane::Control, 1)
            };
            theirs.who.cluster = cluster;
            let standing = Standing {
                speaks: own,
                level: Level(level),
            };
            let judged = judge_levels(&identity(1), standing, &theirs);
            judged.map_err(|refused| {
                assert_eq!(refused.refusal, Refusal::Level);
                refused.reason
            })
        };
        let member = Some(7);
        assert_eq!(judged(speaks(1, 2), 1, speaks(1, 1), member), Ok(()));
        assert_eq!(judged(speaks(1, 2), 2, speaks(2, 3), member), Ok(()));
        let too_old = judged(speaks(1, 2), 2, speaks(1, 1), member).unwrap_err();
        assert!(
            too_old.starts_with("node 2 speaks") && too_old.contains("install a version"),
            "{too_old}"
        );
        assert!(judged(speaks(1, 2), 2, speaks(1, 1), None).is_err(), "to join");
        // It knows the cluster, which has risen.
        assert_eq!(judged(speaks(1, 2), 1, speaks(2, 3), member), Ok(()));
        let too_new = judged(speaks(1, 2), 1, speaks(2, 3), None).unwrap_err();
        assert!(too_new.contains("latsdb admin upgrade"), "{too_new}");
        assert!(
            judged(speaks(1, 2), 1, speaks(3, 4), member).is_err(),
            "nothing in common"
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
