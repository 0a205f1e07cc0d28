//! SHOW, EXPLAIN and SET.

use super::Printer;
use crate::ast::*;

impl Printer {
    pub(super) fn show(&mut self, show: &Show) {
        self.text("SHOW ");
        match show {
            Show::Databases(filter) => self.filtered("DATABASES", filter),
            Show::Tables {
                extended,
                full,
                schema,
                filter,
            } => {
                self.extended_full(*extended, *full);
                self.of_schema("TABLES", schema, filter);
            }
            Show::TableStatus { schema, filter } => self.of_schema("TABLE STATUS", schema, filter),
            Show::OpenTables { schema, filter } => self.of_schema("OPEN TABLES", schema, filter),
            Show::Columns {
                extended,
                full,
                table,
                filter,
            } => {
                self.extended_full(*extended, *full);
                self.text("COLUMNS FROM ");
                self.table_name(table);
                self.filter(filter);
            }
            Show::Indexes {
                extended,
                table,
                filter,
            } => {
                self.when(*extended, "EXTENDED ");
                self.text("INDEX FROM ");
                self.table_name(table);
                self.opt(" WHERE ", filter, Self::expr);
            }
            Show::Triggers { full, schema, filter } => {
                self.extended_full(false, *full);
                self.of_schema("TRIGGERS", schema, filter);
            }
            Show::Events { schema, filter } => self.of_schema("EVENTS", schema, filter),
            Show::Variables { scope, filter } => {
                self.show_scope(*scope);
                self.filtered("VARIABLES", filter);
            }
            Show::Status { scope, filter } => {
                self.show_scope(*scope);
                self.filtered("STATUS", filter);
            }
            Show::Warnings(limit) => {
                self.text("WARNINGS");
                self.limit(limit);
            }
            Show::Errors(limit) => {
                self.text("ERRORS");
                self.limit(limit);
            }
            Show::WarningCount => self.text("COUNT(*) WARNINGS"),
            Show::ErrorCount => self.text("COUNT(*) ERRORS"),
            Show::ProcessList { full } => self.text(if *full { "FULL PROCESSLIST" } else { "PROCESSLIST" }),
            Show::Engines => self.text("ENGINES"),
            Show::Engine { name, what } => {
                self.text("ENGINE ");
                match name {
                    Some(name) => self.ident(name),
                    None => self.text("ALL"),
                }
                self.text(match what {
                    EngineInfo::Status => " STATUS",
                    EngineInfo::Mutex => " MUTEX",
                    EngineInfo::Logs => " LOGS",
                });
            }
            Show::CharacterSets(filter) => self.filtered("CHARACTER SET", filter),
            Show::Collations(filter) => self.filtered("COLLATION", filter),
            Show::Privileges => self.text("PRIVILEGES"),
            Show::Plugins => self.text("PLUGINS"),
            Show::Profiles => self.text("PROFILES"),
            Show::Profile { types, query, limit } => {
                self.text("PROFILE");
                self.when(!types.is_empty(), " ");
                self.list(types, |p, kind| p.text(kind));
                self.opt(" FOR QUERY ", query, |p, query| p.number(query));
                self.limit(limit);
            }
            Show::ProcedureStatus(filter) => self.filtered("PROCEDURE STATUS", filter),
            Show::FunctionStatus(filter) => self.filtered("FUNCTION STATUS", filter),
            Show::ProcedureCode(name) => self.of_object("PROCEDURE CODE ", name),
            Show::FunctionCode(name) => self.of_object("FUNCTION CODE ", name),
            Show::Grants { account, using } => {
                self.text("GRANTS");
                self.opt(" FOR ", account, Self::account);
                if !using.is_empty() {
                    self.text(" USING ");
                    self.list(using, Self::account);
                }
            }
            Show::CreateDatabase { name, if_not_exists } => {
                self.text("CREATE DATABASE ");
                self.when(*if_not_exists, "IF NOT EXISTS ");
                self.ident(name);
            }
            Show::CreateTable(name) => self.of_object("CREATE TABLE ", name),
            Show::CreateView(name) => self.of_object("CREATE VIEW ", name),
            Show::CreateProcedure(name) => self.of_object("CREATE PROCEDURE ", name),
            Show::CreateFunction(name) => self.of_object("CREATE FUNCTION ", name),
            Show::CreateTrigger(name) => self.of_object("CREATE TRIGGER ", name),
            Show::CreateEvent(name) => self.of_object("CREATE EVENT ", name),
            Show::CreateUser(account) => {
                self.text("CREATE USER ");
                self.account(account);
            }
            Show::BinaryLogs => self.text("BINARY LOGS"),
            Show::BinaryLogStatus => self.text("BINARY LOG STATUS"),
            Show::BinlogEvents { log, from, limit } => {
                self.text("BINLOG EVENTS");
                self.log_events(log, *from, limit);
            }
            Show::RelayLogEvents {
                log,
                from,
                limit,
                channel,
            } => {
                self.text("RELAYLOG EVENTS");
                self.log_events(log, *from, limit);
                self.channel(channel);
            }
            Show::Replicas => self.text("REPLICAS"),
            Show::ReplicaStatus { channel } => {
                self.text("REPLICA STATUS");
                self.channel(channel);
            }
        }
    }

