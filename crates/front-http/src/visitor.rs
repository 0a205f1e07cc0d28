//! Who asks for a page, and what he shows: the part of a request that decides whether he gets it.
//!
//! `/health` is for everybody. Everything else is for the operating-system user who runs the node, over loopback, without
//! a login; and for database accounts that may see the server (`Authorization: Basic`).
//!
//! Without a login, a page is given only to who asked for it by an address of this machine. A web page from elsewhere, which
//! a browser of this user has open, can make requests too: to a name of its own that it lets point to 127.0.0.1 (DNS
//! rebinding), or across sites. Their `Host` is such a name, or they say where they come from.

use std::net::IpAddr;

use front::Peer;
use http_wire::{Headers, base64};
use sql_api::login::Certificate;
use sql_api::session::Encryption;

use crate::pages::Line;

/// A Basic login is refused beyond this length: a name of 32 characters and a password of 256 bytes, in base 64.
const CREDENTIALS_LEN_MAX: usize = 600;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    pub peer: Peer,
    /// None: what he shows can be read on its way.
    pub encryption: Option<Encryption>,
    pub certificate: Option<Certificate>,
    pub credentials: Option<Credentials>,
}

/// A login to a database account.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub user: String,
    pub password: Vec<u8>,
}

/// Passwords stay out of logs.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// Why a request is not even looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Improper {
    /// The `Authorization` header is not Basic with a name and a password.
    Authorization,
    /// No login, and not asked for by an address of this machine.
    Host,
}

impl Visitor {
    /// The visitor of a request.
    pub fn of(headers: Headers<'_>, line: &Line<'_>) -> Result<Visitor, Improper> {
        let credentials = match headers.get("authorization") {
            Some(value) => Some(credentials(value).ok_or(Improper::Authorization)?),
            None if !is_direct(headers) => return Err(Improper::Host),
            None => None,
        };
        Ok(Visitor {
            peer: *line.peer,
            encryption: line.encryption.clone(),
            certificate: line.certificate.clone(),
            credentials,
        })
    }
}

/// Whether the request names this machine as no web site can.
pub fn is_direct(headers: Headers<'_>) -> bool {
    let mut hosts = headers.all("host");
    let host = hosts.next().and_then(|host| std::str::from_utf8(host).ok());
    let is_own = |origin: &[u8]| host.is_some_and(|host| is_origin_of(origin, host));
    let across_sites = headers.all("origin").any(|origin| !is_own(origin))
        || headers
            .get("sec-fetch-site")
            .is_some_and(|site| !matches!(site, b"none" | b"same-origin"));
    !across_sites && hosts.next().is_none() && host.is_some_and(names_this_machine)
}

/// Whether a page of this very server made the request: the console. A page of another port of this machine is another site's.
fn is_origin_of(origin: &[u8], host: &str) -> bool {
    let origin = origin
        .strip_prefix(b"http://")
        .or_else(|| origin.strip_prefix(b"https://"));
    origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host.as_bytes()))
}

/// `localhost`, or an address; a name of the domain system may belong to anybody.
fn names_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((ip, "")) => ip,
            Some((ip, port)) if port.starts_with(':') => ip,
            _ => return false,
        },
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

pub fn credentials(header: &[u8]) -> Option<Credentials> {
    let (scheme, rest) = header.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") || rest.len() > CREDENTIALS_LEN_MAX {
        return None;
    }
    let text = base64::decode(rest.trim_ascii())?;
    let colon = text.iter().position(|byte| *byte == b':')?;
    Some(Credentials {
        user: String::from_utf8(text[..colon].to_vec()).ok()?,
        password: text[colon + 1..].to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_wire::{Head, Scan};

    fn visitor(headers: &[(&'static str, &str)]) -> Result<Visitor, Improper> {
        // A request of HTTP/1.1 without a Host is none.
        let version = match headers.iter().any(|(name, _)| *name == "host") {
            true => "1.1",
            false => "1.0",
        };
        let lines: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let text = format!("GET / HTTP/{version}\r\n{lines}\r\n");
        let mut head = Head::default();
        assert_eq!(head.scan(text.as_bytes()), Ok(Scan::Complete(())));
        let peer = Peer::Tcp {
            client: ([127, 0, 0, 1], 1).into(),
            server: ([127, 0, 0, 1], 2).into(),
        };
        let line = Line {
            peer: &peer,
            encryption: None,
            certificate: None,
        };
        Visitor::of(head.headers(text.as_bytes()), &line)
    }

    #[test]
    fn without_a_login_the_request_names_this_machine() {
        for host in [
            "127.0.0.1:8306",
            "localhost",
            "LOCALHOST:8306",
            "[::1]:8306",
            "[::1]",
            "192.0.2.1",
        ] {
            assert!(visitor(&[("host", host)]).is_ok(), "{host}");
        }
        for host in [
            "evil.example:8306",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "",
            "[::1]x",
            "[::1",
        ] {
            assert_eq!(visitor(&[("host", host)]), Err(Improper::Host), "{host}");
        }
        assert_eq!(visitor(&[]), Err(Improper::Host));
        assert_eq!(
            visitor(&[("host", "localhost"), ("origin", "https://evil.example")]),
            Err(Improper::Host)
        );
        assert_eq!(
            visitor(&[("host", "localhost"), ("sec-fetch-site", "cross-site")]),
            Err(Improper::Host)
        );
        assert!(visitor(&[("host", "localhost"), ("sec-fetch-site", "none")]).is_ok());
        for (origin, is_own) in [
            ("http://127.0.0.1:8306", true),
            ("https://127.0.0.1:8306", true),
            ("http://127.0.0.1:8307", false),
            ("http://localhost:8306", false),
            ("http://127.0.0.1", false),
            ("null", false),
            ("", false),
        ] {
            let asked = visitor(&[("host", "127.0.0.1:8306"), ("origin", origin)]);
            assert_eq!(asked.is_ok(), is_own, "{origin}");
        }
        let rebound = visitor(&[("host", "evil.example:8306"), ("origin", "http://evil.example:8306")]);
        assert_eq!(rebound, Err(Improper::Host));
    }

    #[test]
    fn a_login_is_basic() {
        let login = visitor(&[
            ("host", "db.example"),
            ("authorization", "Basic QWxhZGRpbjpvcGVuOnNlc2FtZQ=="),
        ]);
        let credentials = login.unwrap().credentials.unwrap();
        assert_eq!(
            (credentials.user.as_str(), &*credentials.password),
            ("Aladdin", &b"open:sesame"[..])
        );
        for header in [
            "Bearer x",
            "Basic",
            "Basic *",
            "Basic QWxhZGRpbg==",
            "Basic QQ=",
            "Basic ====",
            "Basic /zo=",
        ] {
            let refused = visitor(&[("host", "localhost"), ("authorization", header)]);
            assert_eq!(refused, Err(Improper::Authorization), "{header}");
        }
        let long = format!("Basic {}", "QUFB".repeat(1000));
        assert_eq!(visitor(&[("authorization", &long)]), Err(Improper::Authorization));
    }
}
