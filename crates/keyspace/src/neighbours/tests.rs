use std::pin::pin;
use std::task::{Context, Waker};

use redis_wire::Protocol;

use super::*;
use crate::hub::{Hub, Subscriber};

/// A node, as far as messages go.
struct Node {
    speaker: Speaker,
    neighbours: Neighbours,
    hub: Hub,
}

impl Node {
    fn new(node: u32, incarnation: u32, others: &[u32]) -> Node {
        let neighbours = Neighbours::default();
        neighbours.know(others);
        Node {
            speaker: Speaker { node, incarnation },
            neighbours,
            hub: Hub::default(),
        }
    }

    fn subscribe(&self, how: Listens, name: &[u8]) -> Arc<Subscriber> {
        let subscriber = Subscriber::new(Protocol::Resp2);
        self.hub.subscribe(how, name, &subscriber);
        self.neighbours.listens(how, name);
        subscriber
    }

    fn publish(&self, text: &[u8]) {
        self.neighbours.publish(Channels::Plain, b"news", text, 0);
    }

    fn hears(&self, from: Speaker, frame: &Frame) -> Option<Answer> {
        Some(match self.neighbours.hear(from, &frame.encode())? {
            Heard::Answer(answer) => answer,
            Heard::Telling(mut telling) => {
                while self.neighbours.tell(&mut telling, &self.hub) {}
                telling.answer()
            }
        })
    }

    /// Says what is new of its interest; whether it was understood.
    fn tell(&self, to: &Node) -> bool {
        let node = to.speaker.node;
        let frame = self
            .neighbours
            .next_interest(node)
            .unwrap_or_else(|| self.neighbours.check());
        let answer = to.hears(self.speaker, &frame).map(Answer::encode);
        self.neighbours.interest_answered(node, &frame, answer.as_deref())
    }

    fn tell_all(&self, to: &Node) {
        for _ in 0..3 {
            self.tell(to);
        }
        assert!(self.neighbours.next_interest(to.speaker.node).is_none());
    }

    /// Says all that is waiting; how many frames that took.
    fn speak(&self, to: &Node) -> usize {
        let node = to.speaker.node;
        let mut frames = 0;
        while let Some((frame, words)) = self.neighbours.next_words(node) {
            let answer = to.hears(self.speaker, &frame).map(Answer::encode);
            self.neighbours.words_answered(node, words, answer.as_deref());
            frames += 1;
        }
        frames
    }
}

fn texts(subscriber: &Subscriber) -> Vec<String> {
    let mut bytes = Vec::new();
    assert!(subscriber.take(&mut bytes));
    let lines: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
    let text = |line: &[u8]| String::from_utf8_lossy(line).trim().to_owned();
    lines.chunks_exact(7).map(|message| text(message[6])).collect()
}

