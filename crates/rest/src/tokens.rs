//! Bearer tokens: what a client shows in the place of a password.
//!
//! A token is 256 random bits. Its SHA-256 is an attribute of its account in the catalog (`ALTER USER … ATTRIBUTE`): so it is on all nodes, changes with
//! the account, and goes with it. Who may change accounts may change tokens, and nobody else.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use sql::result::BufferedRows;
use sql::session::Session;
use sql_api::session::{SessionAccount, SessionOptions};

use crate::answer::Answer;
use crate::client::Client;
use crate::problem::Problem;
use crate::routes::Task;
use crate::service::Rest;

/// What a token begins with, so that it is known where it is found.
const PREFIX: &str = "latsdb_";
/// What the attributes of tokens begin with.
const ATTRIBUTE: &str = "rest_token_";
/// Tokens of one account.
const OF_ACCOUNT_MAX: usize = 32;
/// Requests that may come at once after a pause, in seconds' worth.
const BURST_SECONDS: u32 = 1;

/// What is known of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub id: String,
    /// Seconds since 1970.
    pub expires: Option<i64>,
    pub requests_per_second: Option<u32>,
}

impl Token {
    pub fn is_over(&self, now_seconds: i64) -> bool {
        self.expires.is_some_and(|expires| expires <= now_seconds)
    }
}

/// As an attribute has it.
#[derive(Deserialize)]
struct Stored {
    hash: String,
    name: Option<String>,
    expires: Option<i64>,
    requests_per_second: Option<u32>,
}

/// The tokens of all accounts, and how fast they are used.
#[derive(Default)]
pub struct Tokens {
    known: Mutex<KnownTokens>,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Default)]
struct KnownTokens {
    /// Of which this is read; none yet.
    catalog_version: Option<u64>,
    by_hash: HashMap<String, (String, String, Token)>,
}

/// Requests that a token has left, in millionths.
struct Bucket {
    left: u64,
    at_micros: i64,
}

impl Tokens {
    /// 429 where a token is used faster than it may be.
    #[inline]
    pub fn take_turn(&self, token: Option<&Token>, now_micros: i64) -> Result<(), Problem> {
        let Some((id, rate)) = token.and_then(|token| Some((&token.id, token.requests_per_second?))) else {
            return Ok(());
        };
        const ONE: u64 = 1_000_000;
        let most = u64::from(rate * BURST_SECONDS).max(1) * ONE;
        let mut buckets = self.buckets.lock();
        // Few have a rate; those of tokens that are gone go with the rest.
        if buckets.len() > 10_000 {
            buckets.clear();
        }
        let bucket = buckets.entry(id.clone()).or_insert(Bucket {
            left: most,
            at_micros: now_micros,
        });
        let passed = now_micros.saturating_sub(bucket.at_micros).clamp(0, 1_000_000_000) as u64;
        bucket.left = (bucket.left + passed * u64::from(rate)).min(most);
        bucket.at_micros = now_micros;
        match bucket.left.checked_sub(ONE) {
            Some(left) => {
                bucket.left = left;
                Ok(())
            }
            None => Err(Problem {
                retry: true,
                ..Problem::new(
                    429,
                    "too-fast",
                    "The token is used too fast",
                    format!("it has {rate} requests a second"),
                )
                .with_header("retry-after", "1")
            }),
        }
    }
}

impl Rest {
    /// Whose token it is: user, host, and the token.
    pub fn account_of_token(&self, token: &str) -> Option<(String, String, Token)> {
        let hash = hash_of(token);
        let catalog = self.engine.catalog();
        let mut known = self.tokens.known.lock();
        if known.catalog_version != Some(catalog.version()) {
            known.catalog_version = Some(catalog.version());
            known.by_hash = catalog
                .accounts()
                .flat_map(|account| {
                    let of = tokens_of(account.policy.attribute.as_deref()).into_iter();
                    of.map(|(id, stored)| {
                        let token = Token {
                            id,
                            expires: stored.expires,
                            requests_per_second: stored.requests_per_second,
                        };
                        (stored.hash, (account.user.clone(), account.host.clone(), token))
                    })
                })
                .collect();
        }
        let found = known.by_hash.get(&hash)?.clone();
        (!found.2.is_over(self.now_seconds())).then_some(found)
    }
}

fn tokens_of(attribute: Option<&str>) -> Vec<(String, Stored)> {
    let Some(attribute) = attribute.filter(|attribute| attribute.contains(ATTRIBUTE)) else {
        return Vec::new();
    };
    let all: serde_json::Map<String, serde_json::Value> = serde_json::from_str(attribute).unwrap_or_default();
    let each = all.into_iter().filter_map(|(name, value)| {
        let id = name.strip_prefix(ATTRIBUTE)?.to_owned();
        Some((id, serde_json::from_value(value).ok()?))
    });
    each.collect()
}

