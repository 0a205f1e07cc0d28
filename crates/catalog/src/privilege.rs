//! Sets of privileges, and the patterns that databases are granted by.
//!
//! Both kinds of sets are kept as numbers in the catalog's rows: a name's place in its list never changes, new names go to
//! the end.

use serde::{Deserialize, Serialize};

/// A set of privileges of the server's own, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Privileges(pub u64);

impl Privileges {
    /// Name as in `GRANT`, in the order in which `SHOW GRANTS` lists them.
    pub const NAMES: [&'static str; 30] = [
        "SELECT",
        "INSERT",
        "UPDATE",
        "DELETE",
        "CREATE",
        "DROP",
        "RELOAD",
        "SHUTDOWN",
        "PROCESS",
        "FILE",
        "REFERENCES",
        "INDEX",
        "ALTER",
        "SHOW DATABASES",
        "SUPER",
        "CREATE TEMPORARY TABLES",
        "LOCK TABLES",
        "EXECUTE",
        "REPLICATION SLAVE",
        "REPLICATION CLIENT",
        "CREATE VIEW",
        "SHOW VIEW",
        "CREATE ROUTINE",
        "ALTER ROUTINE",
        "CREATE USER",
        "EVENT",
        "TRIGGER",
        "CREATE TABLESPACE",
        "CREATE ROLE",
        "DROP ROLE",
    ];
    pub const GRANT_OPTION: Privileges = Privileges(1 << 63);
    pub const NONE: Privileges = Privileges(0);
    /// Everything but `GRANT OPTION`.
    pub const ALL: Privileges = Privileges((1 << Privileges::NAMES.len()) - 1);
    /// What ALL was before roles: accounts that hold it get what came later.
    const ALL_BEFORE_ROLES: Privileges = Privileges((1 << 28) - 1);

    pub const SELECT: Privileges = Privileges::named("SELECT");
    pub const INSERT: Privileges = Privileges::named("INSERT");
    pub const UPDATE: Privileges = Privileges::named("UPDATE");
    pub const DELETE: Privileges = Privileges::named("DELETE");
    pub const CREATE: Privileges = Privileges::named("CREATE");
    pub const DROP: Privileges = Privileges::named("DROP");
    pub const RELOAD: Privileges = Privileges::named("RELOAD");
    pub const SHUTDOWN: Privileges = Privileges::named("SHUTDOWN");
    pub const PROCESS: Privileges = Privileges::named("PROCESS");
    pub const FILE: Privileges = Privileges::named("FILE");
    pub const REFERENCES: Privileges = Privileges::named("REFERENCES");
    pub const INDEX: Privileges = Privileges::named("INDEX");
    pub const ALTER: Privileges = Privileges::named("ALTER");
    pub const SHOW_DATABASES: Privileges = Privileges::named("SHOW DATABASES");
    pub const SUPER: Privileges = Privileges::named("SUPER");
    pub const CREATE_TEMPORARY_TABLES: Privileges = Privileges::named("CREATE TEMPORARY TABLES");
    pub const LOCK_TABLES: Privileges = Privileges::named("LOCK TABLES");
    pub const EXECUTE: Privileges = Privileges::named("EXECUTE");
    pub const REPLICATION_SLAVE: Privileges = Privileges::named("REPLICATION SLAVE");
    pub const REPLICATION_CLIENT: Privileges = Privileges::named("REPLICATION CLIENT");
    pub const CREATE_VIEW: Privileges = Privileges::named("CREATE VIEW");
    pub const SHOW_VIEW: Privileges = Privileges::named("SHOW VIEW");
    pub const CREATE_ROUTINE: Privileges = Privileges::named("CREATE ROUTINE");
    pub const ALTER_ROUTINE: Privileges = Privileges::named("ALTER ROUTINE");
    pub const CREATE_USER: Privileges = Privileges::named("CREATE USER");
    pub const EVENT: Privileges = Privileges::named("EVENT");
    pub const TRIGGER: Privileges = Privileges::named("TRIGGER");
    pub const CREATE_TABLESPACE: Privileges = Privileges::named("CREATE TABLESPACE");
    pub const CREATE_ROLE: Privileges = Privileges::named("CREATE ROLE");
    pub const DROP_ROLE: Privileges = Privileges::named("DROP ROLE");

