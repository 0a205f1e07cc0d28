//! Circles of waits that go through the lock tables of two nodes.
//!
//! A transaction of a node that follows waits for definitions in that node's table, and for rows in the table of the node that leads. Neither
//! table shows a circle of both kinds:
//!
//! ```text
//!   node that follows                          node that leads
//!   C ─▶ ALTER TABLE ─▶ A   (a definition)     A ─▶ C   (a row)
//! ```
//!
//! So the one that follows tells the other who waits in its table, when that has lasted for some time. What is told may be over when it
//! arrives. So a circle counts if two tellings in a row show it, of the very same waits: each has lasted from the first to the second.

use super::deadlock::WaitGraph;
use super::table::{LockOwner, LockTable, Owner};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;

/// So many circles are looked for at a time; the others are found when these are gone.
const CIRCLES: usize = 64;

/// A transaction of this node, to be told which number another node gives it.
#[derive(Debug)]
pub struct Alias(pub(super) Arc<Owner>);

impl Alias {
    /// 0: the other node does not know it.
    pub fn set(&self, number: u64) {
        self.0.number.store(number, Ordering::Relaxed);
    }
}

/// Who waits, or is waited for, as a node tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// The number of a transaction that has asked the node that leads.
    Guest(u64),
    /// One that has not, under a number of its own node's.
    Stranger(u64),
}

/// A wait in the lock table of a node that follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldWait {
    pub waiter: Who,
    /// Names the wait.
    pub wait: u64,
    pub blockers: Vec<Who>,
}

/// What a node has told last.
#[derive(Debug, Default)]
pub struct Told {
    waits: HashMap<Key, Edges>,
    /// Circles that it has shown; each as the waits in it.
    suspected: HashSet<Vec<(Key, u64)>>,
}

#[derive(Debug)]
struct Edges {
    wait: u64,
    /// The waiter's number at its node.
    number: Option<u64>,
    blockers: Vec<Member>,
}

/// Who may be part of a circle.
#[derive(Debug, Clone)]
enum Member {
    Here(Arc<Owner>),
    Stranger(Key),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key {
    Here(LockOwner),
    /// Of a node.
    Stranger(u32, u64),
}

impl Member {
    fn key(&self) -> Key {
        match self {
            Member::Here(owner) => Key::Here(owner.id),
            Member::Stranger(key) => *key,
        }
    }
}

type Circle = Vec<(Member, u64)>;

/// On the node that follows.
impl LockTable {
    /// How many waits have begun, for [`old_waits`](Self::old_waits).
    pub fn waits_begun(&self) -> u64 {
        self.graph.lock().begun()
    }

    /// Those who wait here, and the nearest of whom they wait for: as far as their waits are among the first `begun`, and the circle of such a wait
    /// could lead to the node that leads and back.
    pub fn old_waits(&self, begun: u64) -> Vec<ToldWait> {
        let graph = self.graph.lock();
        let mut has_way_back = false;
        let waits = graph.all_waiting().filter(|waiting| waiting.wait < begun);
        let waits = waits.map(|waiting| {
            let blockers = self.nearest_blockers(waiting.owner.id, waiting.place);
            let is_waiting = |owner: &Owner| graph.waiting(owner.id).is_some();
            let told = blockers.iter().filter_map(|blocker| {
                let who = who(blocker);
                has_way_back |= matches!(who, Who::Guest(_)) && !is_waiting(blocker);
                (matches!(who, Who::Guest(_)) || is_waiting(blocker)).then_some(who)
            });
            ToldWait {
                waiter: who(&waiting.owner),
                wait: waiting.wait,
                blockers: told.collect(),
            }
        });
        let waits: Vec<ToldWait> = waits.collect();
        let has_way_in = waits.iter().any(|wait| matches!(wait.waiter, Who::Guest(_)));
        match has_way_in && has_way_back {
            true => waits,
            false => Vec::new(),
        }
    }

