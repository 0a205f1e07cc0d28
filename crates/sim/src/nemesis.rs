//! What goes wrong, and when.
//!
//! Each seed has faults of its own that it draws from: so that there are seeds with little but one kind of them.

use env::SeededRandom;

use crate::plots::{Plot, Swing};
use crate::world::World;

/// One of the things that go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Fault {
    Kill,
    PowerCut,
    /// The power goes after so many operations of the disk.
    PowerCutLater,
    Stall,
    Isolate,
    IsolateLeader,
    Split,
    OneWay,
    Chain,
    Clog,
    /// A node gets far from all others, so slowly that it is heard of all the time: it may lead still.
    Far,
    Breaks,
    MoveLeader,
    /// Who has just offered the lead is cut off.
    MoveAndIsolate,
    /// The lead goes to another one and back at once, several times.
    PingPong,
    /// The others hear each other only through a node that loses its power whenever it has voted.
    Voter,
    /// As [`Voter`](Self::Voter), but it is with one half of the others at a time.
    Swing,
    /// Who has just answered the leader starts anew and is asked for its vote.
    Amnesia,
    Checkpoint,
    SetClock,
    /// It is told to stop, as by an upgrade.
    Stop,
    /// A write or a sync of the disk fails.
    BadDisk,
    /// The disk has no more room.
    FullDisk,
    SlowDisk,
    /// What is logged is long under way to the disks of all but the leader, and they hear it as always.
    LateLogs,
    Admit,
    Dismiss,
    /// A disk is lost, and its node comes back with an empty one.
    LoseDisk,
    Heal,
}

/// With their weights.
const FAULTS: &[(Fault, u64)] = &[
    (Fault::Kill, 6),
    (Fault::PowerCut, 4),
    (Fault::PowerCutLater, 6),
    (Fault::Stall, 8),
    (Fault::Isolate, 4),
    (Fault::IsolateLeader, 5),
    (Fault::Split, 3),
    (Fault::OneWay, 5),
    (Fault::Chain, 3),
    (Fault::Clog, 6),
    (Fault::Far, 4),
    (Fault::Breaks, 3),
    (Fault::MoveLeader, 8),
    (Fault::MoveAndIsolate, 5),
    (Fault::PingPong, 4),
    (Fault::Voter, 3),
    (Fault::Swing, 4),
    (Fault::Amnesia, 4),
    (Fault::Checkpoint, 8),
    (Fault::SetClock, 2),
    (Fault::Stop, 4),
    (Fault::BadDisk, 3),
    (Fault::FullDisk, 3),
    (Fault::SlowDisk, 3),
    (Fault::LateLogs, 4),
    (Fault::Admit, 4),
    (Fault::Dismiss, 4),
    (Fault::LoseDisk, 4),
    (Fault::Heal, 20),
];

/// All of them, or some.
fn faults_of(random: &SeededRandom) -> Vec<(Fault, u64)> {
    let is_whole = random.below(2) == 0;
    let drawn = FAULTS
        .iter()
        .filter(|(fault, _)| is_whole || *fault == Fault::Heal || random.below(3) == 0);
    drawn.copied().collect()
}

pub struct Nemesis {
    random: SeededRandom,
    faults: Vec<(Fault, u64)>,
    /// Each other fault is this one.
    often: Option<Fault>,
    next: u64,
    /// Milliseconds between two faults, at most.
    pause: u64,
    /// One that is under way.
    plot: Option<Plot>,
    /// A node that loses its power when it has heard of a later term, and until when it does.
    voter: Option<(u32, u64, u64)>,
}

impl Nemesis {
    pub fn new(world: &World, often: Option<Fault>) -> Nemesis {
        let random = SeededRandom::new(world.random.below(u64::MAX));
        Nemesis {
            pause: [400, 1500, 4000][random.below(3) as usize],
            faults: faults_of(&random),
            often,
            next: 0,
            plot: None,
            voter: None,
            random,
        }
    }

    /// Does what is due.
    pub fn act(&mut self, world: &mut World) {
        if let Some(plot) = self.plot.take() {
            self.plot = plot.act(world, &self.random);
        }
        self.watch_voter(world);
        if world.now < self.next {
            return;
        }
        self.next = world.now + 20 + self.random.below(self.pause);
        let fault = self.draw();
        world.trace.note(format_args!("nemesis: {fault:?}"));
        self.bring(fault, world);
    }

