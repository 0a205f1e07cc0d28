//! SHOW PRIVILEGES: what can be granted, on what, and for what.

use catalog::DynamicPrivilege;
use types::Value;

const SERVER: &str = "Server Admin";

/// Name, context and comment, as MySQL tells them.
const STATIC: [[&str; 3]; 33] = [
    ["Alter", "Tables", "To alter the table"],
    [
        "Alter routine",
        "Functions,Procedures",
        "To alter or drop stored functions/procedures",
    ],
    [
        "Create",
        "Databases,Tables,Indexes",
        "To create new databases and tables",
    ],
    ["Create routine", "Databases", "To use CREATE FUNCTION/PROCEDURE"],
    ["Create role", SERVER, "To create new roles"],
    ["Create temporary tables", "Databases", "To use CREATE TEMPORARY TABLE"],
    ["Create view", "Tables", "To create new views"],
    ["Create user", SERVER, "To create new users"],
    ["Delete", "Tables", "To delete existing rows"],
    ["Drop", "Databases,Tables", "To drop databases, tables, and views"],
    ["Drop role", SERVER, "To drop roles"],
    ["Event", SERVER, "To create, alter, drop and execute events"],
    ["Execute", "Functions,Procedures", "To execute stored routines"],
    ["File", "File access on server", "To read and write files on the server"],
    [
        "Grant option",
        "Databases,Tables,Functions,Procedures",
        "To give to other users those privileges you possess",
    ],
    ["Index", "Tables", "To create or drop indexes"],
    ["Insert", "Tables", "To insert data into tables"],
    [
        "Lock tables",
        "Databases",
        "To use LOCK TABLES (together with SELECT privilege)",
    ],
    [
        "Process",
        SERVER,
        "To view the plain text of currently executing queries",
    ],
    ["Proxy", SERVER, "To make proxy user possible"],
    ["References", "Databases,Tables", "To have references on tables"],
    ["Reload", SERVER, "To reload or refresh tables, logs and privileges"],
    [
        "Replication client",
        SERVER,
        "To ask where the slave or master servers are",
    ],
    ["Replication slave", SERVER, "To read binary log events from the master"],
    ["Select", "Tables", "To retrieve rows from table"],
    ["Show databases", SERVER, "To see all databases with SHOW DATABASES"],
    ["Show view", "Tables", "To see views with SHOW CREATE VIEW"],
    ["Shutdown", SERVER, "To shut down the server"],
    [
        "Super",
        SERVER,
        "To use KILL thread, SET GLOBAL, CHANGE REPLICATION SOURCE, etc.",
    ],
    ["Trigger", "Tables", "To use triggers"],
    ["Create tablespace", SERVER, "To create/alter/drop tablespaces"],
    ["Update", "Tables", "To update existing rows"],
    ["Usage", SERVER, "No privileges - allow connect only"],
];

pub(super) fn rows() -> Vec<Vec<Value>> {
    let dynamic = DynamicPrivilege::all().map(|privilege| [privilege.name(), SERVER, ""]);
    STATIC
        .into_iter()
        .chain(dynamic)
        .map(|row| row.map(Value::str).to_vec())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_static_privilege_is_told() {
        for name in catalog::Privileges::NAMES {
            assert!(STATIC.iter().any(|row| row[0].eq_ignore_ascii_case(name)), "{name}");
        }
    }
}
