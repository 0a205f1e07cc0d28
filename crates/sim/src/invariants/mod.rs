//! What must always hold, one file for each promise; the others name theirs.
//!
//! | promise | looked at |
//! |---|---|
//! | `election`: one leader in a term, which leads until its term is over | each millisecond |
//! | `equality`: replicas with the same newest commit have the same rows | each commit on each replica |
//! | `outcomes`: replicas behind the same entry know the same outcomes of transactions | each entry on each replica |
//! | `whole`: a large transaction is there as a whole | each commit on each replica |
//! | `bank`: no money comes or goes | each commit on each replica, and each count of a client (`workload::bank`) |
//! | `unique`: no two rows with one name | each commit on each replica |
//! | `fresh`: what begins after a commit was answered sees it, and commits later | each transaction, and each millisecond on whoever has a lease |
//! | `lists`: answered commits are there once, failed ones are not, reads show one moment | at the end, over the whole history |
//! | `ends`: each operation of a client ends | each second |
//! | `ids`: an automatic id is given once | each insert and each commit of one (`workload::claims`) |
//! | `witness`: a witness has no rows, and decides nothing | each millisecond on it |
//! | `panics`: nothing panics | each millisecond (`panics`) |
//! | `history`: the lists of SQL clients: answered appends are there once, failed ones are not, reads show one moment, and what was answered before | at the end, over the whole history |
//! | `catalog`: the catalog in use is that of the rows, and all that is said twice agrees | each commit on each replica that speaks SQL, and each row that a client reads (`sql::work::definitions`) |
//! | `tiles`: a statement changes all its rows, once | each commit on each replica, each read, and at the end |
//! | `jobs`: a job of a queue is taken once | each commit on each replica, each answer, and at the end |
//! | `keys`: a key's row says how many elements there are | each commit on each replica |
//! | `prepared`: an XA transaction ends once | each answer; what it has changed goes by `history` |
//! | `alone`: a named lock has one holder | each time that one was given back |
//! | `answers`: an SQL statement ends with an answer, or with an error that tells of others or of the cluster | each statement (`sql::client`) |
//! | `log`: logs agree where they overlap | at the end, on the disks |
//! | `recovery`: without faults, everybody serves and agrees within seconds | at the end (`world`) |

pub mod alone;
pub mod bank;
pub mod catalog;
pub mod election;
pub mod ends;
pub mod equality;
pub mod fresh;
pub mod history;
pub mod ids;
pub mod jobs;
pub mod keys;
pub mod lists;
pub mod log;
pub mod outcomes;
pub mod prepared;
pub mod tiles;
pub mod unique;
pub mod whole;
pub mod witness;