    fn watch_voter(&mut self, world: &mut World) {
        let Some((id, term, until)) = self.voter else { return };
        if until < world.now || world.nodes.iter().all(|node| node.id != id) {
            self.voter = None;
        } else if let Some(now) = world.term(id)
            && now > term
        {
            world.kill(id, true);
            world.restarts.insert(id, world.now + 1 + self.random.below(100));
            self.voter = Some((id, now, until));
        }
    }

    fn draw(&self) -> Fault {
        if let Some(often) = self.often
            && self.random.below(2) == 0
        {
            return often;
        }
        let total = self.faults.iter().map(|(_, weight)| weight).sum();
        let mut drawn = self.random.below(total);
        for &(fault, weight) in &self.faults {
            match drawn.checked_sub(weight) {
                None => return fault,
                Some(rest) => drawn = rest,
            }
        }
        Fault::Heal
    }

    fn some_node(&self, world: &World) -> u32 {
        let at = self.random.below(world.nodes.len() as u64) as usize;
        world.nodes[at].id
    }

    /// Most often the one that leads.
    fn some_leader(&self, world: &World) -> u32 {
        match world.leader() {
            Some(leader) if self.random.below(3) > 0 => leader,
            _ => self.some_node(world),
        }
    }

    fn another_node(&self, world: &World, than: u32) -> u32 {
        let others: Vec<u32> = world
            .nodes
            .iter()
            .map(|node| node.id)
            .filter(|&id| id != than)
            .collect();
        others[self.random.below(others.len() as u64) as usize]
    }

