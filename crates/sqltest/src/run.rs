//! Running a script.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::answer::{self, Warning};
use crate::script::{Block, Body, Directive, Expression, Other, Script, Test, UNEXPLAINED};
use mysql_client::{Answer, Client, ClientError, Login, Protocol};

/// What every connection says first, so that servers with different defaults can be held to one script.
const SETTINGS: [&str; 3] = [
    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
    "SET SESSION sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,\
     NO_ENGINE_SUBSTITUTION'",
    "SET SESSION time_zone = '+00:00'",
];

/// MariaDB cuts what does not fit a fraction of a second where MySQL rounds it.
const MARIADB_SETTING: &str = "SET SESSION sql_mode = CONCAT(@@sql_mode, ',TIME_ROUND_FRACTIONAL')";

/// How long a statement that has to wait is watched for an answer that must not come.
const WAITING: Duration = Duration::from_millis(300);
/// How long the answer to a started statement may take once it can come.
const FINISHING: Duration = Duration::from_secs(60);

/// Where and how a script runs.
pub struct Target {
    pub address: String,
    pub user: String,
    pub password: String,
    pub protocol: Protocol,
    pub task: Task,
}

/// What is done with a server's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// They must be those of the script.
    Check,
    /// They are written into the script: as the common answer where there is none, else as the server's own.
    Record,
}

impl Target {
    pub fn connect(&self) -> Result<Client> {
        let login = Login {
            address: &self.address,
            user: &self.user,
            password: &self.password,
            database: None,
            program_name: "sqltest",
        };
        Ok(Client::connect(&login)?)
    }
}

/// What came of a script.
#[derive(Default)]
pub struct Outcome {
    pub passed: usize,
    pub skipped: usize,
    /// Answers of blocks that say `differs`, and do.
    pub differing: usize,
    pub failures: Vec<Failure>,
}

pub struct Failure {
    pub line: usize,
    pub sql: String,
    pub expected: String,
    pub got: String,
}

type Started = Receiver<Result<(Client, Answer), ClientError>>;

struct Run<'a> {
    target: &'a Target,
    database: String,
    server: &'static str,
    version: String,
    connections: HashMap<String, Client>,
    started: HashMap<String, Started>,
    /// Of the last statement: its results before the last one.
    earlier: Vec<Answer>,
    outcome: Outcome,
}

/// Runs `script` in a database of its own.
pub fn run(script: &mut Script, name: &str, target: &Target) -> Result<Outcome> {
    let database = format!("sqltest_{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let mut run = Run {
        target,
        database,
        server: "",
        version: String::new(),
        connections: HashMap::new(),
        started: HashMap::new(),
        earlier: Vec::new(),
        outcome: Outcome::default(),
    };
    let mut first = target.connect()?;
    (run.server, run.version) = server_of(&first);
    let database = &run.database;
    for sql in [
        format!("DROP DATABASE IF EXISTS {database}"),
        format!("CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"),
    ] {
        must(&mut first, &sql)?;
    }
    run.prepare(&mut first)?;
    run.connections.insert(String::new(), first);
    for block in &mut script.blocks {
        if let Block::Test(test) = block {
            run.test(test).with_context(|| format!("line {}", test.line))?;
        }
    }
    if let Some(name) = run.started.keys().next() {
        bail!("{name} was started and never finished");
    }
    if target.task == Task::Record {
        script.note_recorded(run.server, &run.version);
    }
    // Other connections may hold locks on the tables.
    let mut first = run.connection("")?;
    run.connections.clear();
    must(&mut first, &format!("DROP DATABASE IF EXISTS {}", run.database))?;
    Ok(run.outcome)
}

/// What kind of server it is, and its version.
pub fn server_of(client: &Client) -> (&'static str, String) {
    let version = client.server_version.trim_start_matches("5.5.5-").to_owned();
    let name = match version.as_str() {
        version if version.contains("MariaDB") => "mariadb",
        version if version.contains("LatsDB") => "latsdb",
        _ => "mysql",
    };
    (name, version)
}

pub fn must(client: &mut Client, sql: &str) -> Result<()> {
    match client.run(sql, Protocol::Text)? {
        Answer::Error { code, message, .. } => bail!("{sql}: {code} {message}"),
        _ => Ok(()),
    }
}

