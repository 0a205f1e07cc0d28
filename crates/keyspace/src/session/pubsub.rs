//! SUBSCRIBE and its kin.

use std::collections::BTreeSet;
use std::sync::Arc;

use redis_wire::{Protocol, Reply};

use super::{Session, SessionCall};
use crate::call::is_word;
use crate::command::Command;
use crate::failure::{Failure, Outcome};
use crate::glob::Glob;
use crate::hub::{Listens, Subscriber};
use crate::keyspace::Keyspace;
use crate::neighbours::interest::Channels;

/// What a session listens to.
pub struct Subscriptions {
    keyspace: Arc<Keyspace>,
    subscriber: Arc<Subscriber>,
    channels: BTreeSet<Vec<u8>>,
    patterns: BTreeSet<Vec<u8>>,
    shards: BTreeSet<Vec<u8>>,
}

impl Subscriptions {
    fn new(keyspace: Arc<Keyspace>, subscriber: Arc<Subscriber>) -> Subscriptions {
        Subscriptions {
            keyspace,
            subscriber,
            channels: BTreeSet::new(),
            patterns: BTreeSet::new(),
            shards: BTreeSet::new(),
        }
    }

    fn of(&mut self, how: Listens) -> &mut BTreeSet<Vec<u8>> {
        match how {
            Listens::ToChannel => &mut self.channels,
            Listens::ToPattern => &mut self.patterns,
            Listens::ToShard => &mut self.shards,
        }
    }

    /// As replies count them: channels of shards for themselves.
    fn count(&self, how: Listens) -> usize {
        match how {
            Listens::ToShard => self.shards.len(),
            Listens::ToChannel | Listens::ToPattern => self.channels.len() + self.patterns.len(),
        }
    }

    fn subscribe(&self, how: Listens, name: &[u8]) {
        self.keyspace.hub.subscribe(how, name, &self.subscriber);
        self.keyspace.neighbours.listens(how, name);
    }

    fn unsubscribe(&self, how: Listens, name: &[u8]) {
        self.keyspace.hub.unsubscribe(how, name, &self.subscriber);
        self.keyspace.neighbours.listens_no_more(how, name);
    }

    fn counts(&self) -> [usize; 3] {
        [self.channels.len(), self.patterns.len(), self.shards.len()]
    }

    fn is_empty(&self) -> bool {
        self.counts() == [0; 3]
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        for how in [Listens::ToChannel, Listens::ToPattern, Listens::ToShard] {
            for name in std::mem::take(self.of(how)) {
                self.unsubscribe(how, &name);
            }
        }
    }
}

impl Session {
    /// What is to be sent to the client beside replies.
    pub fn subscriber(&self) -> Option<&Arc<Subscriber>> {
        self.client.outbox()
    }

    /// Whether the client may only change its subscriptions: in RESP2 messages and answers look alike.
    pub(crate) fn only_listens(&self) -> bool {
        self.protocol == Protocol::Resp2
            && self
                .subscriptions
                .as_ref()
                .is_some_and(|listening| !listening.is_empty())
    }

    pub(crate) fn stop_listening(&mut self) {
        self.subscriptions = None;
        self.client.set_subscriptions([0; 3]);
    }

    /// Moves what is to be sent to the client beside replies to the replies, as far as these are no part of a longer one. Said before it is
    /// answered that nothing more comes: what came behind that would be taken for the reply to another command.
    pub(crate) fn tell_messages(&self, reply: &mut Reply) {
        if self.held_messages.is_none()
            && let Some(outbox) = self.client.outbox()
        {
            // Who has too much in it is sent away by his connection.
            outbox.take(&mut reply.bytes);
        }
    }
}

pub fn subscribe(call: &mut SessionCall) -> Outcome {
    begin(call, Listens::ToChannel, "subscribe")
}

pub fn psubscribe(call: &mut SessionCall) -> Outcome {
    begin(call, Listens::ToPattern, "psubscribe")
}

pub fn ssubscribe(call: &mut SessionCall) -> Outcome {
    begin(call, Listens::ToShard, "ssubscribe")
}

fn begin(call: &mut SessionCall, how: Listens, word: &str) -> Outcome {
    let session = &mut *call.session;
    let (keyspace, protocol) = (session.keyspace.clone(), session.protocol);
    let subscriber = session.client.open_outbox(protocol);
    let subscriptions = session
        .subscriptions
        .get_or_insert_with(|| Subscriptions::new(keyspace.clone(), subscriber.clone()));
    for &name in &call.args[1..] {
        governor::tick()?;
        if subscriptions.of(how).insert(name.to_vec()) {
            subscriptions.subscribe(how, name);
        }
        tell(call.reply, word, Some(name), subscriptions.count(how));
    }
    session.client.set_subscriptions(subscriptions.counts());
    // What is published anywhere after the answer is heard.
    keyspace.tell_neighbours(call.host);
    Ok(())
}

pub fn unsubscribe(call: &mut SessionCall) -> Outcome {
    end(call, Listens::ToChannel, "unsubscribe")
}

pub fn punsubscribe(call: &mut SessionCall) -> Outcome {
    end(call, Listens::ToPattern, "punsubscribe")
}

pub fn sunsubscribe(call: &mut SessionCall) -> Outcome {
    end(call, Listens::ToShard, "sunsubscribe")
}

