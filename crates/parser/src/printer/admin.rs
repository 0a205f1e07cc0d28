//! Administration and replication.

use super::Printer;
use crate::ast::*;

impl Printer {
    pub(super) fn admin_statement(&mut self, statement: &Statement) {
        match statement {
            Statement::TableMaintenance(maintenance) => self.maintenance(maintenance),
            Statement::Kill(kill) => {
                self.text(if kill.query { "KILL QUERY " } else { "KILL CONNECTION " });
                self.expr(&kill.id);
            }
            Statement::Flush(flush) => self.flush(flush),
            Statement::Reset(targets) => {
                self.text("RESET ");
                self.list(targets, Self::reset_target);
            }
            Statement::ResetPersist { name, if_exists } => {
                self.text("RESET PERSIST");
                self.when(*if_exists, " IF EXISTS");
                self.opt(" ", name, |p, name| match name.split_once('.') {
                    Some((component, name)) => {
                        p.ident(&Ident::from(component));
                        p.named(".", &Ident::from(name));
                    }
                    None => p.ident(&Ident::from(&**name)),
                });
            }
            Statement::Purge(purge) => {
                self.text("PURGE BINARY LOGS ");
                match &**purge {
                    PurgeBinaryLogs::To(log) => self.quoted("TO ", log),
                    PurgeBinaryLogs::Before(time) => {
                        self.text("BEFORE ");
                        self.expr(time);
                    }
                }
            }
            Statement::CacheIndex(cache) => {
                self.text("CACHE INDEX ");
                self.list(&cache.tables, Self::key_cache_table);
                self.named_or_default(" IN ", &cache.cache);
            }
            Statement::LoadIndex(load) => {
                self.text("LOAD INDEX INTO CACHE ");
                self.list(&load.tables, Self::key_cache_table);
            }
            Statement::InstallPlugin { name, library } => {
                self.named("INSTALL PLUGIN ", name);
                self.quoted(" SONAME ", library);
            }
            Statement::UninstallPlugin(name) => self.named("UNINSTALL PLUGIN ", name),
            Statement::InstallComponent(urns) => self.strings("INSTALL COMPONENT ", urns),
            Statement::UninstallComponent(urns) => self.strings("UNINSTALL COMPONENT ", urns),
            Statement::ImportTable(files) => self.strings("IMPORT TABLE FROM ", files),
            Statement::Shutdown => self.text("SHUTDOWN"),
            Statement::Restart => self.text("RESTART"),
            Statement::Clone(clone) => self.clone_statement(clone),
            Statement::AlterInstance(words) => {
                self.text("ALTER INSTANCE ");
                self.text(words);
            }
            Statement::Binlog(event) => {
                self.text("BINLOG ");
                self.string(event);
            }
            Statement::Replication(replication) => self.replication(replication),
            _ => unreachable!("every other statement is printed by the callers"),
        }
    }

    fn strings(&mut self, before: &str, strings: &[Box<str>]) {
        self.text(before);
        self.list(strings, |p, text| p.str(text));
    }

    fn maintenance(&mut self, maintenance: &TableMaintenance) {
        use MaintenanceAction::*;
        self.text(match maintenance.action {
            Analyze | UpdateHistogram { .. } | DropHistogram { .. } => "ANALYZE ",
            Check(_) => "CHECK ",
            Checksum(_) => "CHECKSUM ",
            Optimize => "OPTIMIZE ",
            Repair(_) => "REPAIR ",
        });
        self.when(maintenance.no_write_to_binlog, "NO_WRITE_TO_BINLOG ");
        self.text("TABLE ");
        self.list(&maintenance.tables, Self::table_name);
        match &maintenance.action {
            UpdateHistogram {
                columns,
                buckets,
                auto_update,
                data,
            } => {
                self.text(" UPDATE HISTOGRAM ON ");
                self.idents(columns);
                self.opt(" WITH ", buckets, |p, buckets| p.text(&format!("{buckets} BUCKETS")));
                self.opt(" USING DATA ", data, |p, data| p.str(data));
                self.text(match auto_update {
                    Some(true) => " AUTO UPDATE",
                    Some(false) => " MANUAL UPDATE",
                    None => "",
                });
            }
            DropHistogram { columns } => {
                self.text(" DROP HISTOGRAM ON ");
                self.idents(columns);
            }
            Check(options) => self.check_options(options),
            Checksum(option) => self.text(match option {
                Some(ChecksumOption::Quick) => " QUICK",
                Some(ChecksumOption::Extended) => " EXTENDED",
                None => "",
            }),
            Repair(options) => self.repair_options(options),
            Analyze | Optimize => {}
        }
    }

