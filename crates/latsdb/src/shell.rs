//! `latsdb sql`: a small SQL shell over the MySQL protocol, for any server that speaks it.
//!
//! On a terminal it edits lines, keeps a history and draws tables; fed by a pipe or by `-e` it prints tab-separated rows
//! and stops at the first error, so that it can stand in scripts.

mod print;
mod split;

use std::borrow::Cow;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use mysql_client::{Answer, Client, Login};
use rustyline::error::ReadlineError;

use print::Style;
use split::{Ender, Splitter};

/// Where to connect, as whom, and what to do there.
pub struct Options {
    pub address: String,
    pub user: String,
    /// `None`: ask on the terminal.
    pub password: Option<String>,
    pub database: Option<String>,
    /// Statements to run instead of reading them.
    pub execute: Option<String>,
}

const HELP: &str = "\
A statement ends with ; or with \\G, which shows each row as a list. Beside SQL:
  \\c           forget what was typed
  \\q, exit     leave
  \\s           about this connection
  \\?, help     this text
";

pub fn run(options: &Options) -> Result<()> {
    let password = match &options.password {
        Some(password) => Cow::Borrowed(password.as_str()),
        None => Cow::Owned(ask_password()?),
    };
    let mut client = Client::connect(&Login {
        address: &options.address,
        user: &options.user,
        password: &password,
        database: options.database.as_deref(),
        program_name: "latsdb sql",
    })?;
    match &options.execute {
        Some(sql) => run_script(&mut client, sql),
        None if std::io::stdin().is_terminal() => talk(&mut client, options),
        None => {
            let mut script = String::new();
            std::io::stdin()
                .read_to_string(&mut script)
                .context("cannot read the script")?;
            run_script(&mut client, &script)
        }
    }
}

fn ask_password() -> Result<String> {
    if !std::io::stdin().is_terminal() {
        bail!("-p without a password asks for one on a terminal; here, use --password=… or MYSQL_PWD");
    }
    let mut editor = rustyline::Editor::<HiddenInput, rustyline::history::MemHistory>::with_history(
        rustyline::Config::builder().auto_add_history(false).build(),
        rustyline::history::MemHistory::new(),
    )?;
    editor.set_helper(Some(HiddenInput));
    Ok(editor.readline("Enter password: ")?)
}

/// Shows nothing of what is typed.
struct HiddenInput;

impl rustyline::highlight::Highlighter for HiddenInput {
    fn highlight<'l>(&self, _line: &'l str, _position: usize) -> Cow<'l, str> {
        Cow::Borrowed("")
    }

    fn highlight_char(&self, _line: &str, _position: usize, _kind: rustyline::highlight::CmdKind) -> bool {
        true
    }
}

impl rustyline::Helper for HiddenInput {}
impl rustyline::completion::Completer for HiddenInput {
    type Candidate = String;
}
impl rustyline::hint::Hinter for HiddenInput {
    type Hint = String;
}
impl rustyline::validate::Validator for HiddenInput {}

/// Runs every statement of `script`; the first error ends it.
fn run_script(client: &mut Client, script: &str) -> Result<()> {
    let style = if std::io::stdout().is_terminal() {
        Style::Table
    } else {
        Style::Batch
    };
    let mut splitter = Splitter::new();
    splitter.push(script);
    loop {
        let (statement, ender) = match splitter.next() {
            Some(statement) => statement,
            None => match splitter.rest() {
                Some(last) => (last, Ender::Semicolon),
                None => return Ok(()),
            },
        };
        let answer = client.query(&statement)?;
        if let Answer::Error {
            code,
            sqlstate,
            message,
        } = &answer
        {
            bail!("ERROR {code} ({sqlstate}): {message}");
        }
        let style = if ender == Ender::Vertical {
            Style::Vertical
        } else {
            style
        };
        print(&print::result(&answer, style))?;
    }
}

/// The conversation on a terminal.
fn talk(client: &mut Client, options: &Options) -> Result<()> {
    let mut editor =
        rustyline::DefaultEditor::with_config(rustyline::Config::builder().max_history_size(10_000)?.build())?;
    let history = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".latsdb_history"));
    if let Some(history) = &history {
        // The first time there is none.
        let _ = editor.load_history(history);
    }
    println!(
        "Connected to {} at {} (connection {}). \\? for help, \\q to leave.",
        client.server_version, options.address, client.connection_id
    );
    let mut splitter = Splitter::new();
    loop {
        let prompt = if splitter.is_empty() { "sql> " } else { "  -> " };
        let line = match editor.readline(prompt) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                splitter = Splitter::new();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        };
        // A history that cannot grow is no reason to stop.
        let _ = editor.add_history_entry(&line);
        match line.trim().trim_end_matches(';').trim() {
            "\\c" => {
                splitter = Splitter::new();
                continue;
            }
            "\\q" | "exit" | "quit" if splitter.is_empty() => break,
            "\\?" | "\\h" | "help" if splitter.is_empty() => {
                print(HELP)?;
                continue;
            }
            "\\s" if splitter.is_empty() => {
                let user = "SELECT CONNECTION_ID() AS connection, CURRENT_USER() AS user, DATABASE() AS `database`, VERSION() AS version";
                print(&print::result(&client.query(user)?, Style::Vertical))?;
                continue;
            }
            _ => {}
        }
        splitter.push(&line);
        splitter.push("\n");
        while let Some((statement, ender)) = splitter.next() {
            let started = Instant::now();
            let answer = client.query(&statement)?;
            let style = if ender == Ender::Vertical {
                Style::Vertical
            } else {
                Style::Table
            };
            print(&print::result(&answer, style))?;
            print(&print::summary(&answer, started.elapsed()))?;
        }
    }
    if let Some(history) = &history {
        editor
            .save_history(history)
            .with_context(|| format!("cannot write {}", history.display()))?;
    }
    Ok(())
}

/// Writes to standard output; a reader that went away (`| head`) is no error.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        written => Ok(written?),
    }
}