    /// What a column can be granted.
    pub const OF_COLUMNS: Privileges = Privileges::SELECT
        .with(Privileges::INSERT)
        .with(Privileges::UPDATE)
        .with(Privileges::REFERENCES);
    /// What a routine can be granted.
    pub const OF_ROUTINES: Privileges = Privileges::EXECUTE.with(Privileges::ALTER_ROUTINE);
    /// What a table can be granted.
    pub const OF_TABLES: Privileges = Privileges::OF_COLUMNS
        .with(Privileges::DELETE)
        .with(Privileges::CREATE)
        .with(Privileges::DROP)
        .with(Privileges::INDEX)
        .with(Privileges::ALTER)
        .with(Privileges::CREATE_VIEW)
        .with(Privileges::SHOW_VIEW)
        .with(Privileges::TRIGGER);
    /// What a database can be granted.
    pub const OF_DATABASES: Privileges = Privileges::OF_TABLES
        .with(Privileges::CREATE_TEMPORARY_TABLES)
        .with(Privileges::LOCK_TABLES)
        .with(Privileges::EXECUTE)
        .with(Privileges::CREATE_ROUTINE)
        .with(Privileges::ALTER_ROUTINE)
        .with(Privileges::EVENT);

    /// For names in this file: does not compile for another one.
    const fn named(name: &str) -> Privileges {
        let mut at = 0;
        while at < Privileges::NAMES.len() {
            if equal(Privileges::NAMES[at].as_bytes(), name.as_bytes()) {
                return Privileges(1 << at);
            }
            at += 1;
        }
        panic!("no privilege of that name")
    }

    pub fn by_name(name: &str) -> Option<Privileges> {
        let position = Privileges::NAMES
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name))?;
        Some(Privileges(1 << position))
    }

    pub const fn contains(self, other: Privileges) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the two have one in common.
    pub const fn meets(self, other: Privileges) -> bool {
        self.0 & other.0 != 0
    }

    pub const fn with(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }

    pub const fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }

    /// What both have.
    pub const fn common(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Privileges::NAMES
            .into_iter()
            .enumerate()
            .filter(move |(bit, _)| self.0 & (1 << bit) != 0)
            .map(|(_, name)| name)
    }

    /// A set that was written before roles were there.
    pub(crate) fn upgraded(self) -> Privileges {
        match self.contains(Privileges::ALL_BEFORE_ROLES) {
            true => self.with(Privileges::ALL),
            false => self,
        }
    }
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// A *dynamic* privilege: global, one word, each with a grant option of its own (MySQL manual, "Static Versus Dynamic
/// Privileges").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DynamicPrivilege(u8);

impl DynamicPrivilege {
    /// In the order of the catalog's bits; SHOW GRANTS sorts by name.
    const NAMES: [&'static str; 42] = [
        "ALLOW_NONEXISTENT_DEFINER",
        "APPLICATION_PASSWORD_ADMIN",
        "AUDIT_ABORT_EXEMPT",
        "AUDIT_ADMIN",
        "AUTHENTICATION_POLICY_ADMIN",
        "BACKUP_ADMIN",
        "BINLOG_ADMIN",
        "BINLOG_ENCRYPTION_ADMIN",
        "CLONE_ADMIN",
        "CONNECTION_ADMIN",
        "CREATE_SPATIAL_REFERENCE_SYSTEM",
        "ENCRYPTION_KEY_ADMIN",
        "FIREWALL_EXEMPT",
        "FLUSH_OPTIMIZER_COSTS",
        "FLUSH_PRIVILEGES",
        "FLUSH_STATUS",
        "FLUSH_TABLES",
        "FLUSH_USER_RESOURCES",
        "GROUP_REPLICATION_ADMIN",
        "GROUP_REPLICATION_STREAM",
        "INNODB_REDO_LOG_ARCHIVE",
        "INNODB_REDO_LOG_ENABLE",
        "MANAGE_DATA_MASKING_POLICY",
        "OPTIMIZE_LOCAL_TABLE",
        "PASSWORDLESS_USER_ADMIN",
        "PERSIST_RO_VARIABLES_ADMIN",
        "REPLICATION_APPLIER",
        "REPLICATION_SLAVE_ADMIN",
        "RESOURCE_GROUP_ADMIN",
        "RESOURCE_GROUP_USER",
        "ROLE_ADMIN",
        "SENSITIVE_VARIABLES_OBSERVER",
        "SERVICE_CONNECTION_ADMIN",
        "SESSION_VARIABLES_ADMIN",
        "SET_ANY_DEFINER",
        "SHOW_ROUTINE",
        "SYSTEM_USER",
        "SYSTEM_VARIABLES_ADMIN",
        "TABLE_ENCRYPTION_ADMIN",
        "TELEMETRY_LOG_ADMIN",
        "TRANSACTION_GTID_TAG",
        "XA_RECOVER_ADMIN",
    ];