    pub(super) fn check_options(&mut self, options: &[CheckOption]) {
        for option in options {
            self.text(match option {
                CheckOption::ForUpgrade => " FOR UPGRADE",
                CheckOption::Quick => " QUICK",
                CheckOption::Fast => " FAST",
                CheckOption::Medium => " MEDIUM",
                CheckOption::Extended => " EXTENDED",
                CheckOption::Changed => " CHANGED",
            });
        }
    }

    pub(super) fn repair_options(&mut self, options: &[RepairOption]) {
        for option in options {
            self.text(match option {
                RepairOption::Quick => " QUICK",
                RepairOption::Extended => " EXTENDED",
                RepairOption::UseFrm => " USE_FRM",
            });
        }
    }

    fn flush(&mut self, flush: &Flush) {
        self.text("FLUSH ");
        self.when(flush.no_write_to_binlog, "NO_WRITE_TO_BINLOG ");
        match &flush.what {
            FlushWhat::Tables { tables, mode } => {
                self.text("TABLES");
                self.when(!tables.is_empty(), " ");
                self.list(tables, Self::table_name);
                self.text(match mode {
                    FlushTables::Close => "",
                    FlushTables::WithReadLock => " WITH READ LOCK",
                    FlushTables::ForExport => " FOR EXPORT",
                });
            }
            FlushWhat::Targets(targets) => self.list(targets, |p, target| {
                p.text(match target {
                    FlushTarget::BinaryLogs => "BINARY LOGS",
                    FlushTarget::EngineLogs => "ENGINE LOGS",
                    FlushTarget::ErrorLogs => "ERROR LOGS",
                    FlushTarget::GeneralLogs => "GENERAL LOGS",
                    FlushTarget::Hosts => "HOSTS",
                    FlushTarget::Logs => "LOGS",
                    FlushTarget::OptimizerCosts => "OPTIMIZER_COSTS",
                    FlushTarget::Privileges => "PRIVILEGES",
                    FlushTarget::RelayLogs { .. } => "RELAY LOGS",
                    FlushTarget::SlowLogs => "SLOW LOGS",
                    FlushTarget::Status => "STATUS",
                    FlushTarget::UserResources => "USER_RESOURCES",
                });
                if let FlushTarget::RelayLogs { channel } = target {
                    p.channel(channel);
                }
            }),
        }
    }

    fn reset_target(&mut self, target: &ResetTarget) {
        match target {
            ResetTarget::BinaryLogs { to } => {
                self.text("BINARY LOGS AND GTIDS");
                self.opt(" TO ", to, |p, to| p.number(to));
            }
            ResetTarget::Replica { all, channel } => {
                self.text(if *all { "REPLICA ALL" } else { "REPLICA" });
                self.channel(channel);
            }
            ResetTarget::QueryCache => self.text("QUERY CACHE"),
        }
    }

    fn key_cache_table(&mut self, table: &KeyCacheTable) {
        self.table_name(&table.table);
        self.opt(" PARTITION (", &table.partitions, |p, partitions| {
            p.partition_set(partitions);
            p.text(")");
        });
        if !table.indexes.is_empty() {
            self.text(" INDEX ");
            self.paren_list(&table.indexes, Self::index_name);
        }
        self.when(table.ignore_leaves, " IGNORE LEAVES");
    }

