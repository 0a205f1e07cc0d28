//! Which operating-system user is at the other end of a connection on this machine.
//!
//! * A Unix socket: the kernel wrote down who connected (`SO_PEERCRED`).
//! * TCP over loopback: the kernel is asked over netlink (`sock_diag`, `sock_diag(7)`) whose socket has exactly the four
//!   addresses and ports of the client's end.
//!
//! ```text
//!   ours:   127.0.0.1:3306  ──  127.0.0.1:40112          asked for:   127.0.0.1:40112 ── 127.0.0.1:3306
//! ```
//!
//! Three things would make the answer a lie, and are answers without a user:
//!
//! * the client has closed its end: an orphaned socket belongs to nobody, and the kernel reports nobody as user 0. So the
//!   state must be ESTABLISHED and the socket must still have its inode;
//! * the question finds another socket (a listening one has the same port): the answer has to repeat the question, where
//!   a client that speaks IPv4 from an IPv6 socket (Java does) is answered with mapped addresses;
//! * the user is not known in this user namespace: the kernel then shows the *overflow* user, who stands for many.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

/// An operating-system user of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OsUser(pub u32);

/// Why it is not known who is there.
#[derive(Debug)]
pub enum NotKnown {
    /// The kernel cannot be asked: no `sock_diag` here, or a network namespace that hides it.
    CannotAsk(io::Error),
    /// The client is on another machine, its end is closed, or its user has no number here.
    Nobody,
}

impl OsUser {
    pub const SUPERUSER: OsUser = OsUser(0);

    /// The user that this process acts as.
    pub fn of_this_process() -> OsUser {
        OsUser(rustix::process::geteuid().as_raw())
    }

    /// Who connected to a Unix socket.
    pub fn at_unix_socket(socket: impl AsFd) -> Result<OsUser, NotKnown> {
        let credentials = net::sockopt::socket_peercred(socket).map_err(|error| NotKnown::CannotAsk(error.into()))?;
        known(credentials.uid.as_raw())
    }

    /// Whose socket is connected from `client` to `server`, both loopback addresses of this machine.
    pub fn at_loopback(client: SocketAddr, server: SocketAddr) -> Result<OsUser, NotKnown> {
        let (client_ip, server_ip) = (client.ip().to_canonical(), server.ip().to_canonical());
        if !client_ip.is_loopback() || !server_ip.is_loopback() || client_ip.is_ipv4() != server_ip.is_ipv4() {
            return Err(NotKnown::Nobody);
        }
        let ends = [(client_ip, client.port()), (server_ip, server.port())];
        let answer = ask_kernel(client_ip.is_ipv4(), &socket_id(ends)).map_err(NotKnown::CannotAsk)?;
        match read_answer(&answer, ends)? {
            Some(user) => known(user),
            None => Err(NotKnown::Nobody),
        }
    }
}

/// A user who has a number here.
fn known(user: u32) -> Result<OsUser, NotKnown> {
    let overflow = std::fs::read_to_string("/proc/sys/kernel/overflowuid");
    let overflow = overflow
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(65_534);
    // -1 is the kernel's word for none.
    match user != overflow && user != u32::MAX {
        true => Ok(OsUser(user)),
        false => Err(NotKnown::Nobody),
    }
}

// linux/sock_diag.h, linux/inet_diag.h, linux/netlink.h
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_HEADER_LEN: usize = 16;
const IPPROTO_TCP: u8 = 6;
const TCP_ESTABLISHED: u8 = 1;
const ENOENT: i32 = 2;
/// `inet_diag_sockid`: two ports, two addresses, interface, cookie.
const ID_LEN: usize = 48;
/// `inet_diag_msg`: family, state, timer, retransmissions; the id; expiry, two queues, user, inode.
const MESSAGE_LEN: usize = 72;
const USER_AT: usize = 64;
const INODE_AT: usize = 68;

type SocketId = [u8; ID_LEN];

/// A socket's own end and the one that it is connected to; IPv4 as such, not mapped.
type Ends = [(IpAddr, u16); 2];

