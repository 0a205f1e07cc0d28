//! Faults of several steps, which have to come at the right moments to show anything.

use env::SeededRandom;

use crate::world::World;

pub enum Plot {
    /// A node is cut off at this time.
    Isolate {
        id: u32,
        at: u64,
    },
    /// All ways of the node take so many milliseconds more, and then more of them.
    GetsFar {
        id: u32,
        now: u64,
        most: u64,
    },
    PingPong(PingPong),
    Swing(Swing),
    Amnesia(Amnesia),
}

impl Plot {
    /// The lead goes back and forth between two nodes, so quickly that who has lost it may not notice.
    pub fn ping_pong(leader: u32, other: u32, now: u64) -> Plot {
        Plot::PingPong(PingPong {
            pair: [leader, other],
            moves: now,
            until: now + 800,
            term: None,
        })
    }

    /// The leader is heard by one node only. Another one asks that node for its vote all the time, in vain; then it starts anew, and
    /// nobody hears the leader.
    pub fn amnesia(world: &World, leader: u32, random: &SeededRandom) -> Plot {
        let others: Vec<u32> = world
            .nodes
            .iter()
            .map(|node| node.id)
            .filter(|&id| id != leader)
            .collect();
        let voter = others[random.below(others.len() as u64) as usize];
        for &other in others.iter().filter(|&&other| other != voter).take(others.len() / 2) {
            world.net.cut([(leader, other), (other, leader)]);
        }
        Plot::Amnesia(Amnesia {
            leader,
            voter,
            at: world.now + 300 + random.below(300),
        })
    }

    /// Does what is due; nothing is left of it when it is over.
    pub fn act(self, world: &mut World, random: &SeededRandom) -> Option<Plot> {
        match self {
            Plot::Isolate { id, at } if at <= world.now => {
                world.split(&[id]);
                None
            }
            Plot::Isolate { .. } => Some(self),
            Plot::GetsFar { id, now, most } if world.now.is_multiple_of(10) => {
                for other in world.nodes.iter().map(|node| node.id).filter(|&other| other != id) {
                    world.net.slow_down(id, other, now, 2);
                }
                (now < most).then_some(Plot::GetsFar { id, now: now + 4, most })
            }
            Plot::GetsFar { .. } => Some(self),
            Plot::PingPong(ping_pong) => ping_pong.act(world, random).map(Plot::PingPong),
            Plot::Swing(swing) => swing.act(world, random).map(Plot::Swing),
            Plot::Amnesia(amnesia) => amnesia.act(world, random).map(Plot::Amnesia),
        }
    }
}

pub struct PingPong {
    pair: [u32; 2],
    /// When the lead is moved.
    moves: u64,
    until: u64,
    /// In which it was moved last.
    term: Option<u64>,
}

impl PingPong {
    fn act(mut self, world: &World, random: &SeededRandom) -> Option<PingPong> {
        if self.until < world.now {
            return None;
        }
        let led = world.term_led_by(&self.pair);
        if led > self.term {
            // It stays long enough for a commit or two.
            self.term = led;
            self.moves = world.now + random.below([25, 150][random.below(2) as usize]);
        }
        if self.moves == world.now {
            let leads = |id: u32| world.term_led_by(&[id]) == led;
            match leads(self.pair[0]) {
                true => world.move_leader(self.pair[0], self.pair[1]),
                false => world.move_leader(self.pair[1], self.pair[0]),
            }
        }
        Some(self)
    }
}

/// A node is with one half of the others, votes, loses its power, and is with the other half: what it forgets is given away twice.
pub struct Swing {
    middle: u32,
    halves: [Vec<u32>; 2],
    /// The newest term when it turned last.
    term: u64,
    /// When it turns next.
    turns: Option<u64>,
    /// It turns by then in any case.
    latest: u64,
    until: u64,
}

impl Swing {
    pub fn begin(world: &World, middle: u32, random: &SeededRandom) -> Swing {
        let leader = world.leader();
        let mut others: Vec<u32> = world
            .nodes
            .iter()
            .map(|node| node.id)
            .filter(|&id| id != middle)
            .collect();
        // Who leads is not with it at first.
        others.sort_by_key(|&id| Some(id) == leader);
        let second = others.split_off(others.len() / 2);
        let swing = Swing {
            middle,
            halves: [others, second],
            term: world.term(middle).unwrap_or(0),
            turns: None,
            latest: world.now + 300 + random.below(500),
            until: world.now + 2500,
        };
        swing.connect(world);
        swing
    }

    /// The middle with the first half, and nobody else with anybody.
    fn connect(&self, world: &World) {
        world.net.heal();
        world.split(&self.halves[1]);
    }

    fn act(mut self, world: &mut World, random: &SeededRandom) -> Option<Swing> {
        if self.until < world.now || world.nodes.iter().all(|node| node.id != self.middle) {
            return None;
        }
        if self.turns.is_none() && world.term(self.middle).is_some_and(|term| term > self.term) {
            let more = [3, 8, 200][random.below(3) as usize];
            self.turns = Some(world.now + random.below(more));
        }
        if self.turns.unwrap_or(self.latest) <= world.now {
            self.term = world.term(self.middle).unwrap_or(0).max(self.term);
            world.kill(self.middle, true);
            world.restarts.insert(self.middle, world.now + 1 + random.below(20));
            self.halves.swap(0, 1);
            self.turns = None;
            self.latest = world.now + 300 + random.below(500);
            self.connect(world);
        }
        Some(self)
    }
}

pub struct Amnesia {
    leader: u32,
    voter: u32,
    at: u64,
}

impl Amnesia {
    fn act(self, world: &mut World, random: &SeededRandom) -> Option<Amnesia> {
        if self.at > world.now {
            return Some(self);
        }
        if world
            .nodes
            .iter()
            .any(|node| node.id == self.voter && node.process.is_some())
        {
            world.kill(self.voter, random.below(2) == 0);
            world.restarts.insert(self.voter, world.now + 1 + random.below(3));
            world.net.heal();
            world.split(&[self.leader]);
        }
        None
    }
}
