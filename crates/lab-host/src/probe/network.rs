//! The network between two nodes: round trips of a few sizes, bytes per second over several streams, small packets per second.
//!
//! One end listens ([`Listener`]), the other measures ([`probe`]). A measuring connection opens with the listener's cookie, which
//! travels over the lab's own line, then one byte for what it wants:
//!
//! ```text
//!   cookie(32) 'E' size(u32)   echo: each `size` bytes come back at once
//!   cookie(32) 'S' ms(u32)     sink: bytes are read to the end, then those of the last four fifths of `ms` (u64) come back
//!   cookie(32) 'P'             packets: a UDP port (u16) comes back; at the next byte the number of datagrams (u64)
//! ```
//!
//! A listener ends by itself, serves so many connections and no more, and gives each a time limit.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab_results::Latency;
use lab_results::host::NetworkProbe;
use serde::{Deserialize, Serialize};

pub const SIZES: [u32; 3] = [1, 120, 12_000];
const ROUND_TRIPS: u32 = 2_000;
const ROUND_TRIPS_TIME: Duration = Duration::from_millis(700);
const PACKETS_TIME: Duration = Duration::from_millis(700);
const PACKET: usize = 64;
const COOKIE: usize = 32;
const CHUNK: usize = 128 * 1024;
const LARGEST_ECHO: u32 = 1024 * 1024;
const MOST_CONNECTIONS: u32 = 64;
const LISTENER_LIFE: Duration = Duration::from_secs(180);
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a listener waits, and what opens it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Door {
    /// `host:port`.
    pub address: String,
    pub cookie: [u8; COOKIE],
}

/// How long and how wide the bandwidth is measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Width {
    pub streams: u32,
    /// Clouds give credit for bursts: 20 s show what remains after them.
    pub seconds: f64,
}

impl Default for Width {
    fn default() -> Self {
        Width {
            streams: 4,
            seconds: 2.0,
        }
    }
}

/// The listening end, on threads of its own. Ends when dropped, or after three minutes.
#[derive(Debug)]
pub struct Listener {
    port: u16,
    cookie: [u8; COOKIE],
    stop: Arc<AtomicBool>,
}

