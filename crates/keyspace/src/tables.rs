//! The tables that keys are kept in.
//!
//! ```text
//!   redis.db0           a row for each key: its type, the value of a string, when it expires
//!   redis.db0_piece      a row for each piece of a long string          key (id, number)
//!   redis.db0_hash      a row for each field           key (id, field)
//!   redis.db0_set       a row for each member          key (id, member)
//!   redis.db0_zset      a row for each member          key (id, member), index (id, score, member)
//!   redis.db0_list      a row for each element         key (id, position)
//!   redis.db0_stream    a row for each entry           key (id, ms, seq)
//!   redis.db0_group     a row for each consumer group  key (id, name)
//!   redis.db0_consumer  a row for each consumer        key (id, group, name)
//!   redis.db0_pending   a row for each entry that a consumer has not acknowledged, key (id, group, ms, seq)
//! ```
//!
//! For SQL there are views beside them, which join keys and elements: `db0_keys` (with the lengths), `db0_hashes`, `db0_sets`, `db0_zsets`,
//! `db0_lists`, `db0_streams`, `db0_pieces`.
//!
//! The elements of a hash, a set, … have the id that is in their key's row. So a key is renamed, or disappears with a million
//! elements, by a change of its own row. Whoever changes an element holds the lock of the key's row.
//!
//! Members that are longer than an index takes ([`MEMBER_MAX`]) are kept whole in a column of their own; the indexed one has their
//! beginning and their SHA-256.

use std::sync::Arc;

use catalog::{Catalog, IndexDef, IndexKind, IndexPart, TableDef};
use sha2::{Digest, Sha256};
use sql::engine::Engine;
use sql::table::Table;
use store::KeyRange;
use types::{IndexId, KeyLayout, ValueRef};

use crate::failure::{Failure, Outcome};
use crate::head::{HeadRef, Kind};

pub const DATABASE: &str = "redis";
/// Databases that SELECT takes (`databases`).
pub const DATABASES: u32 = 16;
/// The longest key.
pub const KEY_MAX: usize = 3000;
/// The longest member that is its own index key.
pub const MEMBER_MAX: usize = 2000;
const DIGEST_LEN: usize = 32;
/// Keys whose rows are loaded from memory together. What they touch stays in the core's second cache until it is their turn.
const KEYS_AHEAD: usize = 128;

/// One of the tables of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Keys,
    Hash,
    Set,
    SortedSet,
    List,
    Stream,
    Group,
    Consumer,
    Pending,
    Piece,
}

impl Part {
    pub const ALL: [Part; 10] = [
        Part::Keys,
        Part::Hash,
        Part::Set,
        Part::SortedSet,
        Part::List,
        Part::Stream,
        Part::Group,
        Part::Consumer,
        Part::Pending,
        Part::Piece,
    ];

    pub fn name(self, db: u32) -> String {
        let suffix = match self {
            Part::Keys => "",
            Part::Hash => "_hash",
            Part::Set => "_set",
            Part::SortedSet => "_zset",
            Part::List => "_list",
            Part::Stream => "_stream",
            Part::Group => "_group",
            Part::Consumer => "_consumer",
            Part::Pending => "_pending",
            Part::Piece => "_piece",
        };
        format!("db{db}{suffix}")
    }

