//! Users, roles, GRANT and REVOKE.

use super::Printer;
use crate::ast::*;

impl Printer {
    pub(super) fn account(&mut self, account: &Account) {
        match account {
            Account::Named { user, host } => {
                self.str(user);
                self.opt("@", host, |p, host| p.str(host));
            }
            Account::CurrentUser => self.text("CURRENT_USER"),
        }
    }

    pub(super) fn create_user(&mut self, create: &CreateUser) {
        self.text("CREATE USER ");
        self.when(create.if_not_exists, "IF NOT EXISTS ");
        self.list(&create.users, |p, user| {
            p.account(&user.account);
            for (index, factor) in user.auth.iter().enumerate() {
                p.when(index > 0, " AND");
                p.auth_factor(factor);
            }
        });
        if !create.default_roles.is_empty() {
            self.text(" DEFAULT ROLE ");
            self.list(&create.default_roles, Self::account);
        }
        self.account_options(&create.options);
    }

    pub(super) fn alter_user(&mut self, alter: &AlterUser) {
        self.text("ALTER USER ");
        self.when(alter.if_exists, "IF EXISTS ");
        self.list(&alter.users, Self::altered_user);
        if let Some(role) = &alter.default_role {
            self.text(" DEFAULT ROLE ");
            self.role_choice(role);
        }
        self.account_options(&alter.options);
    }

    fn altered_user(&mut self, user: &UserSpec) {
        self.account(&user.account);
        let Some(action) = &user.action else {
            return user.auth.iter().for_each(|factor| self.auth_factor(factor));
        };
        match action {
            UserAction::DiscardOldPassword => self.text(" DISCARD OLD PASSWORD"),
            UserAction::AddFactors(factors) => self.factors(" ADD ", factors, &user.auth),
            UserAction::ModifyFactors(factors) => self.factors(" MODIFY ", factors, &user.auth),
            UserAction::DropFactors(factors) => self.factors(" DROP ", factors, &[]),
            UserAction::InitiateRegistration(factor) => {
                self.text(&format!(" {factor} FACTOR INITIATE REGISTRATION"));
            }
            UserAction::FinishRegistration(factor, response) => {
                self.text(&format!(
                    " {factor} FACTOR FINISH REGISTRATION SET CHALLENGE_RESPONSE AS "
                ));
                self.string(response);
            }
            UserAction::Unregister(factor) => self.text(&format!(" {factor} FACTOR UNREGISTER")),
        }
    }

    fn factors(&mut self, verb: &str, factors: &[u8], auth: &[AuthFactor]) {
        for (index, factor) in factors.iter().enumerate() {
            self.text(verb);
            self.text(&format!("{factor} FACTOR"));
            if let Some(auth) = auth.get(index) {
                self.auth_factor(auth);
            }
        }
    }

    fn auth_factor(&mut self, factor: &AuthFactor) {
        self.text(" IDENTIFIED");
        self.opt(" WITH ", &factor.plugin, Self::ident);
        match &factor.secret {
            AuthSecret::None => {}
            AuthSecret::Password(password) => {
                self.text(" BY ");
                self.string(password);
            }
            AuthSecret::RandomPassword => self.text(" BY RANDOM PASSWORD"),
            AuthSecret::Hash(hash) => {
                self.text(" AS ");
                self.string(hash);
            }
        }
        self.opt(" INITIAL AUTHENTICATION", &factor.initial, |p, initial| {
            p.auth_factor(initial)
        });
        self.opt(" REPLACE ", &factor.replace, |p, old| p.string(old));
        self.when(factor.retain_current, " RETAIN CURRENT PASSWORD");
    }

    fn account_options(&mut self, options: &AccountOptions) {
        self.opt(" REQUIRE ", &options.require, Self::tls_requirement);
        self.when(!options.limits.is_empty(), " WITH");
        for (limit, value) in &options.limits {
            self.text(match limit {
                ResourceLimit::QueriesPerHour => " MAX_QUERIES_PER_HOUR",
                ResourceLimit::UpdatesPerHour => " MAX_UPDATES_PER_HOUR",
                ResourceLimit::ConnectionsPerHour => " MAX_CONNECTIONS_PER_HOUR",
                ResourceLimit::UserConnections => " MAX_USER_CONNECTIONS",
            });
            self.numbered(" ", *value);
        }
        for option in &options.password_options {
            self.text(" ");
            self.password_option(option);
        }
        self.text(match options.locked {
            Some(true) => " ACCOUNT LOCK",
            Some(false) => " ACCOUNT UNLOCK",
            None => "",
        });
        self.opt(" COMMENT ", &options.comment, |p, comment| p.str(comment));
        self.opt(" ATTRIBUTE ", &options.attribute, |p, attribute| p.str(attribute));
    }