fn hash_of(token: &str) -> String {
    let hash = Sha256::digest(token.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Body {
    name: Option<String>,
    expires_in_seconds: Option<u32>,
    requests_per_second: Option<u32>,
}

/// The account that asks for tokens of its own, by user and host.
fn owner(client: &Client) -> Result<(String, String), Problem> {
    match &client.identity.account {
        SessionAccount::Account { user, host } => Ok((user.clone(), host.clone())),
        SessionAccount::Server => Err(Problem::bad_request(
            "tokens are an account's: log in as one (Authorization: Basic)",
        )),
    }
}

/// POST /v1/tokens
pub fn create(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let body: Body = match task.request.body.is_empty() {
        true => Body::default(),
        false => task.request.json()?,
    };
    if client.token.is_some() {
        return Err(Problem::new(
            403,
            "forbidden",
            "The account has not the right to do this",
            "tokens are made by who knows the password: not by a token",
        ));
    }
    if body.requests_per_second == Some(0) || body.name.as_ref().is_some_and(|name| name.len() > 100) {
        return Err(Problem::bad_request(
            "a rate is at least 1, a name has at most 100 bytes",
        ));
    }
    let (user, host) = owner(client)?;
    let rest = client.rest.clone();
    let held = {
        let catalog = rest.engine.catalog();
        let account = catalog.account(&user, &host);
        tokens_of(account.and_then(|account| account.policy.attribute.as_deref()))
    };
    let now = rest.now_seconds();
    let (over, held): (Vec<_>, Vec<_>) = held
        .into_iter()
        .partition(|(_, stored)| stored.expires.is_some_and(|expires| expires <= now));
    if held.len() >= OF_ACCOUNT_MAX {
        return Err(Problem::new(
            409,
            "too-many-tokens",
            "The account has many tokens",
            format!("an account has at most {OF_ACCOUNT_MAX}; delete one"),
        ));
    }
    let (id, secret) = (rest.random_hex(8), rest.random_hex(32));
    let token = format!("{PREFIX}{secret}");
    let expires = body.expires_in_seconds.map(|seconds| now + i64::from(seconds));
    let mut stored = json!({
        format!("{ATTRIBUTE}{id}"): {
            "hash": hash_of(&token),
            "name": body.name,
            "created": now,
            "expires": expires,
            "requests_per_second": body.requests_per_second,
        }
    });
    // Those that nobody has deleted would add up.
    for (id, _) in over {
        stored[format!("{ATTRIBUTE}{id}")] = serde_json::Value::Null;
    }
    set_attribute(client, task, &user, &host, &stored)?;
    answer.head.status = 201;
    answer.head.header("location", &format!("/v1/tokens/{id}"));
    answer.head.header("cache-control", "no-store");
    let text = json!({ "id": id, "token": token, "account": format!("{user}@{host}"), "expires": expires });
    answer.body.extend_from_slice(text.to_string().as_bytes());
    Ok(())
}

/// GET /v1/tokens
pub fn list(client: &mut Client, _task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let (user, host) = owner(client)?;
    let catalog = client.rest.engine.catalog();
    let account = catalog.account(&user, &host);
    let held = tokens_of(account.and_then(|account| account.policy.attribute.as_deref()));
    let each = held.into_iter().map(|(id, stored)| {
        json!({
            "id": id,
            "name": stored.name,
            "expires": stored.expires,
            "requests_per_second": stored.requests_per_second,
        })
    });
    let text = json!({ "tokens": each.collect::<Vec<_>>() });
    answer.body.extend_from_slice(text.to_string().as_bytes());
    Ok(())
}

/// DELETE /v1/tokens/{id}
pub fn delete(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let (user, host) = owner(client)?;
    let id = task.segment(0)?;
    let is_there = {
        let catalog = client.rest.engine.catalog();
        let account = catalog.account(&user, &host);
        let held = tokens_of(account.and_then(|account| account.policy.attribute.as_deref()));
        held.iter().any(|(known, _)| *known == *id)
    };
    if !is_there {
        return Err(Problem::not_found("the account has no token with this id"));
    }
    let gone = json!({ format!("{ATTRIBUTE}{id}"): null });
    set_attribute(client, task, &user, &host, &gone)?;
    answer.head.status = 204;
    Ok(())
}

fn set_attribute(
    client: &mut Client,
    task: &Task<'_>,
    user: &str,
    host: &str,
    attribute: &serde_json::Value,
) -> Result<(), Problem> {
    let text = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
    let statement = format!(
        "ALTER USER {}@{} ATTRIBUTE {}",
        text(user),
        text(host),
        text(&attribute.to_string())
    );
    let mut session = Session::new(client.rest.engine.clone(), SessionOptions::default())?;
    let mut outcome = BufferedRows::default();
    // Texts have backslashes, whatever the node's `sql_mode` is.
    session.query(b"SET sql_mode = ''", task.host, &mut outcome)?;
    session.query(statement.as_bytes(), task.host, &mut outcome)?;
    Ok(())
}
