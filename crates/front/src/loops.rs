//! The threads that everything of a node's clients runs on: one event loop each, shared by all fronts.
//!
//! ```text
//!   a front accepts ──▶ Registry::enter ──▶ Loops::dispatch ──▶ the loop with the fewest tasks ──▶ a task there, for life
//! ```
//!
//! What a task shares with the others of its loop needs no lock: a thread-local of the front, made by whichever task comes first.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

use crate::registry::{Handle, Registry};
use crate::schedule;
use crate::turns;

/// What interrupted statements get to come to their end.
const INTERRUPTED_GRACE: Duration = Duration::from_secs(2);
const SHUTDOWN_POLL: Duration = Duration::from_millis(5);

thread_local! {
    static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The number of this thread's loop, counted from 0; none on other threads.
pub fn number() -> Option<usize> {
    NUMBER.get()
}

/// The running loops of a node. Dropping them ends them at once; [`EventLoops::drain`] lets statements finish before.
pub struct EventLoops {
    loops: Loops,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

/// The loops, as whoever has work for them sees them.
#[derive(Clone)]
pub struct Loops {
    registry: Arc<Registry>,
    all: Arc<[EventLoop]>,
}

struct EventLoop {
    tasks: Arc<AtomicUsize>,
    arrivals: mpsc::UnboundedSender<Arrival>,
}

/// Starts a task on the thread that it is called on. Told the bound of [`EventLoops::start`].
type Arrival = Box<dyn FnOnce(Option<Duration>) + Send>;

/// What a task is to its loop and to the registry. Leaves both when dropped, wherever that happens.
pub struct Load {
    handle: Arc<Handle>,
    registry: Arc<Registry>,
    tasks: Arc<AtomicUsize>,
}

impl Load {
    pub fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.tasks.fetch_sub(1, Relaxed);
        self.registry.leave(&self.handle);
    }
}

impl EventLoops {
    /// Starts `threads` loops for what `registry` lists. Turns that take longer than `report_turns` are logged.
    pub fn start(threads: usize, report_turns: Option<Duration>, registry: Arc<Registry>) -> io::Result<EventLoops> {
        raise_descriptor_limit();
        let (stop, stopped) = watch::channel(false);
        let (mut all, mut joined) = (Vec::new(), Vec::new());
        for number in 0..threads.max(1) {
            let (arrivals, arriving) = mpsc::unbounded_channel();
            let stopped = stopped.clone();
            joined.push(spawn(format!("loop-{number}"), move || {
                NUMBER.set(Some(number));
                take_in(arriving, report_turns, stopped)
            })?);
            all.push(EventLoop {
                tasks: Arc::default(),
                arrivals,
            });
        }
        Ok(EventLoops {
            loops: Loops {
                registry,
                all: all.into(),
            },
            stop,
            threads: joined,
        })
    }

    pub fn loops(&self) -> Loops {
        self.loops.clone()
    }

    /// Closes idle connections, lets running statements finish within `grace`, then interrupts them with 1053. The fronts of sessions have
    /// been told to accept no more; visitors may come further, to hear that the node stops.
    pub async fn drain(&self, grace: Duration) {
        let registry = &self.loops.registry;
        registry.drain();
        wait_for_sessions(registry, grace).await;
        registry.interrupt_sessions();
        wait_for_sessions(registry, INTERRUPTED_GRACE).await;
    }

    /// Drops what still runs, and comes back when the threads have ended.
    pub async fn end(mut self) {
        self.stop.send_replace(true);
        join(std::mem::take(&mut self.threads)).await;
    }
}

impl Drop for EventLoops {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

async fn wait_for_sessions(registry: &Registry, grace: Duration) {
    let deadline = Instant::now() + grace;
    while registry.has_sessions() && Instant::now() < deadline {
        tokio::time::sleep(SHUTDOWN_POLL).await;
    }
}

/// Waits for threads that have been told to end.
pub(crate) async fn join(threads: Vec<JoinHandle<()>>) {
    // A thread that ended by a panic has said so by itself.
    let _ = tokio::task::spawn_blocking(|| threads.into_iter().for_each(|thread| drop(thread.join()))).await;
}

impl Loops {
    /// Runs what `make` makes, on the loop with the fewest tasks. It is made there, so it need not be `Send`; it is over, for
    /// the loop and for the registry, when it lets go of its [`Load`].
    pub fn dispatch<F>(&self, handle: Arc<Handle>, make: impl FnOnce(Load) -> F + Send + 'static)
    where
        F: Future<Output = ()> + 'static,
    {
        let on = self
            .all
            .iter()
            .min_by_key(|one| one.tasks.load(Relaxed))
            .expect("there is at least one loop");
        let id = handle.id;
        let load = self.load(on, handle);
        // A loop that is going down drops it.
        let _ = on.arrivals.send(Box::new(move |report_turns| {
            let task = make(load);
            match report_turns {
                None => tokio::task::spawn_local(task),
                Some(bound) => tokio::task::spawn_local(turns::watched(bound, id, task)),
            };
        }));
    }

    /// Runs what `make` makes on the loop of this thread: a part of a connection that is served here.
    pub fn spawn_here<F>(&self, handle: Arc<Handle>, make: impl FnOnce(Load) -> F)
    where
        F: Future<Output = ()> + 'static,
    {
        let on = &self.all[number().expect("a task of a loop calls this")];
        tokio::task::spawn_local(make(self.load(on, handle)));
    }

    /// One task more on a loop.
    fn load(&self, on: &EventLoop, handle: Arc<Handle>) -> Load {
        on.tasks.fetch_add(1, Relaxed);
        Load {
            handle,
            registry: self.registry.clone(),
            tasks: on.tasks.clone(),
        }
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }
}

/// Every connection is a descriptor: asks for as many as the system grants.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    )
    .is_err()
    {
        tracing::warn!(limit = ?limit.current, "cannot raise the limit of open files");
    }
}

/// A named thread with an event loop that runs one task, made there, and those that the task spawns; it ends with the task.
pub(crate) fn spawn<F: Future<Output = ()> + 'static>(
    name: String,
    make: impl FnOnce() -> F + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name(name).spawn(move || {
        let mut tasks = LocalSet::new();
        let first = {
            let _entered = runtime.enter();
            tasks.spawn_local(make())
        };
        governor::turn::watch_this_thread();
        // The set as the only future of the loop: one beside it would be polled at every event.
        runtime.block_on(poll_fn(|context| {
            // Who gives way from now on has to wait until the sockets have been looked at.
            let is_waiting = schedule::is_waiting();
            let _ = Pin::new(&mut tasks).poll(context);
            if is_waiting {
                schedule::wake_next();
                let _ = Pin::new(&mut tasks).poll(context);
            }
            if first.is_finished() {
                return Poll::Ready(());
            }
            if schedule::is_waiting() {
                context.waker().wake_by_ref();
            }
            Poll::Pending
        }));
    })
}

/// Takes tasks to this thread until the loops stop.
async fn take_in(
    mut arriving: mpsc::UnboundedReceiver<Arrival>,
    report_turns: Option<Duration>,
    mut stopped: watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            Some(start) = arriving.recv() => start(report_turns),
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Peer;
    use std::sync::mpsc;

    fn enter(registry: &Registry) -> Arc<Handle> {
        registry.enter(Peer::Unix { user: None }).expect("a place")
    }

    async fn until_shutdown(load: Load, begun: mpsc::Sender<Option<usize>>) {
        let task = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
        load.handle().set_waker(task);
        begun.send(number()).expect("the test waits for it");
        poll_fn(|_| match load.handle().is_draining() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    #[test]
    fn tasks_are_shared_out_and_end_with_the_node() {
        let registry = Registry::new();
        let running = EventLoops::start(2, None, registry.clone()).expect("threads");
        let (begun, numbers) = mpsc::channel();
        for _ in 0..4 {
            let begun = begun.clone();
            running
                .loops()
                .dispatch(enter(&registry), |load| until_shutdown(load, begun));
        }
        let mut numbers: Vec<_> = (0..4).map(|_| numbers.recv().expect("a task begins")).collect();
        numbers.sort();
        assert_eq!(numbers, [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(number(), None, "no loop");
        assert_eq!(registry.statistics().connected, 4);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            running.drain(Duration::from_secs(60)).await;
            assert!(registry.is_empty());
            running.end().await;
        });
    }

    /// Load balancers are told that the node stops for as long as it does.
    #[test]
    fn visitors_are_served_until_the_loops_end() {
        let registry = Registry::new();
        let running = EventLoops::start(1, None, registry.clone()).expect("threads");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            running.drain(Duration::from_secs(60)).await;
            let visitor = registry.enter_visitor(Peer::Unix { user: None }).expect("a place");
            let (served, is_served) = tokio::sync::oneshot::channel();
            running.loops().dispatch(visitor, |load| async move {
                assert!(!load.handle().is_draining() && load.handle().interrupted().is_none());
                served.send(()).expect("the test waits for it");
                std::future::pending::<()>().await;
            });
            is_served.await.expect("the loop runs");
            running.end().await;
        });
        assert!(registry.is_empty(), "who was still there is gone");
    }

    #[test]
    fn what_is_not_taken_any_more_leaves_the_registry() {
        let registry = Registry::new();
        let running = EventLoops::start(1, None, registry.clone()).expect("threads");
        let loops = running.loops();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(running.end());
        loops.dispatch(enter(&registry), |_load| async { unreachable!("there is no loop") });
        assert!(registry.is_empty());
    }
}