    fn clone_statement(&mut self, clone: &CloneStatement) {
        match clone {
            CloneStatement::Local(directory) => self.quoted("CLONE LOCAL DATA DIRECTORY = ", directory),
            CloneStatement::Instance {
                from,
                port,
                password,
                directory,
                require_ssl,
            } => {
                self.text("CLONE INSTANCE FROM ");
                self.account(from);
                self.numbered(":", *port);
                self.quoted(" IDENTIFIED BY ", password);
                self.opt(" DATA DIRECTORY = ", directory, |p, directory| p.str(directory));
                self.text(match require_ssl {
                    Some(true) => " REQUIRE SSL",
                    Some(false) => " REQUIRE NO SSL",
                    None => "",
                });
            }
        }
    }

    fn replication(&mut self, replication: &Replication) {
        match replication {
            Replication::ChangeSource { options, channel } => {
                self.text("CHANGE REPLICATION SOURCE TO ");
                self.list(options, |p, (name, value)| {
                    p.text(name);
                    p.text(" = ");
                    p.replication_value(value);
                });
                self.channel(channel);
            }
            Replication::ChangeFilter { filters, channel } => {
                self.text("CHANGE REPLICATION FILTER ");
                self.list(filters, |p, (rule, values)| {
                    p.text(rule);
                    p.text(" = ");
                    p.paren_list(values, Self::filter_value);
                });
                self.channel(channel);
            }
            Replication::StartReplica(threads) => {
                self.text("START REPLICA");
                self.replica_threads(threads);
            }
            Replication::StopReplica(threads) => {
                self.text("STOP REPLICA");
                self.replica_threads(threads);
            }
            Replication::StartGroupReplication {
                user,
                password,
                default_auth,
            } => {
                self.text("START GROUP_REPLICATION");
                let mut before = " ";
                for (name, value) in [
                    ("USER = ", user),
                    ("PASSWORD = ", password),
                    ("DEFAULT_AUTH = ", default_auth),
                ] {
                    if let Some(value) = value {
                        self.text(before);
                        self.quoted(name, value);
                        before = ", ";
                    }
                }
            }
            Replication::StopGroupReplication => self.text("STOP GROUP_REPLICATION"),
        }
    }

    fn replication_value(&mut self, value: &ReplicationValue) {
        match value {
            ReplicationValue::Literal(literal) => self.literal(literal),
            ReplicationValue::Word(word) => self.text(word),
            ReplicationValue::Account(account) => self.account(account),
            ReplicationValue::Ids(ids) => self.paren_list(ids, |p, id| p.number(id)),
        }
    }

    fn filter_value(&mut self, value: &FilterValue) {
        match value {
            FilterValue::Schema(schema) => self.ident(schema),
            FilterValue::Table(table) => self.table_name(table),
            FilterValue::Pattern(pattern) => self.str(pattern),
            FilterValue::Rewrite(from, to) => self.paren_list(&[from, to], |p, name| p.ident(name)),
        }
    }

    fn replica_threads(&mut self, threads: &ReplicaThreads) {
        self.when(threads.io, " IO_THREAD");
        self.when(threads.io && threads.sql, ",");
        self.when(threads.sql, " SQL_THREAD");
        self.when(threads.until_after_gaps, " UNTIL SQL_AFTER_MTS_GAPS");
        if !threads.until.is_empty() {
            self.text(" UNTIL ");
            self.list(&threads.until, |p, (name, value)| {
                p.text(name);
                p.text(" = ");
                p.literal(value);
            });
        }
        for (name, value) in &threads.connection {
            self.text(" ");
            self.text(name);
            self.quoted(" = ", value);
        }
        self.channel(&threads.channel);
    }
}
