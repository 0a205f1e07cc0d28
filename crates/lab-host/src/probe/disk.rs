//! Synchronous writes to a file: what a commit waits for.
//!
//! | here | tool |
//! |---|---|
//! | `write_fdatasync` | `ioping -WWW -c 200 -i 0 -L -s 4K DIR`: 4 KiB, then fdatasync, over a file of 1 MiB that has its blocks, the first not counted |
//! | `sync_write` | `fio --rw=write --bs=4k --direct=1 --sync=1` over a file that has its blocks |
//! | `random_write_fdatasync` | `fio --rw=randwrite --bs=4k --fdatasync=1`, likewise |

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lab_results::Latency;
use lab_results::host::DiskProbe;
use rustix::fs::OFlags;

const BLOCK: usize = 4096;
/// ioping's working set.
const SMALL_FILE: u64 = 1024 * 1024;
const LARGE_FILE: u64 = 16 * 1024 * 1024;
const WRITES: u32 = 200;
/// On a slow disk fewer writes must do.
const TIME_LIMIT: Duration = Duration::from_secs(5);

pub fn probe(directory: &Path, problems: &mut Vec<String>) -> io::Result<DiskProbe> {
    let file = Scratch::new(directory)?;
    let write_fdatasync = write_fdatasync(&file, Pattern::Sequential, WRITES)?;
    let random_write_fdatasync = self::write_fdatasync(&file, Pattern::Random, WRITES)?;
    let sync_write = sync_write(&file, WRITES).unwrap_or_else(|error| {
        problems.push(format!(
            "synchronous direct writes at {}: {error} (this file system may not know O_DIRECT)",
            directory.display()
        ));
        Times::default()
    });
    Ok(DiskProbe {
        path: directory.display().to_string(),
        filesystem: filesystem(directory),
        sync_write: sync_write.latency(),
        write_fdatasync_mdev_us: write_fdatasync.deviation_us(),
        write_fdatasync: write_fdatasync.latency(),
        random_write_fdatasync: random_write_fdatasync.latency(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    Sequential,
    Random,
}

/// Each write's time, without the first, which pays for what nobody did before.
#[derive(Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    fn mean_us(&self) -> f64 {
        self.0.iter().map(|time| time.as_secs_f64() * 1e6).sum::<f64>() / self.0.len().max(1) as f64
    }

    pub fn into_micros(self) -> Vec<f64> {
        self.0.iter().map(|time| time.as_secs_f64() * 1e6).collect()
    }

    fn deviation_us(&self) -> f64 {
        let mean = self.mean_us();
        let squares: f64 = self.0.iter().map(|t| (t.as_secs_f64() * 1e6 - mean).powi(2)).sum();
        (squares / self.0.len().max(1) as f64).sqrt()
    }

    fn latency(&self) -> Latency {
        let mut latency = Latency::default();
        for time in &self.0 {
            latency.record_us((time.as_secs_f64() * 1e6).round() as u64);
        }
        latency
    }
}

/// 4 KiB through the page cache, then fdatasync; the two together are one write.
pub fn write_fdatasync(scratch: &Scratch, pattern: Pattern, writes: u32) -> io::Result<Times> {
    let size = match pattern {
        Pattern::Sequential => SMALL_FILE,
        Pattern::Random => LARGE_FILE,
    };
    let file = scratch.open(OFlags::empty())?;
    timed_writes(size, pattern, writes, |block, offset| {
        file.write_all_at(block, offset)?;
        file.sync_data()
    })
}

/// 4 KiB past the page cache that returns when it is on the disk.
pub fn sync_write(scratch: &Scratch, writes: u32) -> io::Result<Times> {
    let file = scratch.open(OFlags::DIRECT | OFlags::SYNC)?;
    timed_writes(LARGE_FILE, Pattern::Sequential, writes, |block, offset| {
        file.write_all_at(block, offset)
    })
}

fn timed_writes(
    size: u64,
    pattern: Pattern,
    writes: u32,
    mut write: impl FnMut(&[u8], u64) -> io::Result<()>,
) -> io::Result<Times> {
    let mut buffer = vec![0; 2 * BLOCK];
    let aligned = buffer.as_ptr().align_offset(BLOCK);
    let block = &mut buffer[aligned..aligned + BLOCK];
    let blocks = size / BLOCK as u64;
    let mut random = 0x2545_f491_4f6c_dd1d;
    let began = Instant::now();
    let mut times = Vec::with_capacity(writes as usize);
    for number in 0..u64::from(writes) {
        fill(block, &mut random);
        let place = match pattern {
            Pattern::Sequential => number % blocks,
            Pattern::Random => random % blocks,
        };
        let start = Instant::now();
        write(block, place * BLOCK as u64)?;
        times.push(start.elapsed());
        if began.elapsed() > TIME_LIMIT {
            break;
        }
    }
    times.remove(0);
    Ok(Times(times))
}

/// Bytes that no disk can compress or find again.
fn fill(block: &mut [u8], random: &mut u64) {
    for word in block.chunks_exact_mut(8) {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        word.copy_from_slice(&random.to_le_bytes());
    }
}

/// A file of [`LARGE_FILE`] bytes that has its blocks. It has lost its name already, so that nothing is left of it however this
/// process ends; it is reached by its descriptor.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Keeps `path` open.
    _file: File,
}

