//! LatsDB against itself: answers that must agree whatever they are, without any other server.
//!
//! | check | what must agree | source |
//! |---|---|---|
//! | prepared | the text and the prepared protocol | |
//! | index | a table with and without its indexes | |
//! | NoREC | the rows that WHERE keeps, and the rows of which it is true | Rigger, Su: "Detecting Optimization Bugs …" (2020) |
//! | TLP | all rows, and those where a condition is true, false and unknown | Rigger, Su: "Finding Bugs … via Query Partitioning" (2020) |
//! | PQS | a row, and a query whose condition that row was made to fulfil | Rigger, Su: "Testing … via Pivoted Query Synthesis" (2020) |
//! | restart | all rows before and after | |

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use mysql_client::{Answer, Client, Protocol};

use crate::compare::{self, Depth, Difference};
use crate::expr::Scope;
use crate::node::Node;
use crate::plan::{Episode, Role};
use crate::query::Generator;
use crate::rng::Rng;
use crate::session::{self, Server};

pub struct Options {
    pub server: Server,
    /// The server's own process, which may be stopped and started.
    pub node: Option<Node>,
    pub seed: u64,
    /// Ends after the episode that reaches so many statements, or this time.
    pub statements: u64,
    pub deadline: Instant,
    pub out: PathBuf,
}

#[derive(Default)]
pub struct Report {
    pub statements: u64,
    pub checks: u64,
    pub restarts: u64,
    /// Checks that an error ended.
    pub refused: u64,
    pub failures: u64,
}

const STATEMENTS_OF_AN_EPISODE: usize = 60;

/// Runs episodes until there are enough of them.
pub fn run(mut options: Options) -> Result<Report> {
    std::fs::create_dir_all(&options.out)?;
    let mut report = Report::default();
    let mut seed = options.seed;
    while report.statements < options.statements && Instant::now() < options.deadline {
        let mut client = options.server.connect_to_new("sqlgen_itself")?;
        let mut episode = Episode::new(seed);
        let mut history = Vec::new();
        for _ in 0..STATEMENTS_OF_AN_EPISODE {
            let (sql, role) = episode.next();
            report.statements += 1;
            let answer = client.query(&sql).with_context(|| format!("seed {seed}: {sql}"))?;
            let refused = matches!(answer, Answer::Error { .. });
            match (role, refused) {
                (Role::Change, true) => episode.failed(&sql),
                (Role::Change, false) => history.push(sql),
                (Role::Query, true) => {}
                (Role::Query, false) => {
                    report.checks += 1;
                    let found = prepared(&mut client, &sql, &answer)?;
                    report.note(&options.out, seed, &history, &sql, found)?;
                    let mut rng = episode.rng.clone();
                    let (what, found) = check(&mut client, &mut rng, &episode, &mut report)?;
                    report.note(&options.out, seed, &history, &what, found)?;
                }
            }
            // A transaction that was left open would hide what follows.
            episode.rng.next();
        }
        client.query("ROLLBACK")?;
        if let Some(node) = options.node.as_mut().filter(|_| seed.is_multiple_of(4)) {
            report.restarts += 1;
            let is_killed = seed.is_multiple_of(8);
            let before = contents(&mut client, &episode, is_killed)?;
            drop(client);
            node.restart(is_killed)?;
            let mut client = options.server.connect()?;
            session::must(&mut client, "USE sqlgen_itself")?;
            let after = contents(&mut client, &episode, is_killed)?;
            for ((sql, one), (_, other)) in before.iter().zip(&after) {
                let found = compare::difference(sql, other, one, Depth::Columns);
                report.note(
                    &options.out,
                    seed,
                    &history,
                    &format!("{sql} -- after a restart"),
                    found,
                )?;
            }
        }
        seed += 1;
    }
    println!("seeds {} to {}", options.seed, seed - 1);
    Ok(report)
}

