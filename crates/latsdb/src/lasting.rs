//! Work of the node's own that goes on for as long as the node runs.

use std::time::Duration;

/// Before it begins anew.
const AFTER_A_PANIC: Duration = Duration::from_secs(1);

/// Starts it. After a panic, which is logged and counted as each is, it begins anew: nobody else would notice that keys expire no more.
pub fn start<F>(make: impl Fn() -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(async move {
        while tokio::spawn(make()).await.is_err_and(|end| end.is_panic()) {
            tokio::time::sleep(AFTER_A_PANIC).await;
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[tokio::test(start_paused = true)]
    async fn work_goes_on_after_a_panic() {
        let begun = Arc::new(AtomicU32::new(0));
        let ended = Arc::new(tokio::sync::Notify::new());
        let (count, end) = (begun.clone(), ended.clone());
        super::start(move || {
            let (count, end) = (count.clone(), end.clone());
            async move {
                assert!(count.fetch_add(1, Relaxed) >= 2, "the first ones panic");
                end.notify_one();
            }
        });
        ended.notified().await;
        assert_eq!(begun.load(Relaxed), 3);
    }
}
