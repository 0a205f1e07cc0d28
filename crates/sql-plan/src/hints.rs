//! Optimizer hints (`/*+ … */`): those that steer a plan.
//!
//! A hint is of the query block that it stands in. One that names another block, or a table or an index that there is not, says nothing.

use catalog::same_name;
use parser::ast::{Ident, IndexHint, IndexHintKind};

use crate::table::Table;

/// `NAME(argument) NAME(argument) …`
pub struct Hints<'h> {
    rest: &'h str,
}

impl<'h> Hints<'h> {
    pub fn of(text: &'h str) -> Hints<'h> {
        Hints { rest: text }
    }
}

impl<'h> Iterator for Hints<'h> {
    type Item = (&'h str, &'h str);

    fn next(&mut self) -> Option<(&'h str, &'h str)> {
        let (name, rest) = self.rest.split_once('(')?;
        let mut quote = None;
        let end = rest.bytes().position(|byte| match (quote, byte) {
            (None, b'\'' | b'"' | b'`') => {
                quote = Some(byte);
                false
            }
            (Some(open), byte) => {
                if open == byte {
                    quote = None;
                }
                false
            }
            (None, byte) => byte == b')',
        })?;
        self.rest = &rest[end + 1..];
        Some((name.trim_matches(|c: char| c.is_whitespace() || c == ','), &rest[..end]))
    }
}

/// What the hints of a query block say of its plan.
#[derive(Debug, Default)]
pub struct Steering {
    /// JOIN_FIXED_ORDER: the tables are read as they are written.
    pub is_fixed: bool,
    orders: Vec<(Place, Vec<String>)>,
    indexes: Vec<IndexWish>,
    /// NO_HASH_JOIN, and NO_BNL that MySQL has in its place: these tables are not hashed; all, where none is named.
    unhashed: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// JOIN_ORDER: in this order, others wherever.
    Anywhere,
    /// JOIN_PREFIX: before all others.
    First,
    /// JOIN_SUFFIX: behind all others.
    Last,
}

#[derive(Debug)]
struct IndexWish {
    table: String,
    kind: IndexHintKind,
    /// None named: all of the table.
    indexes: Vec<String>,
}

impl Steering {
    pub fn of(text: Option<&str>) -> Steering {
        let mut steering = Steering::default();
        let Some(text) = text else { return steering };
        let block = Hints::of(text)
            .find(|(name, _)| name.eq_ignore_ascii_case("QB_NAME"))
            .and_then(|(_, argument)| words(argument).into_iter().next());
        for (name, argument) in Hints::of(text) {
            let Some(mut words) = own_words(argument, block.as_deref()) else {
                continue;
            };
            match name.to_ascii_uppercase().as_str() {
                "JOIN_FIXED_ORDER" => steering.is_fixed = true,
                "JOIN_ORDER" => steering.orders.push((Place::Anywhere, words)),
                "JOIN_PREFIX" => steering.orders.push((Place::First, words)),
                "JOIN_SUFFIX" => steering.orders.push((Place::Last, words)),
                "NO_HASH_JOIN" | "NO_BNL" => steering.unhashed.get_or_insert_default().extend(words),
                name @ ("INDEX" | "JOIN_INDEX" | "NO_INDEX" | "NO_JOIN_INDEX") if !words.is_empty() => {
                    steering.indexes.push(IndexWish {
                        table: words.remove(0),
                        kind: match name.starts_with("NO_") {
                            true => IndexHintKind::Ignore,
                            false => IndexHintKind::Force,
                        },
                        indexes: words,
                    });
                }
                _ => {}
            }
        }
        steering
    }

