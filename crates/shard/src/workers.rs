//! What a replica's work runs on: threads of its own, or somebody else's tasks.
//!
//! A server gives each kind of work a thread with a runtime. A simulation has many replicas on one thread, and a runtime for each of them
//! whose clock it turns; there the same work runs as tasks. Nothing of the work knows which it is.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use futures_util::FutureExt;
use tokio::runtime::{self, Handle};

use crate::replica::Shared;

/// Where the work of a replica runs.
#[derive(Debug, Clone, Default)]
pub enum Workers {
    /// On threads of its own.
    #[default]
    Threads,
    /// As tasks of this runtime, which has one thread and a timer. Nothing there may wait for the replica but by futures:
    /// [`Shard::start`](crate::Shard::start) instead of `open`, and so on.
    Tasks(Handle),
}

/// Work that goes on until it is told to end.
pub(crate) enum Worker {
    Thread(std::thread::JoinHandle<()>),
    Task(tokio::task::JoinHandle<()>),
}

impl Workers {
    /// Starts the work, and returns the runtime it is on. Work that panics ends the replica's part in the shard: what it left half done must
    /// not be built upon, and those who wait for it are told.
    pub(crate) fn start<W>(&self, name: &'static str, shared: &Shared, work: W) -> std::io::Result<(Worker, Handle)>
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let (failure, queue) = (shared.failure.clone(), shared.queue.clone());
        let has_ended = move |end: Result<(), Box<dyn Any + Send>>| {
            if end.is_err() {
                failure.set(format!("the thread {name} panicked"));
                queue.fail(failure.get().expect("it was just set"));
            }
        };
        match self {
            Workers::Threads => {
                let runtime = runtime::Builder::new_current_thread().enable_time().build()?;
                let handle = runtime.handle().clone();
                let run = move || has_ended(std::panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(work))));
                let thread = std::thread::Builder::new().name(name.into()).spawn(run)?;
                Ok((Worker::Thread(thread), handle))
            }
            Workers::Tasks(runtime) => {
                let work = AssertUnwindSafe(work).catch_unwind().map(has_ended);
                Ok((Worker::Task(runtime.spawn(work)), runtime.clone()))
            }
        }
    }

    /// Whether the process has this replica alone.
    pub(crate) fn are_own(&self) -> bool {
        matches!(self, Workers::Threads)
    }
}

impl Worker {
    /// Waits for the end of work that was told to end. A task is given up where it stands.
    pub fn join(self) {
        match self {
            // It has said so where it panicked.
            Worker::Thread(thread) => drop(thread.join()),
            Worker::Task(task) => task.abort(),
        }
    }

    /// As [`join`](Self::join), and a task ends by itself.
    pub async fn ended(self) {
        match self {
            Worker::Thread(thread) => drop(thread.join()),
            Worker::Task(task) => drop(task.await),
        }
    }
}

/// Waits for what other threads bring about. Unlike a runtime's, it may be called from a runtime's thread.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