    /// A transaction with this number is to give up, if it is in this wait still.
    pub fn give_up(&self, number: u64, wait: u64) {
        let mut woken = Vec::new();
        let graph = self.graph.lock();
        let is_it = |owner: &Owner| owner.number.load(Ordering::Relaxed) == number;
        let found = graph
            .all_waiting()
            .find(|waiting| waiting.wait == wait && is_it(&waiting.owner));
        if let Some(waiting) = found {
            self.end_wait(&graph, &waiting.owner, &mut woken);
        }
        drop(graph);
        woken.into_iter().for_each(Waker::wake);
    }
}

fn who(owner: &Owner) -> Who {
    match owner.number.load(Ordering::Relaxed) {
        0 => Who::Stranger(owner.id.0),
        number => Who::Guest(number),
    }
}

/// On the node that leads.
impl LockTable {
    /// A node tells who waits in its table. `guest_of` knows its transactions that have asked here. Returns those in whose giving up a circle
    /// ends: numbers and waits of that node's; who waits here is told here.
    pub fn hear_waits(
        &self,
        node: u32,
        waits: &[ToldWait],
        guest_of: impl Fn(u64) -> Option<Alias>,
    ) -> Vec<(u64, u64)> {
        let member = |who: &Who| match *who {
            Who::Guest(number) => guest_of(number).map(|alias| Member::Here(alias.0)),
            Who::Stranger(own) => Some(Member::Stranger(Key::Stranger(node, own))),
        };
        let mut told = HashMap::new();
        let mut starts = Vec::new();
        for wait in waits {
            let Some(waiter) = member(&wait.waiter) else { continue };
            let edges = Edges {
                wait: wait.wait,
                number: match wait.waiter {
                    Who::Guest(number) => Some(number),
                    Who::Stranger(_) => None,
                },
                blockers: wait.blockers.iter().filter_map(member).collect(),
            };
            told.insert(waiter.key(), edges);
            starts.push(waiter);
        }
        let mut woken = Vec::new();
        let mut graph = self.graph.lock();
        let before = graph.told.remove(&node).unwrap_or_default().suspected;
        if told.is_empty() {
            return Vec::new();
        }
        let told = Told {
            waits: told,
            suspected: HashSet::new(),
        };
        graph.told.insert(node, told);
        let mut suspected = HashSet::new();
        let mut over: HashSet<LockOwner> = HashSet::new();
        let mut elsewhere = Vec::new();
        for circle in self.circles(&graph, starts) {
            let mut waits: Vec<_> = circle.iter().map(|(member, wait)| (member.key(), *wait)).collect();
            waits.sort_unstable();
            let is_seen_again = before.contains(&waits);
            let Some((victim, wait)) = victim(&circle).filter(|_| is_seen_again) else {
                suspected.insert(waits);
                continue;
            };
            let is_over =
                |(member, _): &(Member, u64)| matches!(member, Member::Here(owner) if over.contains(&owner.id));
            if circle.iter().any(is_over) {
                continue;
            }
            let told = graph
                .told
                .get(&node)
                .and_then(|told| told.waits.get(&Key::Here(victim.id)));
            let number = told.and_then(|edges| edges.number);
            match (graph.waiting(victim.id), number) {
                (Some(_), _) => self.end_wait(&graph, victim, &mut woken),
                (None, Some(number)) => {
                    self.deadlocks.fetch_add(1, Ordering::Relaxed);
                    elsewhere.push((number, wait));
                }
                // It waits on another node, which will hear it when it tells of it.
                (None, None) => {
                    suspected.insert(waits);
                    continue;
                }
            }
            over.insert(victim.id);
        }
        if let Some(told) = graph.told.get_mut(&node) {
            told.suspected = suspected;
        }
        drop(graph);
        woken.into_iter().for_each(Waker::wake);
        elsewhere
    }

    /// A node is gone, and whoever waited there.
    pub fn forget_waits_of(&self, node: u32) {
        self.graph.lock().told.remove(&node);
    }

    /// Circles that can be reached from these: at least one, if there are some.
    fn circles(&self, graph: &WaitGraph, starts: Vec<Member>) -> Vec<Circle> {
        let mut circles = Vec::new();
        let mut seen = HashSet::new();
        for start in starts {
            if !seen.insert(start.key()) {
                continue;
            }
            // Depth first. For each on the way: its wait, and those not yet followed of whom it waits for.
            let mut path: Vec<(Member, u64, Vec<Member>)> = Vec::new();
            let mut on_path: HashMap<Key, usize> = HashMap::new();
            let mut next = Some(start);
            loop {
                if let Some(step) = next.take().and_then(|next| self.step(graph, next)) {
                    on_path.insert(step.0.key(), path.len());
                    path.push(step);
                }
                let Some((member, _, blockers)) = path.last_mut() else {
                    break;
                };
                let Some(blocker) = blockers.pop() else {
                    on_path.remove(&member.key());
                    path.pop();
                    continue;
                };
                if let Some(&at) = on_path.get(&blocker.key()) {
                    let circle = path[at..].iter().map(|(member, wait, _)| (member.clone(), *wait));
                    circles.push(circle.collect());
                    if circles.len() == CIRCLES {
                        return circles;
                    }
                } else if seen.insert(blocker.key()) {
                    next = Some(blocker);
                }
            }
        }
        circles
    }

    /// `None`: it waits for nobody.
    fn step(&self, graph: &WaitGraph, member: Member) -> Option<(Member, u64, Vec<Member>)> {
        if let Member::Here(owner) = &member
            && let Some(waiting) = graph.waiting(owner.id)
        {
            let blockers = self.nearest_blockers(owner.id, waiting.place);
            return Some((member, waiting.wait, blockers.into_iter().map(Member::Here).collect()));
        }
        let key = member.key();
        let edges = graph.told.values().find_map(|told| told.waits.get(&key))?;
        Some((member, edges.wait, edges.blockers.clone()))
    }

    /// Who waits for a lock here asks again, and is told that it is a deadlock.
    fn end_wait(&self, graph: &WaitGraph, owner: &Arc<Owner>, woken: &mut Vec<Waker>) {
        let Some(place) = graph.place(owner.id) else { return };
        owner.gives_up.store(true, Ordering::Relaxed);
        match self.dismiss(owner, place, woken) {
            true => _ = self.deadlocks.fetch_add(1, Ordering::Relaxed),
            // It has just got the lock.
            false => owner.gives_up.store(false, Ordering::Relaxed),
        }
    }
}

/// Who gives up, and its wait: the one that loses least, among several the youngest. Of one that has asked nothing here nobody knows what it has.
fn victim(circle: &Circle) -> Option<(&Arc<Owner>, u64)> {
    let here = circle.iter().filter_map(|(member, wait)| match member {
        Member::Here(owner) => Some((owner, *wait)),
        Member::Stranger(_) => None,
    });
    here.min_by_key(|(owner, _)| (owner.weight(), Reverse(owner.id)))
}
