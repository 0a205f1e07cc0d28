//! Which account a client logs in to: MySQL's rule that the most specific host wins (MySQL manual, "Access Control,
//! Stage 1: Connection Verification").

use std::cmp::Reverse;
use std::sync::Arc;

use super::{AccountDef, Catalog, DynamicPrivilege, Privileges};

/// Each of them lets its holder change accounts or the server, or take more privileges.
const MANAGES: Privileges = Privileges::CREATE_USER
    .with(Privileges::SUPER)
    .with(Privileges::SHUTDOWN)
    .with(Privileges::FILE)
    .with(Privileges::GRANT_OPTION);
const MANAGES_TOO: [DynamicPrivilege; 3] = [
    DynamicPrivilege::ROLE_ADMIN,
    DynamicPrivilege::SET_ANY_DEFINER,
    DynamicPrivilege::SYSTEM_VARIABLES_ADMIN,
];

impl Catalog {
    /// The account of `user` for a client known by any of `addresses` (`localhost`, its IP address). Among the hosts that
    /// match, literal ones come first, then patterns, those with the longer text before their first wildcard earlier;
    /// for the same host a named user comes before the anonymous one.
    pub fn account_for_login(&self, user: &str, addresses: &[&str]) -> Option<&Arc<AccountDef>> {
        self.accounts()
            .filter(|account| account.user == user || account.user.is_empty())
            .filter(|account| addresses.iter().any(|address| host_matches(&account.host, address)))
            .min_by_key(|account| (specificity(&account.host), account.user.is_empty()))
    }

    /// Accounts that could be used to take over the server, and that nobody needs a password for: as long as there is one, the
    /// server listens on this machine only. Locked ones let nobody in.
    pub fn administrators_without_password(&self) -> impl Iterator<Item = &Arc<AccountDef>> {
        self.accounts()
            .filter(|account| account.authentication.is_empty() && !account.locked && self.is_administrator(account))
    }

    /// Whether the account, with the roles it may activate, may change accounts or the server itself, so that a login to it is as
    /// good as one to `root`.
    pub fn is_administrator(&self, account: &AccountDef) -> bool {
        let mut found = vec![account];
        let mut next = 0;
        while let Some(account) = found.get(next).copied() {
            if account.user == "root"
                || account.privileges.meets(MANAGES)
                || MANAGES_TOO.iter().any(|privilege| account.dynamic().has(*privilege))
                || changes_accounts(account)
            {
                return true;
            }
            let roles = account.roles.iter();
            for role in roles.filter_map(|role| self.account(&role.user, &role.host)) {
                let known = found.iter().any(|known| std::ptr::eq(*known, &**role));
                if !known {
                    found.push(role);
                }
            }
            next += 1;
        }
        false
    }
}

/// Whether the account may change the tables of the accounts, which lets it set passwords.
fn changes_accounts(account: &AccountDef) -> bool {
    let stands_for_mysql = |pattern: &str| {
        let escape = Some('\\');
        types::CollationId::UTF8MB4_GENERAL_CI.like(pattern.as_bytes(), b"mysql", escape)
    };
    let on_mysql = |(pattern, privileges): &(String, Privileges)| {
        privileges.contains(Privileges::UPDATE) && stands_for_mysql(pattern)
    };
    account.privileges.contains(Privileges::UPDATE) || account.database_privileges.iter().any(on_mysql)
}

/// Orders hosts from the most specific to the least.
fn specificity(host: &str) -> (bool, Reverse<usize>) {
    match first_wildcard(host) {
        None => (false, Reverse(host.len())),
        Some(at) => (true, Reverse(at)),
    }
}

fn first_wildcard(host: &str) -> Option<usize> {
    if host.is_empty() {
        Some(0)
    } else {
        host.find(['%', '_'])
    }
}

