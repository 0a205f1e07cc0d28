//! Connections to the servers, prepared alike.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use mysql_client::{Answer, Client, Login, Protocol};

/// Where a server is.
#[derive(Debug, Clone)]
pub struct Server {
    pub address: String,
    pub user: String,
    pub password: String,
}

/// After this time without an answer a server hangs.
const PATIENCE: Duration = Duration::from_secs(60);

const SETTINGS: [&str; 3] = [
    "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci",
    "SET SESSION time_zone = '+00:00'",
    "SET SESSION group_concat_max_len = 10000",
];

impl std::str::FromStr for Server {
    type Err = anyhow::Error;

    /// `HOST:PORT[:USER[:PASSWORD]]`.
    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.splitn(4, ':');
        let (Some(host), Some(port)) = (parts.next(), parts.next()) else {
            bail!("{text} is not HOST:PORT[:USER[:PASSWORD]]");
        };
        Ok(Server {
            address: format!("{host}:{port}"),
            user: parts.next().unwrap_or("root").to_owned(),
            password: parts.next().unwrap_or_default().to_owned(),
        })
    }
}

impl Server {
    pub fn connect(&self) -> Result<Client> {
        let login = Login {
            address: &self.address,
            user: &self.user,
            password: &self.password,
            database: None,
            program_name: "sqlgen",
        };
        let mut client = Client::connect(&login).with_context(|| self.address.clone())?;
        client.limit_wait(PATIENCE)?;
        for sql in SETTINGS {
            must(&mut client, sql)?;
        }
        Ok(client)
    }

    /// A connection in a new database of this name.
    pub fn connect_to_new(&self, database: &str) -> Result<Client> {
        let mut client = self.connect()?;
        renew(&mut client, database)?;
        Ok(client)
    }
}

/// Makes the database anew and uses it.
pub fn renew(client: &mut Client, database: &str) -> Result<()> {
    must(client, &format!("DROP DATABASE IF EXISTS {database}"))?;
    must(
        client,
        &format!("CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci"),
    )?;
    must(client, &format!("USE {database}"))
}

pub fn must(client: &mut Client, sql: &str) -> Result<()> {
    match client.run(sql, Protocol::Text)? {
        Answer::Error { code, message, .. } => bail!("{sql}: {code} {message}"),
        _ => Ok(()),
    }
}

/// The codes of the last statement's warnings.
pub fn warning_codes(client: &mut Client) -> Result<Vec<u16>> {
    let Answer::Rows { rows, .. } = client.run("SHOW WARNINGS", Protocol::Text)? else {
        return Ok(Vec::new());
    };
    let code = |row: &Vec<Option<Vec<u8>>>| std::str::from_utf8(row.get(1)?.as_deref()?).ok()?.parse().ok();
    Ok(rows.iter().filter_map(code).collect())
}

pub fn warning_count(answer: &Answer) -> u16 {
    match answer {
        Answer::Ok { warnings, .. } | Answer::Rows { warnings, .. } => *warnings,
        Answer::Error { .. } => 0,
    }
}
