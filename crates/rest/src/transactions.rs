//! Transactions over several requests.
//!
//! ```text
//!   POST /v1/transactions ──▶ a job of the node's, with an SQL session of its own, until COMMIT, ROLLBACK, KILL or its deadline
//!   POST /v1/transactions/{id}/… ──▶ the request goes to the job, its answer comes back piece by piece
//! ```
//!
//! As a job it stands in the process list, is ended by KILL, and its memory is counted. Requests of one transaction come one after another: a second
//! one at the same time is refused.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use http_wire::target::Target;
use parking_lot::Mutex;
use serde::Deserialize;
use sql_api::host::{Host, WaitEnd};
use sql_api::session::SessionAccount;
use tokio::sync::mpsc::{self, error::TrySendError};
use types::{ErrorKind, SqlResult};

use crate::answer::{Answer, Head, Outlet};
use crate::client::{Client, Identity};
use crate::problem::Problem;
use crate::request::Request;
use crate::routes::Task;
use crate::service::Rest;

const COMMIT_PATH: &str = "/v1/commit";
const DEADLINE_DEFAULT: Duration = Duration::from_secs(10);
const DEADLINE_MAX: Duration = Duration::from_secs(60);
/// Open transactions of one account, and of the node.
const OF_ACCOUNT_MAX: usize = 100;
const ALL_MAX: usize = 1000;

/// The open ones of a node, by their ids.
#[derive(Default)]
pub struct Transactions {
    open: Mutex<HashMap<String, Open>>,
}

struct Open {
    account: SessionAccount,
    requests: mpsc::Sender<Forwarded>,
    ends_at: Instant,
}

/// A request on its way to its transaction.
struct Forwarded {
    /// As it came, and another path in the place of its own.
    bytes: Vec<u8>,
    body: std::ops::Range<usize>,
    path: String,
    answer: mpsc::Sender<Piece>,
}

/// A part of an answer on its way back.
struct Piece {
    head: Head,
    body: Vec<u8>,
    is_last: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Body {
    deadline_ms: Option<u64>,
    isolation: Option<String>,
    read_only: bool,
}

/// POST /v1/transactions
pub fn begin(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let body: Body = match task.request.body.is_empty() {
        true => Body::default(),
        false => task.request.json()?,
    };
    let isolation = match body.isolation.as_deref() {
        None | Some("repeatable read") => "REPEATABLE READ",
        Some("read committed") => "READ COMMITTED",
        Some("serializable") => "SERIALIZABLE",
        Some(other) => {
            return Err(Problem::bad_request(format!(
                "isolation is repeatable read, read committed or serializable, not {other}"
            )));
        }
    };
    let deadline = body.deadline_ms.map_or(DEADLINE_DEFAULT, Duration::from_millis);
    if deadline.is_zero() || deadline > DEADLINE_MAX {
        return Err(Problem::bad_request("deadline_ms is from 1 to 60000"));
    }
    let rest = client.rest.clone();
    let (requests, received) = mpsc::channel(1);
    let id = rest.random_hex(16);
    let ends_at = Instant::now() + deadline;
    {
        let mut open = rest.transactions.open.lock();
        let own = open
            .values()
            .filter(|open| open.account == client.identity.account)
            .count();
        if own >= OF_ACCOUNT_MAX || open.len() >= ALL_MAX {
            return Err(Problem {
                retry: true,
                ..Problem::new(
                    429,
                    "too-many-transactions",
                    "Too many transactions are open",
                    format!("an account has {OF_ACCOUNT_MAX} at once, the node {ALL_MAX}"),
                )
            });
        }
        let account = client.identity.account.clone();
        open.insert(
            id.clone(),
            Open {
                account,
                requests,
                ends_at,
            },
        );
    }
    let begins = [
        format!("SET TRANSACTION ISOLATION LEVEL {isolation}"),
        match body.read_only {
            true => "START TRANSACTION READ ONLY".to_owned(),
            false => "START TRANSACTION".to_owned(),
        },
    ];
    let (own_id, own_rest, identity) = (id.clone(), rest.clone(), client.identity.clone());
    let place = Place {
        rest: own_rest,
        id: own_id,
    };
    let work = move |connection_id: u32, host: &dyn Host| {
        let place = place;
        live(&place.rest, connection_id, identity, &begins, received, ends_at, host);
    };
    let user = client.identity.user.clone();
    rest.jobs.start(user, format!("HTTP transaction {id}"), Box::new(work));
    answer.head.status = 201;
    answer.head.header("location", &format!("/v1/transactions/{id}"));
    let text = format!("{{\"transaction\":\"{id}\",\"deadline_ms\":{}}}", deadline.as_millis());
    answer.body.extend_from_slice(text.as_bytes());
    Ok(())
}

/// A transaction's place among the open ones, which it leaves however it ends.
struct Place {
    rest: Arc<Rest>,
    id: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.rest.transactions.open.lock().remove(&self.id);
    }
}

