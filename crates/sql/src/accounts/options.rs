//! The clauses of CREATE and ALTER USER behind `IDENTIFIED`: into an account's policy, and back into text.

use catalog::{LockTime, LoginPolicy, TlsRequirement};
use parser::ast::{self, AccountOptions, PasswordOption, ResourceLimit};
use types::json::{Members, Node};
use types::{ErrorKind, Json, SqlError, SqlResult};

/// FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
const LOCKING_MAX: u64 = 32_767;

/// Takes over what the clauses say; what they leave out stays.
pub(super) fn apply(policy: &mut LoginPolicy, options: &AccountOptions) -> SqlResult<()> {
    if let Some(requirement) = &options.require {
        policy.tls = requirement_of(requirement);
    }
    for (limit, value) in &options.limits {
        let value = u32::try_from(*value).unwrap_or(u32::MAX);
        let limits = &mut policy.limits;
        *match limit {
            ResourceLimit::QueriesPerHour => &mut limits.queries_per_hour,
            ResourceLimit::UpdatesPerHour => &mut limits.updates_per_hour,
            ResourceLimit::ConnectionsPerHour => &mut limits.connections_per_hour,
            ResourceLimit::UserConnections => &mut limits.user_connections,
        } = value;
    }
    for option in &options.password_options {
        apply_password_option(policy, option)?;
    }
    if let Some(comment) = &options.comment {
        let comment = Node::Str(comment.to_string());
        let comment = member("comment", comment);
        policy.attribute = merged(policy.attribute.as_deref(), comment);
    }
    if let Some(attribute) = &options.attribute {
        policy.attribute = merged(policy.attribute.as_deref(), object(attribute)?);
    }
    Ok(())
}

fn member(name: &str, value: Node) -> Node {
    Node::Object(Members::new(vec![(name.to_owned(), value)]))
}

fn requirement_of(requirement: &ast::TlsRequirement) -> TlsRequirement {
    let text = |field: &Option<Box<str>>| field.as_deref().map(str::to_owned);
    match requirement {
        ast::TlsRequirement::None => TlsRequirement::None,
        ast::TlsRequirement::Ssl => TlsRequirement::Encrypted,
        ast::TlsRequirement::X509 => TlsRequirement::Certificate,
        ast::TlsRequirement::Fields {
            cipher,
            issuer,
            subject,
        } => TlsRequirement::Exactly {
            cipher: text(cipher),
            issuer: text(issuer),
            subject: text(subject),
        },
    }
}

fn apply_password_option(policy: &mut LoginPolicy, option: &PasswordOption) -> SqlResult<()> {
    let password = &mut policy.password;
    // Beyond the range is the end of it.
    let clamped = |value: Option<u64>| value.map(|value| u16::try_from(value).unwrap_or(u16::MAX));
    let within = |value: u64, range: std::ops::RangeInclusive<u64>, what: &str| {
        let wrong = || SqlError::new(ErrorKind::WrongValue, &[&what, &value]);
        let value = range.contains(&value).then_some(value).ok_or_else(wrong)?;
        u16::try_from(value).map_err(|_| wrong())
    };
    match *option {
        PasswordOption::Expire => password.expired = true,
        PasswordOption::ExpireDefault => (password.expired, password.lifetime_days) = (false, None),
        PasswordOption::ExpireNever => (password.expired, password.lifetime_days) = (false, Some(0)),
        PasswordOption::ExpireInterval(days) => {
            let days = within(days, 1..=u64::from(u16::MAX), "DAY")?;
            (password.expired, password.lifetime_days) = (false, Some(days));
        }
        PasswordOption::History(count) => password.history = clamped(count),
        PasswordOption::ReuseInterval(days) => password.reuse_days = clamped(days),
        PasswordOption::RequireCurrent => password.require_current = Some(true),
        PasswordOption::RequireCurrentOptional => password.require_current = Some(false),
        PasswordOption::RequireCurrentDefault => password.require_current = None,
        PasswordOption::FailedLoginAttempts(count) => {
            password.failed_login_attempts = within(count, 0..=LOCKING_MAX, "FAILED_LOGIN_ATTEMPTS")?;
        }
        PasswordOption::LockTime(None) => password.lock_time = LockTime::Unbounded,
        PasswordOption::LockTime(Some(days)) => {
            password.lock_time = LockTime::Days(within(days, 0..=LOCKING_MAX, "PASSWORD_LOCK_TIME")?);
        }
    }
    Ok(())
}

