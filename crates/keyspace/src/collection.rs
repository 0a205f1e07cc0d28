//! Elements under an id: what the row of a key that holds some says of them.

use crate::failure::{Outcome, wrong_type};
use crate::head::{HeadRef, Kind};
use crate::tables::Db;
use crate::work::{Class, Work};

/// Elements under an id: what the `meta` of a key's row says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    pub id: u64,
    pub len: u64,
    /// What the type keeps beside.
    pub rest: Vec<u8>,
    pub expires_at: Option<i64>,
    pub is_new: bool,
}

impl Collection {
    pub fn of(head: HeadRef<'_>) -> Option<Collection> {
        let (id, rest) = head.meta.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        Some(Collection {
            id: u64::from_be_bytes(*id),
            len: u64::from_be_bytes(*len),
            rest: rest.to_vec(),
            expires_at: head.expires_at,
            is_new: false,
        })
    }

    /// An empty one.
    pub fn new(id: u64) -> Collection {
        Collection {
            id,
            len: 0,
            rest: Vec::new(),
            expires_at: None,
            is_new: true,
        }
    }

    pub fn meta(&self) -> Vec<u8> {
        let mut meta = Vec::with_capacity(16 + self.rest.len());
        meta.extend_from_slice(&self.id.to_be_bytes());
        meta.extend_from_slice(&self.len.to_be_bytes());
        meta.extend_from_slice(&self.rest);
        meta
    }
}

impl Work<'_> {
    /// What a key holds; an error if that is of another type.
    pub fn collection(&self, db: &Db, key: &[u8], kind: Kind) -> Outcome<Option<Collection>> {
        let found = self.read(db, key, |head| match head.kind == kind {
            true => Ok(Collection::of(head)),
            false => Err(wrong_type()),
        });
        found.unwrap_or(Ok(None))
    }

    /// As [`collection`](Self::collection), or an empty one that is to be filled. What is left of an expired one is removed.
    pub fn collection_to_fill(&mut self, db: &Db, key: &[u8], kind: Kind) -> Outcome<Collection> {
        if let Some(collection) = self.collection(db, key, kind)? {
            return Ok(collection);
        }
        self.remove(db, key)?;
        Ok(Collection::new(self.keyspace.next_id()))
    }

    /// Writes the row of a key that holds elements; without any the key is gone.
    pub fn save(&mut self, db: &Db, key: &[u8], kind: Kind, collection: &Collection) -> Outcome {
        if collection.len == 0 && kind != Kind::Stream {
            if !collection.is_new {
                self.remove(db, key)?;
                self.note(Class::Generic, "del", db, key);
            }
            return Ok(());
        }
        let meta = collection.meta();
        let head = HeadRef {
            meta: &meta,
            expires_at: collection.expires_at,
            ..HeadRef::without_value(kind)
        };
        self.put(db, key, head)
    }
}