/// The ends that a message of the kernel tells.
fn ends_of(message: &[u8]) -> Ends {
    let is_ipv6 = u16::from(message[0]) == AddressFamily::INET6.as_raw();
    let id = &message[4..4 + ID_LEN];
    let address = |at: usize| match is_ipv6 {
        true => IpAddr::from(<[u8; 16]>::try_from(&id[at..at + 16]).expect("sixteen bytes")).to_canonical(),
        false => IpAddr::from(<[u8; 4]>::try_from(&id[at..at + 4]).expect("four bytes")),
    };
    let port = |at: usize| u16::from_be_bytes([id[at], id[at + 1]]);
    [(address(4), port(0)), (address(20), port(2))]
}

/// The socket with these ends, on any interface and with any cookie.
fn socket_id([own, other]: Ends) -> SocketId {
    let mut id = [0; ID_LEN];
    id[0..2].copy_from_slice(&own.1.to_be_bytes());
    id[2..4].copy_from_slice(&other.1.to_be_bytes());
    for (ip, at) in [(own.0, 4), (other.0, 20)] {
        match ip {
            IpAddr::V4(ip) => id[at..at + 4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => id[at..at + 16].copy_from_slice(&ip.octets()),
        }
    }
    id[40..].fill(0xff);
    id
}

fn ask_kernel(is_ipv4: bool, id: &SocketId) -> io::Result<Vec<u8>> {
    let family = if is_ipv4 {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let mut question = vec![family.as_raw() as u8, IPPROTO_TCP, 0, 0];
    question.extend_from_slice(&u32::MAX.to_ne_bytes());
    question.extend_from_slice(id);
    let mut message = Vec::with_capacity(NLMSG_HEADER_LEN + question.len());
    message.extend_from_slice(&((NLMSG_HEADER_LEN + question.len()) as u32).to_ne_bytes());
    message.extend_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    message.extend_from_slice(&1_u32.to_ne_bytes());
    message.extend_from_slice(&0_u32.to_ne_bytes());
    message.extend_from_slice(&question);
    // The kernel answers within the call to `send`: nothing is waited for.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        flags,
        Some(netlink::SOCK_DIAG),
    )?;
    net::send(&socket, &message, SendFlags::empty())?;
    let mut answer = vec![0; 4096];
    let (len, _) = net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    answer.truncate(len);
    Ok(answer)
}

/// The user of the socket that was asked for; none where there is no such socket, or not in a state that vouches for him.
fn read_answer(answer: &[u8], asked: Ends) -> Result<Option<u32>, NotKnown> {
    let cannot = |error: io::Error| NotKnown::CannotAsk(error);
    let short = || cannot(io::Error::other("a short answer of sock_diag"));
    let number = |at: usize| -> Option<u32> { Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?)) };
    let kind = answer.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
    match kind.ok_or_else(short)? {
        NLMSG_ERROR => match number(NLMSG_HEADER_LEN).ok_or_else(short)? as i32 {
            error if error == -ENOENT => Ok(None),
            error => Err(cannot(io::Error::from_raw_os_error(-error))),
        },
        SOCK_DIAG_BY_FAMILY => {
            let message = answer
                .get(NLMSG_HEADER_LEN..NLMSG_HEADER_LEN + MESSAGE_LEN)
                .ok_or_else(short)?;
            let is_asked = ends_of(message) == asked;
            let is_open = message[1] == TCP_ESTABLISHED;
            let (user, inode) = (number(NLMSG_HEADER_LEN + USER_AT), number(NLMSG_HEADER_LEN + INODE_AT));
            Ok(user.filter(|_| is_asked && is_open && inode.is_some_and(|inode| inode != 0)))
        }
        _ => Err(cannot(io::Error::other("not an answer of sock_diag"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    fn ends(address: &str) -> Option<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind(address).ok()?;
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        Some((client, server))
    }

    fn at(server: &TcpStream) -> Result<OsUser, NotKnown> {
        OsUser::at_loopback(server.peer_addr().unwrap(), server.local_addr().unwrap())
    }

    #[test]
    fn this_process_finds_itself() {
        let me = OsUser::of_this_process();
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(OsUser::at_unix_socket(&one).unwrap(), me);
        // Not every machine has IPv6.
        for (_client, server) in [ends("127.0.0.1:0"), ends("[::1]:0")].into_iter().flatten() {
            match at(&server) {
                Ok(user) => assert_eq!(user, me),
                Err(NotKnown::CannotAsk(error)) => eprintln!("not tested, sock_diag is not available: {error}"),
                Err(NotKnown::Nobody) => panic!("an open connection has a user"),
            }
        }
    }

    #[test]
    fn a_client_of_two_families_is_known() {
        // What Java's runtime makes of an address of IPv4.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else {
            unreachable!("bound to IPv4")
        };
        let Ok(client) = net::socket(AddressFamily::INET6, SocketType::STREAM, None) else {
            return; // no IPv6 here
        };
        let mapped = std::net::SocketAddrV6::new(address.ip().to_ipv6_mapped(), address.port(), 0, 0);
        net::connect(&client, &mapped).unwrap();
        let (server, _) = listener.accept().unwrap();
        match at(&server) {
            Ok(user) => assert_eq!(user, OsUser::of_this_process()),
            Err(NotKnown::CannotAsk(error)) => eprintln!("not tested, sock_diag is not available: {error}"),
            Err(NotKnown::Nobody) => panic!("an open connection has a user"),
        }
    }

    #[test]
    fn a_client_that_has_closed_its_end_is_nobody_and_not_the_superuser() {
        let (client, server) = ends("127.0.0.1:0").unwrap();
        drop(client);
        assert!(at(&server).is_err());
        let (client, server) = ends("127.0.0.1:0").unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(at(&server).is_err(), "half closed");
    }

    #[test]
    fn only_this_connection_of_this_machine_is_looked_at() {
        let (_client, server) = ends("127.0.0.1:0").unwrap();
        let (mut peer, local) = (server.peer_addr().unwrap(), server.local_addr().unwrap());
        assert!(
            OsUser::at_loopback(local, local).is_err(),
            "there is no such connection, though a socket has the port"
        );
        peer.set_ip([192, 0, 2, 1].into());
        assert!(matches!(OsUser::at_loopback(peer, local), Err(NotKnown::Nobody)));
    }

    #[test]
    fn answers_that_do_not_repeat_the_question_name_nobody() {
        let ends: Ends = [([127, 0, 0, 1].into(), 40_000), ([127, 0, 0, 1].into(), 3306)];
        let id = socket_id(ends);
        let answer = |state: u8, id: &SocketId, inode: u32| {
            let mut bytes = vec![0; NLMSG_HEADER_LEN + MESSAGE_LEN];
            bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
            bytes[NLMSG_HEADER_LEN] = AddressFamily::INET.as_raw() as u8;
            bytes[NLMSG_HEADER_LEN + 1] = state;
            bytes[NLMSG_HEADER_LEN + 4..NLMSG_HEADER_LEN + 4 + ID_LEN].copy_from_slice(id);
            bytes[NLMSG_HEADER_LEN + USER_AT..][..4].copy_from_slice(&1000_u32.to_ne_bytes());
            bytes[NLMSG_HEADER_LEN + INODE_AT..][..4].copy_from_slice(&inode.to_ne_bytes());
            bytes
        };
        let mut other = id;
        other[0] ^= 1;
        assert_eq!(read_answer(&answer(1, &id, 5), ends).unwrap(), Some(1000));
        assert_eq!(read_answer(&answer(4, &id, 5), ends).unwrap(), None);
        assert_eq!(read_answer(&answer(1, &id, 0), ends).unwrap(), None);
        assert_eq!(read_answer(&answer(1, &other, 5), ends).unwrap(), None);
        assert!(read_answer(&answer(1, &id, 5)[..60], ends).is_err());
        assert!(read_answer(&[], ends).is_err());
    }
}