    pub const ALLOW_NONEXISTENT_DEFINER: DynamicPrivilege = DynamicPrivilege::named("ALLOW_NONEXISTENT_DEFINER");
    pub const APPLICATION_PASSWORD_ADMIN: DynamicPrivilege = DynamicPrivilege::named("APPLICATION_PASSWORD_ADMIN");
    pub const BACKUP_ADMIN: DynamicPrivilege = DynamicPrivilege::named("BACKUP_ADMIN");
    pub const BINLOG_ADMIN: DynamicPrivilege = DynamicPrivilege::named("BINLOG_ADMIN");
    pub const CLONE_ADMIN: DynamicPrivilege = DynamicPrivilege::named("CLONE_ADMIN");
    pub const CONNECTION_ADMIN: DynamicPrivilege = DynamicPrivilege::named("CONNECTION_ADMIN");
    pub const ENCRYPTION_KEY_ADMIN: DynamicPrivilege = DynamicPrivilege::named("ENCRYPTION_KEY_ADMIN");
    pub const FLUSH_OPTIMIZER_COSTS: DynamicPrivilege = DynamicPrivilege::named("FLUSH_OPTIMIZER_COSTS");
    pub const FLUSH_PRIVILEGES: DynamicPrivilege = DynamicPrivilege::named("FLUSH_PRIVILEGES");
    pub const FLUSH_STATUS: DynamicPrivilege = DynamicPrivilege::named("FLUSH_STATUS");
    pub const FLUSH_TABLES: DynamicPrivilege = DynamicPrivilege::named("FLUSH_TABLES");
    pub const FLUSH_USER_RESOURCES: DynamicPrivilege = DynamicPrivilege::named("FLUSH_USER_RESOURCES");
    pub const OPTIMIZE_LOCAL_TABLE: DynamicPrivilege = DynamicPrivilege::named("OPTIMIZE_LOCAL_TABLE");
    pub const PERSIST_RO_VARIABLES_ADMIN: DynamicPrivilege = DynamicPrivilege::named("PERSIST_RO_VARIABLES_ADMIN");
    pub const REPLICATION_APPLIER: DynamicPrivilege = DynamicPrivilege::named("REPLICATION_APPLIER");
    pub const REPLICATION_SLAVE_ADMIN: DynamicPrivilege = DynamicPrivilege::named("REPLICATION_SLAVE_ADMIN");
    pub const RESOURCE_GROUP_ADMIN: DynamicPrivilege = DynamicPrivilege::named("RESOURCE_GROUP_ADMIN");
    pub const RESOURCE_GROUP_USER: DynamicPrivilege = DynamicPrivilege::named("RESOURCE_GROUP_USER");
    pub const ROLE_ADMIN: DynamicPrivilege = DynamicPrivilege::named("ROLE_ADMIN");
    pub const SESSION_VARIABLES_ADMIN: DynamicPrivilege = DynamicPrivilege::named("SESSION_VARIABLES_ADMIN");
    pub const SET_ANY_DEFINER: DynamicPrivilege = DynamicPrivilege::named("SET_ANY_DEFINER");
    pub const SHOW_ROUTINE: DynamicPrivilege = DynamicPrivilege::named("SHOW_ROUTINE");
    pub const SYSTEM_USER: DynamicPrivilege = DynamicPrivilege::named("SYSTEM_USER");
    pub const SYSTEM_VARIABLES_ADMIN: DynamicPrivilege = DynamicPrivilege::named("SYSTEM_VARIABLES_ADMIN");
    pub const XA_RECOVER_ADMIN: DynamicPrivilege = DynamicPrivilege::named("XA_RECOVER_ADMIN");

