//! Users, roles, GRANT and REVOKE.

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

/// One element of the list after GRANT or REVOKE: only `ON` or `TO` behind the list tells privileges from roles.
struct GrantItem {
    privilege: Option<Privilege>,
    role: Option<Account>,
}

impl Parser<'_> {
    /// `'user'[@'host']`, `CURRENT_USER[()]`
    pub(super) fn account(&mut self) -> PResult<Account> {
        if self.eat(Kw::CURRENT_USER) {
            if self.eat_tok(Tok::LParen) {
                self.expect_tok(Tok::RParen)?;
            }
            return Ok(Account::CurrentUser);
        }
        let user = self.ident_or_text()?.0;
        let host = self.opt_host()?;
        Ok(Account::Named { user, host })
    }

    /// `[@host]`
    fn opt_host(&mut self) -> PResult<Option<Box<str>>> {
        if !self.at_tok(Tok::AtName) {
            return Ok(None);
        }
        let host = self.at_name()?;
        Ok(Some(host.to_lowercase().into()))
    }

    /// After `CREATE USER`.
    pub(super) fn create_user(&mut self) -> PResult<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let users = self.list(|parser| {
            let account = parser.account()?;
            let mut auth = parser.opt_auth()?.into_iter().collect::<Vec<_>>();
            while !auth.is_empty() && parser.eat(Kw::AND) {
                match parser.opt_auth()? {
                    Some(factor) => auth.push(factor),
                    None => return Err(parser.unexpected()),
                }
            }
            Ok(UserSpec {
                account,
                auth,
                action: None,
            })
        })?;
        let mut default_roles = Vec::new();
        if self.eat(Kw::DEFAULT) {
            self.expect(Kw::ROLE)?;
            default_roles = self.list(Self::account)?;
        }
        let options = self.account_options()?;
        Ok(Statement::CreateUser(Box::new(CreateUser {
            if_not_exists,
            users,
            default_roles,
            options,
        })))
    }

    /// After `ALTER USER`.
    pub(super) fn alter_user(&mut self) -> PResult<Statement> {
        let if_exists = self.if_exists()?;
        // `USER()` is the current one.
        let users = self.list(Self::alter_user_spec)?;
        let mut default_role = None;
        if users.len() == 1 && self.eat(Kw::DEFAULT) {
            self.expect(Kw::ROLE)?;
            default_role = Some(match self.eat_any(&[Kw::NONE, Kw::ALL]) {
                Some(Kw::NONE) => SetRole::None,
                Some(_) => SetRole::All,
                None => SetRole::Roles(self.list(Self::account)?),
            });
        }
        let options = self.account_options()?;
        Ok(Statement::AlterUser(Box::new(AlterUser {
            if_exists,
            users,
            default_role,
            options,
        })))
    }

    fn alter_user_spec(&mut self) -> PResult<UserSpec> {
        let account = if self.at(Kw::USER) && self.peek() == Tok::LParen {
            self.bump();
            self.bump();
            self.expect_tok(Tok::RParen)?;
            Account::CurrentUser
        } else {
            self.account()?
        };
        let mut spec = UserSpec {
            account,
            auth: Vec::new(),
            action: None,
        };
        match self.kind() {
            Tok::Kw(Kw::IDENTIFIED) => spec.auth.extend(self.opt_auth()?),
            Tok::Kw(Kw::DISCARD) => {
                self.bump();
                self.expect_all(&[Kw::OLD, Kw::PASSWORD])?;
                spec.action = Some(UserAction::DiscardOldPassword);
            }
            Tok::Kw(verb @ (Kw::ADD | Kw::MODIFY | Kw::DROP)) => {
                let mut factors = Vec::new();
                while self.eat(verb) {
                    factors.push(self.factor()?);
                    if verb != Kw::DROP {
                        match self.opt_auth()? {
                            Some(factor) => spec.auth.push(factor),
                            None => return Err(self.unexpected()),
                        }
                    }
                }
                spec.action = Some(match verb {
                    Kw::ADD => UserAction::AddFactors(factors),
                    Kw::MODIFY => UserAction::ModifyFactors(factors),
                    _ => UserAction::DropFactors(factors),
                });
            }
            Tok::Integer => {
                let factor = self.factor()?;
                spec.action = Some(match self.expect_any(&[Kw::INITIATE, Kw::FINISH, Kw::UNREGISTER])? {
                    Kw::INITIATE => {
                        self.expect(Kw::REGISTRATION)?;
                        UserAction::InitiateRegistration(factor)
                    }
                    Kw::FINISH => {
                        self.expect_all(&[Kw::REGISTRATION, Kw::SET, Kw::CHALLENGE_RESPONSE, Kw::AS])?;
                        UserAction::FinishRegistration(factor, self.bytes_or_hex()?)
                    }
                    _ => UserAction::Unregister(factor),
                });
            }
            _ => {}
        }
        Ok(spec)
    }

    /// `2 FACTOR`, `3 FACTOR`
    fn factor(&mut self) -> PResult<u8> {
        let token = self.tok;
        let factor = self.unsigned_to()?;
        if !matches!(factor, 2 | 3) {
            return Err(self.unexpected_at(token));
        }
        self.expect(Kw::FACTOR)?;
        Ok(factor)
    }

    /// `[IDENTIFIED ..]`
    fn opt_auth(&mut self) -> PResult<Option<AuthFactor>> {
        if !self.eat(Kw::IDENTIFIED) {
            return Ok(None);
        }
        let plugin = if self.eat(Kw::WITH) {
            Some(self.ident_or_text()?)
        } else {
            None
        };
        let mut factor = AuthFactor {
            plugin,
            secret: AuthSecret::None,
            replace: None,
            retain_current: false,
            initial: None,
        };
        if self.eat(Kw::BY) {
            factor.secret = if self.eat(Kw::RANDOM) {
                self.expect(Kw::PASSWORD)?;
                AuthSecret::RandomPassword
            } else {
                AuthSecret::Password(self.bytes()?)
            };
        } else if factor.plugin.is_some() && self.eat(Kw::AS) {
            factor.secret = AuthSecret::Hash(self.bytes_or_hex()?);
        } else if factor.plugin.is_some() && self.eat(Kw::INITIAL) {
            self.expect(Kw::AUTHENTICATION)?;
            factor.initial = self.nested(Self::opt_auth)?.map(Box::new);
            if factor.initial.is_none() {
                return Err(self.unexpected());
            }
        } else if factor.plugin.is_none() {
            return Err(self.unexpected());
        }
        if self.eat(Kw::REPLACE) {
            factor.replace = Some(self.bytes()?);
        }
        factor.retain_current = self.retain_current_password()?;
        Ok(Some(factor))
    }

    fn account_options(&mut self) -> PResult<AccountOptions> {
        let mut options = AccountOptions::default();
        if self.eat(Kw::REQUIRE) {
            options.require = Some(self.tls_requirement()?);
        }
        if self.eat(Kw::WITH) {
            while let Some(keyword) = self.eat_any(&[
                Kw::MAX_QUERIES_PER_HOUR,
                Kw::MAX_UPDATES_PER_HOUR,
                Kw::MAX_CONNECTIONS_PER_HOUR,
                Kw::MAX_USER_CONNECTIONS,
            ]) {
                let limit = match keyword {
                    Kw::MAX_QUERIES_PER_HOUR => ResourceLimit::QueriesPerHour,
                    Kw::MAX_UPDATES_PER_HOUR => ResourceLimit::UpdatesPerHour,
                    Kw::MAX_CONNECTIONS_PER_HOUR => ResourceLimit::ConnectionsPerHour,
                    _ => ResourceLimit::UserConnections,
                };
                options.limits.push((limit, self.unsigned()?));
            }
            if options.limits.is_empty() {
                return Err(self.unexpected());
            }
        }
        loop {
            match self.kind() {
                Tok::Kw(Kw::PASSWORD | Kw::FAILED_LOGIN_ATTEMPTS | Kw::PASSWORD_LOCK_TIME) => {
                    let option = self.password_option()?;
                    options.password_options.push(option);
                }
                Tok::Kw(Kw::ACCOUNT) => {
                    self.bump();
                    options.locked = Some(self.expect_any(&[Kw::LOCK, Kw::UNLOCK])? == Kw::LOCK);
                }
                _ => break,
            }
        }
        if self.eat(Kw::COMMENT) {
            options.comment = Some(self.text()?);
        } else if self.eat(Kw::ATTRIBUTE) {
            options.attribute = Some(self.text()?);
        }
        Ok(options)
    }

    /// After `REQUIRE`.
    fn tls_requirement(&mut self) -> PResult<TlsRequirement> {
        if let Some(keyword) = self.eat_any(&[Kw::NONE, Kw::SSL, Kw::X509]) {
            return Ok(match keyword {
                Kw::NONE => TlsRequirement::None,
                Kw::SSL => TlsRequirement::Ssl,
                _ => TlsRequirement::X509,
            });
        }
        let (mut cipher, mut issuer, mut subject) = (None, None, None);
        loop {
            let field = match self.kind() {
                Tok::Kw(Kw::CIPHER) if cipher.is_none() => &mut cipher,
                Tok::Kw(Kw::ISSUER) if issuer.is_none() => &mut issuer,
                Tok::Kw(Kw::SUBJECT) if subject.is_none() => &mut subject,
                _ => return Err(self.unexpected()),
            };
            self.bump();
            *field = Some(self.text()?);
            self.eat(Kw::AND);
            if !self.at_any(&[Kw::CIPHER, Kw::ISSUER, Kw::SUBJECT]) {
                return Ok(TlsRequirement::Fields {
                    cipher,
                    issuer,
                    subject,
                });
            }
        }
    }

    fn password_option(&mut self) -> PResult<PasswordOption> {
        match self.bump().kind {
            Tok::Kw(Kw::FAILED_LOGIN_ATTEMPTS) => return self.unsigned().map(PasswordOption::FailedLoginAttempts),
            Tok::Kw(Kw::PASSWORD_LOCK_TIME) => {
                let days = if self.eat(Kw::UNBOUNDED) {
                    None
                } else {
                    Some(self.unsigned()?)
                };
                return Ok(PasswordOption::LockTime(days));
            }
            _ => {}
        }
        Ok(
            match self.expect_any(&[Kw::EXPIRE, Kw::HISTORY, Kw::REUSE, Kw::REQUIRE])? {
                Kw::EXPIRE => match self.eat_any(&[Kw::DEFAULT, Kw::NEVER, Kw::INTERVAL]) {
                    Some(Kw::DEFAULT) => PasswordOption::ExpireDefault,
                    Some(Kw::NEVER) => PasswordOption::ExpireNever,
                    Some(_) => {
                        let days = self.unsigned()?;
                        self.expect(Kw::DAY)?;
                        PasswordOption::ExpireInterval(days)
                    }
                    None => PasswordOption::Expire,
                },
                Kw::HISTORY => PasswordOption::History(if self.eat(Kw::DEFAULT) {
                    None
                } else {
                    Some(self.unsigned()?)
                }),
                Kw::REUSE => {
                    self.expect(Kw::INTERVAL)?;
                    if self.eat(Kw::DEFAULT) {
                        return Ok(PasswordOption::ReuseInterval(None));
                    }
                    let days = self.unsigned()?;
                    self.expect(Kw::DAY)?;
                    PasswordOption::ReuseInterval(Some(days))
                }
                _ => {
                    self.expect(Kw::CURRENT)?;
                    match self.eat_any(&[Kw::DEFAULT, Kw::OPTIONAL]) {
                        Some(Kw::DEFAULT) => PasswordOption::RequireCurrentDefault,
                        Some(_) => PasswordOption::RequireCurrentOptional,
                        None => PasswordOption::RequireCurrent,
                    }
                }
            },
        )
    }

    pub(super) fn grant(&mut self) -> PResult<Statement> {
        self.bump();
        let grant = if self.eat_pair(Kw::PROXY, Kw::ON) {
            let proxied = self.account()?;
            self.expect(Kw::TO)?;
            let accounts = self.list(Self::account)?;
            Grant::Proxy {
                proxied,
                accounts,
                grant_option: self.with_option(Kw::GRANT)?,
            }
        } else if let Some(privileges) = self.opt_all_privileges()? {
            self.grant_privileges(privileges)?
        } else {
            let items = self.list(Self::grant_item)?;
            if self.at(Kw::ON) {
                let privileges = self.privileges_of(items)?;
                self.grant_privileges(privileges)?
            } else {
                let roles = self.roles_of(items)?;
                self.expect(Kw::TO)?;
                let accounts = self.list(Self::account)?;
                Grant::Roles {
                    roles,
                    accounts,
                    admin_option: self.with_option(Kw::ADMIN)?,
                }
            }
        };
        Ok(Statement::Grant(Box::new(grant)))
    }

    fn grant_privileges(&mut self, privileges: Privileges) -> PResult<Grant> {
        let target = self.grant_target()?;
        self.expect(Kw::TO)?;
        let accounts = self.list(Self::account)?;
        let grant_option = self.with_option(Kw::GRANT)?;
        let mut grantor = None;
        if self.eat(Kw::AS) {
            let account = self.account()?;
            let mut roles = None;
            if self.eat(Kw::WITH) {
                self.expect(Kw::ROLE)?;
                roles = Some(self.role_choice()?);
            }
            grantor = Some((account, roles));
        }
        Ok(Grant::Privileges {
            privileges,
            target,
            accounts,
            grant_option,
            grantor,
        })
    }

    /// `[WITH <kind> OPTION]`
    fn with_option(&mut self, kind: Kw) -> PResult<bool> {
        if !self.eat(Kw::WITH) {
            return Ok(false);
        }
        self.expect(kind)?;
        self.expect(Kw::OPTION)?;
        Ok(true)
    }

    /// `[ALL [PRIVILEGES]]`
    fn opt_all_privileges(&mut self) -> PResult<Option<Privileges>> {
        if !self.eat(Kw::ALL) {
            return Ok(None);
        }
        self.eat(Kw::PRIVILEGES);
        Ok(Some(Privileges::All))
    }

    pub(super) fn revoke(&mut self) -> PResult<Statement> {
        self.bump();
        let if_exists = self.if_exists()?;
        let what = if self.eat_pair(Kw::PROXY, Kw::ON) {
            RevokeWhat::Proxy(self.account()?)
        } else if let Some(privileges) = self.opt_all_privileges()? {
            if self.eat_tok(Tok::Comma) {
                self.expect_all(&[Kw::GRANT, Kw::OPTION])?;
                RevokeWhat::Everything
            } else {
                RevokeWhat::Privileges {
                    privileges,
                    target: self.grant_target()?,
                }
            }
        } else {
            let items = self.list(Self::grant_item)?;
            if self.at(Kw::ON) {
                let privileges = self.privileges_of(items)?;
                RevokeWhat::Privileges {
                    privileges,
                    target: self.grant_target()?,
                }
            } else {
                RevokeWhat::Roles(self.roles_of(items)?)
            }
        };
        self.expect(Kw::FROM)?;
        let accounts = self.list(Self::account)?;
        let ignore_unknown_user = self.eat(Kw::IGNORE);
        if ignore_unknown_user {
            self.expect_all(&[Kw::UNKNOWN, Kw::USER])?;
        }
        Ok(Statement::Revoke(Box::new(Revoke {
            if_exists,
            what,
            accounts,
            ignore_unknown_user,
        })))
    }

    /// `'role'@'host'`, `role`, `SELECT (a, b)`, `CREATE TEMPORARY TABLES`
    fn grant_item(&mut self) -> PResult<GrantItem> {
        let word = matches!(self.tok.kind, Tok::Ident | Tok::Kw(_));
        if !word || self.peek() == Tok::AtName {
            return Ok(GrantItem {
                privilege: None,
                role: Some(self.account()?),
            });
        }
        let first = self.tok;
        let mut role = None;
        if self.at_ident() {
            role = Some(Account::Named {
                user: self.name_of(first)?.0,
                host: None,
            });
        }
        let name = if self.begins_privilege() {
            self.phrase(STATIC_PRIVILEGES)?
        } else if role.is_some() {
            self.word_upper()?
        } else {
            return Err(self.unexpected());
        };
        let columns = self.opt_paren_idents()?;
        if name.contains(' ') || !columns.is_empty() {
            role = None;
        }
        Ok(GrantItem {
            privilege: Some(Privilege { name, columns }),
            role,
        })
    }

    /// The word is the first of a privilege of the server's own. Any other may be a dynamic one, or a role.
    fn begins_privilege(&self) -> bool {
        let word = self.slice(self.tok);
        STATIC_PRIVILEGES.iter().any(|privilege| {
            privilege
                .split(' ')
                .next()
                .is_some_and(|first| first.as_bytes().eq_ignore_ascii_case(word))
        })
    }

    fn privileges_of(&mut self, items: Vec<GrantItem>) -> PResult<Privileges> {
        let list = items.into_iter().map(|item| item.privilege).collect::<Option<Vec<_>>>();
        match list {
            Some(list) => Ok(Privileges::List(list)),
            None => Err(self.unexpected()),
        }
    }

    fn roles_of(&mut self, items: Vec<GrantItem>) -> PResult<Vec<Account>> {
        let roles = items.into_iter().map(|item| item.role).collect::<Option<Vec<_>>>();
        match roles {
            Some(roles) => Ok(roles),
            None => Err(self.unexpected()),
        }
    }

    /// `ON [TABLE|FUNCTION|PROCEDURE] level`
    fn grant_target(&mut self) -> PResult<GrantTarget> {
        self.expect(Kw::ON)?;
        let kind = match self.eat_any(&[Kw::TABLE, Kw::FUNCTION, Kw::PROCEDURE]) {
            Some(Kw::FUNCTION) => GrantKind::Function,
            Some(Kw::PROCEDURE) => GrantKind::Procedure,
            _ => GrantKind::Table,
        };
        let level = if self.eat_tok(Tok::Star) {
            if self.eat_tok(Tok::Dot) {
                self.expect_tok(Tok::Star)?;
                GrantLevel::Global
            } else {
                GrantLevel::CurrentSchema
            }
        } else {
            let first = self.ident()?;
            if self.eat_tok(Tok::Dot) {
                if self.eat_tok(Tok::Star) {
                    GrantLevel::Schema(first)
                } else {
                    GrantLevel::Object(TableName {
                        schema: Some(first),
                        name: self.ident()?,
                    })
                }
            } else {
                GrantLevel::Object(TableName {
                    schema: None,
                    name: first,
                })
            }
        };
        Ok(GrantTarget { kind, level })
    }
}

/// Privileges of the server's own.
const STATIC_PRIVILEGES: &[&str] = &[
    "ALTER",
    "ALTER ROUTINE",
    "CREATE",
    "CREATE ROLE",
    "CREATE ROUTINE",
    "CREATE TABLESPACE",
    "CREATE TEMPORARY TABLES",
    "CREATE USER",
    "CREATE VIEW",
    "DELETE",
    "DROP",
    "DROP ROLE",
    "EVENT",
    "EXECUTE",
    "FILE",
    "GRANT OPTION",
    "INDEX",
    "INSERT",
    "LOCK TABLES",
    "PROCESS",
    "REFERENCES",
    "RELOAD",
    "REPLICATION CLIENT",
    "REPLICATION SLAVE",
    "SELECT",
    "SHOW DATABASES",
    "SHOW VIEW",
    "SHUTDOWN",
    "SUPER",
    "TRIGGER",
    "UPDATE",
    "USAGE",
];