impl Report {
    fn note(
        &mut self,
        out: &std::path::Path,
        seed: u64,
        history: &[String],
        sql: &str,
        found: Option<Difference>,
    ) -> Result<()> {
        let Some(Difference { class, detail }) = found else {
            return Ok(());
        };
        self.failures += 1;
        println!("FAILED {class} (seed {seed}): {sql}\n{detail}");
        let text = format!("# {class}\n{detail}\n\n{}\n\n{sql}\n", history.join("\n\n"));
        Ok(std::fs::write(
            out.join(format!("itself_{seed}_{}.txt", self.failures)),
            text,
        )?)
    }
}

/// Everything that is in the tables. Ids that failed statements have taken may be given out again after a kill, as MySQL does.
fn contents(client: &mut Client, episode: &Episode, is_killed: bool) -> Result<Vec<(String, Answer)>> {
    let mut all = Vec::new();
    for table in episode.schema.base_tables() {
        for sql in [
            format!("SELECT * FROM {}", table.name),
            format!("SHOW CREATE TABLE {}", table.name),
        ] {
            let mut answer = client.query(&sql)?;
            if let (true, Answer::Rows { rows, .. }) = (is_killed, &mut answer) {
                rows.iter_mut().flatten().flatten().for_each(without_next_id);
            }
            all.push((sql, answer));
        }
    }
    Ok(all)
}

