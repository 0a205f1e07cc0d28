//! What a node keeps for those who draw backups of it: of a few at once, and of each for as long as it asks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

pub const AT_ONCE: usize = 4;
/// Whoever asks for nothing for so long is gone, and what was kept for it goes then.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// By the number of the backup.
pub struct Kept<T> {
    shelf: Mutex<Shelf<T>>,
}

struct Shelf<T> {
    items: BTreeMap<u64, Item<T>>,
    /// A task is there that forgets what nobody asks for. It ends when nothing is left.
    is_watched: bool,
}

struct Item<T> {
    value: T,
    heard: Instant,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept {
            shelf: Mutex::new(Shelf {
                items: BTreeMap::new(),
                is_watched: false,
            }),
        }
    }
}

impl<T: Clone + Send + 'static> Kept<T> {
    /// In place of what was kept for that backup. Returns whether there was room.
    pub fn keep(self: &Arc<Kept<T>>, backup: u64, value: T) -> bool {
        let mut shelf = self.shelf.lock();
        if shelf.items.len() >= AT_ONCE && !shelf.items.contains_key(&backup) {
            return false;
        }
        let heard = Instant::now();
        shelf.items.insert(backup, Item { value, heard });
        if !std::mem::replace(&mut shelf.is_watched, true) {
            tokio::spawn(self.clone().forget_the_silent());
        }
        true
    }

    /// What is kept, if it still is; a sign of life of whoever draws the backup.
    pub fn heard(&self, backup: u64) -> Option<T> {
        let mut shelf = self.shelf.lock();
        let item = shelf.items.get_mut(&backup)?;
        item.heard = Instant::now();
        Some(item.value.clone())
    }

    /// No sign of life; nothing if it was forgotten meanwhile.
    pub fn change(&self, backup: u64, value: T) {
        if let Some(item) = self.shelf.lock().items.get_mut(&backup) {
            item.value = value;
        }
    }

    pub fn forget(&self, backup: u64) {
        self.shelf.lock().items.remove(&backup);
    }

    async fn forget_the_silent(self: Arc<Kept<T>>) {
        loop {
            let next = {
                let mut shelf = self.shelf.lock();
                shelf.items.retain(|_, item| item.heard.elapsed() < PATIENCE);
                let Some(oldest) = shelf.items.values().map(|item| item.heard).min() else {
                    shelf.is_watched = false;
                    return;
                };
                oldest + PATIENCE
            };
            tokio::time::sleep_until(next).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_nobody_asks_for_is_forgotten() {
        let kept = Arc::new(Kept::default());
        let file = Arc::new(());
        for round in 0..2 {
            assert!(
                kept.keep(1, file.clone()) && kept.keep(2, file.clone()),
                "round {round}"
            );
            tokio::time::sleep(PATIENCE * 3 / 4).await;
            assert!(kept.heard(2).is_some());
            tokio::time::sleep(PATIENCE / 2).await;
            assert_eq!(Arc::strong_count(&file), 2, "the first is let go without another call");
            assert!(kept.heard(1).is_none() && kept.heard(2).is_some());
            kept.change(1, file.clone());
            tokio::time::sleep(PATIENCE * 2).await;
            assert_eq!(Arc::strong_count(&file), 1);
            assert!(!kept.shelf.lock().is_watched);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_are_kept_at_once() {
        let kept = Arc::new(Kept::default());
        for backup in 0..AT_ONCE as u64 {
            assert!(kept.keep(backup, "a checkpoint"));
        }
        assert!(!kept.keep(99, "one more"));
        assert!(kept.keep(0, "another for the same"));
        kept.forget(1);
        assert!(kept.keep(99, "one more"));
    }
}