    fn extended_full(&mut self, extended: bool, full: bool) {
        self.when(extended, "EXTENDED ");
        self.when(full, "FULL ");
    }

    fn show_scope(&mut self, scope: Option<ShowScope>) {
        self.text(match scope {
            Some(ShowScope::Global) => "GLOBAL ",
            Some(ShowScope::Session) => "SESSION ",
            None => "",
        });
    }

    fn filtered(&mut self, what: &str, filter: &Option<ShowFilter>) {
        self.text(what);
        self.filter(filter);
    }

    fn of_schema(&mut self, what: &str, schema: &Option<Ident>, filter: &Option<ShowFilter>) {
        self.text(what);
        self.opt(" FROM ", schema, Self::ident);
        self.filter(filter);
    }

    fn of_object(&mut self, what: &str, name: &ObjectName) {
        self.text(what);
        self.table_name(name);
    }

    fn filter(&mut self, filter: &Option<ShowFilter>) {
        match filter {
            Some(ShowFilter::Like(pattern)) => {
                self.text(" LIKE ");
                self.string(pattern);
            }
            Some(ShowFilter::Where(condition)) => {
                self.text(" WHERE ");
                self.expr(condition);
            }
            None => {}
        }
    }

    fn log_events(&mut self, log: &Option<Box<str>>, from: Option<u64>, limit: &Option<Limit>) {
        self.opt(" IN ", log, |p, log| p.str(log));
        self.opt(" FROM ", &from, |p, from| p.number(from));
        self.limit(limit);
    }

    pub(super) fn channel(&mut self, channel: &Option<Box<str>>) {
        self.opt(" FOR CHANNEL ", channel, |p, channel| p.str(channel));
    }

    pub(super) fn explain(&mut self, explain: &Explain) {
        self.text("EXPLAIN ");
        self.when(explain.analyze, "ANALYZE ");
        self.opt("FORMAT = ", &explain.format, |p, format| {
            p.text(match format {
                ExplainFormat::Traditional => "TRADITIONAL ",
                ExplainFormat::Json => "JSON ",
                ExplainFormat::Tree => "TREE ",
            });
        });
        match &explain.target {
            ExplainTarget::Statement(statement) => self.statement(statement),
            ExplainTarget::Connection(id) => self.numbered("FOR CONNECTION ", *id),
        }
    }

    pub(super) fn set(&mut self, items: &[SetItem]) {
        self.text("SET ");
        self.list(items, |p, item| match item {
            SetItem::UserVar { name, value } => {
                p.user_var(name);
                p.text(" = ");
                p.expr(value);
            }
            SetItem::Local { target, value } => {
                p.ident(&target.name);
                p.text(" = ");
                p.expr(value);
            }
            SetItem::Variable {
                scope,
                component,
                name,
                value,
            } => {
                p.opt("", scope, |p, scope| {
                    p.scope(*scope);
                    p.text(" ");
                });
                p.opt("", component, |p, component| {
                    p.ident(component);
                    p.text(".");
                });
                p.ident(name);
                p.text(" = ");
                p.expr(value);
            }
            SetItem::Names { charset, collation } => {
                p.named("NAMES ", charset);
                p.opt(" COLLATE ", collation, Self::ident);
            }
            SetItem::NamesDefault => p.text("NAMES DEFAULT"),
            SetItem::CharacterSet(charset) => p.named_or_default("CHARACTER SET ", charset),
        });
    }

    pub(super) fn set_password(&mut self, set: &SetPassword) {
        self.text("SET PASSWORD");
        self.opt(" FOR ", &set.account, Self::account);
        match &set.password {
            Some(password) => {
                self.text(" = ");
                self.string(password);
            }
            None => self.text(" TO RANDOM"),
        }
        self.opt(" REPLACE ", &set.replace, |p, old| p.string(old));
        self.when(set.retain_current, " RETAIN CURRENT PASSWORD");
    }

    pub(super) fn role_choice(&mut self, role: &SetRole) {
        match role {
            SetRole::Default => self.text("DEFAULT"),
            SetRole::None => self.text("NONE"),
            SetRole::All => self.text("ALL"),
            SetRole::AllExcept(roles) => {
                self.text("ALL EXCEPT ");
                self.list(roles, Self::account);
            }
            SetRole::Roles(roles) => self.list(roles, Self::account),
        }
    }
}