/// Answers requests until the transaction is over. What is not committed is rolled back with the session.
fn live(
    rest: &Arc<Rest>,
    connection_id: u32,
    identity: Identity,
    begins: &[String],
    mut requests: mpsc::Receiver<Forwarded>,
    ends_at: Instant,
    host: &dyn Host,
) {
    let mut client = Client::new(rest.clone(), connection_id, identity);
    client.is_transaction = true;
    for statement in begins {
        if client.command(statement, host).is_err() {
            return;
        }
    }
    loop {
        host.show_state("Waiting for the client's next request");
        let left = ends_at.saturating_duration_since(Instant::now());
        let mut next = None;
        let received = pin!(async {
            next = poll_fn(|context| match rest.jobs.is_draining() {
                true => Poll::Ready(None),
                false => requests.poll_recv(context),
            })
            .await;
        });
        let waited = host.wait_interruptible(received, Some(left));
        let (WaitEnd::Done, Some(forwarded)) = (waited, next) else {
            return;
        };
        host.show_state("");
        // A KILL that came before the request ends it all the same.
        if host.interrupted().is_some() {
            return;
        }
        // A statement ends with the transaction.
        host.limit_time(Some(ends_at.saturating_duration_since(Instant::now())));
        answer_one(&mut client, &forwarded, host);
        host.limit_time(None);
        if !client.in_transaction() {
            return;
        }
    }
}

fn answer_one(client: &mut Client, forwarded: &Forwarded, host: &dyn Host) {
    let mut head = http_wire::Head::default();
    let Ok(http_wire::Scan::Complete(())) = head.scan(&forwarded.bytes) else {
        return;
    };
    let request = Request {
        method: head.method(&forwarded.bytes),
        target: Target {
            path: &forwarded.path,
            query: Target::parse(head.target(&forwarded.bytes)).map_or("", |target| target.query),
        },
        headers: head.headers(&forwarded.bytes),
        bytes: &forwarded.bytes,
        body: &forwarded.bytes[forwarded.body.clone()],
    };
    let mut outlet = PieceOutlet(&forwarded.answer);
    let mut answer = Answer::new(Vec::new(), &mut outlet);
    client.answer(&request, host, &mut answer);
    let (head, body) = answer.into_parts();
    // Whoever asked may be gone.
    let _ = send(&forwarded.answer, head, body, true, host);
}

struct PieceOutlet<'a>(&'a mpsc::Sender<Piece>);

impl Outlet for PieceOutlet<'_> {
    fn send(&mut self, head: &Head, body: &mut Vec<u8>, host: &dyn Host) -> SqlResult<()> {
        send(self.0, head.clone(), std::mem::take(body), false, host)
    }
}

