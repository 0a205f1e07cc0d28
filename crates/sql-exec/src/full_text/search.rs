//! Which rows a query finds.
//!
//! The parts of a level are taken in three rounds, as InnoDB does: those that add rows, those that must be there, those that must not. A
//! row's relevance is the sum of tf·idf² over the words of the query that it was found by, and of what `~`, `<` and `>` say: tf is how often
//! it has the word, idf the logarithm of the table's rows by those that have it.

use std::collections::HashMap;

use governor::sort::sort_by;
use governor::stepwise::{Map, Stepwise};
use parser::ast::MatchMode;
use sql_plan::full_text::Match;
use sql_plan::table::Table;
use std::ops::ControlFlow;
use store::{Cursor, KeyRange};
use types::fulltext::{TextKeys, TextParser};
use types::{ErrorKind, SqlError, SqlResult};

use super::query::{Item, Operator, Part, Splitting, Word, parse};
use super::{Ranked, Ranking};
use crate::query::QueryContext;
use crate::runtime::QueryMemory;

/// Entries read in one go.
const CHUNK: usize = 256;
/// Words of a phrase, at most.
const PHRASE_WORDS: usize = 128;
/// About what a row that was found takes, beside its key, and one of its words.
const DOCUMENT_BYTES: usize = 160;
const POSTING_BYTES: usize = 16;

/// A row that was found by now, by its number in the search.
type Document = u32;

/// How often rows have a word.
type Postings = Stepwise<Vec<(Document, u32)>>;

#[derive(Debug, Default)]
struct Found {
    rank: f32,
    /// The words that it was found by, in order, and how often it has them.
    words: Vec<(u32, u32)>,
}

/// The rows that a level has found by now.
#[derive(Default)]
struct Level {
    documents: Map<Document, Found>,
    /// A `+` was there before: nothing is added any more.
    is_limited: bool,
}

struct Search<'s> {
    table: &'s Table,
    wanted: &'s Match,
    keys: &'s TextKeys,
    ctx: &'s QueryContext<'s>,
    memory: QueryMemory,
    by_key: Map<Box<[u8]>, Document>,
    primary_keys: Stepwise<Vec<Box<[u8]>>>,
    /// The words of the query, by their keys.
    words: HashMap<Vec<u8>, u32>,
    /// For each word, how many rows have it.
    counts: Vec<u64>,
}

pub fn search(table: &Table, wanted: &Match, text: &str, ctx: &QueryContext<'_>) -> SqlResult<Ranking> {
    let missing = || SqlError::internal("a search goes by a full-text index");
    let keys = table.rows.text_keys(wanted.index).ok_or_else(missing)?;
    let mut search = Search {
        table,
        wanted,
        keys,
        ctx,
        memory: ctx.runtime.query_memory(),
        by_key: Map::new(),
        primary_keys: Stepwise::default(),
        words: HashMap::new(),
        counts: Vec::new(),
    };
    let items = search.items(text)?;
    let mut level = search.level(&items)?;
    if wanted.mode == MatchMode::QueryExpansion {
        search.expand(&mut level)?;
    }
    search.ranking(level)
}

/// What the beginning of entries' keys stands for.
#[derive(Clone, Copy)]
enum Sought<'w> {
    /// A whole word: a row has it in one entry.
    Word,
    Prefix,
    /// A word that begins so, which the keys do not tell.
    PrefixLike(&'w str),
}

