//! Bugs that the simulation has to find: steps of the code that do wrong where they are told to, in builds that can be told.
//!
//! Each is run with one seed after the other until a promise is seen broken, the one that has found it before first. One that is never found
//! says that the simulation does not look there.
//!
//! Where another mechanism covers for the one that is undone, the bug undoes both: `lead.locks` leaves locks of an earlier lead in the table
//! and commits in the term that is, as the term of the locks alone would end such a commit; `lease.term` also forgets an offer that is made
//! before the lead has begun, as an offer voids the lease of its term.

use crate::nemesis::Fault;

/// A step of the code, and what it does wrong.
pub struct Bug {
    pub step: &'static str,
    /// Once in so many times.
    pub one_in: u64,
    /// One that finds it. A change of the code may make it a seed like any other: then others are tried.
    pub seed: u64,
    /// What shows it, if that is rare.
    pub often: Option<Fault>,
    /// Clients that speak SQL find it.
    pub by_sql: bool,
    /// One of the nodes has no rows.
    pub has_witness: bool,
    pub what: &'static str,
}

const fn bug(step: &'static str, seed: u64, what: &'static str) -> Bug {
    Bug {
        step,
        one_in: 1,
        seed,
        often: None,
        by_sql: false,
        has_witness: false,
        what,
    }
}

impl Bug {
    const fn one_in(self, one_in: u64) -> Bug {
        Bug { one_in, ..self }
    }

    const fn by_sql(self) -> Bug {
        Bug { by_sql: true, ..self }
    }

    const fn with_a_witness(self) -> Bug {
        Bug {
            has_witness: true,
            ..self
        }
    }

    const fn often(self, fault: Fault) -> Bug {
        Bug {
            often: Some(fault),
            ..self
        }
    }
}

pub const BUGS: &[Bug] = &[
    bug("log.vote", 2, "a vote is given before it is on the disk").often(Fault::Swing),
    bug("log.sync", 4, "entries are acknowledged before they are synced"),
    bug("commit.quorum", 1, "a commit is answered before a majority has it"),
    bug(
        "commit.unlock",
        1,
        "the locks of a commit are free before it is applied",
    ),
    bug(
        "commit.lost",
        1,
        "a commit whose answer was lost is taken for one that was not made",
    ),
    bug("lease.length", 3, "a lease is longer than the others' patience"),
    bug(
        "lease.offer",
        1,
        "a lease is kept while the lead is offered to another replica",
    )
    .often(Fault::MoveAndIsolate),
    bug(
        "lease.term",
        1,
        "a lease of a term is renewed by what the others have answered in a later one",
    )
    .often(Fault::PingPong),
    bug("lease.none", 3, "a leader reads without a lease"),
    bug(
        "lease.start",
        10,
        "a replica votes that does not know whom it has answered before its start",
    )
    .often(Fault::Amnesia),
    bug(
        "lead.early",
        1,
        "locks are given before the entries of earlier terms are applied",
    ),
    bug("lead.locks", 2, "locks of an earlier lead are good in the next").often(Fault::PingPong),
    bug("apply.term", 2, "a commit under the locks of another term is applied").often(Fault::PingPong),
    bug(
        "apply.order",
        1,
        "a replica applies the transactions of an entry in another order",
    )
    .one_in(3),
    bug("shard.applying", 1, "a replica leaves a transaction out").one_in(50),
    bug(
        "read.early",
        1,
        "a follower reads before it has applied what the leader had",
    ),
    bug(
        "lock.early",
        1,
        "a follower takes a lock before it has applied what the leader had",
    ),
    bug(
        "claims.taken",
        1,
        "whoever has claimed a key does not look whether somebody was faster",
    ),
    bug(
        "outcome.late",
        5,
        "a commit arrives after its issuer was told that it was not made",
    )
    .often(Fault::Breaks),
    bug(
        "outcome.stale",
        47,
        "who has led before a commit was made, and led anew, says that it was not made",
    )
    .often(Fault::PingPong),
    bug("doubt.locks", 15, "the locks of a commit in doubt are free").often(Fault::Far),
    bug("doubt.outcome", 1, "a commit in doubt is said not to be made").often(Fault::LateLogs),
    bug(
        "doubt.early",
        1,
        "a commit of this term is given up before a later one has begun",
    )
    .often(Fault::LateLogs),
    bug("ids.twice", 2, "the same ids are leased twice"),
    bug("ids.lead", 1, "ids of an earlier lead are used").often(Fault::MoveLeader),
    bug(
        "checkpoint.position",
        1,
        "a checkpoint says that it holds an entry more than it does",
    ),
    bug(
        "checkpoint.outcomes",
        1,
        "the outcomes of transactions are not taken over with a checkpoint",
    ),
    bug(
        "table.current",
        2,
        "a lock is good for rows that a checkpoint has replaced",
    ),
    bug(
        "life.same",
        1,
        "a node that starts again gives the ids of its life before",
    ),
    bug(
        "admission.early",
        34,
        "a node that comes anew takes part in elections before it knows what it had voted for",
    )
    .often(Fault::LoseDisk),
    bug("statement.again", 1, "a statement is run again although it was applied")
        .one_in(50)
        .by_sql(),
    bug("catalog.late", 1, "a catalog is installed after its rows")
        .one_in(10)
        .by_sql(),
    bug(
        "lock.commit",
        1,
        "the locks of a statement are free before its commit is visible",
    )
    .by_sql(),
    bug(
        "foreign_key.parent",
        1,
        "a child is added without looking whether its parent is there",
    )
    .by_sql(),
    bug("ids.twice", 1, "automatic ids are given twice").by_sql(),
    bug("unique", 1, "a unique key is not looked at").by_sql(),
    bug("savepoint", 1, "what was done since a savepoint is not taken back").by_sql(),
    bug("skip_locked", 1, "SKIP LOCKED does not skip what is locked").by_sql(),
    bug(
        "keys.again",
        1,
        "commands of which it is not known whether they are committed are run again",
    )
    .by_sql()
    .often(Fault::LateLogs),
    bug("witness.leads", 4, "a witness that is elected takes the lead").with_a_witness(),
    bug(
        "log.sync",
        4,
        "entries are acknowledged before they are synced, by a witness, too",
    )
    .with_a_witness(),
    bug(
        "lease.length",
        3,
        "a lease is longer than the patience of the others and of a witness",
    )
    .with_a_witness(),
];