/// Matches without case; `%` stands for any text, `_` for one character, and the empty host for every one.
fn host_matches(pattern: &str, address: &str) -> bool {
    if pattern.is_empty() {
        return true;
    }
    let (pattern, address) = (
        pattern.to_ascii_lowercase().into_bytes(),
        address.to_ascii_lowercase().into_bytes(),
    );
    // After a mismatch, the last `%` takes one character more.
    let (mut p, mut a) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while a < address.len() {
        match pattern.get(p) {
            Some(b'%') => {
                retry = Some((p + 1, a));
                p += 1;
            }
            Some(&c) if c == b'_' || c == address[a] => (p, a) = (p + 1, a + 1),
            _ => match retry {
                Some((after, from)) => {
                    retry = Some((after, from + 1));
                    (p, a) = (after, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'%')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AuthenticationPlugin, CatalogEdit};

    fn catalog(accounts: &[(&str, &str)]) -> Catalog {
        let mut edit = CatalogEdit::new(Arc::new(Catalog::default()));
        for (user, host) in accounts {
            edit.put_account(account(user, host));
        }
        edit.into_catalog()
    }

    fn account(user: &str, host: &str) -> AccountDef {
        AccountDef {
            plugin: AuthenticationPlugin::NativePassword,
            ..AccountDef::new(user, host)
        }
    }

    #[test]
    fn the_most_specific_host_wins() {
        let catalog = catalog(&[
            ("a", "%"),
            ("a", "10.1.%"),
            ("a", "10.1.2.3"),
            ("a", "localhost"),
            ("", "10.9.%"),
            ("b", "10.%"),
        ]);
        let host = |user: &str, addresses: &[&str]| {
            catalog
                .account_for_login(user, addresses)
                .map(|account| format!("{}@{}", account.user, account.host))
        };
        assert_eq!(host("a", &["10.1.2.3"]).as_deref(), Some("a@10.1.2.3"));
        assert_eq!(host("a", &["10.1.2.4"]).as_deref(), Some("a@10.1.%"));
        assert_eq!(host("a", &["192.0.2.1"]).as_deref(), Some("a@%"));
        assert_eq!(host("a", &["localhost", "127.0.0.1"]).as_deref(), Some("a@localhost"));
        assert_eq!(host("b", &["10.9.9.9"]).as_deref(), Some("@10.9.%"));
        assert_eq!(host("c", &["192.0.2.1"]), None);
    }

    #[test]
    fn hosts_are_patterns() {
        assert!(host_matches("%", "anything"));
        assert!(host_matches("", "anything"));
        assert!(host_matches("10.%.3", "10.1.2.3"));
        assert!(host_matches("10.0.0._", "10.0.0.7"));
        assert!(host_matches("LocalHost", "localhost"));
        assert!(!host_matches("10.0.0._", "10.0.0.17"));
        assert!(!host_matches("10.%.3", "10.1.2.4"));
        assert!(!host_matches("localhost", "localhost.example"));
    }

    #[test]
    fn administrators_without_a_password_are_found() {
        let open = |change: &dyn Fn(&mut AccountDef)| {
            let mut administrator = AccountDef {
                privileges: Privileges::by_name("CREATE USER").unwrap(),
                ..account("a", "%")
            };
            change(&mut administrator);
            let mut edit = CatalogEdit::new(Arc::new(Catalog::default()));
            edit.put_account(administrator);
            edit.into_catalog().administrators_without_password().count() == 1
        };
        assert!(open(&|_| {}));
        assert!(!open(&|account| account.authentication = b"*94BDCEBE".to_vec()));
        assert!(!open(&|account| account.locked = true));
        assert!(!open(&|account| account.privileges = Privileges::NONE));
        assert!(open(&|account| account.privileges = Privileges::GRANT_OPTION));
        // UPDATE on the tables of the accounts sets passwords.
        assert!(open(&|account| account.privileges = Privileges::UPDATE));
        let updates = |pattern: &'static str| {
            open(&|account| {
                account.privileges = Privileges::NONE;
                account.database_privileges = vec![(pattern.into(), Privileges::UPDATE)];
            })
        };
        assert!(updates("mysql") && updates("my%") && !updates("my\\%") && !updates("other"));
        assert!(open(&|account| {
            account.privileges = Privileges::NONE;
            account.user = "root".into();
        }));
    }
}
