//! A client's other door: commands of Redis to the same node, on the same fiber.

use std::sync::Arc;

use keyspace::session::alone::Alone;
use keyspace::{Keyspace, Session};
use redis_wire::{Answer, Reply};

use super::client::{Client, is_unknown, root};
use super::connections::Handle;
use crate::workload::Fail;

/// Lists from one of which jobs are moved to the other.
pub const JOBS: &str = "jobs";
pub const DONE: &str = "done";

/// How errors begin that say no more than that a client came in another's way, was killed, or that there is nobody to commit.
const USUAL: &[&str] = &[
    "CLUSTERDOWN",
    "TRYAGAIN",
    "MISCONF",
    // A commit that the log did not take.
    "ERR Got error 1 -",
    "ERR Query execution was interrupted",
    "ERR the tables of the database are being dropped",
];

/// Not all nodes speak what keys need.
const NOT_YET: &str = "feature level";

/// The session of a client, which is root by SQL, too.
pub fn session(keyspace: &Arc<Keyspace>, handle: &Handle) -> Session {
    Session::new(
        keyspace.clone(),
        u64::from(handle.id),
        Some(root()),
        Box::new(Alone(None)),
    )
}

impl Client<'_> {
    /// Sends commands in one pipeline; words are parted by spaces. The answers, one for each.
    pub fn send_commands(&mut self, commands: &[String]) -> Vec<Result<Answer, Fail>> {
        let text = commands.join("; ");
        let requests: Vec<Vec<&[u8]>> = commands
            .iter()
            .map(|command| command.split(' ').map(str::as_bytes).collect())
            .collect();
        let mut reply = Reply::new(self.keys.protocol);
        self.watched("a command", &text, |client| {
            client.keys.run(&requests, client.host, &mut reply)
        });
        let shown = reply.bytes.escape_ascii();
        self.bench.trace.note(format_args!("{}: {shown}", self.name));
        let (mut answers, mut at) = (Vec::new(), 0);
        while let Some((answer, len)) = Answer::read(&reply.bytes[at..]) {
            answers.push(self.judge(&text, answer));
            at += len;
        }
        if answers.len() != commands.len() || at != reply.bytes.len() {
            self.complain(&text, format_args!("{} things", answers.len()));
            answers.resize_with(commands.len(), || Err(Fail::Unknown("no answer".into())));
        }
        answers
    }

    /// Sends one command.
    pub fn command(&mut self, command: String) -> Result<Answer, Fail> {
        self.send_commands(&[command]).remove(0)
    }

    fn judge(&self, text: &str, answer: Answer) -> Result<Answer, Fail> {
        let Answer::Line('-', error) = answer else {
            return Ok(answer);
        };
        if is_unknown(&error) {
            return Err(Fail::Unknown(error));
        }
        if !USUAL.iter().any(|usual| error.starts_with(usual)) && !error.contains(NOT_YET) {
            self.complain(text, &error);
        }
        Err(Fail::No(error))
    }
}

/// The numbers in an answer.
pub fn numbers_in(answer: &Answer) -> Vec<u32> {
    match answer {
        Answer::List(_, elements) => elements.iter().flat_map(numbers_in).collect(),
        Answer::Bulk(_, bytes) => String::from_utf8_lossy(bytes).parse().into_iter().collect(),
        Answer::Line(..) => Vec::new(),
    }
}

/// Whether a string or a list is missing.
pub fn is_nothing(answer: &Answer) -> bool {
    matches!(answer, Answer::Line('$' | '*', _))
}

/// The key of a list.
pub fn name_of(list: i64) -> String {
    format!("list:{list}")
}