    fn bring(&mut self, fault: Fault, world: &mut World) {
        let ids: Vec<u32> = world.nodes.iter().map(|node| node.id).collect();
        match fault {
            Fault::Kill | Fault::PowerCut => {
                let id = self.some_leader(world);
                if self.may_go_down(world) {
                    world.kill(id, fault == Fault::PowerCut);
                    world.restarts.insert(id, world.now + self.random.below(4000));
                }
            }
            Fault::PowerCutLater => {
                let id = self.some_leader(world);
                if self.may_go_down(world) && world.node(id).process.is_some() {
                    world.bad_disks.insert(id);
                    world.node(id).disk.cut_power_after(self.random.below(60));
                }
            }
            Fault::Stall => {
                let id = self.some_leader(world);
                let time = 20 + self.random.below([200, 1000, 4000][self.random.below(3) as usize]);
                world.stall(id, time);
            }
            Fault::Isolate => world.split(&[self.some_node(world)]),
            Fault::IsolateLeader => world.split(&[self.some_leader(world)]),
            Fault::Split => {
                let some: Vec<u32> = ids.iter().copied().filter(|_| self.random.below(2) == 0).collect();
                world.split(&some);
            }
            Fault::OneWay => {
                let one = self.some_leader(world);
                let ways = ids
                    .iter()
                    .filter(|&&other| other != one)
                    .map(|&other| match self.random.below(3) {
                        0 => (other, one),
                        _ => (one, other),
                    });
                let ways: Vec<_> = ways.collect();
                world.net.cut(ways);
            }
            Fault::Chain => {
                let apart = |one: usize, other: usize| one.abs_diff(other) > 1;
                let ways = (0..ids.len()).flat_map(|one| (0..ids.len()).map(move |other| (one, other)));
                let ways: Vec<_> = ways.filter(|&(one, other)| apart(one, other)).collect();
                world
                    .net
                    .cut(ways.into_iter().map(|(one, other)| (ids[one], ids[other])));
            }
            Fault::Clog => {
                let one = self.some_leader(world);
                let others = match self.random.below(2) {
                    0 => vec![self.another_node(world, one)],
                    _ => ids.iter().copied().filter(|&other| other != one).collect(),
                };
                let most = [20, 100, 600][self.random.below(3) as usize];
                for other in others {
                    world.net.slow_down(one, other, 0, most);
                }
            }
            Fault::Far => {
                let one = self.some_leader(world);
                let most = [100, 200, 400][self.random.below(3) as usize];
                self.plot = Some(Plot::GetsFar { id: one, now: 0, most });
            }
            Fault::Breaks => world.net.break_often(5 + self.random.below(100)),
            Fault::MoveLeader => {
                if let Some(leader) = world.leader() {
                    world.move_leader(leader, self.some_node(world));
                }
            }
            Fault::MoveAndIsolate => {
                if let Some(leader) = world.leader() {
                    // Or it would come to nothing.
                    world.net.heal();
                    world.move_leader(leader, self.another_node(world, leader));
                    let at = world.now + 1 + self.random.below(6);
                    self.plot = Some(Plot::Isolate { id: leader, at });
                }
            }
            Fault::PingPong => {
                if let Some(leader) = world.leader() {
                    world.net.heal();
                    let other = self.another_node(world, leader);
                    self.plot = Some(Plot::ping_pong(leader, other, world.now));
                    self.next = world.now + 800;
                }
            }
            Fault::Voter => {
                let id = self.some_node(world);
                let others = || ids.iter().copied().filter(move |&other| other != id);
                world.net.heal();
                world
                    .net
                    .cut(others().flat_map(|one| others().map(move |other| (one, other))));
                let term = world.term(id).unwrap_or(0);
                self.voter = Some((id, term, world.now + 3000));
                self.next = world.now + 3000;
            }
            Fault::Swing => {
                let swing = Swing::begin(world, self.some_node(world), &self.random);
                self.plot = Some(Plot::Swing(swing));
                self.next = world.now + 2500;
            }
            Fault::Amnesia => {
                if let Some(leader) = world.leader()
                    && self.may_go_down(world)
                {
                    world.net.heal();
                    self.plot = Some(Plot::amnesia(world, leader, &self.random));
                    self.next = world.now + 1000;
                }
            }
            Fault::Checkpoint => {
                let id = self.some_node(world);
                world.ask(id, |shard| async move { drop(shard.begin_checkpoint().await) });
            }
            Fault::SetClock => {
                let id = self.some_node(world);
                let skew = self.random.below(20_000);
                world.node(id).clock.set_skew(skew);
            }
            Fault::Stop => {
                let id = self.some_leader(world);
                if self.may_go_down(world) {
                    world.stop(id);
                }
            }
            Fault::BadDisk => {
                let id = self.some_leader(world);
                if self.may_go_down(world) {
                    let at = 1 + self.random.below(30);
                    let fault = match self.random.below(2) {
                        0 => env::Fault::Write(at),
                        _ => env::Fault::Sync(at),
                    };
                    world.bad_disks.insert(id);
                    world.node(id).faulty.inject(fault);
                }
            }
            Fault::FullDisk => {
                let id = self.some_leader(world);
                if self.may_go_down(world) {
                    world.bad_disks.insert(id);
                    let room = self.random.below(40_000);
                    let node = world.node(id);
                    node.full_disk = true;
                    node.disk.set_capacity(Some(node.disk.used() + room));
                }
            }
            Fault::SlowDisk => {
                let id = self.some_leader(world);
                world.node(id).slow_disk = [5, 30, 200][self.random.below(3) as usize];
            }
            Fault::LateLogs => {
                let one = self.some_leader(world);
                let time = [100, 400, 900, 1500][self.random.below(4) as usize];
                for other in ids.into_iter().filter(|&other| other != one) {
                    world.net.log_late(other, time);
                }
            }
            Fault::Admit if world.members() < 6 => world.add(),
            Fault::Dismiss if world.members() > 3 => {
                let id = self.some_node(world);
                world.remove(id);
            }
            // One at a time, or what is on no other disk is lost.
            Fault::LoseDisk if world.is_whole() => {
                let id = self.some_leader(world);
                world.lose_disk(id);
            }
            Fault::Admit | Fault::Dismiss | Fault::LoseDisk => {}
            Fault::Heal => world.heal(),
        }
    }

    /// Mostly a majority stays.
    fn may_go_down(&self, world: &World) -> bool {
        let down = world.nodes.iter().filter(|node| node.process.is_none()).count();
        down < world.nodes.len().div_ceil(2) - 1 || self.random.below(5) == 0
    }

    /// No more faults, also none that were to come later.
    pub fn stop(&self, world: &mut World) {
        let waiting: Vec<u32> = world.nodes.iter().map(|node| node.id).collect();
        for id in waiting {
            if world.bad_disks.contains(&id) && world.node(id).process.is_some() {
                world.kill(id, true);
            }
        }
    }
}
