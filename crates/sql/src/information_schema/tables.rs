//! Every virtual table: its name and columns as in MySQL 8.0, and who gives its rows.

use super::ColumnKind::{FineMoment, Hundredths, Label, LongText, Moment, Name, Number, Signed, Text};
use super::{
    ColumnKind, VirtualColumn, VirtualTable, accounts, grants, keywords, locks, memory, no_rows, schema, server, users,
    views,
};
use crate::program::{shown, shown_events, shown_triggers};

const fn column(name: &'static str, kind: ColumnKind) -> VirtualColumn {
    VirtualColumn { name, kind }
}

macro_rules! columns {
    ($($name:literal $kind:expr),* $(,)?) => {
        &[$(column($name, $kind)),*]
    };
}

const fn of_schema(
    name: &'static str,
    columns: &'static [VirtualColumn],
    rows: fn(&super::Source<'_>) -> Vec<Vec<types::Value>>,
) -> VirtualTable {
    VirtualTable {
        database: "information_schema",
        name,
        columns,
        rows,
    }
}

const fn of_mysql(
    name: &'static str,
    columns: &'static [VirtualColumn],
    rows: fn(&super::Source<'_>) -> Vec<Vec<types::Value>>,
) -> VirtualTable {
    VirtualTable {
        database: "mysql",
        name,
        columns,
        rows,
    }
}

const ROLES: &[VirtualColumn] = columns![
    "USER" Text(97), "HOST" Text(256), "GRANTEE" Text(97), "GRANTEE_HOST" Text(256), "ROLE_NAME" Text(255),
    "ROLE_HOST" Text(256), "IS_GRANTABLE" Text(3), "IS_DEFAULT" Text(3), "IS_MANDATORY" Text(3),
];

const COLUMNS: &[VirtualColumn] = columns![
    "TABLE_CATALOG" Name, "TABLE_SCHEMA" Name, "TABLE_NAME" Name, "COLUMN_NAME" Label,
    "ORDINAL_POSITION" Number, "COLUMN_DEFAULT" LongText, "IS_NULLABLE" Text(3), "DATA_TYPE" LongText,
    "CHARACTER_MAXIMUM_LENGTH" Signed, "CHARACTER_OCTET_LENGTH" Signed, "NUMERIC_PRECISION" Number,
    "NUMERIC_SCALE" Number, "DATETIME_PRECISION" Number, "CHARACTER_SET_NAME" Text(64), "COLLATION_NAME" Text(64),
    "COLUMN_TYPE" LongText, "COLUMN_KEY" Text(3), "EXTRA" Text(256), "PRIVILEGES" Text(154),
    "COLUMN_COMMENT" LongText, "GENERATION_EXPRESSION" LongText, "SRS_ID" Number,
];

const STATISTICS: &[VirtualColumn] = columns![
    "TABLE_CATALOG" Name, "TABLE_SCHEMA" Name, "TABLE_NAME" Name, "NON_UNIQUE" Signed,
    "INDEX_SCHEMA" Name, "INDEX_NAME" Label, "SEQ_IN_INDEX" Number, "COLUMN_NAME" Label,
    "COLLATION" Text(1), "CARDINALITY" Signed, "SUB_PART" Signed, "PACKED" Text(1), "NULLABLE" Text(3),
    "INDEX_TYPE" Text(11), "COMMENT" Text(8), "INDEX_COMMENT" Text(2048), "IS_VISIBLE" Text(3), "EXPRESSION" LongText,
];

const CONNECTION_ATTRIBUTES: &[VirtualColumn] =
    columns!["PROCESSLIST_ID" Number, "ATTR_NAME" Text(32), "ATTR_VALUE" Text(1024), "ORDINAL_POSITION" Signed];
const VARIABLES: &[VirtualColumn] = columns!["VARIABLE_NAME" Text(64), "VARIABLE_VALUE" Text(1024)];

pub static TABLES: &[VirtualTable] = &[
    of_schema(
        "SCHEMATA",
        columns![
            "CATALOG_NAME" Name, "SCHEMA_NAME" Name, "DEFAULT_CHARACTER_SET_NAME" Text(64),
            "DEFAULT_COLLATION_NAME" Text(64), "SQL_PATH" Text(1), "DEFAULT_ENCRYPTION" Text(3),
        ],
        schema::schemata,
    ),
    of_schema(
        "TABLES",
        columns![
            "TABLE_CATALOG" Name, "TABLE_SCHEMA" Name, "TABLE_NAME" Name, "TABLE_TYPE" Text(64),
            "ENGINE" Text(64), "VERSION" Signed, "ROW_FORMAT" Text(64), "TABLE_ROWS" Number, "AVG_ROW_LENGTH" Number,
            "DATA_LENGTH" Number, "MAX_DATA_LENGTH" Number, "INDEX_LENGTH" Number, "DATA_FREE" Number,
            "AUTO_INCREMENT" Number, "CREATE_TIME" Moment, "UPDATE_TIME" Moment, "CHECK_TIME" Moment,
            "TABLE_COLLATION" Text(64), "CHECKSUM" Signed, "CREATE_OPTIONS" Text(256), "TABLE_COMMENT" LongText,
        ],
        schema::tables,
    ),
    of_schema("COLUMNS", COLUMNS, schema::columns),
    of_schema("STATISTICS", STATISTICS, schema::statistics),
    // What SHOW reads of the session's temporary tables, which the others do not list.
    of_schema("TEMPORARY_COLUMNS", COLUMNS, schema::temporary_columns),
    of_schema("TEMPORARY_STATISTICS", STATISTICS, schema::temporary_statistics),
    of_schema(
        "KEY_COLUMN_USAGE",
        columns![
            "CONSTRAINT_CATALOG" Name, "CONSTRAINT_SCHEMA" Name, "CONSTRAINT_NAME" Label,
            "TABLE_CATALOG" Name, "TABLE_SCHEMA" Name, "TABLE_NAME" Name, "COLUMN_NAME" Label,
            "ORDINAL_POSITION" Number, "POSITION_IN_UNIQUE_CONSTRAINT" Number, "REFERENCED_TABLE_SCHEMA" Name,
            "REFERENCED_TABLE_NAME" Name, "REFERENCED_COLUMN_NAME" Label,
        ],
        schema::key_column_usage,
    ),
    of_schema(
        "TABLE_CONSTRAINTS",
        columns![
            "CONSTRAINT_CATALOG" Name, "CONSTRAINT_SCHEMA" Name, "CONSTRAINT_NAME" Label,
            "TABLE_SCHEMA" Name, "TABLE_NAME" Name, "CONSTRAINT_TYPE" Text(11), "ENFORCED" Text(3),
        ],
        schema::table_constraints,
    ),
    of_schema(
        "CHECK_CONSTRAINTS",
        columns![
            "CONSTRAINT_CATALOG" Name, "CONSTRAINT_SCHEMA" Name, "CONSTRAINT_NAME" Label, "CHECK_CLAUSE" LongText,
        ],
        schema::check_constraints,
    ),
    of_schema(
        "REFERENTIAL_CONSTRAINTS",
        columns![
            "CONSTRAINT_CATALOG" Name, "CONSTRAINT_SCHEMA" Name, "CONSTRAINT_NAME" Label,
            "UNIQUE_CONSTRAINT_CATALOG" Name, "UNIQUE_CONSTRAINT_SCHEMA" Name, "UNIQUE_CONSTRAINT_NAME" Label,
            "MATCH_OPTION" Text(7), "UPDATE_RULE" Text(11), "DELETE_RULE" Text(11), "TABLE_NAME" Name,
            "REFERENCED_TABLE_NAME" Name,
        ],
        schema::referential_constraints,
    ),
    of_schema(
        "VIEWS",
        columns![
            "TABLE_CATALOG" Name, "TABLE_SCHEMA" Name, "TABLE_NAME" Name, "VIEW_DEFINITION" LongText,
            "CHECK_OPTION" Text(8), "IS_UPDATABLE" Text(3), "DEFINER" Text(288), "SECURITY_TYPE" Text(7),
            "CHARACTER_SET_CLIENT" Text(64), "COLLATION_CONNECTION" Text(64),
        ],
        views::views,
    ),
    of_schema(
        "VIEW_TABLE_USAGE",
        columns![
            "VIEW_CATALOG" Name, "VIEW_SCHEMA" Name, "VIEW_NAME" Name, "TABLE_CATALOG" Name,
            "TABLE_SCHEMA" Name, "TABLE_NAME" Name,
        ],
        views::table_usage,
    ),
    of_schema(
        "ROUTINES",
        columns![
            "SPECIFIC_NAME" Text(64), "ROUTINE_CATALOG" Name, "ROUTINE_SCHEMA" Name, "ROUTINE_NAME" Text(64),
            "ROUTINE_TYPE" Text(9), "DATA_TYPE" LongText, "CHARACTER_MAXIMUM_LENGTH" Signed, "CHARACTER_OCTET_LENGTH" Signed,
            "NUMERIC_PRECISION" Number, "NUMERIC_SCALE" Number, "DATETIME_PRECISION" Number, "CHARACTER_SET_NAME" Text(64),
            "COLLATION_NAME" Text(64), "DTD_IDENTIFIER" LongText, "ROUTINE_BODY" Text(8), "ROUTINE_DEFINITION" LongText,
            "EXTERNAL_NAME" Text(1), "EXTERNAL_LANGUAGE" Text(64), "PARAMETER_STYLE" Text(3), "IS_DETERMINISTIC" Text(3),
            "SQL_DATA_ACCESS" Text(64), "SQL_PATH" Text(1), "SECURITY_TYPE" Text(7), "CREATED" Moment, "LAST_ALTERED" Moment,
            "SQL_MODE" Text(512), "ROUTINE_COMMENT" LongText, "DEFINER" Text(288), "CHARACTER_SET_CLIENT" Text(64),
            "COLLATION_CONNECTION" Text(64), "DATABASE_COLLATION" Text(64),
        ],
        shown::routines,
    ),
    of_schema(
        "PARAMETERS",
        columns![
            "SPECIFIC_CATALOG" Name, "SPECIFIC_SCHEMA" Name, "SPECIFIC_NAME" Text(64), "ORDINAL_POSITION" Number,
            "PARAMETER_MODE" Text(5), "PARAMETER_NAME" Text(64), "DATA_TYPE" LongText, "CHARACTER_MAXIMUM_LENGTH" Signed,
            "CHARACTER_OCTET_LENGTH" Signed, "NUMERIC_PRECISION" Number, "NUMERIC_SCALE" Number, "DATETIME_PRECISION" Number,
            "CHARACTER_SET_NAME" Text(64), "COLLATION_NAME" Text(64), "DTD_IDENTIFIER" LongText, "ROUTINE_TYPE" Text(9),
        ],
        shown::parameters,
    ),
    of_schema(
        "TRIGGERS",
        columns![
            "TRIGGER_CATALOG" Name, "TRIGGER_SCHEMA" Name, "TRIGGER_NAME" Text(64), "EVENT_MANIPULATION" Text(6),
            "EVENT_OBJECT_CATALOG" Name, "EVENT_OBJECT_SCHEMA" Name, "EVENT_OBJECT_TABLE" Name,
            "ACTION_ORDER" Number, "ACTION_CONDITION" LongText, "ACTION_STATEMENT" LongText, "ACTION_ORIENTATION" Text(3),
            "ACTION_TIMING" Text(6), "ACTION_REFERENCE_OLD_TABLE" Text(64), "ACTION_REFERENCE_NEW_TABLE" Text(64),
            "ACTION_REFERENCE_OLD_ROW" Text(3), "ACTION_REFERENCE_NEW_ROW" Text(3), "CREATED" Hundredths, "SQL_MODE" Text(512),
            "DEFINER" Text(288), "CHARACTER_SET_CLIENT" Text(64), "COLLATION_CONNECTION" Text(64), "DATABASE_COLLATION" Text(64),
        ],
        shown_triggers::triggers,
    ),
    of_schema(
        "EVENTS",
        columns![
            "EVENT_CATALOG" Name, "EVENT_SCHEMA" Name, "EVENT_NAME" Text(64), "DEFINER" Text(288), "TIME_ZONE" Text(64),
            "EVENT_BODY" Text(3), "EVENT_DEFINITION" LongText, "EVENT_TYPE" Text(9), "EXECUTE_AT" Moment,
            "INTERVAL_VALUE" Text(256), "INTERVAL_FIELD" Text(18), "SQL_MODE" Text(512), "STARTS" Moment, "ENDS" Moment,
            "STATUS" Text(21), "ON_COMPLETION" Text(12), "CREATED" Moment, "LAST_ALTERED" Moment, "LAST_EXECUTED" Moment,
            "EVENT_COMMENT" Text(2048), "ORIGINATOR" Number, "CHARACTER_SET_CLIENT" Text(64), "COLLATION_CONNECTION" Text(64),
            "DATABASE_COLLATION" Text(64),
        ],
        shown_events::events,
    ),
    of_schema(
        "PARTITIONS",
        columns![
            "TABLE_CATALOG" Name, "TABLE_SCHEMA" Name, "TABLE_NAME" Name, "PARTITION_NAME" Label,
            "SUBPARTITION_NAME" Label, "PARTITION_ORDINAL_POSITION" Number, "SUBPARTITION_ORDINAL_POSITION" Number,
            "PARTITION_METHOD" Text(13), "SUBPARTITION_METHOD" Text(13), "PARTITION_EXPRESSION" Text(2048),
            "SUBPARTITION_EXPRESSION" Text(2048), "PARTITION_DESCRIPTION" LongText, "TABLE_ROWS" Number,
        ],
        no_rows,
    ),
    of_schema(
        "ENGINES",
        columns![
            "ENGINE" Text(64), "SUPPORT" Text(8), "COMMENT" Text(80), "TRANSACTIONS" Text(3), "XA" Text(3), "SAVEPOINTS" Text(3),
        ],
        server::engines,
    ),
    of_schema(
        "CHARACTER_SETS",
        columns![
            "CHARACTER_SET_NAME" Text(64), "DEFAULT_COLLATE_NAME" Text(64), "DESCRIPTION" Text(2048), "MAXLEN" Number,
        ],
        server::character_sets,
    ),
    of_schema(
        "COLLATIONS",
        columns![
            "COLLATION_NAME" Text(64), "CHARACTER_SET_NAME" Text(64), "ID" Number, "IS_DEFAULT" Text(3), "IS_COMPILED" Text(3),
            "SORTLEN" Number, "PAD_ATTRIBUTE" Text(9),
        ],
        server::collations,
    ),
    of_schema(
        "COLLATION_CHARACTER_SET_APPLICABILITY",
        columns![
            "COLLATION_NAME" Text(64), "CHARACTER_SET_NAME" Text(64),
        ],
        server::collation_character_sets,
    ),
    of_schema(
        "PROCESSLIST",
        columns![
            "ID" Number, "USER" Text(32), "HOST" Text(261), "DB" Text(64), "COMMAND" Text(16), "TIME" Signed, "STATE" Text(64),
            "INFO" LongText, "MEMORY_USED" Number, "MAX_MEMORY_USED" Number,
        ],
        server::processlist,
    ),
    of_schema(
        "PLUGINS",
        columns![
            "PLUGIN_NAME" Text(64), "PLUGIN_VERSION" Text(20), "PLUGIN_STATUS" Text(10), "PLUGIN_TYPE" Text(80),
            "PLUGIN_TYPE_VERSION" Text(20), "PLUGIN_LIBRARY" Text(64), "PLUGIN_LIBRARY_VERSION" Text(20),
            "PLUGIN_AUTHOR" Text(64), "PLUGIN_DESCRIPTION" LongText, "PLUGIN_LICENSE" Text(80), "LOAD_OPTION" Text(64),
        ],
        server::plugins,
    ),
    of_schema(
        "USER_PRIVILEGES",
        columns![
            "GRANTEE" Text(292), "TABLE_CATALOG" Text(512), "PRIVILEGE_TYPE" Text(64), "IS_GRANTABLE" Text(3),
        ],
        accounts::user_privileges,
    ),
    of_schema(
        "USER_ATTRIBUTES",
        columns!["USER" Text(32), "HOST" Text(255), "ATTRIBUTE" LongText],
        users::attributes,
    ),
    of_schema(
        "SCHEMA_PRIVILEGES",
        columns![
            "GRANTEE" Text(292), "TABLE_CATALOG" Text(512), "TABLE_SCHEMA" Text(64), "PRIVILEGE_TYPE" Text(64),
            "IS_GRANTABLE" Text(3),
        ],
        accounts::schema_privileges,
    ),
    of_schema(
        "TABLE_PRIVILEGES",
        columns![
            "GRANTEE" Text(292), "TABLE_CATALOG" Text(512), "TABLE_SCHEMA" Text(64), "TABLE_NAME" Text(64),
            "PRIVILEGE_TYPE" Text(64), "IS_GRANTABLE" Text(3),
        ],
        accounts::table_privileges,
    ),
    of_schema(
        "COLUMN_PRIVILEGES",
        columns![
            "GRANTEE" Text(292), "TABLE_CATALOG" Text(512), "TABLE_SCHEMA" Text(64), "TABLE_NAME" Text(64),
            "COLUMN_NAME" Text(64), "PRIVILEGE_TYPE" Text(64), "IS_GRANTABLE" Text(3),
        ],
        accounts::column_privileges,
    ),
    of_schema(
        "FILES",
        columns![
            "FILE_ID" Signed, "FILE_NAME" LongText, "FILE_TYPE" Text(256), "TABLESPACE_NAME" Text(268), "TABLE_CATALOG" Text(1),
            "TABLE_SCHEMA" Text(1), "TABLE_NAME" Text(1), "LOGFILE_GROUP_NAME" Text(256), "LOGFILE_GROUP_NUMBER" Signed,
            "ENGINE" Text(64), "EXTRA" Text(256), "TOTAL_EXTENTS" Signed, "EXTENT_SIZE" Signed, "INITIAL_SIZE" Signed,
        ],
        no_rows,
    ),
    VirtualTable {
        database: "performance_schema",
        name: "global_variables",
        columns: VARIABLES,
        rows: server::global_variables,
    },
    VirtualTable {
        database: "performance_schema",
        name: "session_variables",
        columns: VARIABLES,
        rows: server::session_variables,
    },
    VirtualTable {
        database: "performance_schema",
        name: "persisted_variables",
        columns: VARIABLES,
        rows: server::persisted_variables,
    },
    VirtualTable {
        database: "performance_schema",
        name: "variables_info",
        columns: columns![
            "VARIABLE_NAME" Text(64), "VARIABLE_SOURCE" Text(12), "VARIABLE_PATH" Text(1024), "MIN_VALUE" Text(64),
            "MAX_VALUE" Text(64), "SET_TIME" FineMoment, "SET_USER" Text(32), "SET_HOST" Text(255),
        ],
        rows: server::variables_info,
    },
    VirtualTable {
        database: "performance_schema",
        name: "global_status",
        columns: VARIABLES,
        rows: server::status,
    },
    VirtualTable {
        database: "performance_schema",
        name: "session_status",
        columns: VARIABLES,
        rows: server::status,
    },
    VirtualTable {
        database: "performance_schema",
        name: "session_connect_attrs",
        columns: CONNECTION_ATTRIBUTES,
        rows: server::connection_attributes,
    },
    VirtualTable {
        database: "performance_schema",
        name: "memory_summary_global_by_event_name",
        columns: columns![
            "EVENT_NAME" Text(128), "COUNT_ALLOC" Number, "COUNT_FREE" Number, "SUM_NUMBER_OF_BYTES_ALLOC" Number,
            "SUM_NUMBER_OF_BYTES_FREE" Number, "LOW_COUNT_USED" Signed, "CURRENT_COUNT_USED" Signed, "HIGH_COUNT_USED" Signed,
            "LOW_NUMBER_OF_BYTES_USED" Signed, "CURRENT_NUMBER_OF_BYTES_USED" Signed, "HIGH_NUMBER_OF_BYTES_USED" Signed,
        ],
        rows: memory::global,
    },
    VirtualTable {
        database: "performance_schema",
        name: "memory_summary_by_thread_by_event_name",
        columns: columns![
            "THREAD_ID" Number, "EVENT_NAME" Text(128), "COUNT_ALLOC" Number, "COUNT_FREE" Number, "SUM_NUMBER_OF_BYTES_ALLOC" Number,
            "SUM_NUMBER_OF_BYTES_FREE" Number, "LOW_COUNT_USED" Signed, "CURRENT_COUNT_USED" Signed, "HIGH_COUNT_USED" Signed,
            "LOW_NUMBER_OF_BYTES_USED" Signed, "CURRENT_NUMBER_OF_BYTES_USED" Signed, "HIGH_NUMBER_OF_BYTES_USED" Signed,
        ],
        rows: memory::by_thread,
    },
    VirtualTable {
        database: "performance_schema",
        name: "data_locks",
        columns: columns![
            "ENGINE" Text(32), "ENGINE_LOCK_ID" Text(128), "ENGINE_TRANSACTION_ID" Number, "THREAD_ID" Number, "EVENT_ID" Number,
            "OBJECT_SCHEMA" Text(64), "OBJECT_NAME" Text(64), "PARTITION_NAME" Text(64), "SUBPARTITION_NAME" Text(64),
            "INDEX_NAME" Text(64), "OBJECT_INSTANCE_BEGIN" Number, "LOCK_TYPE" Text(32), "LOCK_MODE" Text(32),
            "LOCK_STATUS" Text(32), "LOCK_DATA" Text(8192),
        ],
        rows: locks::held,
    },
    VirtualTable {
        database: "performance_schema",
        name: "data_lock_waits",
        columns: columns![
            "ENGINE" Text(32), "REQUESTING_ENGINE_LOCK_ID" Text(128), "REQUESTING_ENGINE_TRANSACTION_ID" Number,
            "REQUESTING_THREAD_ID" Number, "REQUESTING_EVENT_ID" Number, "REQUESTING_OBJECT_INSTANCE_BEGIN" Number,
            "BLOCKING_ENGINE_LOCK_ID" Text(128), "BLOCKING_ENGINE_TRANSACTION_ID" Number, "BLOCKING_THREAD_ID" Number,
            "BLOCKING_EVENT_ID" Number, "BLOCKING_OBJECT_INSTANCE_BEGIN" Number,
            "OBJECT_SCHEMA" Text(64), "OBJECT_NAME" Text(64), "INDEX_NAME" Text(64), "LOCK_TYPE" Text(32), "LOCK_DATA" Text(8192),
            "REQUESTING_LOCK_MODE" Text(32), "BLOCKING_LOCK_MODE" Text(32), "BLOCKING_LOCK_STATUS" Text(32),
        ],
        rows: locks::waits,
    },
    VirtualTable {
        database: "performance_schema",
        name: "slow_digests",
        columns: columns![
            "SCHEMA_NAME" Text(64), "DIGEST" Text(64), "DIGEST_TEXT" LongText, "COUNT_STAR" Number, "SUM_ERRORS" Number,
            "SUM_MICROSECONDS" Number, "MAX_MICROSECONDS" Number, "SUM_LOCK_MICROSECONDS" Number, "SUM_ROWS_EXAMINED" Number,
            "FIRST_SEEN" FineMoment, "LAST_SEEN" FineMoment, "SAMPLE_TEXT" LongText, "SAMPLE_USER" Text(288),
        ],
        rows: server::slow_digests,
    },
    VirtualTable {
        database: "performance_schema",
        name: "session_account_connect_attrs",
        columns: CONNECTION_ATTRIBUTES,
        rows: server::own_connection_attributes,
    },
    VirtualTable {
        database: "mysql",
        name: "user",
        columns: columns![
            "Host" Text(255), "User" Text(32), "Select_priv" Text(1), "Insert_priv" Text(1), "Update_priv" Text(1),
            "Delete_priv" Text(1), "Create_priv" Text(1), "Drop_priv" Text(1), "Reload_priv" Text(1),
            "Shutdown_priv" Text(1), "Process_priv" Text(1), "File_priv" Text(1), "Grant_priv" Text(1),
            "References_priv" Text(1), "Index_priv" Text(1), "Alter_priv" Text(1), "Show_db_priv" Text(1),
            "Super_priv" Text(1), "Create_tmp_table_priv" Text(1), "Lock_tables_priv" Text(1), "Execute_priv" Text(1),
            "Repl_slave_priv" Text(1), "Repl_client_priv" Text(1), "Create_view_priv" Text(1),
            "Show_view_priv" Text(1), "Create_routine_priv" Text(1), "Alter_routine_priv" Text(1),
            "Create_user_priv" Text(1), "Event_priv" Text(1), "Trigger_priv" Text(1), "Create_tablespace_priv" Text(1),
            "ssl_type" Text(9), "ssl_cipher" LongText, "x509_issuer" LongText, "x509_subject" LongText,
            "max_questions" Number, "max_updates" Number, "max_connections" Number, "max_user_connections" Number,
            "plugin" Text(64), "authentication_string" LongText, "password_expired" Text(1),
            "password_last_changed" Moment, "password_lifetime" Number, "account_locked" Text(1),
            "Create_role_priv" Text(1), "Drop_role_priv" Text(1), "Password_reuse_history" Number,
            "Password_reuse_time" Number, "Password_require_current" Text(1), "User_attributes" LongText,
        ],
        rows: users::users,
    },
    of_mysql(
        "general_log",
        columns![
            "event_time" FineMoment, "user_host" LongText, "thread_id" Number, "server_id" Number, "command_type" Text(64),
            "argument" LongText,
        ],
        server::general_log,
    ),
    of_mysql(
        "slow_log",
        columns![
            "start_time" FineMoment, "user_host" LongText, "query_time" Text(17), "lock_time" Text(17), "rows_sent" Number,
            "rows_examined" Number, "db" Text(512), "last_insert_id" Number, "insert_id" Number, "server_id" Number,
            "sql_text" LongText, "thread_id" Number,
        ],
        server::slow_log,
    ),
    VirtualTable {
        database: "mysql",
        name: "db",
        columns: columns![
            "Host" Text(255), "Db" Text(64), "User" Text(32), "Select_priv" Text(1), "Insert_priv" Text(1),
            "Update_priv" Text(1), "Delete_priv" Text(1), "Create_priv" Text(1), "Drop_priv" Text(1),
            "Grant_priv" Text(1), "References_priv" Text(1), "Index_priv" Text(1), "Alter_priv" Text(1),
            "Create_tmp_table_priv" Text(1), "Lock_tables_priv" Text(1), "Create_view_priv" Text(1),
            "Show_view_priv" Text(1), "Create_routine_priv" Text(1), "Alter_routine_priv" Text(1),
            "Execute_priv" Text(1), "Event_priv" Text(1), "Trigger_priv" Text(1),
        ],
        rows: grants::databases,
    },
    VirtualTable {
        database: "mysql",
        name: "tables_priv",
        columns: columns![
            "Host" Text(255), "Db" Text(64), "User" Text(32), "Table_name" Text(64), "Grantor" Text(288),
            "Timestamp" Moment, "Table_priv" Text(128), "Column_priv" Text(128),
        ],
        rows: grants::tables,
    },
    VirtualTable {
        database: "mysql",
        name: "columns_priv",
        columns: columns![
            "Host" Text(255), "Db" Text(64), "User" Text(32), "Table_name" Text(64), "Column_name" Text(64),
            "Timestamp" Moment, "Column_priv" Text(128),
        ],
        rows: grants::columns,
    },
    of_schema(
        "KEYWORDS",
        columns!["WORD" Text(128), "RESERVED" Signed],
        keywords::keywords,
    ),
    of_schema(
        "INNODB_FT_DEFAULT_STOPWORD",
        columns!["value" Text(18)],
        keywords::stopwords,
    ),
    of_schema("APPLICABLE_ROLES", ROLES, accounts::applicable_roles),
    of_schema(
        "ADMINISTRABLE_ROLE_AUTHORIZATIONS",
        ROLES,
        accounts::administrable_roles,
    ),
    of_schema(
        "ENABLED_ROLES",
        columns!["ROLE_NAME" Text(255), "ROLE_HOST" Text(255), "IS_DEFAULT" Text(3), "IS_MANDATORY" Text(3)],
        accounts::enabled_roles,
    ),
    of_schema(
        "ROLE_TABLE_GRANTS",
        columns![
            "GRANTOR" Text(97), "GRANTOR_HOST" Text(256), "GRANTEE" Text(32), "GRANTEE_HOST" Text(255),
            "TABLE_CATALOG" Text(3), "TABLE_SCHEMA" Text(64), "TABLE_NAME" Text(64), "PRIVILEGE_TYPE" Text(128),
            "IS_GRANTABLE" Text(3),
        ],
        accounts::role_table_grants,
    ),
    of_schema(
        "ROLE_COLUMN_GRANTS",
        columns![
            "GRANTOR" Text(97), "GRANTOR_HOST" Text(256), "GRANTEE" Text(32), "GRANTEE_HOST" Text(255),
            "TABLE_CATALOG" Text(3), "TABLE_SCHEMA" Text(64), "TABLE_NAME" Text(64), "COLUMN_NAME" Text(64),
            "PRIVILEGE_TYPE" Text(64), "IS_GRANTABLE" Text(3),
        ],
        accounts::role_column_grants,
    ),
    of_schema(
        "ROLE_ROUTINE_GRANTS",
        columns![
            "GRANTOR" Text(97), "GRANTOR_HOST" Text(256), "GRANTEE" Text(32), "GRANTEE_HOST" Text(255),
            "SPECIFIC_CATALOG" Text(3), "SPECIFIC_SCHEMA" Text(64), "SPECIFIC_NAME" Text(64), "ROUTINE_CATALOG" Text(3),
            "ROUTINE_SCHEMA" Text(64), "ROUTINE_NAME" Text(64), "PRIVILEGE_TYPE" Text(64), "IS_GRANTABLE" Text(3),
        ],
        no_rows,
    ),
    of_mysql(
        "password_history",
        columns!["Host" Text(255), "User" Text(32), "Password_timestamp" FineMoment, "Password" LongText],
        users::password_history,
    ),
    of_mysql(
        "role_edges",
        columns![
            "FROM_HOST" Text(255), "FROM_USER" Text(32), "TO_HOST" Text(255), "TO_USER" Text(32),
            "WITH_ADMIN_OPTION" Text(1),
        ],
        accounts::role_edges,
    ),
    of_mysql(
        "default_roles",
        columns!["HOST" Text(255), "USER" Text(32), "DEFAULT_ROLE_HOST" Text(255), "DEFAULT_ROLE_USER" Text(32)],
        accounts::default_roles,
    ),
    of_mysql(
        "global_grants",
        columns!["USER" Text(32), "HOST" Text(255), "PRIV" Text(32), "WITH_GRANT_OPTION" Text(1)],
        accounts::global_grants,
    ),
];
