//! SHOW statements as queries over information_schema.

use parser::ast::{Show, ShowFilter, ShowScope};
use types::SqlResult;

use crate::session::Session;

/// A string literal.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// The condition for rows about a table. Those that are made up are found whatever the case of their names.
fn of_table(database: &str, table: &str) -> String {
    let collate = match crate::plan::is_virtual_database(database) {
        true => " COLLATE utf8mb3_general_ci",
        false => "",
    };
    format!(
        "TABLE_SCHEMA = {} AND TABLE_NAME{collate} = {}",
        quoted(database),
        quoted(table)
    )
}

/// The name of a column of names, with the pattern that it was filtered by.
fn label(name: &str, filter: Option<&ShowFilter>) -> String {
    match filter {
        Some(ShowFilter::Like(pattern)) => format!("{name} ({})", String::from_utf8_lossy(pattern)),
        _ => name.to_owned(),
    }
}

/// `SELECT columns FROM source WHERE fixed` with a LIKE on the first column or a WHERE over the shown columns.
struct Query {
    /// Shown name and expression of each column.
    columns: Vec<(String, &'static str)>,
    source: &'static str,
    fixed: String,
    order: &'static str,
    /// The shown column that LIKE looks at, where that is not the first.
    liked: Option<&'static str>,
}

impl Query {
    fn new(source: &'static str, columns: &[(&str, &'static str)], order: &'static str) -> Query {
        let columns = columns.iter().map(|(name, expr)| ((*name).to_owned(), *expr)).collect();
        Query {
            columns,
            source,
            fixed: String::new(),
            order,
            liked: None,
        }
    }

    fn fixed(mut self, condition: String) -> Query {
        self.fixed = condition;
        self
    }

    fn liked(mut self, column: &'static str) -> Query {
        self.liked = Some(column);
        self
    }

    fn text(&self, filter: Option<&ShowFilter>) -> String {
        let list: Vec<String> = self
            .columns
            .iter()
            .map(|(name, expr)| format!("{expr} AS `{}`", name.replace('`', "``")))
            .collect();
        let mut inner = format!("SELECT {} FROM {}", list.join(", "), self.source);
        if !self.fixed.is_empty() {
            inner += &format!(" WHERE {}", self.fixed);
        }
        if !self.order.is_empty() {
            inner += &format!(" ORDER BY {}", self.order);
        }
        let liked = self.liked.unwrap_or(&self.columns[0].0).replace('`', "``");
        match filter {
            None => inner,
            Some(ShowFilter::Like(pattern)) => {
                let pattern = quoted(&String::from_utf8_lossy(pattern));
                format!("SELECT * FROM ({inner}) AS shown WHERE `{liked}` LIKE {pattern}")
            }
            Some(ShowFilter::Where(condition)) => format!("SELECT * FROM ({inner}) AS shown WHERE {condition}"),
        }
    }
}

