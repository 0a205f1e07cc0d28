//! What layers above the shard say to their like on the other nodes. It is carried as bytes, and answered with bytes, and nothing here knows what they mean.
//!
//! Words go by the connections of the control lane: who says much says it in small frames, one after the other. A node of a version that does not know
//! them refuses them as any request that it cannot read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use net::{Answering, CallError, Caller, Lane};
use parking_lot::RwLock;

use super::Cluster;
use super::relay::Carried;

/// The first byte, by which words differ from requests in JSON and from those that are passed on.
const WORDS: u8 = 3;

/// Who speaks with whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// What clients publish ([`keyspace::neighbours`]).
    Messages = 1,
}

/// Hears what the other nodes say on a subject. Runs on the thread of the network, and must not block it.
pub trait Listener: Send + Sync {
    fn hear(&self, from: Caller, words: Vec<u8>) -> Answering;
}

/// Who listens on this node.
#[derive(Default)]
pub struct Listeners(RwLock<BTreeMap<u8, Arc<dyn Listener>>>);

pub fn is_one(request: &[u8]) -> bool {
    request.first() == Some(&WORDS)
}

impl Cluster {
    pub fn listen(&self, subject: Subject, listener: Arc<dyn Listener>) {
        self.listeners.0.write().insert(subject as u8, listener);
    }

    /// Says something to a node; `None`: it has not answered. It may have heard it all the same.
    pub async fn say(&self, to: u32, subject: Subject, words: &[u8], within: Duration) -> Option<Vec<u8>> {
        let net = self.net.get()?;
        let began = Instant::now();
        let mut request = Vec::with_capacity(2 + words.len());
        request.extend([WORDS, subject as u8]);
        request.extend_from_slice(words);
        match net.call(to, Lane::Control, request, within).await {
            Ok(answer) => Some(answer),
            Err(CallError::NotSent { request, .. }) => {
                let left = within.saturating_sub(began.elapsed());
                self.call_round(to, Carried::Words, &request, left).await?.ok()
            }
            Err(_) => None,
        }
    }

    /// Nothing is the answer where nobody listens.
    pub(super) fn answer_words(&self, from: Caller, request: &[u8]) -> Answering {
        let listener = match request {
            [WORDS, subject, ..] if from.is_member => self.listeners.0.read().get(subject).cloned(),
            _ => None,
        };
        match listener {
            Some(listener) => listener.hear(from, request[2..].to_vec()),
            None => Box::pin(std::future::ready(Vec::new())),
        }
    }
}
