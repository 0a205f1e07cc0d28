//! Which account a client logs in to: MySQL's rule that the most specific host wins (MySQL manual, "Access Control,
//! Stage 1: Connection Verification").

use std::cmp::Reverse;
use std::sync::Arc;

use super::{AccountDef, Catalog, Privileges};

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

    /// Whether somebody who may manage accounts has to prove it: the condition for listening beyond loopback.
    pub fn has_administrator_with_password(&self) -> bool {
        let manages_accounts = Privileges::by_name("CREATE USER").expect("a privilege of the dialect");
        self.accounts().any(|account| {
            account.privileges.contains(manages_accounts) && !account.authentication.is_empty() && !account.locked
        })
    }
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
    fn an_administrator_manages_accounts_and_has_a_password() {
        let with = |change: &dyn Fn(&mut AccountDef)| {
            let mut administrator = AccountDef {
                privileges: Privileges::ALL,
                authentication: b"*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29".to_vec(),
                ..account("root", "%")
            };
            change(&mut administrator);
            let mut edit = CatalogEdit::new(Arc::new(Catalog::default()));
            edit.put_account(administrator);
            edit.into_catalog().has_administrator_with_password()
        };
        assert!(with(&|_| {}));
        assert!(!with(&|account| account.authentication.clear()));
        assert!(!with(&|account| account.locked = true));
        assert!(!with(&|account| account.privileges = Privileges::NONE));
    }
}