impl Run<'_> {
    fn prepare(&self, client: &mut Client) -> Result<()> {
        SETTINGS.iter().try_for_each(|sql| must(client, sql))?;
        if self.server == "mariadb" {
            must(client, MARIADB_SETTING)?;
        }
        must(client, &format!("USE {}", self.database))
    }

    fn test(&mut self, test: &mut Test) -> Result<()> {
        if test.skipped_on(self.server) {
            self.outcome.skipped += 1;
            return Ok(());
        }
        let name = test.connection().to_owned();
        let by_text = test.text_only();
        let protocol = if by_text { Protocol::Text } else { self.target.protocol };
        let (line, sorted, minds_message) = (test.line, test.sorted(), test.minds_message());
        let (starts, finishes) = (test.starts(), test.finished().is_some());
        let why = test.why_differs(self.server).map(str::to_owned);
        match &mut test.body {
            Body::Each(each) => {
                for expression in each {
                    let sql = format!("SELECT {}", expression.text);
                    let (answer, warnings) = self.ask(&name, &sql, protocol)?;
                    let got = answer::line(&answer, &warnings, minds_message);
                    match self.target.task {
                        Task::Record => self.record_expression(expression, got, why.as_deref()),
                        Task::Check => self.check_expression(expression, got, sql, line, why.is_some()),
                    }
                }
            }
            Body::Statement { sql, .. } if starts => self.start(name, sql.clone(), protocol, line)?,
            Body::Statement { sql, .. } => {
                let (answer, warnings) = if finishes {
                    self.finish(&name)?
                } else {
                    self.ask(&name, sql, protocol)?
                };
                let got = answer::all_lines(&self.earlier, &answer, &warnings, minds_message);
                self.earlier.clear();
                match self.target.task {
                    Task::Record => self.record_statement(test, &answer, got, sorted),
                    Task::Check => self.check_statement(test, &answer, got, sorted),
                }
            }
        }
        Ok(())
    }

    fn check_expression(&mut self, expression: &Expression, got: String, sql: String, line: usize, may_differ: bool) {
        let own = expression.others.iter().find(|other| other.server == self.server);
        let expected = own.map(|other| &other.answer).or(expression.answer.as_ref());
        let agrees = expected.is_some_and(|expected| answer::line_agrees(expected, &got));
        self.outcome.differing += usize::from(own.is_some() || may_differ);
        if agrees || own.is_none() && may_differ {
            self.outcome.passed += 1;
            return;
        }
        self.outcome.failures.push(Failure {
            line,
            sql,
            expected: expected.map_or("(not recorded)", String::as_str).to_owned(),
            got,
        });
    }

    fn record_expression(&mut self, expression: &mut Expression, got: String, why: Option<&str>) {
        self.outcome.passed += 1;
        let at = expression.others.iter().position(|other| other.server == self.server);
        match &expression.answer {
            None => expression.answer = Some(got),
            Some(common) if answer::line_agrees(common, &got) => {
                at.map(|at| expression.others.remove(at));
            }
            Some(_) => {
                self.outcome.differing += 1;
                match at {
                    Some(at) => expression.others[at].answer = got,
                    None => expression.others.push(Other {
                        server: self.server.to_owned(),
                        why: why.unwrap_or(UNEXPLAINED).to_owned(),
                        answer: got,
                    }),
                }
            }
        }
    }

    fn check_statement(&mut self, test: &Test, answer: &Answer, got: Vec<String>, sorted: bool) {
        let Body::Statement {
            sql,
            answer: common,
            others,
        } = &test.body
        else {
            return;
        };
        let own = others.iter().find(|(server, _)| server == self.server);
        let may_differ = test.differs_on(self.server);
        self.outcome.differing += usize::from(own.is_some() || may_differ);
        let expected = own.map(|(_, lines)| lines).or(common.as_ref());
        let agrees = match expected {
            None => !matches!(answer, Answer::Error { .. }),
            Some(lines) => answer::agree(lines, &got, sorted),
        };
        if agrees || own.is_none() && may_differ {
            self.outcome.passed += 1;
            return;
        }
        let expected = expected.map_or("success".to_owned(), |lines| lines.join("\n"));
        let got = match answer {
            Answer::Error { message, .. } if !test.minds_message() => format!("{}: {message}", got[0]),
            _ => got.join("\n"),
        };
        self.outcome.failures.push(Failure {
            line: test.line,
            sql: sql.clone(),
            expected,
            got,
        });
    }

    fn record_statement(&mut self, test: &mut Test, got_answer: &Answer, got: Vec<String>, sorted: bool) {
        let server = self.server;
        self.outcome.passed += 1;
        let explained = test.differs_on(server);
        let Body::Statement { answer, others, .. } = &mut test.body else {
            return;
        };
        let agrees = match answer {
            None => !matches!(got_answer, Answer::Error { .. }),
            Some(lines) if lines.is_empty() => {
                lines.clone_from(&got);
                true
            }
            Some(lines) => answer::agree(lines, &got, sorted),
        };
        let at = others.iter().position(|(other, _)| other == server);
        if agrees {
            at.map(|at| others.remove(at));
            test.directives
                .retain(|directive| !matches!(directive, Directive::Differs { server: other, .. } if other == server));
            return;
        }
        self.outcome.differing += 1;
        match at {
            Some(at) => others[at].1 = got,
            None => others.push((server.to_owned(), got)),
        }
        if !explained {
            test.directives.push(Directive::Differs {
                server: server.to_owned(),
                why: UNEXPLAINED.to_owned(),
            });
        }
    }

    fn ask(&mut self, name: &str, sql: &str, protocol: Protocol) -> Result<(Answer, Vec<Warning>)> {
        let mut client = self.connection(name)?;
        let asked: Result<_> = (|| {
            let mut answer = client.run(sql, protocol)?;
            self.earlier = client.take_earlier();
            let warnings = warnings(&mut client, &answer)?;
            if self.server == "mariadb" {
                answer = as_mysql_says_it(answer);
            }
            Ok((answer, warnings))
        })();
        match asked {
            Ok(answer) => {
                self.connections.insert(name.to_owned(), client);
                Ok(answer)
            }
            // The connection is gone: one failure, and a new connection for what follows.
            Err(error) => Ok((lost(&error), Vec::new())),
        }
    }

    fn connection(&mut self, name: &str) -> Result<Client> {
        if let Some(client) = self.connections.remove(name) {
            return Ok(client);
        }
        if self.started.contains_key(name) {
            bail!("connection {name} is waiting");
        }
        let mut client = self.target.connect()?;
        self.prepare(&mut client)?;
        Ok(client)
    }

    fn start(&mut self, name: String, sql: String, protocol: Protocol, line: usize) -> Result<()> {
        let mut client = self.connection(&name)?;
        let (sender, receiver) = mpsc::channel();
        let (watch_sender, watch) = mpsc::channel();
        let statement = sql.clone();
        thread::spawn(move || {
            let answer = client.run(&statement, protocol);
            let _ = watch_sender.send(());
            let _ = sender.send(answer.map(|answer| (client, answer)));
        });
        match watch.recv_timeout(WAITING) {
            Err(RecvTimeoutError::Timeout) => self.outcome.passed += 1,
            _ => self.outcome.failures.push(Failure {
                line,
                sql,
                expected: "to wait".to_owned(),
                got: "an answer at once".to_owned(),
            }),
        }
        self.started.insert(name, receiver);
        Ok(())
    }

    fn finish(&mut self, name: &str) -> Result<(Answer, Vec<Warning>)> {
        let started = self
            .started
            .remove(name)
            .with_context(|| format!("{name} was not started"))?;
        match started.recv_timeout(FINISHING) {
            Ok(Ok((mut client, answer))) => {
                let warnings = warnings(&mut client, &answer)?;
                self.connections.insert(name.to_owned(), client);
                Ok((answer, warnings))
            }
            Ok(Err(error)) => Ok((lost(&error), Vec::new())),
            Err(_) => bail!("{name} still waits after {} s", FINISHING.as_secs()),
        }
    }
}