    fn definition(self) -> &'static str {
        match self {
            Part::Keys => {
                "`key` VARBINARY(3000) NOT NULL, \
                 `type` ENUM('string', 'list', 'set', 'zset', 'hash', 'stream') NOT NULL, \
                 `value` LONGBLOB NULL COMMENT 'of a string', \
                 `meta` VARBINARY(1000) NULL COMMENT 'of other types, and of a long string: id, length and more', \
                 `expires_at` DATETIME(3) NULL COMMENT 'in UTC', PRIMARY KEY (`key`)"
            }
            Part::Hash => {
                "`id` BIGINT UNSIGNED NOT NULL, `field` VARBINARY(2001) NOT NULL, `whole` LONGBLOB NULL COMMENT 'a longer field', \
                 `value` LONGBLOB NOT NULL, `expires_at` DATETIME(3) NULL COMMENT 'in UTC', PRIMARY KEY (`id`, `field`)"
            }
            Part::Set => {
                "`id` BIGINT UNSIGNED NOT NULL, `member` VARBINARY(2001) NOT NULL, `whole` LONGBLOB NULL COMMENT 'a longer member', \
                 PRIMARY KEY (`id`, `member`)"
            }
            Part::SortedSet => {
                "`id` BIGINT UNSIGNED NOT NULL, `member` VARBINARY(2001) NOT NULL, `whole` LONGBLOB NULL COMMENT 'a longer member', \
                 `score` DOUBLE NOT NULL, PRIMARY KEY (`id`, `member`), KEY `score` (`id`, `score`, `member`)"
            }
            Part::List => {
                "`id` BIGINT UNSIGNED NOT NULL, `position` BIGINT NOT NULL, `value` LONGBLOB NOT NULL, PRIMARY KEY (`id`, `position`)"
            }
            Part::Stream => {
                "`id` BIGINT UNSIGNED NOT NULL, `ms` BIGINT UNSIGNED NOT NULL, `seq` BIGINT UNSIGNED NOT NULL, \
                 `fields` LONGBLOB NOT NULL, PRIMARY KEY (`id`, `ms`, `seq`)"
            }
            Part::Group => {
                "`id` BIGINT UNSIGNED NOT NULL, `name` VARBINARY(1000) NOT NULL, `last_ms` BIGINT UNSIGNED NOT NULL, \
                 `last_seq` BIGINT UNSIGNED NOT NULL, `entries_read` BIGINT NOT NULL, PRIMARY KEY (`id`, `name`)"
            }
            Part::Consumer => {
                "`id` BIGINT UNSIGNED NOT NULL, `group` VARBINARY(1000) NOT NULL, `name` VARBINARY(1000) NOT NULL, \
                 `seen_ms` BIGINT NOT NULL, `active_ms` BIGINT NOT NULL, PRIMARY KEY (`id`, `group`, `name`)"
            }
            Part::Pending => {
                "`id` BIGINT UNSIGNED NOT NULL, `group` VARBINARY(1000) NOT NULL, `ms` BIGINT UNSIGNED NOT NULL, \
                 `seq` BIGINT UNSIGNED NOT NULL, `consumer` VARBINARY(1000) NOT NULL, `delivered_ms` BIGINT NOT NULL, \
                 `deliveries` BIGINT NOT NULL, PRIMARY KEY (`id`, `group`, `ms`, `seq`)"
            }
            Part::Piece => {
                "`id` BIGINT UNSIGNED NOT NULL, `number` BIGINT UNSIGNED NOT NULL, `bytes` LONGBLOB NOT NULL, PRIMARY KEY (`id`, `number`)"
            }
        }
    }

    /// The columns of the keys by which rows are found and walked, by their numbers; the first key is the primary one.
    fn keys(self) -> &'static [&'static [usize]] {
        match self {
            Part::Keys => &[&[0]],
            Part::Hash | Part::Set | Part::List | Part::Group | Part::Piece => &[&[0, 1]],
            Part::SortedSet => &[&[0, 1], BY_SCORE],
            Part::Stream | Part::Consumer => &[&[0, 1, 2]],
            Part::Pending => &[&[0, 1, 2, 3]],
        }
    }

    /// The columns that rows have, as the code reads and writes them.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Part::Keys => &["key", "type", "value", "meta", "expires_at"],
            Part::Hash => &["id", "field", "whole", "value", "expires_at"],
            Part::Set => &["id", "member", "whole"],
            Part::SortedSet => &["id", "member", "whole", "score"],
            Part::List => &["id", "position", "value"],
            Part::Stream => &["id", "ms", "seq", "fields"],
            Part::Group => &["id", "name", "last_ms", "last_seq", "entries_read"],
            Part::Consumer => &["id", "group", "name", "seen_ms", "active_ms"],
            Part::Pending => &["id", "group", "ms", "seq", "consumer", "delivered_ms", "deliveries"],
            Part::Piece => &["id", "number", "bytes"],
        }
    }
}

/// The columns of the index that has a sorted set in its order: id, score, member.
const BY_SCORE: &[usize] = &[0, 3, 1];

/// The index over some columns, in their order.
fn index_over(def: &TableDef, columns: &[usize]) -> Option<IndexId> {
    let is_it = |index: &&IndexDef| {
        let is_plain = |part: &IndexPart| !part.descending && part.prefix.is_none() && part.elements.is_none();
        index.kind != IndexKind::FullText
            && index.parts.iter().all(is_plain)
            && index.parts.iter().map(|part| part.column).eq(columns.iter().copied())
    };
    def.indexes.iter().find(is_it).map(|index| index.id)
}