fn end(call: &mut SessionCall, how: Listens, word: &str) -> Outcome {
    let Some(subscriptions) = &mut call.session.subscriptions else {
        let named = &call.args[1..];
        match named {
            [] => tell(call.reply, word, None, 0),
            names => names.iter().for_each(|name| tell(call.reply, word, Some(name), 0)),
        }
        return Ok(());
    };
    let names: Vec<Vec<u8>> = match &call.args[1..] {
        [] => subscriptions.of(how).iter().cloned().collect(),
        names => names.iter().map(|name| name.to_vec()).collect(),
    };
    let mut left = Vec::with_capacity(names.len());
    for name in &names {
        governor::tick()?;
        if subscriptions.of(how).remove(name) {
            subscriptions.unsubscribe(how, name);
        }
        left.push(subscriptions.count(how));
    }
    let of_none = subscriptions.count(how);
    call.session.client.set_subscriptions(subscriptions.counts());
    if subscriptions.is_empty() {
        call.session.stop_listening();
    }
    call.session.tell_messages(call.reply);
    if names.is_empty() {
        tell(call.reply, word, None, of_none);
    }
    for (name, left) in names.iter().zip(left) {
        tell(call.reply, word, Some(name), left);
    }
    Ok(())
}

fn tell(reply: &mut Reply, word: &str, name: Option<&[u8]>, count: usize) {
    reply.push(3);
    reply.bulk(word.as_bytes());
    match name {
        Some(name) => reply.bulk(name),
        None => reply.null(),
    }
    reply.integer(count as i64);
}

pub fn publish(call: &mut SessionCall) -> Outcome {
    send(call, false)
}

pub fn spublish(call: &mut SessionCall) -> Outcome {
    send(call, true)
}

/// Gives a message to those who listen, or keeps it for them, and answers how many they are on this node.
fn send(call: &mut SessionCall, to_shard: bool) -> Outcome {
    let (channel, text) = (call.args[1], call.args[2]);
    let keyspace = &call.session.keyspace;
    let reached = match &mut call.session.held_messages {
        Some(held) => {
            held.push(Message {
                to_shard,
                channel: channel.to_vec(),
                text: text.to_vec(),
            });
            match to_shard {
                true => keyspace.hub.subscribers(Listens::ToShard, channel),
                false => keyspace.hub.listeners(channel),
            }
        }
        None => deliver(keyspace, to_shard, channel, text),
    };
    call.reply.integer(reached as i64);
    Ok(())
}

/// Gives a message to those who listen on any node; how many of this node it has reached.
fn deliver(keyspace: &Keyspace, to_shard: bool, channel: &[u8], text: &[u8]) -> usize {
    let (to, reached) = match to_shard {
        true => (Channels::Shard, keyspace.hub.publish_to_shard(channel, text)),
        false => (Channels::Plain, keyspace.hub.publish(channel, text)),
    };
    keyspace.neighbours.publish(to, channel, text, 0);
    reached
}

/// What PUBLISH and SPUBLISH are given, until the transaction that they are in is committed.
pub(crate) struct Message {
    to_shard: bool,
    channel: Vec<u8>,
    text: Vec<u8>,
}

impl Message {
    pub fn send(&self, keyspace: &Keyspace) {
        deliver(keyspace, self.to_shard, &self.channel, &self.text);
    }
}

pub fn channels(call: &mut SessionCall) -> Outcome {
    list(call, Listens::ToChannel)
}

pub fn shard_channels(call: &mut SessionCall) -> Outcome {
    list(call, Listens::ToShard)
}

fn list(call: &mut SessionCall, how: Listens) -> Outcome {
    let glob = Glob::new(call.args.get(2).copied().unwrap_or(b"*"));
    let mut names = Vec::new();
    for name in call.session.keyspace.hub.channels(how) {
        if glob.matches(&name)? {
            names.push(name);
        }
    }
    call.reply.array(names.len());
    names.iter().for_each(|name| call.reply.bulk(name));
    Ok(())
}

pub fn numsub(call: &mut SessionCall) -> Outcome {
    count(call, Listens::ToChannel)
}

pub fn shard_numsub(call: &mut SessionCall) -> Outcome {
    count(call, Listens::ToShard)
}

fn count(call: &mut SessionCall, how: Listens) -> Outcome {
    call.reply.array(2 * (call.args.len() - 2));
    for &name in &call.args[2..] {
        governor::tick()?;
        let listening = call.session.keyspace.hub.subscribers(how, name);
        call.reply.bulk(name);
        call.reply.integer(listening as i64);
    }
    Ok(())
}

pub fn numpat(call: &mut SessionCall) -> Outcome {
    call.reply.integer(call.session.keyspace.hub.patterns() as i64);
    Ok(())
}

/// What a session that only listens is told of everything else.
pub fn refused(command: &str) -> Failure {
    let text = format!(
        "ERR Can't execute '{command}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
    );
    Failure::Reply(text.into())
}

/// Whether what a command answers are messages, which come whatever CLIENT REPLY says.
pub fn pushes(command: &Command) -> bool {
    command.name().ends_with("subscribe")
}

pub fn is_allowed(command: &str) -> bool {
    let names = [
        "subscribe",
        "unsubscribe",
        "psubscribe",
        "punsubscribe",
        "ssubscribe",
        "sunsubscribe",
        "ping",
        "quit",
        "reset",
    ];
    names.iter().any(|name| is_word(command.as_bytes(), name))
}
