//! Who asks: looked at once for a connection, and again when it shows another login, or the accounts have changed.

use std::sync::atomic::Ordering::Relaxed;

use front::{Channel, Handle, Peer, Socket};
use http_wire::Headers;
use rest::{Client, Identity, Problem};
use sql_api::session::SessionAccount;
use types::{ErrorKind, SqlError};

use crate::server::Open;
use crate::visitor::{NOT_DIRECT, OF_ANOTHER_SITE, credentials, is_direct, is_of_another_site};

/// The login that a connection has shown.
#[derive(Default)]
pub struct Known {
    identified: Option<Box<Identified>>,
}

pub struct Identified {
    /// The header as it came; none: whoever runs the node.
    authorization: Option<Vec<u8>>,
    catalog_version: u64,
    pub client: Client,
}

impl Known {
    pub fn client(&self) -> Option<&Identified> {
        self.identified.as_deref()
    }

    pub fn client_mut(&mut self) -> Option<&mut Identified> {
        self.identified.as_deref_mut()
    }

    /// Whether a request shows the login that is known, and the accounts are as they were. Without a login, the request has to name this machine
    /// each time.
    #[inline]
    pub fn is_still(&self, headers: Headers<'_>, open: &Open) -> bool {
        let Some(known) = &self.identified else { return false };
        if known.catalog_version != open.rest.catalog_version() || !known.client.may_go_on() {
            return false;
        }
        match (headers.get("authorization"), known.authorization.as_deref()) {
            (Some(shown), Some(known)) => shown == known && (bearer(shown).is_some() || !is_of_another_site(headers)),
            (None, None) => is_direct(headers),
            _ => false,
        }
    }

    /// Finds out who it is that shows these headers, and gives the connection his place.
    pub async fn identify(
        &mut self,
        headers: Headers<'_>,
        open: &Open,
        handle: &Handle,
        socket: &Socket,
    ) -> Result<(), Problem> {
        let catalog_version = open.rest.catalog_version();
        let found = self.look(headers, open, handle, socket).await;
        if let Err(problem) = &found
            && matches!(problem.status, 401 | 403)
        {
            open.logins.registry().counters().logins_denied.fetch_add(1, Relaxed);
        }
        let (identity, token) = found?;
        handle.set_user(&identity.user);
        open.logins.registry().is_no_visitor(handle);
        let authorization = headers.get("authorization").map(<[u8]>::to_vec);
        match &mut self.identified {
            // The same account: its session goes on.
            Some(known) if known.client.is_of(&identity) => {
                (known.authorization, known.catalog_version) = (authorization, catalog_version);
                known.client.comes_by(token);
            }
            known => {
                let mut client = Client::new(open.rest.clone(), handle.id, identity);
                client.comes_by(token);
                *known = Some(Box::new(Identified {
                    authorization,
                    catalog_version,
                    client,
                }));
            }
        }
        Ok(())
    }

    async fn look(
        &self,
        headers: Headers<'_>,
        open: &Open,
        handle: &Handle,
        socket: &Socket,
    ) -> Result<(Identity, Option<rest::Token>), Problem> {
        let peer = &handle.peer;
        let Some(shown) = headers.get("authorization") else {
            return owner(headers, peer).map(|identity| (identity, None));
        };
        let channel = socket.channel();
        if open.logins.backend().limits().require_secure_transport && channel != Channel::Private {
            return Err(SqlError::from(ErrorKind::SecureTransportRequired).into());
        }
        let mut client = sql_api::login::Client {
            user: String::new(),
            host: peer.host().name(),
            using_password: true,
            encryption: socket.encryption(),
            certificate: socket.certificate(),
            handles_expired_password: false,
        };
        let (account, token) = match bearer(shown) {
            Some(token) => {
                let Some((user, host, token)) = open.rest.account_of_token(token) else {
                    return Err(unauthorized("the token is not known, or has expired"));
                };
                client.user = user.clone();
                let mut account = open.logins.backend().find_account(&user, &peer.host());
                // The token is one account's, and good wherever that may come from.
                account = account.filter(|account| account.host == host);
                let account = account.ok_or_else(|| unauthorized("the token's account may not come from here"))?;
                (account, Some(token))
            }
            None if is_of_another_site(headers) => {
                return Err(forbidden(OF_ANOTHER_SITE));
            }
            None => {
                let shown = credentials(shown)
                    .ok_or_else(|| Problem::bad_request("the Authorization header is neither Basic nor Bearer"))?;
                client.user = shown.user;
                let proved = open.logins.prove_password(&client, &shown.password, peer).await;
                (proved.map_err(denied)?, None)
            }
        };
        let standing = open.logins.admit(handle, &account, &client, channel).map_err(denied)?;
        let identity = Identity {
            user: client.user,
            host: client.host,
            account: SessionAccount::Account {
                user: account.user,
                host: account.host,
            },
            encryption: client.encryption,
            password_expired: standing.password_expired,
        };
        Ok((identity, token))
    }
}

/// Whoever runs the node needs no login on this machine, if he asks for this machine by its address.
fn owner(headers: Headers<'_>, peer: &Peer) -> Result<Identity, Problem> {
    if !is_direct(headers) {
        return Err(forbidden(NOT_DIRECT));
    }
    match peer.is_owner() {
        Ok(true) => Ok(Identity {
            user: "root".to_owned(),
            host: "localhost".to_owned(),
            account: SessionAccount::Server,
            encryption: None,
            password_expired: false,
        }),
        Ok(false) | Err(_) => Err(unauthorized(
            "log in as an account, or ask as the user who runs the node, over loopback",
        )),
    }
}

/// The token of an Authorization header.
pub fn bearer(shown: &[u8]) -> Option<&str> {
    let (scheme, token) = shown.split_at_checked(7)?;
    if !scheme.eq_ignore_ascii_case(b"bearer ") {
        return None;
    }
    std::str::from_utf8(token).ok().map(str::trim)
}

/// A login that failed. Too many are told apart from wrong ones.
fn denied(error: SqlError) -> Problem {
    match error.kind() {
        ErrorKind::AccessDenied => Problem {
            error: Some(Box::new((error.code(), error.sqlstate().to_owned()))),
            ..unauthorized(error.message().to_owned())
        },
        _ => error.into(),
    }
}

fn forbidden(detail: &'static str) -> Problem {
    Problem::new(403, "forbidden", "The account has not the right to do this", detail)
}

fn unauthorized(detail: impl Into<std::borrow::Cow<'static, str>>) -> Problem {
    Problem::new(401, "unauthorized", "Log in", detail).with_header(
        "www-authenticate",
        "Basic realm=\"LatsDB\", charset=\"UTF-8\", Bearer realm=\"LatsDB\"",
    )
}
