//! A cloud's own word that its limit was met: counters of the network driver (`ethtool -S`) that count what went beyond the
//! instance's allowance, such as ENA's `bw_out_allowance_exceeded` and `pps_allowance_exceeded`. Other drivers have none.

#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fs;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl};

const SIOCETHTOOL: Opcode = 0x8946;
const GET_STRINGS: u32 = 0x1b;
const GET_STATISTICS: u32 = 0x1d;
const GET_SET_SIZE: u32 = 0x37;
const STATISTICS_SET: u32 = 1;
const NAME_BYTES: usize = 32;
/// Drivers have hundreds; one that claims more is not believed.
const COUNT_MAX: usize = 16_384;

/// The counters of allowances, per interface their places in the driver's list.
#[derive(Debug, Default)]
pub struct Allowances {
    socket: Option<UdpSocket>,
    interfaces: Vec<(String, Vec<(usize, String)>)>,
}

impl Allowances {
    pub fn of_all_interfaces() -> Allowances {
        let Ok(socket) = UdpSocket::bind("0.0.0.0:0") else {
            return Allowances::default();
        };
        let mut interfaces = Vec::new();
        for entry in fs::read_dir("/sys/class/net").into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let counters: Vec<(usize, String)> = names(&socket, &name)
                .unwrap_or_default()
                .into_iter()
                .enumerate()
                .filter(|(_, counter)| says_exceeded(counter))
                .collect();
            if !counters.is_empty() {
                interfaces.push((name, counters));
            }
        }
        Allowances {
            socket: Some(socket),
            interfaces,
        }
    }

    /// Summed over the interfaces.
    pub fn read(&self) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        let Some(socket) = &self.socket else { return sums };
        for (interface, counters) in &self.interfaces {
            let Ok(values) = values(socket, interface) else {
                continue;
            };
            for (place, name) in counters {
                *sums.entry(name.clone()).or_default() += values.get(*place).copied().unwrap_or(0);
            }
        }
        sums
    }
}

fn says_exceeded(counter: &str) -> bool {
    counter.ends_with("_exceeded")
}

fn names(socket: &UdpSocket, interface: &str) -> io::Result<Vec<String>> {
    let count = count(socket, interface)?;
    // struct ethtool_gstrings: cmd, set, count, then 32 bytes each.
    let mut buffer = vec![0u64; 2 + slack(count) * NAME_BYTES / 8];
    put(&mut buffer, &[GET_STRINGS, STATISTICS_SET, count as u32]);
    ask(socket, interface, &mut buffer)?;
    let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).skip(12).collect();
    Ok(bytes
        .chunks_exact(NAME_BYTES)
        .take(count)
        .map(|name| {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
            String::from_utf8_lossy(&name[..end]).into_owned()
        })
        .collect())
}

fn values(socket: &UdpSocket, interface: &str) -> io::Result<Vec<u64>> {
    let count = count(socket, interface)?;
    // struct ethtool_stats: cmd, count, then 8 bytes each.
    let mut buffer = vec![0u64; 1 + slack(count)];
    put(&mut buffer, &[GET_STATISTICS, count as u32]);
    ask(socket, interface, &mut buffer)?;
    Ok(buffer[1..=count].to_vec())
}

fn count(socket: &UdpSocket, interface: &str) -> io::Result<usize> {
    // struct ethtool_sset_info: cmd, reserved, mask (u64), then a u32 for each bit.
    let mut buffer = vec![0u64; 4];
    put(&mut buffer, &[GET_SET_SIZE]);
    buffer[1] = 1 << STATISTICS_SET;
    ask(socket, interface, &mut buffer)?;
    let count = if buffer[1] == 0 {
        0
    } else {
        first_u32(buffer[2]) as usize
    };
    if count > COUNT_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(count)
}

/// The kernel writes as many as the driver has at that moment, which a reconfiguration may have raised since they were counted.
fn slack(count: usize) -> usize {
    2 * count + 1024
}

fn put(buffer: &mut [u64], words: &[u32]) {
    for (place, pair) in words.chunks(2).enumerate() {
        let mut bytes = [0; 8];
        for (index, word) in pair.iter().enumerate() {
            bytes[4 * index..4 * index + 4].copy_from_slice(&word.to_ne_bytes());
        }
        buffer[place] = u64::from_ne_bytes(bytes);
    }
}

fn first_u32(word: u64) -> u32 {
    let bytes = word.to_ne_bytes();
    u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// struct ifreq, as SIOCETHTOOL uses it.
#[repr(C)]
struct Request {
    interface: [u8; 16],
    data: *mut u64,
    rest: [u64; 2],
}

struct Ask(Request);

fn ask(socket: &UdpSocket, interface: &str, buffer: &mut [u64]) -> io::Result<()> {
    let mut name = [0; 16];
    let bytes = interface.as_bytes();
    if bytes.len() >= name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    name[..bytes.len()].copy_from_slice(bytes);
    let request = Ask(Request {
        interface: name,
        data: buffer.as_mut_ptr(),
        rest: [0; 2],
    });
    // SAFETY: `data` points to `buffer`, which outlives the call and was made with room for what the command in it brings back.
    unsafe { ioctl(socket.as_fd(), request) }?;
    Ok(())
}

// SAFETY: the opcode is SIOCETHTOOL, whose argument is a `struct ifreq`; `Request` has that layout and size (40 bytes on 64-bit
// Linux). The kernel writes only behind `data`, for which `ask` answers.
unsafe impl Ioctl for Ask {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        SIOCETHTOOL
    }

    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enas_counters_are_known_and_a_level_is_not_one() {
        assert!(says_exceeded("bw_out_allowance_exceeded"));
        assert!(says_exceeded("pps_allowance_exceeded"));
        assert!(!says_exceeded("conntrack_allowance_available"));
    }

    #[test]
    fn an_interface_without_counters_has_none() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(names(&socket, "lo").unwrap_or_default().is_empty());
        assert!(names(&socket, "no-such-thing").is_err());
    }

    #[test]
    fn as_many_names_as_values() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for entry in fs::read_dir("/sys/class/net").unwrap().flatten() {
            let interface = entry.file_name().into_string().unwrap();
            let Ok(names) = names(&socket, &interface) else {
                continue;
            };
            if names.is_empty() {
                continue;
            }
            assert_eq!(values(&socket, &interface).unwrap().len(), names.len());
            assert!(names.iter().all(|name| !name.is_empty()), "{names:?}");
        }
    }
}
