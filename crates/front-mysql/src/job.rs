//! Work of the node's own that looks like a connection: it has an id, stands in the process list, can be killed, and shares the threads,
//! the memory and the turns of clients.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fiber::{Fiber, Suspender, is_unwinding};
use mysql_wire::command::code;
use sql_api::host::Host;

use crate::host::FiberHost;
use crate::registry::{Handle, Registry};
use crate::server::{Arrival, Load, Worker};

/// What is to be done, and how the process list shows it.
pub struct Job {
    pub user: String,
    pub database: Option<String>,
    pub text: String,
    /// Gets its connection's id.
    pub work: Box<dyn FnOnce(u32, &dyn Host) + Send>,
}

/// Gives jobs to the threads of a server.
#[derive(Clone)]
pub struct Jobs {
    pub(crate) registry: Arc<Registry>,
    pub(crate) workers: Arc<[Worker]>,
}

/// A job on its way to its thread, and there.
pub(crate) struct Begun {
    job: Job,
    handle: Arc<Handle>,
    _load: Load,
}

impl Jobs {
    /// Runs a job on the thread with the fewest connections; not any more when the server stops.
    pub fn start(&self, job: Job) {
        if self.registry.is_draining() {
            return;
        }
        let handle = self.registry.enter_job(&job.user, job.database.as_deref());
        handle.begin(code::QUERY, job.text.as_bytes());
        let worker = self
            .workers
            .iter()
            .min_by_key(|worker| worker.connections.load(Relaxed));
        let worker = worker.expect("a server has at least one worker");
        let begun = Begun {
            job,
            _load: Load::on(worker, handle.clone(), self.registry.clone()),
            handle,
        };
        // Only a server that is going down has no receiver.
        let _ = worker.queue.send(Arrival::Job(begun));
    }
}

impl Begun {
    /// Runs it on a stack of its own.
    pub async fn run(self) {
        let waker = std::future::poll_fn(|context| std::task::Poll::Ready(context.waker().clone())).await;
        self.handle.set_waker(waker);
        let (handle, work) = (self.handle.clone(), self.job.work);
        let fiber = Fiber::new(move |suspender: &Suspender| {
            let host = FiberHost::new(suspender, &handle, None);
            let ran = host
                .governor()
                .run(|| catch_unwind(AssertUnwindSafe(|| work(handle.id, &host))));
            match ran {
                Err(panic) if is_unwinding() => resume_unwind(panic),
                // It has been told of where it happened; what it held has gone with it.
                Ok(()) | Err(_) => {}
            }
        });
        match fiber {
            Ok(fiber) => fiber.await,
            Err(error) => tracing::error!(%error, "no memory for the stack of a job"),
        }
    }
}
