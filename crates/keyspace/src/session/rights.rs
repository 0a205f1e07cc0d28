//! Who the client is, and what he may do.

use sql_api::session::SessionAccount;

use super::Session;
use crate::acl::{Context, Denied, Rights};
use crate::command::Command;
use crate::failure::{Failure, Outcome};

impl Session {
    /// NOPERM where the account may not do that with the keys of the database.
    pub(crate) fn check_rights(&mut self, command: &Command, context: Context) -> Outcome {
        match self.has_rights(command) {
            true => Ok(()),
            false => {
                let user = self.user();
                self.refused(Denied::Command, context, command.name().as_bytes(), user.as_bytes());
                Err(Failure::Reply(
                    format!(
                        "NOPERM User {user} has no permissions to run the '{}' command",
                        command.name()
                    )
                    .into(),
                ))
            }
        }
    }

    pub(crate) fn has_rights(&mut self, command: &Command) -> bool {
        let flags = command.flags;
        let Some(account @ SessionAccount::Account { .. }) = &self.account else {
            return true;
        };
        if !flags.reads && !flags.writes && !flags.watches {
            return true;
        }
        let version = self.keyspace.engine().catalog_version();
        let rights = match self.rights {
            Some((known, db, rights)) if known == version && db == self.db => rights,
            _ => {
                let rights = Rights::of(self.keyspace.engine(), account, self.db);
                self.rights = Some((version, self.db, rights));
                rights
            }
        };
        rights.allow(command)
    }

    /// The client is somebody else from here on.
    pub(crate) fn set_account(&mut self, account: SessionAccount) {
        self.account = Some(account);
        self.rights = None;
    }

    /// Keeps what was refused, for ACL LOG.
    pub(crate) fn refused(&self, denied: Denied, context: Context, object: &[u8], user: &[u8]) {
        let now_ms = self.keyspace.now_ms();
        let client = self.client.line(now_ms);
        let refusals = &self.keyspace.refusals;
        refusals.add(denied, context, object, user, client, now_ms);
    }

    /// Where a command runs that is not in a script.
    pub(crate) fn context(&self) -> Context {
        match self.queue.is_some() {
            true => Context::Multi,
            false => Context::TopLevel,
        }
    }

    /// The name of the account.
    pub(crate) fn user(&self) -> String {
        match &self.account {
            Some(SessionAccount::Account { user, .. }) => user.clone(),
            Some(SessionAccount::Server) | None => "default".to_owned(),
        }
    }
}