impl Listener {
    pub fn start(bind: IpAddr) -> io::Result<Listener> {
        let socket = TcpListener::bind((bind, 0))?;
        let port = socket.local_addr()?.port();
        let cookie = crate::agent::random_bytes()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        thread::Builder::new()
            .name("lab-network".to_owned())
            .spawn(move || accept(&socket, cookie, &stopped))?;
        Ok(Listener { port, cookie, stop })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// `host` is the name or address at which the other node reaches this one.
    pub fn door(&self, host: &str) -> Door {
        let address = if host.contains(':') && !host.starts_with('[') {
            format!("[{host}]:{}", self.port)
        } else {
            format!("{host}:{}", self.port)
        };
        Door {
            address,
            cookie: self.cookie,
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn accept(socket: &TcpListener, cookie: [u8; COOKIE], stop: &AtomicBool) {
    let began = Instant::now();
    let open = Arc::new(AtomicU32::new(0));
    let _ = socket.set_nonblocking(true);
    while !stop.load(Ordering::Relaxed) && began.elapsed() < LISTENER_LIFE {
        let Ok((stream, _)) = socket.accept() else {
            thread::sleep(Duration::from_millis(5));
            continue;
        };
        if open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let counted = open.clone();
        let serve = move || {
            // A connection that breaks is the other end's to report.
            let _ = serve(stream, &cookie);
            counted.fetch_sub(1, Ordering::Relaxed);
        };
        if thread::Builder::new()
            .name("lab-network".to_owned())
            .spawn(serve)
            .is_err()
        {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn serve(mut stream: TcpStream, cookie: &[u8; COOKIE]) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut opening = [0; COOKIE + 1];
    stream.read_exact(&mut opening)?;
    if !crate::agent::same_bytes(&opening[..COOKIE], cookie) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    match opening[COOKIE] {
        b'E' => {
            let mut size = [0; 4];
            stream.read_exact(&mut size)?;
            let size = u32::from_le_bytes(size);
            if size == 0 || size > LARGEST_ECHO {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let mut message = vec![0; size as usize];
            loop {
                stream.read_exact(&mut message)?;
                stream.write_all(&message)?;
            }
        }
        b'S' => {
            let mut milliseconds = [0; 4];
            stream.read_exact(&mut milliseconds)?;
            let time = Duration::from_millis(u64::from(u32::from_le_bytes(milliseconds)));
            let bytes = count_bytes(&mut stream, time)?;
            stream.write_all(&bytes.to_le_bytes())
        }
        b'P' => count_packets(&mut stream),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Bytes that arrive while the flow is steady: its start is slow, and at its end every buffer on the way runs empty.
fn count_bytes(stream: &mut TcpStream, time: Duration) -> io::Result<u64> {
    let mut chunk = vec![0; CHUNK];
    let mut bytes = 0;
    let mut first = None;
    loop {
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            return Ok(bytes);
        }
        let since = first.get_or_insert_with(Instant::now).elapsed();
        if since >= time / 5 && since < time {
            bytes += read as u64;
        }
    }
}

fn count_packets(control: &mut TcpStream) -> io::Result<()> {
    let socket = UdpSocket::bind((control.local_addr()?.ip(), 0))?;
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    control.write_all(&socket.local_addr()?.port().to_le_bytes())?;
    let from = control.peer_addr()?.ip();
    let ended = AtomicBool::new(false);
    let packets = thread::scope(|scope| {
        let counter = scope.spawn(|| {
            let mut packets = 0u64;
            let mut packet = [0; PACKET];
            // What is still in the buffer at the end arrived in time.
            loop {
                match socket.recv_from(&mut packet) {
                    Ok((_, sender)) if sender.ip() == from => packets += 1,
                    Ok(_) => {}
                    Err(_) if ended.load(Ordering::Relaxed) => break packets,
                    Err(_) => {}
                }
            }
        });
        let end = control.read_exact(&mut [0]);
        ended.store(true, Ordering::Relaxed);
        let packets = counter.join().expect("the counter does not panic");
        end.map(|()| packets)
    })?;
    control.write_all(&packets.to_le_bytes())
}

/// Measures the way to `door` and back.
pub fn probe(door: &Door, width: Width) -> io::Result<NetworkProbe> {
    let mut round_trips = BTreeMap::new();
    let mut round_trip_cpu_us = BTreeMap::new();
    for size in SIZES {
        let (latency, cpu_us) = echo(door, size)?;
        round_trips.insert(size, latency);
        round_trip_cpu_us.insert(size, cpu_us);
    }
    let streams = width.streams.clamp(1, 32);
    let seconds = Duration::from_secs_f64(width.seconds.clamp(0.1, 60.0));
    Ok(NetworkProbe {
        round_trips,
        round_trip_cpu_us,
        bytes_per_s: bandwidth(door, streams, seconds)?,
        streams,
        packets_per_s: packets(door).ok(),
    })
}

/// Through a listener of this process.
pub fn probe_loopback() -> io::Result<NetworkProbe> {
    let listener = Listener::start(IpAddr::from([127, 0, 0, 1]))?;
    let width = Width {
        streams: 2,
        seconds: 1.0,
    };
    probe(&listener.door("127.0.0.1"), width)
}

fn open(door: &Door, what: u8) -> io::Result<TcpStream> {
    let mut error = io::Error::new(io::ErrorKind::NotFound, format!("{}: no such name", door.address));
    for address in door.address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(mut stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                stream.write_all(&door.cookie)?;
                stream.write_all(&[what])?;
                return Ok(stream);
            }
            Err(why) => error = why,
        }
    }
    Err(error)
}

/// The latencies, and the processor time of both ends per round trip: this end's twice, since the other does the same.
fn echo(door: &Door, size: u32) -> io::Result<(Latency, f64)> {
    let mut stream = open(door, b'E')?;
    stream.write_all(&size.to_le_bytes())?;
    let mut message = vec![7; size as usize];
    let mut latency = Latency::default();
    let began = Instant::now();
    let (cpu, mut rounds) = (thread_cpu(), 0u32);
    for round in 0..ROUND_TRIPS {
        rounds += 1;
        let start = Instant::now();
        stream.write_all(&message)?;
        stream.read_exact(&mut message)?;
        // The first one opens windows and caches.
        if round > 0 {
            latency.record_us((start.elapsed().as_nanos() as u64 + 500) / 1000);
        }
        if began.elapsed() > ROUND_TRIPS_TIME && round > 10 {
            break;
        }
    }
    let used = thread_cpu().saturating_sub(cpu);
    Ok((latency, 2.0 * used.as_secs_f64() * 1e6 / f64::from(rounds)))
}

fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// As the receivers counted in the steady part.
fn bandwidth(door: &Door, streams: u32, time: Duration) -> io::Result<f64> {
    let mut opened = Vec::new();
    for _ in 0..streams {
        let mut stream = open(door, b'S')?;
        stream.write_all(&(time.as_millis() as u32).to_le_bytes())?;
        opened.push(stream);
    }
    let began = Instant::now();
    let send = |mut stream: TcpStream| -> io::Result<u64> {
        let chunk = vec![0x5a; CHUNK];
        while began.elapsed() < time {
            stream.write_all(&chunk)?;
        }
        stream.shutdown(std::net::Shutdown::Write)?;
        let mut bytes = [0; 8];
        stream.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    };
    let bytes: io::Result<Vec<u64>> = thread::scope(|scope| {
        let sending: Vec<_> = opened
            .into_iter()
            .map(|stream| scope.spawn(move || send(stream)))
            .collect();
        sending
            .into_iter()
            .map(|thread| thread.join().expect("a sender does not panic"))
            .collect()
    });
    Ok(bytes?.iter().sum::<u64>() as f64 / (0.8 * time.as_secs_f64()))
}

fn packets(door: &Door) -> io::Result<f64> {
    let mut control = open(door, b'P')?;
    let mut port = [0; 2];
    control.read_exact(&mut port)?;
    let to = SocketAddr::new(control.peer_addr()?.ip(), u16::from_le_bytes(port));
    let socket = UdpSocket::bind((control.local_addr()?.ip(), 0))?;
    socket.connect(to)?;
    let began = Instant::now();
    let packet = [0x5a; PACKET];
    while began.elapsed() < PACKETS_TIME {
        // A full queue on this side is part of the answer.
        let _ = socket.send(&packet);
    }
    let elapsed = began.elapsed();
    control.write_all(&[0])?;
    let mut count = [0; 8];
    control.read_exact(&mut count)?;
    Ok(u64::from_le_bytes(count) as f64 / elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_gives_every_figure() {
        let probe = probe_loopback().unwrap();
        assert_eq!(probe.round_trips.keys().copied().collect::<Vec<_>>(), SIZES);
        assert!(probe.round_trips.values().all(|latency| latency.count() > 5));
        assert!(probe.round_trip_cpu_us.values().all(|us| *us > 0.0));
        assert!(probe.bytes_per_s > 1e6, "{}", probe.bytes_per_s);
        assert!(probe.packets_per_s.unwrap() > 100.0);
    }

    #[test]
    fn without_the_cookie_nothing_comes_back() {
        let listener = Listener::start(IpAddr::from([127, 0, 0, 1])).unwrap();
        let mut door = listener.door("127.0.0.1");
        door.cookie[31] ^= 1;
        let mut stream = open(&door, b'E').unwrap();
        stream.write_all(&1u32.to_le_bytes()).unwrap();
        let _ = stream.write_all(&[7]);
        let answer = stream.read(&mut [0]);
        assert!(matches!(answer, Ok(0) | Err(_)), "{answer:?}");
    }

    #[test]
    fn an_echo_beyond_the_limit_is_refused() {
        let listener = Listener::start(IpAddr::from([127, 0, 0, 1])).unwrap();
        let mut stream = open(&listener.door("127.0.0.1"), b'E').unwrap();
        stream.write_all(&u32::MAX.to_le_bytes()).unwrap();
        let answer = stream.read(&mut [0]);
        assert!(matches!(answer, Ok(0) | Err(_)), "{answer:?}");
    }

    #[test]
    fn a_door_of_version_six_has_brackets() {
        let listener = Listener::start(IpAddr::from([127, 0, 0, 1])).unwrap();
        assert_eq!(
            listener.door("fd00::1").address,
            format!("[fd00::1]:{}", listener.port())
        );
    }
}
