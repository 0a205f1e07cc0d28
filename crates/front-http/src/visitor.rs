//! Who asks for a page, and what he shows: the part of a request that decides whether he gets it.
//!
//! `/health` is for everybody. Everything else is for the operating-system user who runs the node, over loopback, without
//! a login; and for database accounts that may see the server (`Authorization: Basic`).
//!
//! Without a login, a page is given only to who asked for it by an address of this machine. A web page from elsewhere, which
//! a browser of this user has open, can make requests too: to a name of its own that it lets point to 127.0.0.1 (DNS
//! rebinding), or across sites. Their `Host` is such a name, or they say where they come from. Nor is a page given without a login
//! to who comes by way of a proxy: whoever runs that may be the user, and those who ask it are not.
//!
//! A browser that was given a login to an account by its own dialog (Basic) sends it along with requests that pages of other sites
//! make: these are refused, too. A token is sent only by who has it.

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
    /// A page of another site asks, by a login that the browser keeps.
    Site,
}

/// Why who has not logged in gets nothing.
pub const NOT_DIRECT: &str = "without a login, the Host of a request is localhost or an address, and it comes by way of no page of another site and no proxy";

/// Why a login that a browser has sent along is not looked at.
pub const OF_ANOTHER_SITE: &str = "a page of another site has made the request";

impl Visitor {
    /// The visitor of a request.
    pub fn of(headers: Headers<'_>, line: &Line<'_>) -> Result<Visitor, Improper> {
        let credentials = match headers.get("authorization") {
            Some(_) if is_of_another_site(headers) => return Err(Improper::Site),
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

/// What proxies say of whom they ask for.
const PASSED_ON: [&str; 5] = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];

/// Whether the request names this machine as no web site can, and has not come by way of a proxy.
pub fn is_direct(headers: Headers<'_>) -> bool {
    let mut hosts = headers.all("host");
    let host = hosts.next().and_then(|host| std::str::from_utf8(host).ok());
    hosts.next().is_none()
        && host.is_some_and(names_this_machine)
        && !has_other_origin(headers)
        && sent_by(headers) != Some(Site::Another)
        && !PASSED_ON.iter().any(|name| headers.get(name).is_some())
}

/// Whether a page of another site has made a browser ask. Where the browser tells nothing else, the origin decides; a proxy in between may have
/// given the request another host.
pub fn is_of_another_site(headers: Headers<'_>) -> bool {
    match sent_by(headers) {
        Some(site) => site == Site::Another,
        None => has_other_origin(headers),
    }
}

#[derive(PartialEq, Eq)]
enum Site {
    Own,
    Another,
}

/// What a browser says of the page that asks. Older ones say nothing, and none does in plain text to another machine.
fn sent_by(headers: Headers<'_>) -> Option<Site> {
    headers.get("sec-fetch-site").map(|site| match site {
        b"none" | b"same-origin" => Site::Own,
        _ => Site::Another,
    })
}

fn has_other_origin(headers: Headers<'_>) -> bool {
    let host = headers.get("host").and_then(|host| std::str::from_utf8(host).ok());
    let is_own = |origin: &[u8]| host.is_some_and(|host| is_origin_of(origin, host));
    headers.all("origin").any(|origin| !is_own(origin))
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
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((ip, "")) => (ip, ""),
        Some((ip, rest)) => match rest.strip_prefix(':') {
            Some(port) => (ip, port),
            None => return false,
        },
        None => host.split_once(':').unwrap_or((host, "")),
    };
    let is_name = name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok();
    is_name && port.bytes().all(|digit| digit.is_ascii_digit())
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
            "[::1]:x",
            "localhost:8306@evil.example",
            "127.0.0.1:8306.evil.example",
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
        for name in PASSED_ON {
            let passed_on = visitor(&[("host", "localhost"), (name, "for=192.0.2.7")]);
            assert_eq!(passed_on, Err(Improper::Host), "{name}");
        }
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
        for (name, value) in [("origin", "https://evil.example"), ("sec-fetch-site", "same-site")] {
            let header = [("host", "db.example"), ("authorization", "Basic eDp5"), (name, value)];
            assert_eq!(visitor(&header), Err(Improper::Site), "{name}");
        }
        let proxied = [
            ("host", "127.0.0.1:8306"),
            ("authorization", "Basic eDp5"),
            ("origin", "https://db.example"),
            ("sec-fetch-site", "same-origin"),
            ("x-forwarded-for", "192.0.2.7"),
        ];
        assert!(visitor(&proxied).is_ok());
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