impl Scratch {
    pub fn new(directory: &Path) -> io::Result<Scratch> {
        let name = directory.join(format!("lab-probe.{}.tmp", std::process::id()));
        // Refuses a file that is there: it is not ours.
        let mut file = OpenOptions::new().write(true).create_new(true).open(&name)?;
        fs::remove_file(&name)?;
        let mut random = 0x9e37_79b9_7f4a_7c15;
        let mut chunk = vec![0; 1024 * 1024];
        for _ in 0..LARGE_FILE / chunk.len() as u64 {
            fill(&mut chunk, &mut random);
            file.write_all(&chunk)?;
        }
        file.sync_all()?;
        Ok(Scratch {
            path: PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())),
            _file: file,
        })
    }

    /// For this process and its children.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self, flags: OFlags) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&self.path)
    }
}

/// `ext4 on /dev/vda`: the mount that `directory` is on.
fn filesystem(directory: &Path) -> String {
    let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts
        .lines()
        .filter_map(mount)
        .filter(|(at, _)| directory.starts_with(at))
        .max_by_key(|(at, _)| at.as_os_str().len())
        .map_or_else(|| "unknown".to_owned(), |(_, what)| what)
}

fn mount(line: &str) -> Option<(PathBuf, String)> {
    let (left, right) = line.split_once(" - ")?;
    let at = left.split(' ').nth(4)?;
    let mut right = right.split(' ');
    let (kind, device) = (right.next()?, right.next()?);
    Some((PathBuf::from(at), format!("{kind} on {device}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scratch_file_has_no_name_and_a_strangers_stays() {
        let directory = std::env::temp_dir().join(format!("lab-host-disk-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let scratch = Scratch::new(&directory).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        assert_eq!(fs::metadata(scratch.path()).unwrap().len(), LARGE_FILE);
        scratch.open(OFlags::SYNC).unwrap().write_all(b"x").unwrap();
        drop(scratch);
        let theirs = directory.join(format!("lab-probe.{}.tmp", std::process::id()));
        fs::write(&theirs, "theirs").unwrap();
        assert_eq!(
            Scratch::new(&directory).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn every_block_of_a_sequential_run_is_written_once_in_order() {
        let mut places = Vec::new();
        let times = timed_writes(SMALL_FILE, Pattern::Sequential, WRITES, |block, offset| {
            assert_eq!(block.len(), BLOCK);
            assert_eq!(block.as_ptr() as usize % BLOCK, 0);
            places.push(offset);
            Ok(())
        })
        .unwrap();
        assert_eq!(places, (0..200).map(|n| n * BLOCK as u64).collect::<Vec<_>>());
        assert_eq!(times.0.len(), 199);
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let full = timed_writes(SMALL_FILE, Pattern::Random, WRITES, |_, _| {
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn deviation_is_the_populations() {
        let times = Times(vec![Duration::from_micros(100), Duration::from_micros(300)]);
        assert!((times.mean_us() - 200.0).abs() < 1e-6);
        assert!((times.deviation_us() - 100.0).abs() < 1e-6);
    }

    #[test]
    fn a_mount_line_gives_place_kind_and_device() {
        let line = "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        assert_eq!(
            mount(line),
            Some((PathBuf::from("/mnt2"), "ext3 on /dev/root".to_owned()))
        );
        assert_eq!(mount("nonsense"), None);
    }
}
