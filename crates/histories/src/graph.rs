//! The dependency graph of a history, and its cycles (Adya, "Weak Consistency", 1999).
//!
//! Edges: `ww` to who overwrites a version, `wr` to who reads it, `rw` from who reads it to who overwrites it, and `rt` to who begins
//! after the commit was answered. A level excludes cycles by the `rw` edges in them: none at all is G0 or G1c, one is G-single, and
//! snapshot isolation excludes all cycles in which no two `rw` follow each other. So the search runs over pairs of a transaction and
//! whether the last edge was `rw`.

use std::collections::HashMap;

use crate::Level;
use crate::history::{History, Op, Order, Read};
use crate::session::Outcome;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edge {
    /// ww
    Written,
    /// wr, rt
    Depends,
    /// rw
    Overwritten,
}

/// Descriptions of cycles that the level excludes, one for each knot of them.
pub fn cycles(
    history: &History,
    orders: &HashMap<u32, Order>,
    writers: &HashMap<u32, usize>,
    level: Level,
) -> Vec<String> {
    let graph = Graph::new(history, orders, writers);
    if let Some(cycle) = graph.knot(|edge| edge == Edge::Written, Walk::Free) {
        return vec![format!("G0: {cycle}")];
    }
    if let Some(cycle) = graph.knot(|edge| edge != Edge::Overwritten, Walk::Free) {
        return vec![format!("G1c: {cycle}")];
    }
    let found = match level {
        Level::ReadUncommitted | Level::ReadCommitted => None,
        Level::RepeatableRead => graph
            .knot(|_| true, Walk::NoTwoOverwritten)
            .map(|cycle| format!("G-single: {cycle}")),
        Level::Serializable => graph.knot(|_| true, Walk::Free).map(|cycle| format!("G2: {cycle}")),
    };
    found.into_iter().collect()
}

/// Which walks count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walk {
    Free,
    NoTwoOverwritten,
}

struct Graph {
    edges: Vec<Vec<(u32, Edge)>>,
}

impl Graph {
    fn new(history: &History, orders: &HashMap<u32, Order>, writers: &HashMap<u32, usize>) -> Graph {
        let transactions = &history.transactions;
        let mut graph = Graph {
            edges: vec![Vec::new(); transactions.len()],
        };
        let writer = |value: u32| writers.get(&value).copied();
        for order in orders.values() {
            let mut before = None;
            for &value in order.values() {
                if let (Some(before), Some(after)) = (before, writer(value)) {
                    graph.add(before, after, Edge::Written);
                }
                before = writer(value).or(before);
            }
        }
        for (at, transaction) in transactions.iter().enumerate() {
            if transaction.outcome != Outcome::Committed {
                continue;
            }
            for op in &transaction.ops {
                let Op::Read(Read {
                    key, position, value, ..
                }) = op
                else {
                    continue;
                };
                if *position > 0
                    && let Some(from) = writer(*value)
                {
                    graph.add(from, at, Edge::Depends);
                }
                let next = orders.get(key).and_then(|order| order.range(position + 1..).next());
                if let Some(to) = next.and_then(|(_, value)| writer(*value)) {
                    graph.add(at, to, Edge::Overwritten);
                }
            }
        }
        graph.add_real_time(history);
        graph
    }

    fn add(&mut self, from: usize, to: usize, edge: Edge) {
        if from != to {
            self.edges[from].push((to as u32, edge));
        }
    }

    /// A chain of nodes, one for each commit, keeps the number of edges linear.
    fn add_real_time(&mut self, history: &History) {
        let committed = |(_, one): &(usize, &crate::history::Transaction)| one.outcome == Outcome::Committed;
        let mut ends: Vec<(u64, usize)> = history
            .transactions
            .iter()
            .enumerate()
            .filter(committed)
            .map(|(at, one)| (one.end, at))
            .collect();
        ends.sort_unstable();
        let first = self.edges.len();
        for (at, &(_, transaction)) in ends.iter().enumerate() {
            self.edges.push(Vec::new());
            self.add(transaction, first + at, Edge::Depends);
            if at > 0 {
                self.add(first + at - 1, first + at, Edge::Depends);
            }
        }
        for (at, transaction) in history.transactions.iter().enumerate() {
            let before = ends.partition_point(|&(end, _)| end < transaction.start);
            if before > 0 {
                self.add(first + before - 1, at, Edge::Depends);
            }
        }
    }

