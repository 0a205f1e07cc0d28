//! Which functions and statements of MySQL's manual a server has.
//!
//! `tests/manual/functions.txt` and `statements.txt` have a line `NAME: STATEMENT` for each; lines that begin with `!` make what the
//! statements name. Each is sent, on a connection of its own, and the answer says whether there is such a thing: 1235 and its like say no.
//!
//!     cargo run -p sqltest --bin manual -- --addr 127.0.0.1:3306 --page docs/manual.md
//!
//! Without `--write` the page is compared with what the server says.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use mysql_client::{Answer, Client, Login};

#[derive(Parser)]
#[command(about = "Ask a MySQL-compatible server for all that MySQL's manual lists")]
struct Arguments {
    #[arg(long, default_value = "127.0.0.1:3306")]
    addr: String,
    /// An account with every privilege, on a server that holds nothing else
    #[arg(long, default_value = "root")]
    user: String,
    #[arg(long, default_value = "")]
    password: String,
    /// Write the page anew
    #[arg(long)]
    write: bool,
    #[arg(long, default_value = "docs/manual.md")]
    page: PathBuf,
    #[arg(default_value = "tests/manual")]
    folder: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let functions = read(&arguments.folder.join("functions.txt"))?;
    let statements = read(&arguments.folder.join("statements.txt"))?;
    let mut client = connect(arguments)?;
    for text in functions.made.iter().chain(&statements.made) {
        if let Answer::Error { code, message, .. } = client.query(text)? {
            bail!("{text}: {code} {message}");
        }
    }
    let mut page = String::from(HEAD);
    for (title, lines) in [("Functions and operators", &functions), ("Statements", &statements)] {
        let mut had = Vec::new();
        let mut refused = Vec::new();
        for (name, text) in &lines.named {
            match refusal(&connect(arguments)?.query(text)?, name, text)? {
                None => had.push(format!("`{name}`")),
                Some(why) => refused.push((name, why)),
            }
        }
        let all = had.len() + refused.len();
        write!(
            page,
            "\n## {title}\n\n{} of {all} are there: {}.\n",
            had.len(),
            had.join(", ")
        )?;
        writeln!(page, "\n| refused | with |\n|---|---|")?;
        for (name, why) in refused {
            writeln!(page, "| `{name}` | {why} |")?;
        }
    }
    match arguments.write {
        true => std::fs::write(&arguments.page, page)?,
        false if std::fs::read_to_string(&arguments.page).is_ok_and(|written| written == page) => {}
        false => bail!(
            "{} says something else than the server: `cargo xtask manual --write` writes it anew",
            arguments.page.display()
        ),
    }
    println!("2 passed, 0 failed");
    Ok(())
}

const HEAD: &str = "# MySQL's manual, item by item

Made by `cargo xtask manual --write`, which asks a server of its own; `tests/manual` has the statement that asks for each. What differs in
an item that is there is told in [COMPAT.md](../COMPAT.md).
";

/// Why there is no such thing; `None` where there is.
fn refusal(answer: &Answer, name: &str, text: &str) -> Result<Option<String>> {
    let Answer::Error { code, message, .. } = answer else {
        return Ok(None);
    };
    Ok(match code {
        1235 => Some(code.to_string()),
        1305 if text.starts_with("SELECT") => Some("1305, as a name that nobody knows".to_owned()),
        1064 => bail!("{name}: {text}: {message}"),
        _ => None,
    })
}

#[derive(Default)]
struct Lines {
    /// Run before.
    made: Vec<String>,
    named: Vec<(String, String)>,
}

fn read(path: &Path) -> Result<Lines> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut lines = Lines::default();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("! ") {
            Some(made) => lines.made.push(made.to_owned()),
            None => {
                let (name, text) = line.split_once(": ").with_context(|| format!("no name: {line}"))?;
                lines.named.push((name.to_owned(), text.to_owned()));
            }
        }
    }
    Ok(lines)
}

fn connect(arguments: &Arguments) -> Result<Client> {
    let login = Login {
        address: &arguments.addr,
        user: &arguments.user,
        password: &arguments.password,
        database: None,
        program_name: "manual",
    };
    Ok(Client::connect(&login)?)
}