/// Takes `AUTO_INCREMENT=7` out of a table's definition.
fn without_next_id(definition: &mut Vec<u8>) {
    const OPTION: &[u8] = b" AUTO_INCREMENT=";
    if let Some(at) = definition.windows(OPTION.len()).position(|part| part == OPTION) {
        let digits = definition[at + OPTION.len()..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        definition.drain(at..at + OPTION.len() + digits);
    }
}

/// The same query by the prepared protocol.
pub fn prepared(client: &mut Client, sql: &str, by_text: &Answer) -> Result<Option<Difference>> {
    let prepared = client.run(sql, Protocol::Prepared)?;
    let found = compare::difference(sql, &prepared, by_text, Depth::Columns);
    Ok(found.map(|found| Difference::new(format!("prepared {}", found.class), found.detail)))
}

/// One of the checks that make their own queries.
fn check(
    client: &mut Client,
    rng: &mut Rng,
    episode: &Episode,
    report: &mut Report,
) -> Result<(String, Option<Difference>)> {
    let mut generator = Generator::new(rng, &episode.schema);
    let from = generator.from(1);
    let (_, conditions) = generator.subqueries(&from.names);
    let scope = Scope {
        names: &from.names,
        scalars: &[],
        conditions: &conditions,
    };
    let condition = scope.condition(rng, 3);
    report.checks += 1;
    let mut ask = |sql: &str| -> Result<Option<Rows>> {
        report.statements += 1;
        match client.query(sql)? {
            Answer::Rows { columns, rows, .. } => Ok(Some((columns, rows))),
            Answer::Error { .. } | Answer::Ok { .. } => Ok(None),
        }
    };
    let queries = match rng.below(4) {
        0 => norec(&from.sql, &condition),
        1 => partitions(&from.sql, &condition),
        2 => indexes(rng, episode),
        _ => match pivot(rng, &from.sql, &from.names, &condition, &mut ask)? {
            Some(queries) => queries,
            None => return Ok((String::new(), None)),
        },
    };
    let (mut left, mut right): (Option<Rows>, Option<Rows>) = (None, None);
    for (sql, side) in queries
        .left
        .iter()
        .map(|sql| (sql, true))
        .chain(queries.right.iter().map(|sql| (sql, false)))
    {
        let Some((columns, rows)) = ask(sql)? else {
            report.refused += 1;
            return Ok((String::new(), None));
        };
        let side = if side { &mut left } else { &mut right };
        side.get_or_insert_with(|| (columns, Vec::new())).1.extend(rows);
    }
    let what = format!("{}\n\n{}", queries.left.join("\n\n"), queries.right.join("\n\n"));
    let (Some(left), Some(right)) = (left, right) else {
        return Ok((what, None));
    };
    let answer = |(columns, rows): Rows| Answer::Rows {
        columns,
        rows,
        warnings: 0,
    };
    let found = compare::difference("", &answer(left), &answer(right), Depth::Content);
    Ok((
        what,
        found.map(|found| Difference::new(format!("{} {}", queries.name, found.class), found.detail)),
    ))
}

type Rows = (Vec<mysql_client::Column>, Vec<Vec<Option<Vec<u8>>>>);

/// Queries whose rows, put together, are the same on both sides.
struct Queries {
    name: &'static str,
    left: Vec<String>,
    right: Vec<String>,
}

fn norec(from: &str, condition: &str) -> Queries {
    Queries {
        name: "norec",
        left: vec![format!("SELECT COUNT(*) FROM {from} WHERE {condition}")],
        right: vec![format!(
            "SELECT COALESCE(CAST(SUM({condition} IS TRUE) AS SIGNED), 0) FROM {from}"
        )],
    }
}

fn partitions(from: &str, condition: &str) -> Queries {
    Queries {
        name: "tlp",
        left: vec![format!("SELECT * FROM {from}")],
        right: vec![
            format!("SELECT * FROM {from} WHERE {condition}"),
            format!("SELECT * FROM {from} WHERE NOT ({condition})"),
            format!("SELECT * FROM {from} WHERE ({condition}) IS NULL"),
        ],
    }
}

fn indexes(rng: &mut Rng, episode: &Episode) -> Queries {
    let bases = episode.schema.base_tables();
    let with: Vec<_> = bases.iter().filter(|table| !table.indexes.is_empty()).collect();
    let table = if with.is_empty() {
        bases[0]
    } else {
        with[rng.below(with.len())]
    };
    let names = table.names(&table.name);
    let condition = Scope::of(&names).condition(rng, 2);
    let condition = format!("{condition} AND {}", Scope::of(&names).condition(rng, 1));
    let all: Vec<&str> = std::iter::once("PRIMARY")
        .chain(table.indexes.iter().map(String::as_str))
        .collect();
    let name = &table.name;
    Queries {
        name: "index",
        left: vec![format!(
            "SELECT * FROM {name} IGNORE INDEX ({}) WHERE {condition}",
            all.join(", ")
        )],
        right: vec![match table.indexes.is_empty() {
            true => format!("SELECT * FROM {name} WHERE {condition}"),
            false => format!(
                "SELECT * FROM {name} FORCE INDEX ({}) WHERE {condition}",
                rng.pick(&table.indexes)
            ),
        }],
    }
}

/// A row of the product, and a condition that it fulfils.
fn pivot(
    rng: &mut Rng,
    from: &str,
    names: &[crate::expr::Name],
    condition: &str,
    ask: &mut impl FnMut(&str) -> Result<Option<Rows>>,
) -> Result<Option<Queries>> {
    let items: Vec<&str> = names.iter().map(|name| name.sql.as_str()).collect();
    let items = items.join(", ");
    let Some((_, rows)) = ask(&format!(
        "SELECT ({condition}) IS TRUE, ({condition}) IS FALSE, {items} FROM {from}"
    ))?
    else {
        return Ok(None);
    };
    if rows.is_empty() {
        return Ok(None);
    }
    let one = &rows[rng.below(rows.len())];
    let holds = |cell: &Option<Vec<u8>>| cell.as_deref() == Some(b"1");
    let fulfilled = match (holds(&one[0]), holds(&one[1])) {
        (true, _) => format!("({condition})"),
        (_, true) => format!("NOT ({condition})"),
        _ => format!("({condition}) IS NULL"),
    };
    // How many rows are like it, as counted row by row.
    let like = |row: &&Vec<Option<Vec<u8>>>| row[0] == one[0] && row[1] == one[1];
    let count = rows.iter().filter(like).count();
    Ok(Some(Queries {
        name: "pqs",
        left: vec![format!("SELECT {count}")],
        right: vec![format!("SELECT COUNT(*) FROM {from} WHERE {fulfilled}")],
    }))
}