/// An error of MariaDB in MySQL's terms: the SQLSTATE that MySQL has for its number, and MySQL's name in its text.
fn as_mysql_says_it(answer: Answer) -> Answer {
    match answer {
        Answer::Error {
            code,
            sqlstate,
            message,
        } => Answer::Error {
            code,
            sqlstate: if code == 1366 { "HY000".to_owned() } else { sqlstate },
            message: message.replace("your MariaDB server version", "your MySQL server version"),
        },
        other => other,
    }
}

fn lost(error: &dyn std::fmt::Display) -> Answer {
    Answer::Error {
        code: 2013,
        sqlstate: "HY000".to_owned(),
        message: format!("{error:#}"),
    }
}

fn warnings(client: &mut Client, answer: &Answer) -> Result<Vec<Warning>> {
    let (Answer::Ok { warnings, .. } | Answer::Rows { warnings, .. }) = answer else {
        return Ok(Vec::new());
    };
    if *warnings == 0 {
        return Ok(Vec::new());
    }
    let Answer::Rows { rows, .. } = client.run("SHOW WARNINGS", Protocol::Text)? else {
        let unknown = Warning {
            level: "warning".to_owned(),
            code: "?".to_owned(),
        };
        return Ok(vec![unknown; usize::from(*warnings)]);
    };
    let text = |value: &Option<Vec<u8>>| String::from_utf8_lossy(value.as_deref().unwrap_or_default()).into_owned();
    Ok(rows
        .iter()
        .map(|row| Warning {
            level: text(&row[0]),
            code: text(&row[1]),
        })
        .collect())
}
