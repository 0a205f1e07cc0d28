//! Searches against a model that looks at all rows: random texts, random changes in transactions that commit or roll back, and random
//! queries in boolean mode and in natural language.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::common::{Client, Database};

const WORDS: [&str; 8] = ["cat", "cats", "catalog", "dog", "dogma", "bird", "the", "of"];
const STOPWORDS: [&str; 2] = ["the", "of"];
const IDS: i32 = 12;

type Rows = BTreeMap<i32, Vec<usize>>;

#[derive(Debug, Clone)]
enum Change {
    Put(i32, Vec<usize>),
    Delete(i32),
}

#[derive(Debug, Clone)]
enum Part {
    Word(usize),
    Prefix(usize),
    /// One word behind the other.
    Phrase(Vec<usize>),
    /// All within so many words.
    Near(Vec<usize>, usize),
    Group(Vec<Item>),
}

#[derive(Debug, Clone)]
struct Item {
    /// One of `+-<>~`, or a space.
    operator: char,
    part: Part,
}

fn text_of(words: &[usize]) -> String {
    let words: Vec<&str> = words.iter().map(|&word| WORDS[word]).collect();
    words.join(", ")
}

fn written(items: &[Item]) -> String {
    let part = |part: &Part| match part {
        Part::Word(word) => WORDS[*word].to_owned(),
        Part::Prefix(word) => format!("{}*", WORDS[*word]),
        Part::Phrase(words) => format!("\"{}\"", text_of(words)),
        Part::Near(words, distance) => format!("\"{}\"@{distance}", text_of(words)),
        Part::Group(items) => format!("({})", written(items)),
    };
    let items = items
        .iter()
        .map(|item| format!("{}{}", item.operator, part(&item.part)));
    items.collect::<Vec<_>>().join(" ")
}

fn lowers(items: &[Item]) -> bool {
    let inside = |part: &Part| matches!(part, Part::Group(items) if lowers(items));
    items
        .iter()
        .any(|item| "<~".contains(item.operator) || inside(&item.part))
}

fn is_stopword(word: usize) -> bool {
    STOPWORDS.contains(&WORDS[word])
}

fn has(row: &[usize], part: &Part) -> bool {
    match part {
        Part::Word(word) => !is_stopword(*word) && row.contains(word),
        Part::Prefix(word) => row
            .iter()
            .any(|&other| !is_stopword(other) && WORDS[other].starts_with(WORDS[*word])),
        Part::Phrase(words) => {
            // Stopwords at the beginning do not count.
            let words: Vec<usize> = words.iter().copied().skip_while(|&word| is_stopword(word)).collect();
            !words.is_empty() && row.windows(words.len()).any(|part| part == words)
        }
        Part::Near(words, distance) => {
            let wanted: BTreeSet<usize> = words.iter().copied().filter(|&word| !is_stopword(word)).collect();
            if wanted.is_empty() {
                return false;
            }
            // A word alone is nowhere but near itself.
            let all: Vec<usize> = words.iter().copied().skip_while(|&word| is_stopword(word)).collect();
            if all.len() == 1 {
                return row.contains(&all[0]);
            }
            let parts = (0..row.len()).map(|start| &row[start..row.len().min(start + distance)]);
            parts
                .into_iter()
                .any(|part| wanted.iter().all(|word| part.contains(word)))
        }
        Part::Group(_) => unreachable!("a group finds rows, not a row"),
    }
}

/// The rows that the items of one level find.
fn found(rows: &Rows, items: &[Item]) -> BTreeSet<i32> {
    let of = |part: &Part| match part {
        Part::Group(items) => found(rows, items),
        part => rows
            .iter()
            .filter(|(_, row)| has(row, part))
            .map(|(&id, _)| id)
            .collect(),
    };
    let with = |operators: &'static str| items.iter().filter(move |item| operators.contains(item.operator));
    let mut result: BTreeSet<i32> = with(" <>").flat_map(|item| of(&item.part)).collect();
    for (at, item) in with("+").enumerate() {
        let there = of(&item.part);
        result = match at {
            0 => there,
            _ => result.intersection(&there).copied().collect(),
        };
    }
    for item in with("-") {
        let there = of(&item.part);
        result = result.difference(&there).copied().collect();
    }
    result
}