    const fn named(name: &str) -> DynamicPrivilege {
        let mut at = 0;
        while at < DynamicPrivilege::NAMES.len() {
            if equal(DynamicPrivilege::NAMES[at].as_bytes(), name.as_bytes()) {
                return DynamicPrivilege(at as u8);
            }
            at += 1;
        }
        panic!("no dynamic privilege of that name")
    }

    pub fn by_name(name: &str) -> Option<DynamicPrivilege> {
        let names = DynamicPrivilege::NAMES.iter();
        let at = names.clone().position(|known| known.eq_ignore_ascii_case(name))?;
        Some(DynamicPrivilege(at as u8))
    }

    pub fn name(self) -> &'static str {
        DynamicPrivilege::NAMES[self.0 as usize]
    }

    pub fn all() -> impl Iterator<Item = DynamicPrivilege> {
        (0..DynamicPrivilege::NAMES.len() as u8).map(DynamicPrivilege)
    }
}

/// Dynamic privileges, and which of them may be passed on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DynamicPrivileges {
    held: u64,
    grantable: u64,
}

impl DynamicPrivileges {
    pub const NONE: DynamicPrivileges = DynamicPrivileges { held: 0, grantable: 0 };
    const EVERY: u64 = (1 << DynamicPrivilege::NAMES.len()) - 1;
    /// All of them.
    pub const ALL: DynamicPrivileges = DynamicPrivileges {
        held: DynamicPrivileges::EVERY,
        grantable: 0,
    };

    pub fn of(privilege: DynamicPrivilege) -> DynamicPrivileges {
        DynamicPrivileges {
            held: 1 << privilege.0,
            grantable: 0,
        }
    }

    /// The same, to be passed on.
    pub fn grantable(self) -> DynamicPrivileges {
        DynamicPrivileges {
            grantable: self.held,
            ..self
        }
    }

    /// The same, not to be passed on.
    pub fn ungrantable(self) -> DynamicPrivileges {
        DynamicPrivileges { grantable: 0, ..self }
    }

    pub fn has(self, privilege: DynamicPrivilege) -> bool {
        self.held & (1 << privilege.0) != 0
    }

    pub fn may_grant(self, privilege: DynamicPrivilege) -> bool {
        self.grantable & (1 << privilege.0) != 0
    }

    pub fn with(self, other: DynamicPrivileges) -> DynamicPrivileges {
        DynamicPrivileges {
            held: self.held | other.held,
            grantable: self.grantable | other.grantable,
        }
    }

    pub fn without(self, other: DynamicPrivileges) -> DynamicPrivileges {
        DynamicPrivileges {
            held: self.held & !other.held,
            grantable: self.grantable & !other.held,
        }
    }

    pub fn is_empty(self) -> bool {
        self.held == 0
    }

    /// In the order of their names.
    pub fn iter(self) -> impl Iterator<Item = DynamicPrivilege> {
        DynamicPrivilege::all().filter(move |privilege| self.has(*privilege))
    }
}

/// A piece of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Byte(u8),
    /// `_`
    One,
    /// `%`
    Many,
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(pattern.len());
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        pieces.push(match byte {
            // A backslash at the very end stands for itself.
            b'\\' => Piece::Byte(bytes.next().unwrap_or(b'\\')),
            b'%' => Piece::Many,
            b'_' => Piece::One,
            byte => Piece::Byte(byte),
        });
    }
    pieces
}

