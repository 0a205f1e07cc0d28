//! Bugs that the simulation has to find: steps of the code that do wrong where they are told to, in builds that can be told.
//!
//! Each is run with one seed after the other until a promise is seen broken. One that is never found says that the simulation does not
//! look there.

/// A step of the code, and what it does wrong.
pub struct Bug {
    pub step: &'static str,
    /// Once in so many times.
    pub one_in: u64,
    pub what: &'static str,
}

const fn bug(step: &'static str, one_in: u64, what: &'static str) -> Bug {
    Bug { step, one_in, what }
}

pub const BUGS: &[Bug] = &[
    bug("log.vote", 1, "a vote is given before it is on the disk"),
    bug("log.sync", 1, "entries are acknowledged before they are synced"),
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
    bug("lease.length", 1, "a lease is longer than the others' patience"),
    bug(
        "lease.offer",
        1,
        "a lease is kept while the lead is offered to another replica",
    ),
    bug("lease.none", 1, "a leader reads without a lease"),
    bug(
        "lease.start",
        1,
        "a replica votes that does not know whom it has answered before its start",
    ),
    bug(
        "lead.early",
        1,
        "locks are given before the entries of earlier terms are applied",
    ),
    bug("lead.locks", 1, "locks of an earlier lead are still there in the next"),
    bug("apply.term", 1, "a commit under the locks of another term is applied"),
    bug(
        "apply.order",
        3,
        "a replica applies the transactions of an entry in another order",
    ),
    bug("shard.applying", 50, "a replica leaves a transaction out"),
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
        "outcome.late",
        1,
        "a commit arrives after its issuer was told that it was not made",
    ),
    bug("doubt.locks", 1, "the locks of a commit in doubt are free"),
    bug("doubt.outcome", 1, "a commit in doubt is said not to be made"),
    bug(
        "doubt.early",
        1,
        "a commit of this term is given up before a later one has begun",
    ),
    bug("ids.twice", 1, "the same ids are leased twice"),
    bug("ids.lead", 1, "ids of an earlier lead are used"),
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
        1,
        "a lock is good for rows that a checkpoint has replaced",
    ),
    bug(
        "life.same",
        1,
        "a node that starts again gives the ids of its life before",
    ),
];