fn send(to: &mpsc::Sender<Piece>, head: Head, body: Vec<u8>, is_last: bool, host: &dyn Host) -> SqlResult<()> {
    // What there is room for arrives, whatever interrupts the job: it may say that a commit was done.
    let piece = match to.try_send(Piece { head, body, is_last }) {
        Ok(()) => return Ok(()),
        Err(TrySendError::Closed(_)) => return Err(ErrorKind::NetErrorOnWrite.into()),
        Err(TrySendError::Full(piece)) => piece,
    };
    let mut sent = false;
    let waited = host.wait_interruptible(pin!(async { sent = to.send(piece).await.is_ok() }), None);
    match (waited, sent) {
        (WaitEnd::Interrupted(interrupt), _) => Err(governor::Stop::Interrupt(interrupt).into()),
        (_, true) => Ok(()),
        (_, false) => Err(ErrorKind::NetErrorOnWrite.into()),
    }
}

/// Anything under /v1/transactions/{id}/: the same operation, in the transaction.
pub fn forward(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let path = format!("/v1/{}", task.parameters[1]);
    if !crate::openapi::is_in_transactions(&path) {
        return Err(Problem::not_found(
            "a transaction has no such operation; see /v1/openapi.json",
        ));
    }
    forward_to(client, task, task.parameters[0], &path, answer)
}

/// Sends a request to its transaction, under another path, and passes on the answer.
pub fn forward_to(
    client: &mut Client,
    task: &Task<'_>,
    id: &str,
    path: &str,
    answer: &mut Answer<'_>,
) -> Result<(), Problem> {
    if client.is_transaction {
        return Err(Problem::bad_request("a transaction within a transaction"));
    }
    let requests = {
        let open = client.rest.transactions.open.lock();
        let found = open.get(id).filter(|open| open.account == client.identity.account);
        let Some(open) = found.filter(|open| open.ends_at > Instant::now()) else {
            return Err(gone());
        };
        open.requests.clone()
    };
    let body_begin = task
        .request
        .bytes
        .len()
        .min(task.request.body.as_ptr() as usize - task.request.bytes.as_ptr() as usize);
    let body = body_begin..body_begin + task.request.body.len();
    let (to, mut pieces) = mpsc::channel(1);
    let forwarded = Forwarded {
        bytes: task.request.bytes[..body.end].to_vec(),
        body,
        path: path.to_owned(),
        answer: to,
    };
    requests.try_send(forwarded).map_err(|refused| match refused {
        TrySendError::Closed(_) => gone(),
        TrySendError::Full(_) => Problem {
            retry: true,
            ..Problem::new(
                409,
                "transaction-busy",
                "The transaction answers another request",
                "requests of a transaction come one after another",
            )
        },
    })?;
    loop {
        let mut next = None;
        let waited = task
            .host
            .wait_interruptible(pin!(async { next = pieces.recv().await }), None);
        if let WaitEnd::Interrupted(interrupt) = waited {
            if path == COMMIT_PATH {
                return Err(Problem::unknown_commit("its answer was not waited for"));
            }
            return Err(types::SqlError::from(governor::Stop::Interrupt(interrupt)).into());
        }
        let Some(Piece { head, body, is_last }) = next else {
            return Err(gone());
        };
        answer.head = head;
        answer.body.extend_from_slice(&body);
        match is_last {
            true => return Ok(()),
            false => answer.flush(task.host)?,
        }
    }
}

fn gone() -> Problem {
    Problem::new(
        404,
        "transaction-gone",
        "The transaction is over",
        "there is no open transaction of this account with this id: it was ended, or its deadline has passed",
    )
}

/// …/commit
pub fn commit(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    end(client, task, answer, "COMMIT", "{\"committed\":true}")
}

/// …/rollback
pub fn roll_back(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    end(client, task, answer, "ROLLBACK", "{\"committed\":false}")
}

fn end(
    client: &mut Client,
    task: &Task<'_>,
    answer: &mut Answer<'_>,
    statement: &str,
    text: &str,
) -> Result<(), Problem> {
    if !client.is_transaction {
        return Err(Problem::not_found(
            "it is ended under its own path: /v1/transactions/{id}/commit",
        ));
    }
    client.command(statement, task.host)?;
    answer.body.extend_from_slice(text.as_bytes());
    Ok(())
}
