//! A request as handlers see it.

use std::borrow::Cow;

use http_wire::Headers;
use http_wire::target::{self, Target};
use serde::de::DeserializeOwned;

use crate::json::{self, Numbers};
use crate::problem::Problem;

/// A whole request.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub method: &'a [u8],
    pub target: Target<'a>,
    pub headers: Headers<'a>,
    /// All of it, from the first line on, as it came.
    pub bytes: &'a [u8],
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    /// The value of a parameter of the query, decoded. 400 where it is given twice, or cannot be decoded.
    pub fn query(&self, name: &str) -> Result<Option<Cow<'a, str>>, Problem> {
        if self.target.query.is_empty() {
            return Ok(None);
        }
        let mut found = None;
        for pair in self.target.pairs() {
            let (given, value) = pair.ok_or_else(|| Problem::bad_request("the query cannot be decoded"))?;
            if given == name && found.replace(value).is_some() {
                return Err(Problem::bad_request(format!("the parameter {name} is given twice")));
            }
        }
        Ok(found)
    }

    /// 400 for parameters that an operation does not know: a misspelt one would change the meaning silently.
    pub fn knows_only(&self, known: &[&str]) -> Result<(), Problem> {
        if self.target.query.is_empty() {
            return Ok(());
        }
        for pair in self.target.pairs() {
            let (given, _) = pair.ok_or_else(|| Problem::bad_request("the query cannot be decoded"))?;
            if !known.contains(&&*given) {
                return Err(Problem::bad_request(format!("there is no parameter {given} here")));
            }
        }
        Ok(())
    }

    /// The names of `columns=a,b`.
    pub fn columns(&self) -> Result<Option<Cow<'a, str>>, Problem> {
        self.query("columns")
    }

    pub fn numbers(&self) -> Result<Numbers, Problem> {
        numbers_named(self.query("numbers")?.as_deref())
    }

    /// The body, which is one JSON document of this shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        self.check_type(&["application/json"])?;
        serde_json::from_slice(self.body).map_err(json::not_json)
    }

    /// 415 for a body that is something else. Pages of other sites cannot make a browser send these types unasked.
    pub fn check_type(&self, types: &[&str]) -> Result<(), Problem> {
        let given = self.headers.get("content-type").unwrap_or_default();
        let given = given
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default()
            .trim_ascii();
        match types.iter().any(|known| given.eq_ignore_ascii_case(known.as_bytes())) {
            true => Ok(()),
            false => Err(Problem::new(
                415,
                "unsupported-media-type",
                "The body is of another type",
                format!("the content-type is {}", types.join(" or ")),
            )),
        }
    }

    /// A header that is text.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }
}

pub fn numbers_named(name: Option<&str>) -> Result<Numbers, Problem> {
    match name {
        None => Ok(Numbers::Default),
        Some("exact") => Ok(Numbers::Exact),
        Some("string") => Ok(Numbers::Text),
        Some(_) => Err(Problem::bad_request("numbers is exact or string")),
    }
}

/// A segment of a path, decoded.
pub fn segment(text: &str) -> Result<Cow<'_, str>, Problem> {
    target::decoded(text).ok_or_else(|| Problem::bad_request("the path cannot be decoded"))
}