/// 3982 for what is no JSON object.
fn object(text: &str) -> SqlResult<Node> {
    match Json::parse(text).map(|json| json.as_ref().to_node()) {
        Ok(node @ Node::Object(_)) => Ok(node),
        _ => Err(ErrorKind::InvalidUserAttributeJson.into()),
    }
}

/// The attribute after a change: null removes a member; without any there is no attribute.
fn merged(current: Option<&str>, change: Node) -> Option<String> {
    let current = current.and_then(|text| object(text).ok());
    let merged = current.unwrap_or(Node::Object(Members::default())).merge_patch(change);
    match &merged {
        Node::Object(members) if members.is_empty() => None,
        node => Some(Json::from(node).as_ref().to_string()),
    }
}

/// As SHOW CREATE USER prints them, behind the plugin.
pub(super) fn print(policy: &LoginPolicy, locked: bool) -> String {
    let mut text = String::from("REQUIRE");
    let quoted = |value: &str| format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"));
    match &policy.tls {
        TlsRequirement::None => text.push_str(" NONE"),
        TlsRequirement::Encrypted => text.push_str(" SSL"),
        TlsRequirement::Certificate => text.push_str(" X509"),
        TlsRequirement::Exactly {
            cipher,
            issuer,
            subject,
        } => {
            for (name, value) in [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)] {
                if let Some(value) = value {
                    text.push_str(&format!(" {name} {}", quoted(value)));
                }
            }
        }
    }
    let limits = policy.limits;
    if !limits.is_unlimited() {
        text.push_str(" WITH");
    }
    for (name, limit) in [
        ("MAX_QUERIES_PER_HOUR", limits.queries_per_hour),
        ("MAX_UPDATES_PER_HOUR", limits.updates_per_hour),
        ("MAX_CONNECTIONS_PER_HOUR", limits.connections_per_hour),
        ("MAX_USER_CONNECTIONS", limits.user_connections),
    ] {
        if limit > 0 {
            text.push_str(&format!(" {name} {limit}"));
        }
    }
    let password = &policy.password;
    text.push_str(" PASSWORD EXPIRE");
    match (password.expired, password.lifetime_days) {
        (true, _) => {}
        (false, None) => text.push_str(" DEFAULT"),
        (false, Some(0)) => text.push_str(" NEVER"),
        (false, Some(days)) => text.push_str(&format!(" INTERVAL {days} DAY")),
    }
    text.push_str(if locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" });
    text.push_str(" PASSWORD HISTORY");
    text.push_str(
        &password
            .history
            .map_or(" DEFAULT".to_owned(), |count| format!(" {count}")),
    );
    text.push_str(" PASSWORD REUSE INTERVAL");
    text.push_str(
        &password
            .reuse_days
            .map_or(" DEFAULT".to_owned(), |days| format!(" {days} DAY")),
    );
    text.push_str(" PASSWORD REQUIRE CURRENT");
    text.push_str(match password.require_current {
        None => " DEFAULT",
        Some(true) => "",
        Some(false) => " OPTIONAL",
    });
    if password.failed_login_attempts > 0 {
        text.push_str(&format!(" FAILED_LOGIN_ATTEMPTS {}", password.failed_login_attempts));
    }
    match password.lock_time {
        LockTime::Days(0) => {}
        LockTime::Days(days) => text.push_str(&format!(" PASSWORD_LOCK_TIME {days}")),
        LockTime::Unbounded => text.push_str(" PASSWORD_LOCK_TIME UNBOUNDED"),
    }
    if let Some(attribute) = &policy.attribute {
        text.push_str(&format!(" ATTRIBUTE {}", quoted(attribute)));
    }
    text
}