impl Session {
    /// The query that a SHOW stands for; `None` for those that are made by hand.
    pub(super) fn query_of(&self, show: &Show) -> SqlResult<Option<String>> {
        let query = |query: Query, filter: Option<&ShowFilter>| Ok(Some(query.text(filter)));
        match show {
            Show::Databases(filter) => {
                let label = label("Database", filter.as_ref());
                query(
                    Query::new("information_schema.SCHEMATA", &[(&label, "SCHEMA_NAME")], "SCHEMA_NAME"),
                    filter.as_ref(),
                )
            }
            Show::Tables {
                full, schema, filter, ..
            } => {
                let database = self.shown_database(schema.as_ref())?;
                let mut shown = Query::new("information_schema.TABLES", &[], "TABLE_NAME")
                    .fixed(format!("TABLE_SCHEMA = {}", quoted(&database)));
                let label = label(&format!("Tables_in_{database}"), filter.as_ref());
                shown.columns.push((label, "TABLE_NAME"));
                if *full {
                    shown.columns.push(("Table_type".to_owned(), "TABLE_TYPE"));
                }
                query(shown, filter.as_ref())
            }
            Show::TableStatus { schema, filter } => {
                let database = self.shown_database(schema.as_ref())?;
                let columns = [
                    ("Name", "TABLE_NAME"),
                    ("Engine", "ENGINE"),
                    ("Version", "VERSION"),
                    ("Row_format", "ROW_FORMAT"),
                    ("Rows", "TABLE_ROWS"),
                    ("Avg_row_length", "AVG_ROW_LENGTH"),
                    ("Data_length", "DATA_LENGTH"),
                    ("Max_data_length", "MAX_DATA_LENGTH"),
                    ("Index_length", "INDEX_LENGTH"),
                    ("Data_free", "DATA_FREE"),
                    ("Auto_increment", "AUTO_INCREMENT"),
                    ("Create_time", "CREATE_TIME"),
                    ("Update_time", "UPDATE_TIME"),
                    ("Check_time", "CHECK_TIME"),
                    ("Collation", "TABLE_COLLATION"),
                    ("Checksum", "CHECKSUM"),
                    ("Create_options", "CREATE_OPTIONS"),
                    ("Comment", "TABLE_COMMENT"),
                ];
                let shown = Query::new("information_schema.TABLES", &columns, "TABLE_NAME")
                    .fixed(format!("TABLE_SCHEMA = {}", quoted(&database)));
                query(shown, filter.as_ref())
            }
            Show::Columns {
                full, table, filter, ..
            } => {
                let database = self.shown_database(table.schema.as_ref())?;
                if !crate::plan::is_virtual_database(&database) && self.view(table)?.is_none() {
                    self.table(table)?;
                }
                let short = [
                    ("Field", "COLUMN_NAME"),
                    ("Type", "COLUMN_TYPE"),
                    ("Null", "IS_NULLABLE"),
                    ("Key", "COLUMN_KEY"),
                    ("Default", "COLUMN_DEFAULT"),
                    ("Extra", "EXTRA"),
                ];
                let long = [
                    ("Field", "COLUMN_NAME"),
                    ("Type", "COLUMN_TYPE"),
                    ("Collation", "COLLATION_NAME"),
                    ("Null", "IS_NULLABLE"),
                    ("Key", "COLUMN_KEY"),
                    ("Default", "COLUMN_DEFAULT"),
                    ("Extra", "EXTRA"),
                    ("Privileges", "PRIVILEGES"),
                    ("Comment", "COLUMN_COMMENT"),
                ];
                let columns: &[_] = if *full { &long } else { &short };
                let named = of_table(&database, &table.name);
                let source = match self.temporary_table(table) {
                    None => "information_schema.COLUMNS",
                    Some(_) => "information_schema.TEMPORARY_COLUMNS",
                };
                let shown = Query::new(source, columns, "ORDINAL_POSITION").fixed(named);
                query(shown, filter.as_ref())
            }
            Show::Indexes { table, filter, .. } => {
                let database = self.shown_database(table.schema.as_ref())?;
                if !crate::plan::is_virtual_database(&database) && self.view(table)?.is_none() {
                    self.table(table)?;
                }
                let columns = [
                    ("Table", "TABLE_NAME"),
                    ("Non_unique", "NON_UNIQUE"),
                    ("Key_name", "INDEX_NAME"),
                    ("Seq_in_index", "SEQ_IN_INDEX"),
                    ("Column_name", "COLUMN_NAME"),
                    ("Collation", "COLLATION"),
                    ("Cardinality", "CARDINALITY"),
                    ("Sub_part", "SUB_PART"),
                    ("Packed", "PACKED"),
                    ("Null", "NULLABLE"),
                    ("Index_type", "INDEX_TYPE"),
                    ("Comment", "COMMENT"),
                    ("Index_comment", "INDEX_COMMENT"),
                    ("Visible", "IS_VISIBLE"),
                    ("Expression", "EXPRESSION"),
                ];
                let named = of_table(&database, &table.name);
                let source = match self.temporary_table(table) {
                    None => "information_schema.STATISTICS",
                    Some(_) => "information_schema.TEMPORARY_STATISTICS",
                };
                let shown = Query::new(source, &columns, "").fixed(named);
                query(shown, filter.clone().map(ShowFilter::Where).as_ref())
            }
            Show::Variables { scope, filter } => {
                let source = match scope {
                    Some(ShowScope::Global) => "performance_schema.global_variables",
                    _ => "performance_schema.session_variables",
                };
                let columns = [("Variable_name", "VARIABLE_NAME"), ("Value", "VARIABLE_VALUE")];
                query(Query::new(source, &columns, "VARIABLE_NAME"), filter.as_ref())
            }
            Show::Status { filter, .. } => {
                let columns = [("Variable_name", "VARIABLE_NAME"), ("Value", "VARIABLE_VALUE")];
                query(
                    Query::new("performance_schema.global_status", &columns, "VARIABLE_NAME"),
                    filter.as_ref(),
                )
            }
            Show::ProcessList { full } => {
                let info = if *full { "INFO" } else { "LEFT(INFO, 100)" };
                let columns = [
                    ("Id", "ID"),
                    ("User", "USER"),
                    ("Host", "HOST"),
                    ("db", "DB"),
                    ("Command", "COMMAND"),
                    ("Time", "TIME"),
                    ("State", "STATE"),
                    ("Info", info),
                ];
                query(Query::new("information_schema.PROCESSLIST", &columns, "ID"), None)
            }
            Show::Engines => {
                let columns = [
                    ("Engine", "ENGINE"),
                    ("Support", "SUPPORT"),
                    ("Comment", "COMMENT"),
                    ("Transactions", "TRANSACTIONS"),
                    ("XA", "XA"),
                    ("Savepoints", "SAVEPOINTS"),
                ];
                query(Query::new("information_schema.ENGINES", &columns, ""), None)
            }
            Show::CharacterSets(filter) => {
                let columns = [
                    ("Charset", "CHARACTER_SET_NAME"),
                    ("Description", "DESCRIPTION"),
                    ("Default collation", "DEFAULT_COLLATE_NAME"),
                    ("Maxlen", "MAXLEN"),
                ];
                query(
                    Query::new("information_schema.CHARACTER_SETS", &columns, "CHARACTER_SET_NAME"),
                    filter.as_ref(),
                )
            }
            Show::Collations(filter) => {
                let columns = [
                    ("Collation", "COLLATION_NAME"),
                    ("Charset", "CHARACTER_SET_NAME"),
                    ("Id", "ID"),
                    ("Default", "IS_DEFAULT"),
                    ("Compiled", "IS_COMPILED"),
                    ("Sortlen", "SORTLEN"),
                    ("Pad_attribute", "PAD_ATTRIBUTE"),
                ];
                query(
                    Query::new("information_schema.COLLATIONS", &columns, "COLLATION_NAME"),
                    filter.as_ref(),
                )
            }
            Show::Plugins => {
                let columns = [
                    ("Name", "PLUGIN_NAME"),
                    ("Status", "PLUGIN_STATUS"),
                    ("Type", "PLUGIN_TYPE"),
                    ("Library", "PLUGIN_LIBRARY"),
                    ("License", "PLUGIN_LICENSE"),
                ];
                query(Query::new("information_schema.PLUGINS", &columns, ""), None)
            }
            Show::Triggers { schema, filter, .. } => {
                let database = self.shown_database(schema.as_ref())?;
                let columns = [
                    ("Trigger", "TRIGGER_NAME"),
                    ("Event", "EVENT_MANIPULATION"),
                    ("Table", "EVENT_OBJECT_TABLE"),
                    ("Statement", "ACTION_STATEMENT"),
                    ("Timing", "ACTION_TIMING"),
                    ("Created", "CREATED"),
                    ("sql_mode", "SQL_MODE"),
                    ("Definer", "DEFINER"),
                    ("character_set_client", "CHARACTER_SET_CLIENT"),
                    ("collation_connection", "COLLATION_CONNECTION"),
                    ("Database Collation", "DATABASE_COLLATION"),
                ];
                let shown = Query::new("information_schema.TRIGGERS", &columns, "")
                    .fixed(format!("TRIGGER_SCHEMA = {}", quoted(&database)))
                    .liked("Table");
                query(shown, filter.as_ref())
            }
            Show::Events { schema, filter } => {
                let database = self.shown_database(schema.as_ref())?;
                let columns = [
                    ("Db", "EVENT_SCHEMA"),
                    ("Name", "EVENT_NAME"),
                    ("Definer", "DEFINER"),
                    ("Time zone", "TIME_ZONE"),
                    ("Type", "EVENT_TYPE"),
                    ("Execute at", "EXECUTE_AT"),
                    ("Interval value", "INTERVAL_VALUE"),
                    ("Interval field", "INTERVAL_FIELD"),
                    ("Starts", "STARTS"),
                    ("Ends", "ENDS"),
                    ("Status", "STATUS"),
                    ("Originator", "ORIGINATOR"),
                    ("character_set_client", "CHARACTER_SET_CLIENT"),
                    ("collation_connection", "COLLATION_CONNECTION"),
                    ("Database Collation", "DATABASE_COLLATION"),
                ];
                let shown = Query::new("information_schema.EVENTS", &columns, "")
                    .fixed(format!("EVENT_SCHEMA = {}", quoted(&database)))
                    .liked("Name");
                query(shown, filter.as_ref())
            }
            Show::ProcedureStatus(filter) | Show::FunctionStatus(filter) => {
                let columns = [
                    ("Db", "ROUTINE_SCHEMA"),
                    ("Name", "ROUTINE_NAME"),
                    ("Type", "ROUTINE_TYPE"),
                    ("Definer", "DEFINER"),
                    ("Modified", "LAST_ALTERED"),
                    ("Created", "CREATED"),
                    ("Security_type", "SECURITY_TYPE"),
                    ("Comment", "ROUTINE_COMMENT"),
                    ("character_set_client", "CHARACTER_SET_CLIENT"),
                    ("collation_connection", "COLLATION_CONNECTION"),
                    ("Database Collation", "DATABASE_COLLATION"),
                ];
                let kind = match show {
                    Show::ProcedureStatus(_) => "PROCEDURE",
                    _ => "FUNCTION",
                };
                let shown =
                    Query::new("information_schema.ROUTINES", &columns, "ROUTINE_SCHEMA, ROUTINE_NAME").liked("Name");
                query(shown.fixed(format!("ROUTINE_TYPE = {}", quoted(kind))), filter.as_ref())
            }
            Show::OpenTables { schema, filter } => {
                let columns = [
                    ("Database", "TABLE_SCHEMA"),
                    ("Table", "TABLE_NAME"),
                    ("In_use", "0"),
                    ("Name_locked", "0"),
                ];
                let mut shown =
                    Query::new("information_schema.TABLES", &columns, "TABLE_SCHEMA, TABLE_NAME").liked("Table");
                if let Some(schema) = schema {
                    shown = shown.fixed(format!("TABLE_SCHEMA = {}", quoted(schema)));
                }
                query(shown, filter.as_ref())
            }
            _ => Ok(None),
        }
    }
}