/// Whether a table has the rows of keys. They are removed with their elements ([`purge`](crate::purge)).
pub fn has_keys(def: &TableDef) -> bool {
    def.database == DATABASE && (0..DATABASES).any(|db| def.name == Part::Keys.name(db))
}

/// The statements that make the tables of a database, where they are not there.
pub fn definitions(db: u32) -> Vec<String> {
    let mut statements = vec![format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")];
    statements.extend(Part::ALL.map(|part| {
        format!(
            "CREATE TABLE IF NOT EXISTS {DATABASE}.{} ({}){}",
            part.name(db),
            part.definition(),
            if part == Part::Keys { " TTL = `expires_at`" } else { "" }
        )
    }));
    statements.extend(views(db));
    statements
}

/// Keys and their elements, as SQL sees them side by side.
fn views(db: u32) -> Vec<String> {
    // An id, and a length, as they lie in `meta`: eight bytes each, the highest first.
    let number = |at: u32| format!("CAST(CONV(HEX(SUBSTRING(k.`meta`, {at}, 8)), 16, 10) AS UNSIGNED)");
    let (id, length) = (number(1), number(9));
    let first = "(CAST(CONV(HEX(SUBSTRING(k.`meta`, 17, 8)), 16, 10) AS UNSIGNED))";
    let view = |name: &str, columns: &str, part: Option<Part>| {
        let from = match part {
            None => String::new(),
            Some(part) => format!(" JOIN {DATABASE}.{} e ON e.`id` = {id}", part.name(db)),
        };
        format!(
            "CREATE OR REPLACE SQL SECURITY INVOKER VIEW {DATABASE}.db{db}_{name} AS SELECT k.`key`, {columns} FROM {DATABASE}.db{db} k{from}"
        )
    };
    let whole = |column: &str| format!("IFNULL(e.`whole`, e.`{column}`) AS `{column}`");
    vec![
        view(
            "keys",
            &format!(
                "k.`type`, k.`value`, IF(k.`type` = 'string' AND (k.`value` IS NOT NULL OR k.`meta` IS NULL), LENGTH(k.`value`), {length}) AS `length`, k.`expires_at`"
            ),
            None,
        ),
        view("hashes", &format!("{}, e.`value`", whole("field")), Some(Part::Hash)),
        view("sets", &whole("member"), Some(Part::Set)),
        view(
            "zsets",
            &format!("{}, e.`score`", whole("member")),
            Some(Part::SortedSet),
        ),
        // Positions are signed; their differences are indexes.
        view(
            "lists",
            &format!("CAST(e.`position` - CAST({first} AS SIGNED) AS SIGNED) AS `index`, e.`value`"),
            Some(Part::List),
        ),
        view(
            "streams",
            "CONCAT(e.`ms`, '-', e.`seq`) AS `entry`, e.`fields`",
            Some(Part::Stream),
        ),
        view("pieces", "e.`number`, e.`bytes`", Some(Part::Piece)),
    ]
}

/// The tables of one database of keys.
pub struct Db {
    pub number: u32,
    /// Of the catalog that they were looked up in.
    pub version: u64,
    tables: [Arc<Table>; Part::ALL.len()],
    /// The index that has sorted sets in their order.
    pub by_score: IndexId,
}

impl Db {
    /// `None`: some of them are not there.
    pub fn find(number: u32, engine: &Engine) -> Outcome<Option<Db>> {
        let version = engine.catalog_version();
        let catalog = engine.catalog();
        let mut tables = Vec::with_capacity(Part::ALL.len());
        for part in Part::ALL {
            match table(part, number, &catalog, engine)? {
                Some(table) => tables.push(table),
                None => return Ok(None),
            }
        }
        let by_score = index_over(&tables[Part::SortedSet as usize].def, BY_SCORE);
        let (Ok(tables), Some(by_score)) = (tables.try_into(), by_score) else {
            return Ok(None);
        };
        Ok(Some(Db {
            number,
            version,
            tables,
            by_score,
        }))
    }

    /// The type of a key as it was committed last.
    pub fn newest_kind(&self, key: &[u8]) -> Option<Kind> {
        let table = self.table(Part::Keys);
        let kind = table.rows.newest(&self.row_key(key), |_, row| {
            Some(HeadRef::read(table.layout(), row?)?.kind)
        });
        kind.flatten()
    }

    /// The primary key of a key's row.
    pub fn row_key(&self, key: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(key.len() + 8);
        self.write_row_key(key, &mut bytes);
        bytes
    }

    /// As [`row_key`](Self::row_key), in the place of what `out` holds.
    #[inline]
    pub fn write_row_key(&self, key: &[u8], out: &mut Vec<u8>) {
        out.clear();
        key_of(self.table(Part::Keys), [ValueRef::Bytes(key)], out);
    }

    /// Keys one after the other. The rows of some at a time are loaded before.
    pub fn ahead<'k>(&'k self, keys: &'k [&'k [u8]]) -> impl Iterator<Item = &'k [u8]> {
        keys.chunks(KEYS_AHEAD).flat_map(|keys| {
            self.fetch_ahead(keys.iter().copied());
            keys.iter().copied()
        })
    }

    /// Has the processor load the rows of the first of some keys, before they are looked at one by one.
    pub fn fetch_ahead<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>) {
        let mut keys = keys.into_iter().take(KEYS_AHEAD);
        // A single one is looked at at once.
        let (Some(first), Some(second)) = (keys.next(), keys.next()) else {
            return;
        };
        let encoded = [first, second].into_iter().chain(keys).map(|key| self.row_key(key));
        let encoded: Vec<Vec<u8>> = encoded.collect();
        let encoded: Vec<&[u8]> = encoded.iter().map(Vec::as_slice).collect();
        self.table(Part::Keys).rows.fetch_ahead(&encoded);
    }

    /// The elements of an id, in an index.
    pub fn range_of(&self, part: Part, index: IndexId, id: u64) -> KeyRange {
        let mut prefix = Vec::with_capacity(9);
        layout_of(self.table(part), index).encode_refs([ValueRef::UInt(id)], &mut prefix);
        KeyRange::of_prefix(prefix)
    }

    pub fn table(&self, part: Part) -> &Arc<Table> {
        &self.tables[part as usize]
    }
}