    /// A cycle of the edges that count.
    fn knot(&self, counts: impl Fn(Edge) -> bool, walk: Walk) -> Option<String> {
        let states = match walk {
            Walk::Free => 1,
            Walk::NoTwoOverwritten => 2,
        };
        let next = |node: usize| {
            let (at, after_overwritten) = (node / states, node % states == 1);
            self.edges[at].iter().filter_map(move |&(to, edge)| match (walk, edge) {
                (Walk::Free, _) => Some((to as usize, edge)),
                (_, Edge::Written | Edge::Depends) => Some((to as usize * 2, edge)),
                (_, Edge::Overwritten) => (!after_overwritten).then_some((to as usize * 2 + 1, edge)),
            })
        };
        let follow =
            |node: usize| -> Vec<usize> { next(node).filter(|&(_, edge)| counts(edge)).map(|(to, _)| to).collect() };
        let members = component(self.edges.len() * states, &follow)?;
        Some(describe(&members, &follow, states))
    }
}

/// The members of a strongly connected component of more than one node (Tarjan, without recursion).
fn component(nodes: usize, follow: &dyn Fn(usize) -> Vec<usize>) -> Option<Vec<usize>> {
    const NONE: u32 = u32::MAX;
    let (mut index, mut low) = (vec![NONE; nodes], vec![0u32; nodes]);
    let mut on_stack = vec![false; nodes];
    let (mut stack, mut counter) = (Vec::new(), 0u32);
    for root in 0..nodes {
        if index[root] != NONE {
            continue;
        }
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut enter = vec![root];
        while let Some(node) = enter.pop() {
            (index[node], low[node]) = (counter, counter);
            counter += 1;
            stack.push(node);
            on_stack[node] = true;
            path.push((node, follow(node)));
            while let Some((node, rest)) = path.last_mut() {
                let node = *node;
                match rest.pop() {
                    Some(to) if index[to] == NONE => {
                        enter.push(to);
                        break;
                    }
                    Some(to) if on_stack[to] => low[node] = low[node].min(index[to]),
                    Some(_) => {}
                    None => {
                        path.pop();
                        if let Some((parent, _)) = path.last() {
                            low[*parent] = low[*parent].min(low[node]);
                        }
                        if low[node] == index[node] {
                            let start = stack.iter().rposition(|&member| member == node).expect("it was pushed");
                            let members = stack.split_off(start);
                            for &member in &members {
                                on_stack[member] = false;
                            }
                            if members.len() > 1 {
                                return Some(members);
                            }
                        }
                    }
                }
            }
        }
    }
    None
}

/// The shortest cycle through the first member.
fn describe(members: &[usize], follow: &dyn Fn(usize) -> Vec<usize>, states: usize) -> String {
    let inside: std::collections::HashSet<usize> = members.iter().copied().collect();
    let start = members[0];
    let mut from: HashMap<usize, usize> = HashMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for to in follow(node) {
            if to == start {
                let mut cycle = vec![node];
                while let Some(&before) = from.get(cycle.last().expect("it has a member")) {
                    cycle.push(before);
                }
                cycle.reverse();
                let names: Vec<String> = cycle.iter().map(|node| format!("T{}", node / states)).collect();
                return names.join(" -> ");
            }
            if inside.contains(&to) && !from.contains_key(&to) && to != start {
                from.insert(to, node);
                queue.push_back(to);
            }
        }
    }
    format!("{} transactions", members.len())
}