#[test]
fn messages_come_in_order_to_who_listens_and_nobody_else_hears_anything() {
    let (a, b) = (Node::new(1, 1, &[2]), Node::new(2, 1, &[1]));
    a.publish(b"nobody listens");
    assert_eq!(a.speak(&b), 0);
    let subscriber = b.subscribe(Listens::ToChannel, b"news");
    assert!(!b.neighbours.is_told());
    b.tell_all(&a);
    assert!(b.neighbours.is_told());
    for n in 0..100 {
        a.publish(format!("{n}").as_bytes());
    }
    a.neighbours.publish(Channels::Shard, b"news", b"another kind", 0);
    a.neighbours.publish(Channels::Plain, b"olds", b"another channel", 0);
    assert_eq!(a.speak(&b), 1);
    assert_eq!(texts(&subscriber), (0..100).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(a.neighbours.counted().sent, 100);
    assert_eq!(b.neighbours.counted().heard, 100);
    // Whoever is no neighbour says nothing here.
    let stranger = Node::new(3, 1, &[2]);
    assert!(b.hears(stranger.speaker, &Frame::Check { version: 1 }).is_none());
}

#[test]
fn a_long_message_comes_whole_or_not_at_all() {
    let (a, b) = (Node::new(1, 1, &[2]), Node::new(2, 1, &[1]));
    let subscriber = b.subscribe(Listens::ToChannel, b"news");
    b.tell_all(&a);
    let long = "x".repeat(3 * words::FRAME_BYTES);
    a.publish(long.as_bytes());
    a.publish(b"short");
    assert_eq!(a.speak(&b), 5);
    assert_eq!(texts(&subscriber), [long.as_str(), "short"]);
    // A piece of it is lost on its way.
    a.publish(long.as_bytes());
    a.publish(b"after it");
    let (_, words) = a.neighbours.next_words(2).unwrap();
    a.neighbours.words_answered(2, words, Some(&[]));
    a.speak(&b);
    assert_eq!(texts(&subscriber), ["after it"]);
    assert_eq!(a.neighbours.counted().lost, 1);
}

#[test]
fn a_frame_is_heard_once_and_never_behind_a_later_one() {
    let (a, b) = (Node::new(1, 1, &[2]), Node::new(2, 1, &[1]));
    let subscriber = b.subscribe(Listens::ToChannel, b"news");
    b.tell_all(&a);
    a.publish(b"1");
    let (first, _) = a.neighbours.next_words(2).unwrap();
    a.publish(b"2");
    let (second, _) = a.neighbours.next_words(2).unwrap();
    b.hears(a.speaker, &second);
    b.hears(a.speaker, &first);
    b.hears(a.speaker, &second);
    assert_eq!(texts(&subscriber), ["2"]);
    // Another life counts anew, and one before it is over.
    let renewed = Node::new(1, 2, &[2]);
    b.tell_all(&renewed);
    renewed.publish(b"3");
    renewed.speak(&b);
    assert!(b.hears(a.speaker, &second).is_none());
    assert_eq!(texts(&subscriber), ["3"]);
}

#[test]
fn who_is_out_of_reach_holds_up_nobody_and_comes_back() {
    let (a, b) = (Node::new(1, 1, &[2]), Node::new(2, 1, &[1]));
    let subscriber = b.subscribe(Listens::ToChannel, b"news");
    b.tell_all(&a);
    a.publish(b"on its way");
    a.publish(b"behind it");
    let (_, words) = a.neighbours.next_words(2).unwrap();
    a.neighbours.words_answered(2, words, None);
    a.publish(b"out of reach");
    assert_eq!(a.speak(&b), 0);
    assert_eq!(a.neighbours.counted().lost, 3);
    assert!(a.neighbours.is_told(), "nobody waits for it");
    assert!(a.tell(&b));
    a.publish(b"there again");
    a.speak(&b);
    assert_eq!(texts(&subscriber), ["there again"]);
}

#[test]
fn a_node_that_starts_anew_is_told_what_it_has_forgotten() {
    let (a, b) = (Node::new(1, 1, &[2]), Node::new(2, 1, &[1]));
    let _subscriber = b.subscribe(Listens::ToPattern, b"n*");
    b.tell_all(&a);
    a.publish(b"x");
    assert_eq!(a.speak(&b), 1);
    // The other one starts anew: it says so by itself, or answers that it holds nothing.
    let a = Node::new(1, 2, &[2]);
    assert!(b.tell(&a) && b.tell(&a));
    a.publish(b"x");
    assert_eq!(a.speak(&b), 1);
    // The one that listened does, and nobody listens there any more.
    let b = Node::new(2, 2, &[1]);
    assert!(b.tell(&a));
    a.publish(b"x");
    assert_eq!(a.speak(&b), 0);
}

#[test]
fn a_version_that_does_not_know_the_call_is_left_alone() {
    let b = Node::new(2, 1, &[1]);
    let _subscriber = b.subscribe(Listens::ToChannel, b"news");
    let frame = b.neighbours.next_interest(1).unwrap();
    let answer = b"{\"refused\":{\"reason\":\"not a request of this version\"}}";
    assert!(!b.neighbours.interest_answered(1, &frame, Some(answer)));
    assert!(b.neighbours.is_silent(1) && b.neighbours.is_told());
    b.publish(b"x");
    assert!(b.neighbours.next_words(1).is_none());
}

#[test]
fn a_subscription_waits_for_all_who_answer() {
    let b = Node::new(2, 1, &[1, 3]);
    let (a, c) = (Node::new(1, 1, &[2]), Node::new(3, 1, &[2]));
    let _subscriber = b.subscribe(Listens::ToChannel, b"news");
    let mut told = pin!(b.neighbours.told());
    let mut context = Context::from_waker(Waker::noop());
    assert!(told.as_mut().poll(&mut context).is_pending());
    b.tell_all(&a);
    assert!(told.as_mut().poll(&mut context).is_pending());
    let frame = b.neighbours.next_interest(3).unwrap();
    b.neighbours.interest_answered(3, &frame, None);
    assert!(told.as_mut().poll(&mut context).is_ready());
    b.tell_all(&c);
    // One that is let go is nobody's neighbour.
    b.subscribe(Listens::ToChannel, b"more");
    b.neighbours.know(&[]);
    assert!(b.neighbours.is_told());
}

#[test]
fn notifications_go_where_they_are_wanted() {
    let (a, b) = (Node::new(1, 1, &[2]), Node::new(2, 1, &[1]));
    let subscriber = b.subscribe(Listens::ToChannel, b"news");
    b.neighbours.set_notified(6);
    b.tell_all(&a);
    assert_eq!(a.neighbours.notified(), 6);
    a.neighbours.publish(Channels::Plain, b"news", b"wanted", 2);
    a.neighbours.publish(Channels::Plain, b"news", b"not wanted", 1 | 2);
    a.speak(&b);
    assert_eq!(texts(&subscriber), ["wanted"]);
    b.neighbours.listens_no_more(Listens::ToChannel, b"news");
    b.tell_all(&a);
    assert_eq!(a.neighbours.notified(), 0, "nobody is there to hear of them");
}

#[test]
fn who_is_told_slowly_is_not_told_two_frames_at_once() {
    let (a, b) = (Node::new(1, 1, &[2]), Node::new(2, 1, &[1]));
    let subscriber = b.subscribe(Listens::ToChannel, b"news");
    b.tell_all(&a);
    a.publish(b"1");
    let (first, _) = a.neighbours.next_words(2).unwrap();
    let Some(Heard::Telling(mut telling)) = b.neighbours.hear(a.speaker, &first.encode()) else {
        panic!("there is a message");
    };
    a.publish(b"2");
    let (second, words) = a.neighbours.next_words(2).unwrap();
    let answer = b.hears(a.speaker, &second).unwrap();
    assert_eq!(answer, Answer::Busy);
    a.neighbours.words_answered(2, words, Some(&answer.encode()));
    assert!(!b.neighbours.tell(&mut telling, &b.hub));
    drop(telling);
    a.publish(b"3");
    a.speak(&b);
    assert_eq!(texts(&subscriber), ["1", "3"]);
    assert_eq!(a.neighbours.counted().lost, 1);
}

#[test]
fn what_is_left_of_an_earlier_life_ends_nothing_of_the_next_one() {
    let (a, b) = (Node::new(1, 1, &[2]), Node::new(2, 1, &[1]));
    let _subscriber = b.subscribe(Listens::ToChannel, b"news");
    let begin = |node: &Node| {
        b.tell_all(node);
        node.publish(b"x");
        let (frame, _) = node.neighbours.next_words(2).unwrap();
        match b.neighbours.hear(node.speaker, &frame.encode()) {
            Some(Heard::Telling(telling)) => telling,
            _ => panic!("there is a message"),
        }
    };
    let before = begin(&a);
    let renewed = Node::new(1, 2, &[2]);
    let telling = begin(&renewed);
    drop(before);
    renewed.publish(b"y");
    let (second, _) = renewed.neighbours.next_words(2).unwrap();
    assert_eq!(b.hears(renewed.speaker, &second), Some(Answer::Busy));
    drop(telling);
}
