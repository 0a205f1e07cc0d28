//! Plans that sessions share.
//!
//! A plan is found by what it depends on: the statement's text, the database, sql_mode, the types of the parameters, and whose rights
//! it was made with. It holds while the catalog's version is the one it was made for.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, LazyLock};

use governor::hashing::FastHashing;
use parking_lot::RwLock;
use types::{CharsetId, SqlType};

use crate::accounts::access::PlanOwner;
use crate::expr::sql_mode::SqlMode;
use crate::plan::Planned;

/// When a shard holds this many plans, it is emptied: a simple bound, and rarely reached.
const PLANS_PER_SHARD: usize = 1024;
const SHARDS: usize = 16;
/// A larger plan is its session's alone: many of them would fill the memory, and a long statement seldom comes again.
const PLAN_BYTES_MAX: u64 = 256 << 10;

/// What a plan depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PlanKey {
    pub text: PlanText,
    /// None where the rights have no bounds.
    pub owner: Option<PlanOwner>,
    pub database: Option<Arc<str>>,
    pub sql_mode: SqlMode,
    pub collation: types::CollationId,
    /// Gives the scale of quotients and averages.
    pub div_precision_increment: u8,
    /// Gives the length of GROUP_CONCAT's result.
    pub group_concat_max_len: u64,
    /// Kind and sign of every parameter.
    pub parameters: Box<[ParameterType]>,
}

/// The text of a statement that is prepared once and looked up often: it is hashed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanText {
    bytes: Arc<[u8]>,
    /// Strings behind an introducer are other ones under another character set of the client.
    client_charset: CharsetId,
    hash: u64,
}

/// With a key of its own: clients choose the texts.
static TEXT_HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

impl PlanText {
    pub fn new(text: &[u8], client_charset: CharsetId) -> PlanText {
        PlanText {
            bytes: text.into(),
            client_charset,
            hash: TEXT_HASHER.hash_one(text),
        }
    }

    /// The text itself.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Hash for PlanText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// What of a parameter's type a plan depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParameterType {
    pub kind: types::TypeKind,
    pub unsigned: bool,
    /// Scale of a decimal, digits of a fraction.
    pub decimals: u8,
}

impl ParameterType {
    pub fn of(ty: &SqlType) -> ParameterType {
        ParameterType {
            kind: ty.kind,
            unsigned: ty.unsigned,
            decimals: ty.decimals,
        }
    }
}

/// A plan and the catalog it was made for.
#[derive(Debug, Clone)]
pub struct CachedPlan {
    pub catalog_version: u64,
    pub plan: Arc<Planned>,
}

/// The shared plans of a node.
#[derive(Debug, Default)]
pub struct PlanCache {
    shards: [RwLock<HashMap<PlanKey, CachedPlan, FastHashing>>; SHARDS],
}

impl PlanCache {
    /// A plan made for this version of the catalog.
    pub fn get(&self, key: &PlanKey, catalog_version: u64) -> Option<Arc<Planned>> {
        let shard = self.shard(key).read();
        shard
            .get(key)
            .filter(|cached| cached.catalog_version == catalog_version)
            .map(|cached| cached.plan.clone())
    }

    /// Shares a plan that took the statement `bytes`, unless it is large.
    pub fn put(&self, key: PlanKey, cached: CachedPlan, bytes: u64) {
        if bytes > PLAN_BYTES_MAX {
            return;
        }
        governor::disown(bytes as i64);
        // Dropped without the lock: that takes a while, and may give way.
        let _replaced = {
            let mut shard = self.shard(&key).write();
            let evicted = (shard.len() >= PLANS_PER_SHARD).then(|| std::mem::take(&mut *shard));
            (evicted, shard.insert(key, cached))
        };
    }

    fn shard(&self, key: &PlanKey) -> &RwLock<HashMap<PlanKey, CachedPlan, FastHashing>> {
        &self.shards[key.text.hash as usize % SHARDS]
    }
}