fn words(most: usize) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..WORDS.len(), 0..most)
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (0..IDS, words(10)).prop_map(|(id, words)| Change::Put(id, words)),
        1 => (0..IDS).prop_map(Change::Delete),
    ]
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let phrase = || prop::collection::vec(0..WORDS.len(), 1..4);
    let word = prop_oneof![
        4 => (0..WORDS.len()).prop_map(Part::Word),
        1 => (0..WORDS.len()).prop_map(Part::Prefix),
        1 => phrase().prop_map(Part::Phrase),
        1 => (phrase(), 1usize..6).prop_map(|(words, distance)| Part::Near(words, distance)),
    ];
    let list = |part: BoxedStrategy<Part>| {
        let operator = prop::sample::select(&[' ', ' ', '+', '-', '<', '>', '~'][..]);
        let item = (operator, part).prop_map(|(operator, part)| Item { operator, part });
        prop::collection::vec(item, 1..5)
    };
    let leaf = list(word.clone().boxed());
    leaf.prop_recursive(2, 16, 4, move |inner| {
        let part = prop_oneof![3 => word.clone(), 1 => inner.prop_map(Part::Group)];
        list(part.boxed())
    })
}

fn ids(lines: &[String]) -> BTreeSet<i32> {
    lines[1..].iter().map(|line| line.parse().unwrap()).collect()
}

fn apply(client: &mut Client, rows: &mut Rows, change: &Change) {
    match change {
        Change::Put(id, words) => {
            rows.insert(*id, words.clone());
            // Parts of a text lie in two columns, of which a phrase knows nothing.
            client.run(&format!("REPLACE INTO t VALUES ({id}, '{}', NULL)", text_of(words)));
        }
        Change::Delete(id) => {
            rows.remove(id);
            client.run(&format!("DELETE FROM t WHERE id = {id}"));
        }
    }
}

fn check(client: &mut Client, rows: &Rows, query: &[Item]) {
    let search = format!("MATCH (a, b) AGAINST ('{}' IN BOOLEAN MODE)", written(query));
    let mut expected = found(rows, query);
    // What `<` takes away can leave a relevance of exactly zero, which is no match.
    if lowers(query) {
        let balanced = ids(&client.run(&format!("SELECT id FROM t WHERE {search} = 0")));
        expected.retain(|id| !balanced.contains(id));
    }
    assert_eq!(
        ids(&client.run(&format!("SELECT id FROM t WHERE {search}"))),
        expected,
        "{search}"
    );
    // A row that is found twice over, by an index and by a scan that looks its relevance up.
    let scanned = client.run(&format!("SELECT id FROM t WHERE {search} OR id < 0"));
    assert!(ids(&scanned).is_subset(&expected), "{search}");
    let natural: Vec<usize> = query
        .iter()
        .filter_map(|item| match item.part {
            Part::Word(word) => Some(word),
            _ => None,
        })
        .collect();
    let any: Vec<Item> = natural
        .iter()
        .map(|&word| Item {
            operator: ' ',
            part: Part::Word(word),
        })
        .collect();
    let search = format!("MATCH (a, b) AGAINST ('{}')", text_of(&natural));
    let lines = client.run(&format!("SELECT id FROM t WHERE {search}"));
    assert_eq!(ids(&lines), found(rows, &any), "{search}");
    let ranked = client.run(&format!(
        "SELECT id FROM t WHERE {search} > 0 ORDER BY {search} DESC, id"
    ));
    assert_eq!(lines, ranked, "{search}: the most relevant first");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn searches_find_what_the_model_finds(
        collation in prop::sample::select(&["utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_0900_as_cs"][..]),
        steps in prop::collection::vec((prop::collection::vec(change(), 1..6), any::<bool>(), items()), 1..8),
    ) {
        let mut database = Database::open();
        let (mut client, mut other) = (database.session(), database.session());
        client.run(&format!(
            "CREATE TABLE t (id INT PRIMARY KEY, a TEXT COLLATE {collation}, b TEXT COLLATE {collation}, FULLTEXT (a, b))"
        ));
        let mut rows = Rows::new();
        for (changes, commits, query) in &steps {
            let before = rows.clone();
            client.run("BEGIN");
            for change in changes {
                apply(&mut client, &mut rows, change);
            }
            // Its own rows are seen by the transaction, and by nobody else.
            check(&mut client, &rows, query);
            check(&mut other, &before, query);
            if *commits {
                client.run("COMMIT");
            } else {
                client.run("ROLLBACK");
                rows = before;
            }
            check(&mut client, &rows, query);
            check(&mut other, &rows, query);
        }
        // A key that comes later has the same entries.
        client.run("ALTER TABLE t DROP KEY a, ADD FULLTEXT later (b, a)");
        for (_, _, query) in &steps {
            check(&mut client, &rows, query);
        }
    }
}

