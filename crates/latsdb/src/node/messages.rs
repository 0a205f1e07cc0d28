//! What clients publish, on its way between nodes: takes frames from where they gather, has them carried, and brings the answers back.
//!
//! Each other node has two tasks, so that what this node's clients listen to does not wait behind what they publish.

use std::sync::{Arc, Weak};
use std::time::Duration;

use keyspace::Keyspace;
use keyspace::neighbours::{Heard, Speaker};
use net::{Answering, Caller};
use sql::neighbours::Ways;
use tokio::runtime::Handle;

use crate::cluster::Cluster;
use crate::cluster::words::{Listener, Subject};
use crate::lasting;

/// Between two looks at who belongs to the cluster.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Between two questions whether a node still knows what was told to it.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// The same, of one that does not answer.
const TRY_EVERY: Duration = Duration::from_millis(100);
/// A subscription waits for this answer.
const TOLD_WITHIN: Duration = Duration::from_millis(400);
/// Longer than a connection lives to a node that is silent.
const HEARD_WITHIN: Duration = Duration::from_secs(5);

/// Carries messages for as long as the node runs.
pub fn start(cluster: &Arc<Cluster>, keyspace: &Arc<Keyspace>) {
    let ear = Ear {
        keyspace: Arc::downgrade(keyspace),
        runtime: Handle::current(),
    };
    cluster.listen(Subject::Messages, Arc::new(ear));
    look(cluster, keyspace);
    let (cluster, keyspace) = (cluster.clone(), keyspace.clone());
    lasting::start(move || keep_up(cluster.clone(), keyspace.clone()));
}

async fn keep_up(cluster: Arc<Cluster>, keyspace: Arc<Keyspace>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        look(&cluster, &keyspace);
    }
}

fn look(cluster: &Arc<Cluster>, keyspace: &Arc<Keyspace>) {
    for node in keyspace.neighbours.know(&Ways::others(&**cluster)) {
        let (from, of) = (cluster.clone(), keyspace.clone());
        lasting::start(move || tell_interest(from.clone(), of.clone(), node));
        let (from, of) = (cluster.clone(), keyspace.clone());
        lasting::start(move || speak(from.clone(), of.clone(), node));
    }
}

/// Tells a node what the clients of this one listen to.
async fn tell_interest(cluster: Arc<Cluster>, keyspace: Arc<Keyspace>, node: u32) {
    let neighbours = &keyspace.neighbours;
    while neighbours.knows(node) {
        let frame = neighbours.next_interest(node).unwrap_or_else(|| neighbours.check());
        let answer = cluster.say(node, Subject::Messages, &frame.encode(), TOLD_WITHIN).await;
        if !neighbours.interest_answered(node, &frame, answer.as_deref()) {
            let _ = tokio::time::timeout(TRY_EVERY, neighbours.is_heard_again(node)).await;
            continue;
        }
        // Ends early where there is something new to be told.
        let _ = tokio::time::timeout(CHECK_EVERY, neighbours.has_interest_for(node)).await;
    }
}

/// Tells a node what is published here.
async fn speak(cluster: Arc<Cluster>, keyspace: Arc<Keyspace>, node: u32) {
    let neighbours = &keyspace.neighbours;
    while neighbours.has_words_for(node).await {
        while let Some((frame, words)) = neighbours.next_words(node) {
            let answer = cluster
                .say(node, Subject::Messages, &frame.encode(), HEARD_WITHIN)
                .await;
            neighbours.words_answered(node, words, answer.as_deref());
        }
    }
}

/// Hears what is published on other nodes.
struct Ear {
    keyspace: Weak<Keyspace>,
    /// Telling many clients takes a while, which the thread of the network has not.
    runtime: Handle,
}

impl Listener for Ear {
    fn hear(&self, from: Caller, words: Vec<u8>) -> Answering {
        let speaker = Speaker {
            node: from.node,
            incarnation: from.incarnation,
        };
        let keyspace = self.keyspace.clone();
        let heard = self.runtime.spawn(async move {
            let answer = match keyspace.upgrade() {
                Some(keyspace) => hear(&keyspace, speaker, &words).await,
                None => None,
            };
            answer.unwrap_or_default()
        });
        Box::pin(async move { heard.await.unwrap_or_default() })
    }
}

async fn hear(keyspace: &Keyspace, speaker: Speaker, words: &[u8]) -> Option<Vec<u8>> {
    let answer = match keyspace.neighbours.hear(speaker, words)? {
        Heard::Answer(answer) => answer,
        Heard::Telling(mut telling) => {
            while keyspace.neighbours.tell(&mut telling, &keyspace.hub) {
                tokio::task::yield_now().await;
            }
            telling.answer()
        }
    };
    Some(answer.encode())
}