fn table(part: Part, db: u32, catalog: &Catalog, engine: &Engine) -> Outcome<Option<Arc<Table>>> {
    let name = part.name(db);
    let Some(def) = catalog.table(DATABASE, &name) else {
        return Ok(None);
    };
    let stored = def.columns.iter().filter(|column| !column.is_virtual());
    if !stored
        .map(|column| column.name.as_str())
        .eq(part.columns().iter().copied())
    {
        return Err(Failure::Reply(
            format!("ERR the table {DATABASE}.{name} has other columns than those that keys are kept in").into(),
        ));
    }
    let [primary, others @ ..] = part.keys() else {
        return Ok(None);
    };
    let has_primary = index_over(def, primary) == Some(IndexId::PRIMARY);
    if !has_primary || others.iter().any(|columns| index_over(def, columns).is_none()) {
        return Err(Failure::Reply(
            format!("ERR the table {DATABASE}.{name} has other indexes than those by which keys are found").into(),
        ));
    }
    Ok(engine.table(def))
}

/// Appends the primary key of a row.
pub fn key_of<'v>(table: &Table, values: impl IntoIterator<Item = ValueRef<'v>>, out: &mut Vec<u8>) {
    layout_of(table, IndexId::PRIMARY).encode_refs(values, out);
}

pub fn layout_of(table: &Table, index: IndexId) -> &KeyLayout {
    table.key_layout(index).expect("the tables of keys have these indexes")
}

/// A member as it is indexed, and itself where it is longer than that.
pub struct Member<'m> {
    indexed: Indexed<'m>,
    pub whole: Option<&'m [u8]>,
}

enum Indexed<'m> {
    Itself(&'m [u8]),
    Shortened(Box<[u8; MEMBER_MAX + 1]>),
}

impl<'m> Member<'m> {
    #[inline]
    pub fn new(member: &'m [u8]) -> Member<'m> {
        if member.len() <= MEMBER_MAX {
            return Member {
                indexed: Indexed::Itself(member),
                whole: None,
            };
        }
        let mut short = Box::new([0; MEMBER_MAX + 1]);
        let (begin, digest) = short.split_at_mut(MEMBER_MAX + 1 - DIGEST_LEN);
        begin.copy_from_slice(&member[..begin.len()]);
        digest.copy_from_slice(&Sha256::digest(member));
        Member {
            indexed: Indexed::Shortened(short),
            whole: Some(member),
        }
    }

    #[inline]
    pub fn indexed(&self) -> &[u8] {
        match &self.indexed {
            Indexed::Itself(member) => member,
            Indexed::Shortened(short) => &short[..],
        }
    }
}
