//! Who the client is, and what he may do.

use sql_api::session::SessionAccount;

use super::Session;
use crate::acl::{Context, Denied, Rights};
use crate::clients::Client;
use crate::command::{Command, Commands};
use crate::failure::{Failure, Outcome};
use crate::tables::DATABASES;
use crate::types::generic::database;

impl Session {
    /// NOPERM where the account may not do that with the keys of the database.
    pub(crate) fn check_rights(&mut self, command: &Command, args: &[&[u8]]) -> Outcome {
        match self.has_rights(command, args) {
            true => Ok(()),
            false => Err(Failure::Reply(
                format!(
                    "NOPERM User {} has no permissions to run the '{}' command",
                    self.user(),
                    command.name()
                )
                .into(),
            )),
        }
    }

    /// Keeps a command that was refused so, when it was to run.
    pub(crate) fn note_denied(&self, failure: &Failure, args: &[&[u8]], context: Context) {
        let command = Commands::get().find(args[0]).and_then(|command| command.meant_by(args));
        if let Some(command) = command.filter(|_| failure.is_denied()) {
            let name = command.name().as_bytes();
            self.refused(Denied::Command, context, name, self.user().as_bytes());
        }
    }

    pub(crate) fn has_rights(&mut self, command: &Command, args: &[&[u8]]) -> bool {
        self.has_rights_here(command) && self.has_rights_further(command, args)
    }

    /// Beside the database that is selected, none counts.
    fn has_rights_here(&mut self, command: &Command) -> bool {
        let flags = command.flags;
        let Some(account @ SessionAccount::Account { .. }) = &self.account else {
            return true;
        };
        if !flags.reads && !flags.writes && !flags.watches && !flags.administers {
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

    /// Whether the account has its rights in the other databases, too, that a command names, or means.
    fn has_rights_further(&self, command: &Command, args: &[&[u8]]) -> bool {
        if !command.flags.reaches_further {
            return true;
        }
        let Some(account @ SessionAccount::Account { .. }) = &self.account else {
            return true;
        };
        let rights = |db: u32| Rights::of(self.keyspace.engine(), account, db);
        let may_write = |db: u32| rights(db).writes;
        let exists = |db: &u32| !matches!(self.keyspace.existing_db(*db), Ok(None));
        let mut existing = (0..DATABASES).filter(exists);
        // What is no database is the command's own to refuse.
        let may_write_named = |arg: &&[u8]| database(arg).map_or(true, may_write);
        match command.name() {
            "copy" => {
                let is_option = |two: &&[&[u8]]| two[0].eq_ignore_ascii_case(b"DB");
                let options = args.get(3..).unwrap_or_default();
                options.windows(2).filter(is_option).all(|two| may_write_named(&two[1]))
            }
            "move" => args.get(2).is_none_or(may_write_named),
            "swapdb" => args[1..].iter().all(may_write_named),
            "flushall" => existing.all(may_write),
            // CLIENT TRACKING in its broadcasting mode tells of keys that the client has not read.
            _ => !args.iter().any(|arg| arg.eq_ignore_ascii_case(b"BCAST")) || existing.all(|db| rights(db).reads),
        }
    }

    /// Whether a client is one of the account's own, or anybody's that it may look at, or end.
    pub(crate) fn reaches(&self, client: &Client, others: impl FnOnce(Rights) -> bool) -> bool {
        let Some(account @ SessionAccount::Account { .. }) = &self.account else {
            return true;
        };
        client.user() == self.user() || others(Rights::of(self.keyspace.engine(), account, self.db))
    }

    /// The client is somebody else from here on.
    pub(crate) fn set_account(&mut self, account: SessionAccount) {
        self.account = Some(account);
        self.rights = None;
    }

    /// The client is again who it was when it came: nobody, where it has to log in.
    pub(crate) fn forget_login(&mut self) {
        self.account = self.first_account.clone();
        self.rights = None;
        self.client.set_user(match &self.account {
            Some(SessionAccount::Account { user, .. }) => user,
            Some(SessionAccount::Server) | None => "",
        });
    }

    /// Keeps what was refused, for ACL LOG.
    pub(crate) fn refused(&self, denied: Denied, context: Context, object: &[u8], user: &[u8]) {
        let now_ms = self.keyspace.now_ms();
        let client = self.client.line(now_ms, 0);
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