impl Search<'_> {
    /// What is asked for. An index of pieces knows no words: a word of the query is a phrase of its pieces.
    fn items(&self, text: &str) -> SqlResult<Vec<Item>> {
        let TextParser::Ngram { size } = self.keys.rules().parser else {
            return parse(text, self.wanted.mode, Splitting::Words);
        };
        if self.wanted.mode != MatchMode::Boolean {
            let item = |piece: types::fulltext::Token<'_>| Item {
                operator: Operator::None,
                part: Part::Words(vec![Word {
                    text: piece.text.to_owned(),
                    is_prefix: false,
                }]),
            };
            return Ok(self.keys.tokens(text).map(item).collect());
        }
        let mut items = parse(text, self.wanted.mode, Splitting::Whole)?;
        words_to_phrases(&mut items, usize::from(size))?;
        Ok(items)
    }

    // --- levels ---

    fn level(&mut self, items: &[Item]) -> SqlResult<Level> {
        governor::descend()?;
        let mut level = Level::default();
        for item in items {
            governor::tick()?;
            match (&item.operator, &item.part) {
                // Several words that were written as one take their turn here.
                (Operator::Must | Operator::Not, Part::Words(words)) if words.len() > 1 => {}
                (Operator::Must | Operator::Not, _) => continue,
                _ => {}
            }
            self.apply(&mut level, item)?;
        }
        for round in [Operator::Must, Operator::Not] {
            for item in items.iter().filter(|item| item.operator == round) {
                governor::tick()?;
                if !matches!(&item.part, Part::Words(words) if words.len() > 1) {
                    self.apply(&mut level, item)?;
                }
            }
        }
        Ok(level)
    }

    fn apply(&mut self, level: &mut Level, item: &Item) -> SqlResult<()> {
        match &item.part {
            Part::Words(words) => words
                .iter()
                .try_for_each(|word| self.apply_word(level, item.operator, word)),
            Part::Phrase { text, distance } => self.apply_phrase(level, item.operator, text, *distance),
            Part::Group(items) => {
                let group = self.level(items)?;
                self.apply_group(level, item.operator, &group)
            }
        }
    }

    fn apply_word(&mut self, level: &mut Level, operator: Operator, word: &Word) -> SqlResult<()> {
        let changes_nothing = match operator {
            Operator::Must => level.is_limited && level.documents.is_empty(),
            Operator::Not => level.documents.is_empty(),
            _ => false,
        };
        if changes_nothing {
            return Ok(());
        }
        let (number, postings) = self.postings_of(word)?;
        let mut change = Change::new(level, operator);
        for &(document, times) in &postings {
            governor::tick()?;
            change.take(document, 0.0);
            change.add_word(document, number, times);
        }
        change.finish();
        Ok(())
    }

    fn apply_group(&mut self, level: &mut Level, operator: Operator, group: &Level) -> SqlResult<()> {
        let mut change = Change::new(level, operator);
        for (&document, found) in group.documents.iter() {
            governor::tick()?;
            change.take(document, found.rank);
            for &(word, times) in &found.words {
                change.add_word(document, word, times);
            }
        }
        change.finish();
        Ok(())
    }

    fn apply_phrase(
        &mut self,
        level: &mut Level,
        operator: Operator,
        text: &str,
        distance: Option<usize>,
    ) -> SqlResult<()> {
        let phrase = Phrase::new(self.keys, text, distance)?;
        let mut matching = Matching::new();
        for (at, key) in phrase.indexed.iter().enumerate() {
            let number = self.word_number(key);
            let postings = self.postings(number, key, Sought::Word)?;
            let is_first = at == 0;
            matching = matching.with(is_first, number, &postings)?;
            if matching.is_empty() {
                break;
            }
        }
        let mut change = Change::new(level, operator);
        for (&document, words) in matching.iter() {
            governor::tick()?;
            if phrase.is_one_word() || self.has_phrase(document, &phrase)? {
                change.take(document, 0.0);
                for &(word, times) in words {
                    change.add_word(document, word, times);
                }
            }
        }
        change.finish();
        Ok(())
    }

    // --- entries ---

    fn word_number(&mut self, key: &[u8]) -> u32 {
        if let Some(number) = self.words.get(key) {
            return *number;
        }
        let number = self.counts.len() as u32;
        self.words.insert(key.to_vec(), number);
        self.counts.push(0);
        number
    }

    /// The rows that have a word of the query, or one that begins so.
    fn postings_of(&mut self, word: &Word) -> SqlResult<(u32, Postings)> {
        let key = self.keys.word_key(&word.text);
        let number = self.word_number(&key);
        let postings = match word.is_prefix {
            false => self.postings(number, &key, Sought::Word)?,
            true => {
                let sought = match self.keys.has_exact_prefixes() {
                    true => Sought::Prefix,
                    false => Sought::PrefixLike(&word.text),
                };
                self.postings(number, &self.keys.prefix_key(&word.text), sought)?
            }
        };
        Ok((number, postings))
    }

    /// The rows with an entry whose key begins so, each once.
    fn postings(&mut self, number: u32, key: &[u8], sought: Sought<'_>) -> SqlResult<Postings> {
        self.memory.grow(key.len() + POSTING_BYTES)?;
        let mut postings = Postings::default();
        let mut seen: Map<Document, ()> = Map::new();
        let mut cursor = Cursor::forward(KeyRange::prefix(key));
        let mut entries: Vec<(Box<[u8]>, Box<[u8]>)> = Vec::new();
        while !cursor.is_finished() {
            governor::tick()?;
            entries.clear();
            self.ctx
                .runtime
                .transaction()
                .scan(&self.table.rows, self.wanted.index, &mut cursor, CHUNK, |entry| {
                    let own = entry.key().len() - entry.primary_key().len();
                    entries.push((entry.key()[..own].into(), entry.primary_key().into()));
                    ControlFlow::Continue(())
                });
            for (entry, primary_key) in entries.drain(..) {
                governor::tick()?;
                let Some((word, times)) = self.keys.read_entry(&entry) else {
                    return Err(SqlError::internal("an entry of a full-text index is damaged"));
                };
                if let Sought::PrefixLike(beginning) = sought
                    && !self.begins_so(&primary_key, word, beginning)?
                {
                    continue;
                }
                let document = self.document(primary_key)?;
                self.counts[number as usize] += 1;
                self.memory.grow(POSTING_BYTES)?;
                // Of several words that begin alike, the first counts.
                if matches!(sought, Sought::Word) || seen.insert(document, ()).is_none() {
                    postings.push((document, times));
                }
            }
        }
        Ok(postings)
    }

    fn document(&mut self, primary_key: Box<[u8]>) -> SqlResult<Document> {
        if let Some(document) = self.by_key.get(&primary_key) {
            return Ok(*document);
        }
        self.memory.grow(2 * primary_key.len() + DOCUMENT_BYTES)?;
        let document = self.primary_keys.len() as Document;
        self.primary_keys.push(primary_key.clone());
        self.by_key.insert(primary_key, document);
        Ok(document)
    }

    // --- texts ---

    /// The texts of a row, as far as it is there. They are looked at when no guard is held any more.
    fn texts(&self, primary_key: &[u8]) -> Vec<String> {
        let rows = &self.table.rows;
        let read = |row: &[u8]| {
            let texts = self.keys.texts(rows.row_layout(), row);
            texts.map(str::to_owned).collect::<Vec<_>>()
        };
        let texts = self.ctx.runtime.transaction().get(rows, primary_key, read);
        texts.unwrap_or_default()
    }

    /// Whether a word of the row that has this key begins so.
    fn begins_so(&self, primary_key: &[u8], key: &[u8], beginning: &str) -> SqlResult<bool> {
        let chars = beginning.chars().count();
        let wanted = self.keys.word_key(beginning);
        for text in self.texts(primary_key) {
            for token in self.keys.tokens(&text) {
                governor::tick()?;
                if token.chars < chars || self.keys.word_key(token.text) != key {
                    continue;
                }
                let end = token
                    .text
                    .char_indices()
                    .nth(chars)
                    .map_or(token.text.len(), |(at, _)| at);
                if self.keys.word_key(&token.text[..end]) == wanted {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn has_phrase(&self, document: Document, phrase: &Phrase) -> SqlResult<bool> {
        let texts = self.texts(&self.primary_keys[document as usize]);
        match phrase.distance {
            Some(distance) => phrase.is_near(self.keys, &texts, distance),
            None => {
                for text in &texts {
                    if phrase.is_in(self.keys, text)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    /// WITH QUERY EXPANSION: searches for the words of the rows that were found, too.
    fn expand(&mut self, level: &mut Level) -> SqlResult<()> {
        let mut found: Map<Vec<u8>, ()> = Map::new();
        let mut documents: Vec<Document> = level.documents.iter().map(|(&document, _)| document).collect();
        documents.sort_unstable();
        for document in documents {
            for text in self.texts(&self.primary_keys[document as usize]) {
                for token in self.keys.tokens(&text) {
                    governor::tick()?;
                    let key = self.keys.word_key(token.text);
                    if self.keys.is_indexed(token, &key) && !self.words.contains_key(&key) && !found.contains_key(&key)
                    {
                        self.memory.grow(key.len() + DOCUMENT_BYTES)?;
                        found.insert(key, ());
                    }
                }
            }
        }
        let mut words: Vec<Vec<u8>> = found.iter().map(|(key, ())| key.clone()).collect();
        words.sort_unstable();
        for key in words {
            governor::tick()?;
            let number = self.word_number(&key);
            let postings = self.postings(number, &key, Sought::Word)?;
            let mut change = Change::new(level, Operator::None);
            for &(document, times) in &postings {
                governor::tick()?;
                change.take(document, 0.0);
                change.add_word(document, number, times);
            }
            change.finish();
        }
        Ok(())
    }

    // --- relevance ---

    fn ranking(mut self, level: Level) -> SqlResult<Ranking> {
        // Own rows are not among them. A word that the query has twice is counted twice: it can have more rows than there are.
        let rows = self.table.rows.estimated_rows().max(1);
        let weight = |&count: &u64| match count {
            0 => 0.0,
            // A word that all rows have still counts a little.
            count if count == rows => 1.0001_f64.log10(),
            count => (rows as f64 / count as f64).log10(),
        };
        let weights: Vec<f64> = self.counts.iter().map(weight).collect();
        let mut ranking = Ranking::empty();
        for (&document, found) in level.documents.iter() {
            governor::tick()?;
            let mut relevance = found.rank;
            for &(word, times) in &found.words {
                let weight = weights[word as usize];
                relevance += (f64::from(times) * weight * weight) as f32;
            }
            let key = self.primary_keys[document as usize].clone();
            self.memory.grow(2 * key.len() + DOCUMENT_BYTES)?;
            ranking.by_key.insert(key.clone(), relevance);
            ranking.rows.push(Ranked { key, relevance });
        }
        sort_by(&mut ranking.rows, |a, b| {
            let order = b.relevance.total_cmp(&a.relevance);
            order.then_with(|| a.key.cmp(&b.key))
        })?;
        ranking._memory = Some(self.memory);
        Ok(ranking)
    }
}

/// What one part makes of the rows of its level.
struct Change<'l> {
    level: &'l mut Level,
    operator: Operator,
    /// Of those that must be there: the ones that are.
    kept: Map<Document, Found>,
}

impl Change<'_> {
    fn new(level: &mut Level, operator: Operator) -> Change<'_> {
        Change {
            level,
            operator,
            kept: Map::new(),
        }
    }

    /// The part has found a row.
    fn take(&mut self, document: Document, rank: f32) {
        let documents = &mut self.level.documents;
        let new = || Found {
            rank,
            words: Vec::new(),
        };
        let change = |found: Option<&mut Found>, by: f32| {
            if let Some(found) = found {
                found.rank = (found.rank + by).clamp(-1.0, 1.0);
            }
        };
        match self.operator {
            Operator::None => {
                documents.or_insert_with(document, new);
            }
            Operator::Must => {
                if self.kept.contains_key(&document) {
                    return;
                }
                match documents.remove(&document) {
                    Some(mut found) => {
                        found.rank = (found.rank + rank).clamp(-1.0, 1.0);
                        self.kept.insert(document, found);
                    }
                    None if self.level.is_limited => {}
                    None => {
                        self.kept.insert(document, new());
                    }
                }
            }
            Operator::Not => {
                documents.remove(&document);
            }
            Operator::Negate => change(documents.get_mut(&document), -1.0),
            Operator::Lower => change(Some(documents.or_insert_with(document, new)), -1.0),
            Operator::Raise => change(Some(documents.or_insert_with(document, new)), 1.0),
        }
    }

    /// A row that is there has the word.
    fn add_word(&mut self, document: Document, word: u32, times: u32) {
        let found = match self.operator {
            Operator::Must => self.kept.get_mut(&document),
            _ => self.level.documents.get_mut(&document),
        };
        let Some(Found { words, .. }) = found else { return };
        if let Err(at) = words.binary_search_by_key(&word, |&(word, _)| word) {
            words.insert(at, (word, times));
        }
    }

    fn finish(self) {
        if self.operator == Operator::Must {
            self.level.documents = self.kept;
            self.level.is_limited = true;
        }
    }
}

/// The rows that have all words of a phrase, with these words.
struct Matching(Map<Document, Vec<(u32, u32)>>);

impl Matching {
    fn new() -> Matching {
        Matching(Map::new())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn iter(&self) -> impl Iterator<Item = (&Document, &Vec<(u32, u32)>)> {
        self.0.iter()
    }

    /// Those of them that have this word, too.
    fn with(mut self, is_first: bool, word: u32, postings: &Postings) -> SqlResult<Matching> {
        let mut matching = Map::new();
        for &(document, times) in postings {
            governor::tick()?;
            let words = match is_first {
                true => Some(Vec::new()),
                false => self.0.remove(&document),
            };
            if let Some(mut words) = words {
                words.push((word, times));
                matching.insert(document, words);
            }
        }
        Ok(Matching(matching))
    }
}

/// The words of a phrase, by their keys.
struct Phrase {
    /// Those that the index has.
    indexed: Vec<Vec<u8>>,
    /// From the first of these on, all that a row must have one behind the other.
    all: Vec<Vec<u8>>,
    distance: Option<usize>,
}

impl Phrase {
    /// 191 for one of too many words.
    fn new(keys: &TextKeys, text: &str, distance: Option<usize>) -> SqlResult<Phrase> {
        let mut phrase = Phrase {
            indexed: Vec::new(),
            all: Vec::new(),
            distance,
        };
        for token in keys.tokens(text) {
            governor::tick()?;
            let key = keys.word_key(token.text);
            if keys.is_indexed(token, &key) {
                phrase.indexed.push(key.clone());
            }
            if phrase.indexed.len() > PHRASE_WORDS {
                return Err(ErrorKind::FtsTooManyWordsInPhrase.into());
            }
            if !phrase.indexed.is_empty() {
                phrase.all.push(key);
            }
        }
        Ok(phrase)
    }

    fn is_one_word(&self) -> bool {
        self.all.len() == 1
    }

    /// Whether the words stand in the text one behind the other.
    fn is_in(&self, keys: &TextKeys, text: &str) -> SqlResult<bool> {
        // How many words of the phrase have been seen, for each place where it may have begun.
        let mut begun: Vec<usize> = Vec::new();
        for token in keys.tokens(text) {
            governor::tick()?;
            let key = keys.word_key(token.text);
            begun.push(0);
            begun.retain_mut(|seen| {
                let goes_on = self.all[*seen] == key;
                *seen += usize::from(goes_on);
                goes_on
            });
            if begun.first() == Some(&self.all.len()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether all words stand within so many words of the texts, which follow one another.
    fn is_near(&self, keys: &TextKeys, texts: &[String], distance: usize) -> SqlResult<bool> {
        let mut wanted: Vec<&Vec<u8>> = self.indexed.iter().collect();
        wanted.sort_unstable();
        wanted.dedup();
        // Where each was seen last: the window that ends here begins at the earliest of these.
        let mut last: Vec<Option<usize>> = vec![None; wanted.len()];
        let tokens = texts.iter().flat_map(|text| keys.tokens(text));
        for (place, token) in tokens.enumerate() {
            governor::tick()?;
            let key = keys.word_key(token.text);
            let Ok(at) = wanted.binary_search(&&key) else { continue };
            last[at] = Some(place);
            let first = last.iter().copied().collect::<Option<Vec<_>>>();
            if let Some(first) = first.and_then(|seen| seen.into_iter().min())
                && place - first < distance
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// For an index of pieces: each word is a phrase of its pieces. One that is shorter than a piece is looked for only by its beginning.
fn words_to_phrases(items: &mut [Item], size: usize) -> SqlResult<()> {
    governor::descend()?;
    for item in items {
        governor::tick()?;
        match &mut item.part {
            Part::Words(words) => {
                let is_beginning = |word: &Word| word.is_prefix && word.text.chars().count() < size;
                if let [word] = words.as_slice()
                    && is_beginning(word)
                {
                    continue;
                }
                let text = words.iter().map(|word| word.text.as_str());
                let text = text.collect::<Vec<_>>().join(" ");
                item.part = Part::Phrase { text, distance: None };
            }
            Part::Phrase { .. } => {}
            Part::Group(items) => words_to_phrases(items, size)?,
        }
    }
    Ok(())
}
