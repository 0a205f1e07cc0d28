//! The thread that writes the files. A queue of bounded length stands before it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use env::{Access, Disk, File};

use super::Log;

/// Entries that wait.
const QUEUE_ENTRIES: usize = 4096;
/// Bytes of them.
const QUEUE_BYTES: usize = 8 << 20;

enum Order {
    Write { log: Log, file: Arc<str>, text: String },
    Reopen,
}

pub struct Writer {
    queue: SyncSender<Order>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    waiting_bytes: AtomicUsize,
    left_out: AtomicU64,
}

impl Writer {
    /// `None`: there is no thread to be had.
    pub fn start(disk: Arc<dyn Disk>, folder: PathBuf) -> Option<Writer> {
        let (queue, orders) = sync_channel(QUEUE_ENTRIES);
        let shared = Arc::new(Shared::default());
        let of_thread = shared.clone();
        let files = Files {
            disk,
            folder,
            open: [None, None],
            has_failed: false,
        };
        thread::Builder::new()
            .name("statement-logs".to_owned())
            .spawn(move || run(files, &orders, &of_thread))
            .inspect_err(|error| tracing::warn!(%error, "no thread for the logs of statements"))
            .ok()?;
        Some(Writer { queue, shared })
    }

    /// Leaves the text for the thread, or leaves it out.
    pub fn write(&self, log: Log, file: Arc<str>, text: String) {
        let bytes = text.len();
        let waiting = self.shared.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let is_taken = waiting + bytes <= QUEUE_BYTES && self.queue.try_send(Order::Write { log, file, text }).is_ok();
        if !is_taken {
            self.shared.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.shared.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn reopen(&self) {
        // Where the queue is full, the next FLUSH will do.
        let _ = self.queue.try_send(Order::Reopen);
    }
}

fn run(mut files: Files, orders: &Receiver<Order>, shared: &Shared) {
    while let Ok(order) = orders.recv() {
        match order {
            Order::Reopen => files.open = [None, None],
            Order::Write { log, file, mut text } => {
                shared.waiting_bytes.fetch_sub(text.len(), Ordering::Relaxed);
                let left_out = shared.left_out.swap(0, Ordering::Relaxed);
                if left_out > 0 {
                    text = format!("# {left_out} entries were left out: the file was too slow\n{text}");
                }
                files.append(log, &file, text.as_bytes());
            }
        }
    }
}

struct Files {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    open: [Option<Open>; 2],
    has_failed: bool,
}

struct Open {
    name: Arc<str>,
    file: Box<dyn File>,
    length: u64,
}

impl Files {
    fn append(&mut self, log: Log, name: &Arc<str>, text: &[u8]) {
        match self.try_append(log, name, text) {
            Ok(()) => self.has_failed = false,
            Err(error) => {
                self.open[log as usize] = None;
                // Once, and not for every statement.
                if !std::mem::replace(&mut self.has_failed, true) {
                    let file = self.folder.join(&**name);
                    tracing::warn!(%error, file = %file.display(), "a log of statements cannot be written");
                }
            }
        }
    }

    fn try_append(&mut self, log: Log, name: &Arc<str>, text: &[u8]) -> io::Result<()> {
        let place = &mut self.open[log as usize];
        let open = match place {
            Some(open) if open.name == *name => open,
            _ => place.insert(open(&*self.disk, &self.folder, log, name)?),
        };
        open.file.write_at(text, open.length)?;
        open.length += text.len() as u64;
        Ok(())
    }
}

fn open(disk: &dyn Disk, folder: &Path, log: Log, name: &Arc<str>) -> io::Result<Open> {
    disk.create_dir(folder)?;
    let path = folder.join(&**name);
    let file = match disk.open(&path, Access::Write) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => disk.open(&path, Access::Create)?,
        opened => opened?,
    };
    let mut length = file.length()?;
    if length == 0 {
        let what = match log {
            Log::General => "general log",
            Log::Slow => "slow query log",
        };
        let head = format!(
            "LatsDB, Version: {} ({what}). started with:\nTime                 Id Command    Argument\n",
            crate::SERVER_VERSION
        );
        file.write_at(head.as_bytes(), 0)?;
        length = head.len() as u64;
    }
    Ok(Open {
        name: name.clone(),
        file,
        length,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_appended_also_after_a_restart() {
        let disk: Arc<dyn Disk> = env::SimDisk::new(1);
        for text in ["one\n", "two\n"] {
            let mut files = Files {
                disk: disk.clone(),
                folder: PathBuf::from("logs"),
                open: [None, None],
                has_failed: false,
            };
            files.append(Log::Slow, &"slow.log".into(), text.as_bytes());
            assert!(!files.has_failed);
        }
        let file = disk.open(Path::new("logs/slow.log"), Access::Read).unwrap();
        let mut bytes = vec![0; file.length().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(
            text.starts_with("LatsDB, Version") && text.ends_with("Argument\none\ntwo\n"),
            "{text}"
        );
    }
}
