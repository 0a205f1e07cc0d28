//! JSON, held against a running MariaDB 10.11 where it and MySQL 8.0 agree.
//!
//! `LATSDB_MARIADB` holds the options of the `mariadb` client that reach it, as `-h127.0.0.1 -P3307 -uroot`; without it these
//! tests pass without looking.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::io::Write;
use std::process::{Command, Stdio};
use types::Json;
use types::json::{JsonPath, Members, Node, Placement, extract};

/// What MariaDB answers to each expression; nothing if there is no MariaDB to ask.
fn ask(expressions: &[String]) -> Option<Vec<String>> {
    let options = std::env::var("LATSDB_MARIADB").ok()?;
    let mut client = Command::new("mariadb")
        .args(options.split_whitespace())
        .args(["-N", "-B", "-r", "--default-character-set=utf8mb4"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let script: String = expressions.iter().map(|e| format!("select {e};\n")).collect();
    let mut stdin = client.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
    let output = client.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let answers: Vec<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(answers.len(), expressions.len(), "an expression was refused");
    Some(answers)
}

fn documents() -> impl Strategy<Value = Node> {
    let scalar = prop_oneof![
        Just(Node::Null),
        any::<bool>().prop_map(Node::Bool),
        (-3i64..10).prop_map(Node::Int),
        "[a-c]{0,2}".prop_map(Node::Str),
    ];
    scalar.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| Node::Array(items.into())),
            proptest::collection::vec(("[a-c]", inner), 0..4).prop_map(|m| Node::Object(Members::new(m))),
        ]
    })
}

/// JSON by its meaning: MariaDB prints members in another order.
fn normal(answer: &str) -> String {
    Json::parse(answer).map_or_else(|_| answer.to_owned(), |json| json.to_string())
}

#[test]
fn functions() {
    let mut runner = TestRunner::deterministic();
    let strategy = (
        documents(),
        documents(),
        "\\$(\\.[a-c]|\\[[0-2]\\]){0,3}",
        "\\$(\\.[a-c]|\\[[0-2]\\]|\\.\\*|\\[\\*\\]|\\*\\*\\.[a-c]){0,3}",
    );
    let mut expressions = Vec::new();
    let mut ours: Vec<Option<String>> = Vec::new();
    for _ in 0..1500 {
        let (a, b, path_text, wild_text) = strategy.new_tree(&mut runner).unwrap().current();
        let (x, y) = (Json::from(&a), Json::from(&b));
        let (x, y) = (x.as_ref(), y.as_ref());
        let path = JsonPath::parse(&path_text).unwrap();
        let wild = JsonPath::parse(&wild_text).unwrap();
        let mut add = |expression: String, answer: Option<String>| {
            expressions.push(expression);
            ours.push(answer);
        };
        let changed = |f: &dyn Fn(&mut Node)| {
            let mut node = a.clone();
            f(&mut node);
            Some(Json::from(&node).to_string())
        };
        add(
            format!("json_extract('{x}', '{wild_text}')"),
            extract(x, std::slice::from_ref(&wild)).map(|j| j.to_string()),
        );
        add(format!("json_type('{x}')"), Some(x.type_name().to_owned()));
        add(format!("json_length('{x}')"), Some(x.length().to_string()));
        add(format!("json_depth('{x}')"), Some(x.depth().to_string()));
        add(format!("json_keys('{x}')"), x.keys().map(|j| j.to_string()));
        add(
            format!("json_contains('{x}', '{y}')"),
            Some(u8::from(x.contains(y)).to_string()),
        );
        add(
            format!("json_merge_patch('{x}', '{y}')"),
            Some(Json::from(&a.clone().merge_patch(b.clone())).to_string()),
        );
        add(
            format!("json_merge_preserve('{x}', '{y}')"),
            Some(Json::from(&a.clone().merge_preserve(b.clone())).to_string()),
        );
        if !path.is_root() {
            add(
                format!("json_remove('{x}', '{path_text}')"),
                changed(&|n| n.remove(&path)),
            );
            for (name, placement) in [
                ("set", Placement::Set),
                ("insert", Placement::Insert),
                ("replace", Placement::Replace),
            ] {
                add(
                    format!("json_{name}('{x}', '{path_text}', 77)"),
                    changed(&|n| n.place(&path, Node::Int(77), placement)),
                );
            }
        }
        if x.at(&path).is_some() {
            add(
                format!("json_array_append('{x}', '{path_text}', 77)"),
                changed(&|n| n.array_append(&path, Node::Int(77))),
            );
        }
    }
    let Some(theirs) = ask(&expressions) else { return };
    let different: Vec<String> = (0..expressions.len())
        .filter(|&i| ours[i].as_deref().unwrap_or("NULL") != normal(&theirs[i]))
        // MariaDB finds by `**` in another order, and takes an array within a candidate for contained in null.
        .filter(|&i| !expressions[i].contains("**") && !expressions[i].starts_with("json_contains('["))
        .map(|i| format!("{}: {:?}, MariaDB {}", expressions[i], ours[i], theirs[i]))
        .collect();
    assert!(
        different.is_empty(),
        "{} of {}:\n{}",
        different.len(),
        ours.len(),
        different[..different.len().min(60)].join("\n")
    );
}
