//! Work of the node's own that looks like a connection: it has an id, stands in the process list, can be killed, and shares the loops,
//! the memory and the turns of clients.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Poll;

use fiber::{Fiber, Suspender, is_unwinding};
use sql_api::host::Host;

use crate::host::FiberHost;
use crate::loops::{Load, Loops};

/// What is to be done, and how the process list shows it.
pub struct Job {
    pub user: String,
    pub database: Option<String>,
    pub text: String,
    /// Gets its connection's id.
    pub work: Box<dyn FnOnce(u32, &dyn Host) + Send>,
}

impl Loops {
    /// Runs a job; not any more when the node stops.
    pub fn start_job(&self, job: Job) {
        if self.registry().is_draining() {
            return;
        }
        let handle = self.registry().enter_job(&job.user, job.database.as_deref());
        handle.begin("Query", job.text.as_bytes());
        self.dispatch(handle, |load| run(job, load));
    }
}

/// Runs it on a stack of its own.
async fn run(job: Job, load: Load) {
    let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
    load.handle().set_waker(waker);
    let (handle, work) = (load.handle().clone(), job.work);
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