    /// What is said of a table's indexes; `written` is what stands behind its name, which hints take the place of.
    pub fn index_hints(&self, table: &Table, alias: &str, written: &[IndexHint]) -> Vec<IndexHint> {
        let wishes = self.indexes.iter().filter(|wish| same_name(&wish.table, alias));
        let mut hints = wishes.filter_map(|wish| {
            let visible = table.def.indexes.iter().filter(|index| index.visible);
            let named = visible.filter(|index| {
                governor::pause();
                wish.indexes.is_empty() || wish.indexes.iter().any(|name| same_name(name, &index.name))
            });
            let indexes: Vec<Ident> = named.map(|index| Ident::from(index.name.as_str())).collect();
            (!indexes.is_empty()).then_some(IndexHint {
                kind: wish.kind,
                scope: None,
                indexes,
            })
        });
        match hints.next() {
            None => written.to_vec(),
            Some(first) => std::iter::once(first).chain(hints).collect(),
        }
    }

    /// For each table of a block, those that are wished to be read before it.
    pub fn wished_before(&self, aliases: &[&str]) -> Vec<Vec<usize>> {
        let mut before = vec![Vec::new(); aliases.len()];
        for (place, names) in &self.orders {
            let position = |name: &String| aliases.iter().position(|alias| same_name(alias, name));
            let mut named: Vec<usize> = Vec::new();
            for table in names.iter().filter_map(position) {
                governor::pause();
                if !named.contains(&table) {
                    named.push(table);
                }
            }
            let others = (0..aliases.len()).filter(|table| !named.contains(table));
            for (at, table) in named.iter().enumerate() {
                before[*table].extend(&named[..at]);
                if *place == Place::Last {
                    before[*table].extend(others.clone());
                }
            }
            if *place == Place::First {
                others.for_each(|table| before[table].extend(&named));
            }
        }
        before
    }

    pub fn may_hash(&self, alias: &str) -> bool {
        governor::pause();
        let is_named = |names: &Vec<String>| names.is_empty() || names.iter().any(|name| same_name(name, alias));
        !self.unhashed.as_ref().is_some_and(is_named)
    }
}

/// The names of an argument, as far as they are of the block that is called so; None where all of it is of another.
fn own_words(argument: &str, block: Option<&str>) -> Option<Vec<String>> {
    let is_own = |name: &str| block.is_some_and(|block| same_name(block, name));
    let mut own = Vec::new();
    for (at, word) in words(argument).into_iter().enumerate() {
        match word.split_once('@') {
            None => own.push(word),
            Some(("", name)) if at == 0 && !is_own(name) => return None,
            Some(("", _)) => {}
            Some((table, name)) if is_own(name) => own.push(table.to_owned()),
            Some(_) => {}
        }
    }
    Some(own)
}

/// Names between spaces and commas, or in backticks.
fn words(argument: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for char in argument.chars() {
        match char {
            '`' => is_quoted = !is_quoted,
            char if !is_quoted && (char.is_whitespace() || char == ',') => words.push(String::new()),
            char => words.last_mut().expect("there is one").push(char),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_block() {
        assert_eq!(own_words(" t1 , `t 2`  i1", None).unwrap(), ["t1", "t 2", "i1"]);
        assert_eq!(own_words("@q t1", None), None);
        assert_eq!(own_words("@q t1", Some("Q")).unwrap(), ["t1"]);
        assert_eq!(own_words("t1@q, t2@r", Some("q")).unwrap(), ["t1"]);
        assert_eq!(own_words("", None).unwrap(), [""; 0]);
    }

    #[test]
    fn orders_become_what_comes_before() {
        let before = |text: &str| Steering::of(Some(text)).wished_before(&["a", "b", "c"]);
        assert_eq!(before("JOIN_ORDER(c, a)"), [vec![2], vec![], vec![]]);
        assert_eq!(before("JOIN_PREFIX(b, nosuch)"), [vec![1], vec![], vec![1]]);
        assert_eq!(before("JOIN_SUFFIX(b, a)"), [vec![1, 2], vec![2], vec![]]);
        assert_eq!(before("INDEX(a i)"), [vec![], vec![], vec![0; 0]]);
        assert!(Steering::of(Some("BKA(a) join_fixed_order()")).is_fixed);
        let steering = Steering::of(Some("NO_BNL(b) NO_HASH_JOIN(@q c)"));
        assert!(steering.may_hash("a") && !steering.may_hash("B") && steering.may_hash("c"));
        assert!(!Steering::of(Some("NO_HASH_JOIN()")).may_hash("a"));
    }
}
