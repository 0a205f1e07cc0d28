//! What a session asks of its connection, and of the others.

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use front::backend::Account;
use front::{Handle, Socket};
use keyspace::session::Surroundings;
use sql_api::host::Host;
use sql_api::login::Client;
use sql_api::processes::{Kill, Processes as _};
use sql_api::session::SessionAccount;

use crate::server::Shared;

/// Whom a client means that gives a password alone: this account, if there is one.
const DEFAULT_USER: &str = "default";
/// Else the one that the first start makes.
const FIRST_USER: &str = "root";

pub struct Around {
    pub shared: Arc<Shared>,
    pub handle: Arc<Handle>,
    pub socket: Rc<Socket>,
}

impl Around {
    fn client(&self, user: &str) -> Client {
        Client {
            user: user.to_owned(),
            host: self.handle.peer.host().name(),
            using_password: true,
            encryption: self.socket.encryption(),
            certificate: self.socket.certificate(),
            handles_expired_password: false,
        }
    }

    /// The first account, if the client is the user who runs the server, and it has no password.
    fn owners_account(&self) -> Option<Account> {
        let peer = &self.handle.peer;
        let account = self.shared.logins.backend().find_account(FIRST_USER, &peer.host())?;
        (account.is_owners_alone && matches!(peer.is_owner(), Ok(true))).then_some(account)
    }

    /// The account of a client that has not logged in: of the user who runs the server, while the first account has no password.
    pub fn account_without_login(&self) -> Option<SessionAccount> {
        let account = self.owners_account()?;
        let logins = &self.shared.logins;
        let client = Client {
            using_password: false,
            ..self.client(FIRST_USER)
        };
        logins
            .admit(&self.handle, &account, &client, self.socket.channel())
            .ok()?;
        self.handle.set_user(FIRST_USER);
        Some(SessionAccount::Account {
            user: account.user,
            host: account.host,
        })
    }

    async fn proved(&self, user: &str, password: &[u8]) -> Result<SessionAccount, String> {
        let client = self.client(user);
        let logins = &self.shared.logins;
        let account = logins.prove_password(&client, password, &self.handle.peer).await;
        let account = account.map_err(|error| error.message().to_owned())?;
        let standing = logins.admit(&self.handle, &account, &client, self.socket.channel());
        let standing = standing.map_err(|error| error.message().to_owned())?;
        if standing.password_expired {
            return Err("the password has expired".to_owned());
        }
        self.handle.set_user(&account.user);
        Ok(SessionAccount::Account {
            user: account.user,
            host: account.host,
        })
    }
}

impl Surroundings for Around {
    fn log_in(&self, user: Option<&str>, password: &[u8], host: &dyn Host) -> Result<SessionAccount, String> {
        let user = user.unwrap_or_else(|| {
            let backend = self.shared.logins.backend();
            match backend.find_account(DEFAULT_USER, &self.handle.peer.host()) {
                Some(_) => DEFAULT_USER,
                None => FIRST_USER,
            }
        });
        let mut proved = None;
        host.wait(pin!(async { proved = Some(self.proved(user, password).await) }));
        proved.expect("a wait ends with its future")
    }

    fn needs_no_password(&self) -> bool {
        self.owners_account().is_some()
    }

    fn address(&self) -> String {
        match &self.handle.peer {
            front::Peer::Tcp { client, .. } => client.to_string(),
            other => other.text(),
        }
    }

    fn local_address(&self) -> String {
        match &self.handle.peer {
            front::Peer::Tcp { server, .. } => server.to_string(),
            other => other.text(),
        }
    }

    fn kill(&self, id: u64) -> bool {
        let registry = self.shared.logins.registry();
        u32::try_from(id).is_ok_and(|id| registry.kill(id, Kill::Connection))
    }
}