/// A snapshot goes on finding what it shows.
#[test]
fn a_snapshot_finds_its_own_rows() {
    let mut database = Database::open();
    let (mut reader, mut writer) = (database.session(), database.session());
    writer.run("CREATE TABLE t (id INT PRIMARY KEY, a TEXT, FULLTEXT (a))");
    writer.run("INSERT INTO t VALUES (1, 'one cat'), (2, 'two cats'), (3, 'three dogs')");
    reader.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    writer.run("UPDATE t SET a = 'no more' WHERE id = 1");
    writer.run("DELETE FROM t WHERE id = 3");
    writer.run("INSERT INTO t VALUES (4, 'four cat')");
    let search =
        |word: &str| format!("SELECT id FROM t WHERE MATCH (a) AGAINST ('{word}' IN BOOLEAN MODE) ORDER BY id");
    assert_eq!(reader.run(&search("cat")), ["id", "1"]);
    assert_eq!(reader.run(&search("cat* dogs")), ["id", "1", "2", "3"]);
    assert_eq!(reader.run(&search("more")), ["id"]);
    reader.run("COMMIT");
    assert_eq!(reader.run(&search("cat* dogs more")), ["id", "1", "2", "4"]);
}

/// What is deep, long or hostile ends with an answer or an error, and not with the server.
#[test]
fn hostile_searches_end() {
    let mut database = Database::open();
    let mut client = database.session();
    client.run("CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT, FULLTEXT (a), FULLTEXT n (a) WITH PARSER ngram)");
    client.run("INSERT INTO t VALUES (1, 'some words of a text'), (2, NULL), (3, ''), (4, REPEAT('word ', 20000))");
    client.run("INSERT INTO t VALUES (5, REPEAT('w', 300000)), (6, REPEAT(' ', 300000)), (7, '\\0\\0abc\\0')");
    let mut search = |text: &str| {
        let sql = format!("SELECT COUNT(*) FROM t IGNORE INDEX (n) WHERE MATCH (a) AGAINST ({text} IN BOOLEAN MODE)");
        client.try_run(&sql).map(|lines| lines[1].clone())
    };
    assert_eq!(search("'word'").unwrap(), "1");
    assert_eq!(search("'w*'").unwrap(), "2");
    assert_eq!(search("'abc'").unwrap(), "1");
    assert_eq!(search("REPEAT('+word ', 20000)").unwrap(), "1");
    assert_eq!(
        search("CONCAT(REPEAT('(', 100), 'word', REPEAT(')', 100))").unwrap(),
        "1"
    );
    let deep = search("CONCAT(REPEAT('(', 1000000), 'word', REPEAT(')', 1000000))");
    assert!(deep.is_err(), "{deep:?}");
    assert_eq!(
        search("REPEAT('(', 1000000)").map_err(|error| error.code()),
        deep.map_err(|error| error.code())
    );
    assert_eq!(search("REPEAT('\"', 100001)").unwrap(), "0");
    assert_eq!(search("CONCAT('\"', REPEAT('word ', 100), '\"')").unwrap(), "1");
    assert_eq!(
        search("CONCAT('\"', REPEAT('word ', 200), '\"')").unwrap_err().code(),
        191
    );
    assert_eq!(search("X'ff80c3'").unwrap(), "0");
    assert_eq!(search("''").unwrap(), "0");
}