/// Whether the pattern of a grant on databases stands for one of this name. `%` stands for any text, `_` for one byte, a backslash
/// takes the meaning from what follows it.
pub fn pattern_matches(pattern: &str, database: &str) -> bool {
    let name: Vec<Piece> = database.bytes().map(Piece::Byte).collect();
    covers(&pieces(pattern), &name)
}

/// Whether a pattern stands for every name that another one stands for: who holds a privilege on the first may grant it on the
/// second.
pub fn pattern_covers(pattern: &str, other: &str) -> bool {
    covers(&pieces(pattern), &pieces(other))
}

/// As LIKE matches, with the one addition that only `%` stands for a `%`.
fn covers(pattern: &[Piece], other: &[Piece]) -> bool {
    // After a mismatch, the last `%` takes one piece more.
    let (mut p, mut o) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while o < other.len() {
        let fits = match (pattern.get(p), other[o]) {
            (Some(Piece::Many), _) => {
                retry = Some((p + 1, o));
                p += 1;
                continue;
            }
            (Some(Piece::One), Piece::Byte(_) | Piece::One) => true,
            (Some(Piece::Byte(wanted)), Piece::Byte(byte)) => *wanted == byte,
            _ => false,
        };
        match (fits, retry) {
            (true, _) => (p, o) = (p + 1, o + 1),
            (false, Some((after, from))) => {
                retry = Some((after, from + 1));
                (p, o) = (after, from + 1);
            }
            (false, None) => return false,
        }
    }
    pattern[p..].iter().all(|piece| *piece == Piece::Many)
}

/// Orders patterns as MySQL sorts its grants, greater is more specific: names without a wildcard first, then by the place
/// of the first wildcard (MySQL manual, "Access Control, Stage 2").
pub fn pattern_specificity(pattern: &str) -> usize {
    let bytes = pattern.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if at + 1 < bytes.len() => at += 2,
            b'%' | b'_' => return at,
            _ => at += 1,
        }
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_names_and_not_the_other_way_round() {
        assert!(pattern_matches("tenant_1", "tenantX1"));
        assert!(!pattern_matches("tenantX1", "tenant_1"));
        assert!(pattern_matches("a%", "abc"));
        assert!(pattern_matches("a%c", "abcbc"));
        assert!(!pattern_matches("a%c", "abcb"));
        assert!(pattern_matches(r"a\_b", "a_b"));
        assert!(!pattern_matches(r"a\_b", "axb"));
        assert!(pattern_matches(r"a\%b", "a%b"));
        assert!(pattern_matches("%", ""));
        assert!(!pattern_matches("_", ""));
        assert!(!pattern_matches("A", "a"));
    }

    #[test]
    fn a_wider_pattern_covers_a_narrower_one() {
        assert!(pattern_covers("%", "%"));
        assert!(pattern_covers("a%", "ab%"));
        assert!(pattern_covers("a%", r"a\%"));
        assert!(pattern_covers("a_", "a_"));
        assert!(!pattern_covers("a", "%"));
        assert!(!pattern_covers("a_", "a%"));
        assert!(!pattern_covers("ab%", "a%"));
        assert!(!pattern_covers(r"a\_b", "a_b"));
        assert!(pattern_covers("a_b", r"a\_b"));
    }

    #[test]
    fn names_come_before_patterns_and_long_beginnings_before_short_ones() {
        let mut patterns = ["%", "a%", "a_b", r"a\_b%", "ab", r"a\_b"];
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern_specificity(pattern)));
        assert_eq!(patterns, ["ab", r"a\_b", r"a\_b%", "a%", "a_b", "%"]);
    }

    #[test]
    fn every_name_is_found_again() {
        for privilege in DynamicPrivilege::all() {
            assert_eq!(DynamicPrivilege::by_name(privilege.name()), Some(privilege));
        }
        for name in Privileges::NAMES {
            assert_eq!(Privileges::by_name(name), Some(Privileges::named(name)));
        }
    }
}