    fn tls_requirement(&mut self, requirement: &TlsRequirement) {
        match requirement {
            TlsRequirement::None => self.text("NONE"),
            TlsRequirement::Ssl => self.text("SSL"),
            TlsRequirement::X509 => self.text("X509"),
            TlsRequirement::Fields {
                cipher,
                issuer,
                subject,
            } => {
                let fields = [("CIPHER ", cipher), ("ISSUER ", issuer), ("SUBJECT ", subject)];
                let mut before = "";
                for (name, value) in fields {
                    if let Some(value) = value {
                        self.text(before);
                        self.quoted(name, value);
                        before = " AND ";
                    }
                }
            }
        }
    }

    fn password_option(&mut self, option: &PasswordOption) {
        match option {
            PasswordOption::Expire => self.text("PASSWORD EXPIRE"),
            PasswordOption::ExpireDefault => self.text("PASSWORD EXPIRE DEFAULT"),
            PasswordOption::ExpireNever => self.text("PASSWORD EXPIRE NEVER"),
            PasswordOption::ExpireInterval(days) => self.text(&format!("PASSWORD EXPIRE INTERVAL {days} DAY")),
            PasswordOption::History(None) => self.text("PASSWORD HISTORY DEFAULT"),
            PasswordOption::History(Some(count)) => self.text(&format!("PASSWORD HISTORY {count}")),
            PasswordOption::ReuseInterval(None) => self.text("PASSWORD REUSE INTERVAL DEFAULT"),
            PasswordOption::ReuseInterval(Some(days)) => self.text(&format!("PASSWORD REUSE INTERVAL {days} DAY")),
            PasswordOption::RequireCurrent => self.text("PASSWORD REQUIRE CURRENT"),
            PasswordOption::RequireCurrentOptional => self.text("PASSWORD REQUIRE CURRENT OPTIONAL"),
            PasswordOption::RequireCurrentDefault => self.text("PASSWORD REQUIRE CURRENT DEFAULT"),
            PasswordOption::FailedLoginAttempts(count) => self.text(&format!("FAILED_LOGIN_ATTEMPTS {count}")),
            PasswordOption::LockTime(None) => self.text("PASSWORD_LOCK_TIME UNBOUNDED"),
            PasswordOption::LockTime(Some(days)) => self.text(&format!("PASSWORD_LOCK_TIME {days}")),
        }
    }

    pub(super) fn grant(&mut self, grant: &Grant) {
        self.text("GRANT ");
        match grant {
            Grant::Privileges {
                privileges,
                target,
                accounts,
                grant_option,
                grantor,
            } => {
                self.privileges(privileges);
                self.grant_target(target);
                self.text(" TO ");
                self.list(accounts, Self::account);
                self.when(*grant_option, " WITH GRANT OPTION");
                self.opt(" AS ", grantor, |p, (account, roles)| {
                    p.account(account);
                    p.opt(" WITH ROLE ", roles, Self::role_choice);
                });
            }
            Grant::Roles {
                roles,
                accounts,
                admin_option,
            } => {
                self.list(roles, Self::account);
                self.text(" TO ");
                self.list(accounts, Self::account);
                self.when(*admin_option, " WITH ADMIN OPTION");
            }
            Grant::Proxy {
                proxied,
                accounts,
                grant_option,
            } => {
                self.text("PROXY ON ");
                self.account(proxied);
                self.text(" TO ");
                self.list(accounts, Self::account);
                self.when(*grant_option, " WITH GRANT OPTION");
            }
        }
    }

    pub(super) fn revoke(&mut self, revoke: &Revoke) {
        self.text("REVOKE ");
        self.when(revoke.if_exists, "IF EXISTS ");
        match &revoke.what {
            RevokeWhat::Privileges { privileges, target } => {
                self.privileges(privileges);
                self.grant_target(target);
            }
            RevokeWhat::Everything => self.text("ALL PRIVILEGES, GRANT OPTION"),
            RevokeWhat::Roles(roles) => self.list(roles, Self::account),
            RevokeWhat::Proxy(account) => {
                self.text("PROXY ON ");
                self.account(account);
            }
        }
        self.text(" FROM ");
        self.list(&revoke.accounts, Self::account);
        self.when(revoke.ignore_unknown_user, " IGNORE UNKNOWN USER");
    }

    fn privileges(&mut self, privileges: &Privileges) {
        match privileges {
            Privileges::All => self.text("ALL PRIVILEGES"),
            Privileges::List(list) => self.list(list, |p, privilege| {
                p.text(&privilege.name);
                p.opt_idents(&privilege.columns);
            }),
        }
    }

    fn grant_target(&mut self, target: &GrantTarget) {
        self.text(match target.kind {
            GrantKind::Table => " ON ",
            GrantKind::Function => " ON FUNCTION ",
            GrantKind::Procedure => " ON PROCEDURE ",
        });
        match &target.level {
            GrantLevel::Global => self.text("*.*"),
            GrantLevel::Schema(schema) => {
                self.ident(schema);
                self.text(".*");
            }
            GrantLevel::CurrentSchema => self.text("*"),
            GrantLevel::Object(name) => self.table_name(name),
        }
    }
}
