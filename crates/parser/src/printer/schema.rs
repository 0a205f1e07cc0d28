//! Databases, ALTER TABLE, indexes, and the rarer things CREATE and ALTER know.

use super::Printer;
use crate::ast::*;

impl Printer {
    pub(super) fn create_database(&mut self, create: &CreateDatabase) {
        self.text("CREATE DATABASE ");
        self.when(create.if_not_exists, "IF NOT EXISTS ");
        self.ident(&create.name);
        self.database_options(&create.options);
    }

    pub(super) fn alter_database(&mut self, alter: &AlterDatabase) {
        self.text("ALTER DATABASE");
        self.opt(" ", &alter.name, Self::ident);
        self.database_options(&alter.options);
    }

    fn database_options(&mut self, options: &[DatabaseOption]) {
        for option in options {
            match option {
                DatabaseOption::Charset(charset) => self.named_or_default(" DEFAULT CHARACTER SET = ", charset),
                DatabaseOption::Collate(collation) => self.named_or_default(" DEFAULT COLLATE = ", collation),
                DatabaseOption::Encryption(text) => self.quoted(" DEFAULT ENCRYPTION = ", text),
                DatabaseOption::ReadOnly(value) => self.ternary(" READ ONLY = ", *value),
            }
        }
    }

    pub(super) fn drop_table(&mut self, drop: &DropTable) {
        self.text(if drop.temporary {
            "DROP TEMPORARY TABLE "
        } else {
            "DROP TABLE "
        });
        self.when(drop.if_exists, "IF EXISTS ");
        self.list(&drop.names, Self::table_name);
        self.drop_behavior(drop.behavior);
    }

    pub(super) fn drop_behavior(&mut self, behavior: Option<DropBehavior>) {
        self.text(match behavior {
            Some(DropBehavior::Restrict) => " RESTRICT",
            Some(DropBehavior::Cascade) => " CASCADE",
            None => "",
        });
    }

    pub(super) fn create_index(&mut self, create: &CreateIndex) {
        self.text(match create.key.kind {
            KeyKind::Unique => "CREATE UNIQUE INDEX",
            KeyKind::FullText => "CREATE FULLTEXT INDEX",
            KeyKind::Spatial => "CREATE SPATIAL INDEX",
            KeyKind::Index | KeyKind::Primary => "CREATE INDEX",
        });
        self.opt(" ", &create.key.name, Self::ident);
        self.text(" ON ");
        self.table_name(&create.table);
        self.key_parts(&create.key);
        self.online(&create.online);
    }

    /// ` ALGORITHM = .. LOCK = ..`
    pub(super) fn online(&mut self, online: &AlterOnline) {
        self.opt(" ALGORITHM = ", &online.algorithm, |p, algorithm| {
            p.alter_algorithm(*algorithm)
        });
        self.opt(" LOCK = ", &online.lock, |p, lock| p.alter_lock(*lock));
    }

    fn alter_algorithm(&mut self, algorithm: AlterAlgorithm) {
        self.text(match algorithm {
            AlterAlgorithm::Default => "DEFAULT",
            AlterAlgorithm::Instant => "INSTANT",
            AlterAlgorithm::InPlace => "INPLACE",
            AlterAlgorithm::Copy => "COPY",
        });
    }

    fn alter_lock(&mut self, lock: AlterLock) {
        self.text(match lock {
            AlterLock::Default => "DEFAULT",
            AlterLock::None => "NONE",
            AlterLock::Shared => "SHARED",
            AlterLock::Exclusive => "EXCLUSIVE",
        });
    }

    pub(super) fn alter_table(&mut self, alter: &AlterTable) {
        self.text("ALTER TABLE ");
        self.table_name(&alter.table);
        let mut separator = " ";
        if let Some(algorithm) = alter.online.algorithm {
            self.text(separator);
            self.text("ALGORITHM = ");
            self.alter_algorithm(algorithm);
            separator = ", ";
        }
        if let Some(lock) = alter.online.lock {
            self.text(separator);
            self.text("LOCK = ");
            self.alter_lock(lock);
            separator = ", ";
        }
        if let Some(validation) = alter.validation {
            self.text(separator);
            self.validation(validation);
            separator = ", ";
        }
        for action in &alter.actions {
            // These two stand behind the list, without a comma.
            let tail = matches!(action, AlterAction::PartitionBy(_) | AlterAction::RemovePartitioning);
            self.text(if tail { " " } else { separator });
            self.alter_action(action);
            separator = ", ";
        }
    }

    fn validation(&mut self, validation: bool) {
        self.text(if validation {
            "WITH VALIDATION"
        } else {
            "WITHOUT VALIDATION"
        });
    }

    fn alter_action(&mut self, action: &AlterAction) {
        match action {
            AlterAction::AddColumn { column, position } => {
                self.text("ADD COLUMN ");
                self.column_def(column);
                self.column_position(position);
            }
            AlterAction::AddElements(elements) => {
                self.text("ADD COLUMN ");
                self.paren_list(elements, Self::table_element);
            }
            AlterAction::AddConstraint(element) => {
                self.text("ADD ");
                self.table_element(element);
            }
            AlterAction::ChangeColumn { old, column, position } => {
                self.named("CHANGE COLUMN ", old);
                self.text(" ");
                self.column_def(column);
                self.column_position(position);
            }
            AlterAction::ModifyColumn { column, position } => {
                self.text("MODIFY COLUMN ");
                self.column_def(column);
                self.column_position(position);
            }
            AlterAction::SetDefault { column, default } => {
                self.named("ALTER COLUMN ", column);
                self.text(" SET DEFAULT ");
                self.column_default(default);
            }
            AlterAction::DropDefault(column) => {
                self.named("ALTER COLUMN ", column);
                self.text(" DROP DEFAULT");
            }
            AlterAction::SetColumnVisible { column, visible } => {
                self.named("ALTER COLUMN ", column);
                self.text(if *visible { " SET VISIBLE" } else { " SET INVISIBLE" });
            }
            AlterAction::SetIndexVisible { index, visible } => {
                self.named("ALTER INDEX ", index);
                self.text(if *visible { " VISIBLE" } else { " INVISIBLE" });
            }
            AlterAction::SetEnforced {
                constraint,
                check,
                enforced,
            } => {
                self.named(if *check { "ALTER CHECK " } else { "ALTER CONSTRAINT " }, constraint);
                self.text(if *enforced { " ENFORCED" } else { " NOT ENFORCED" });
            }
            AlterAction::DropColumn { name, behavior } => {
                self.named("DROP COLUMN ", name);
                self.drop_behavior(*behavior);
            }
            AlterAction::DropIndex(name) => self.named("DROP INDEX ", name),
            AlterAction::DropPrimaryKey => self.text("DROP PRIMARY KEY"),
            AlterAction::DropForeignKey(name) => self.named("DROP FOREIGN KEY ", name),
            AlterAction::DropCheck(name) => self.named("DROP CHECK ", name),
            AlterAction::DropConstraint(name) => self.named("DROP CONSTRAINT ", name),
            AlterAction::RenameColumn { old, new } => {
                self.named("RENAME COLUMN ", old);
                self.named(" TO ", new);
            }
            AlterAction::RenameIndex { old, new } => {
                self.named("RENAME INDEX ", old);
                self.named(" TO ", new);
            }
            AlterAction::RenameTable(name) => {
                self.text("RENAME TO ");
                self.table_name(name);
            }
            AlterAction::ConvertTo { charset, collation } => {
                self.named_or_default("CONVERT TO CHARACTER SET ", charset);
                self.opt(" COLLATE ", collation, Self::ident);
            }
            AlterAction::Keys { enabled } => self.text(if *enabled { "ENABLE KEYS" } else { "DISABLE KEYS" }),
            AlterAction::Force => self.text("FORCE"),
            AlterAction::OrderBy(items) => {
                self.text("ORDER BY ");
                self.list(items, Self::order_item);
            }
            AlterAction::Option(option) => self.table_option(option),
            AlterAction::RemoveTtl => self.text("REMOVE TTL"),
            AlterAction::SecondaryLoad => self.text("SECONDARY_LOAD"),
            AlterAction::SecondaryUnload => self.text("SECONDARY_UNLOAD"),
            AlterAction::PartitionBy(partitioning) => self.partition_by(partitioning),
            AlterAction::RemovePartitioning => self.text("REMOVE PARTITIONING"),
            AlterAction::Partition(action) => self.partition_action(action),
        }
    }

    fn column_position(&mut self, position: &Option<ColumnPosition>) {
        match position {
            Some(ColumnPosition::First) => self.text(" FIRST"),
            Some(ColumnPosition::After(column)) => self.named(" AFTER ", column),
            None => {}
        }
    }

    fn partition_action(&mut self, action: &PartitionAction) {
        match action {
            PartitionAction::Add {
                no_write_to_binlog,
                partitions,
            } => {
                self.partition_verb("ADD PARTITION ", *no_write_to_binlog);
                self.partition_defs(partitions);
            }
            PartitionAction::AddCount {
                no_write_to_binlog,
                count,
            } => {
                self.partition_verb("ADD PARTITION ", *no_write_to_binlog);
                self.numbered("PARTITIONS ", *count);
            }
            PartitionAction::Drop(names) => {
                self.text("DROP PARTITION ");
                self.idents(names);
            }
            PartitionAction::Discard(partitions) => {
                self.partitions_of("DISCARD PARTITION ", false, partitions);
                self.text(" TABLESPACE");
            }
            PartitionAction::Import(partitions) => {
                self.partitions_of("IMPORT PARTITION ", false, partitions);
                self.text(" TABLESPACE");
            }
            PartitionAction::Truncate(partitions) => self.partitions_of("TRUNCATE PARTITION ", false, partitions),
            PartitionAction::Coalesce {
                no_write_to_binlog,
                count,
            } => {
                self.partition_verb("COALESCE PARTITION ", *no_write_to_binlog);
                self.number(count);
            }
            PartitionAction::Reorganize {
                no_write_to_binlog,
                from,
                into,
            } => {
                self.partition_verb("REORGANIZE PARTITION ", *no_write_to_binlog);
                if !from.is_empty() {
                    self.idents(from);
                    self.text(" INTO ");
                    self.partition_defs(into);
                }
            }
            PartitionAction::Exchange {
                partition,
                table,
                validation,
            } => {
                self.named("EXCHANGE PARTITION ", partition);
                self.text(" WITH TABLE ");
                self.table_name(table);
                self.opt(" ", validation, |p, validation| p.validation(*validation));
            }
            PartitionAction::Analyze {
                no_write_to_binlog,
                partitions,
            } => {
                self.partitions_of("ANALYZE PARTITION ", *no_write_to_binlog, partitions);
            }
            PartitionAction::Check { partitions, options } => {
                self.partitions_of("CHECK PARTITION ", false, partitions);
                self.check_options(options);
            }
            PartitionAction::Optimize {
                no_write_to_binlog,
                partitions,
            } => {
                self.partitions_of("OPTIMIZE PARTITION ", *no_write_to_binlog, partitions);
            }
            PartitionAction::Rebuild {
                no_write_to_binlog,
                partitions,
            } => {
                self.partitions_of("REBUILD PARTITION ", *no_write_to_binlog, partitions);
            }
            PartitionAction::Repair {
                no_write_to_binlog,
                partitions,
                options,
            } => {
                self.partitions_of("REPAIR PARTITION ", *no_write_to_binlog, partitions);
                self.repair_options(options);
            }
            PartitionAction::DiscardTablespace => self.text("DISCARD TABLESPACE"),
            PartitionAction::ImportTablespace => self.text("IMPORT TABLESPACE"),
        }
    }

    fn partition_verb(&mut self, verb: &str, no_write_to_binlog: bool) {
        self.text(verb);
        self.when(no_write_to_binlog, "NO_WRITE_TO_BINLOG ");
    }

    fn partitions_of(&mut self, verb: &str, no_write_to_binlog: bool, partitions: &PartitionSet) {
        self.partition_verb(verb, no_write_to_binlog);
        self.partition_set(partitions);
    }

    pub(super) fn partition_set(&mut self, partitions: &PartitionSet) {
        match partitions {
            PartitionSet::All => self.text("ALL"),
            PartitionSet::Names(names) => self.idents(names),
        }
    }

    // ---- the rarer things ----

    fn verb(&mut self, verb: DdlVerb) {
        self.text(match verb {
            DdlVerb::Create => "CREATE ",
            DdlVerb::Alter => "ALTER ",
            DdlVerb::Drop => "DROP ",
        });
    }

    pub(super) fn tablespace(&mut self, tablespace: &Tablespace) {
        self.verb(tablespace.verb);
        self.text(match tablespace.kind {
            TablespaceKind::Tablespace => "TABLESPACE ",
            TablespaceKind::Undo => "UNDO TABLESPACE ",
            TablespaceKind::LogfileGroup => "LOGFILE GROUP ",
        });
        self.ident(&tablespace.name);
        for clause in &tablespace.clauses {
            match clause {
                TablespaceClause::AddDataFile(file) => self.quoted(" ADD DATAFILE ", file),
                TablespaceClause::DropDataFile(file) => self.quoted(" DROP DATAFILE ", file),
                TablespaceClause::AddUndoFile(file) => self.quoted(" ADD UNDOFILE ", file),
                TablespaceClause::UseLogfileGroup(name) => self.named(" USE LOGFILE GROUP ", name),
                TablespaceClause::RenameTo(name) => self.named(" RENAME TO ", name),
                TablespaceClause::SetActive(active) => {
                    self.text(if *active { " SET ACTIVE" } else { " SET INACTIVE" });
                }
                TablespaceClause::Size(name, size) => {
                    self.text(" ");
                    self.text(name);
                    self.numbered(" = ", *size);
                }
                TablespaceClause::Engine(engine) => self.named(" ENGINE = ", engine),
                TablespaceClause::Comment(text) => self.quoted(" COMMENT = ", text),
                TablespaceClause::Encryption(text) => self.quoted(" ENCRYPTION = ", text),
                TablespaceClause::EngineAttribute(text) => self.quoted(" ENGINE_ATTRIBUTE = ", text),
                TablespaceClause::Wait(wait) => self.text(if *wait { " WAIT" } else { " NO_WAIT" }),
            }
        }
    }

    pub(super) fn server(&mut self, server: &ServerStatement) {
        self.verb(server.verb);
        self.text("SERVER ");
        self.when(server.if_exists, "IF EXISTS ");
        self.ident(&server.name);
        self.opt(" FOREIGN DATA WRAPPER ", &server.wrapper, Self::ident);
        if server.verb != DdlVerb::Drop {
            self.text(" OPTIONS ");
            self.paren_list(&server.options, |p, (name, value)| {
                p.text(name);
                p.text(" ");
                p.literal(value);
            });
        }
    }

    pub(super) fn spatial_reference_system(&mut self, system: &SpatialReferenceSystem) {
        self.verb(system.verb);
        self.when(system.or_replace, "OR REPLACE ");
        self.text("SPATIAL REFERENCE SYSTEM ");
        let drop = system.verb == DdlVerb::Drop;
        self.when(system.conditional, if drop { "IF EXISTS " } else { "IF NOT EXISTS " });
        self.number(system.srid);
        self.opt(" NAME ", &system.name, |p, text| p.str(text));
        self.opt(" ORGANIZATION ", &system.organization, |p, (name, id)| {
            p.str(name);
            p.numbered(" IDENTIFIED BY ", *id);
        });
        self.opt(" DEFINITION ", &system.definition, |p, text| p.str(text));
        self.opt(" DESCRIPTION ", &system.description, |p, text| p.str(text));
    }

    pub(super) fn resource_group(&mut self, group: &ResourceGroup) {
        self.verb(group.verb);
        self.named("RESOURCE GROUP ", &group.name);
        self.opt(" TYPE = ", &group.system, |p, system| {
            p.text(if *system { "SYSTEM" } else { "USER" })
        });
        if !group.vcpus.is_empty() {
            self.text(" VCPU = ");
            self.list(&group.vcpus, |p, (first, last)| {
                p.number(first);
                p.opt("-", last, |p, last| p.number(last));
            });
        }
        self.opt(" THREAD_PRIORITY = ", &group.thread_priority, |p, priority| {
            p.number(priority)
        });
        self.opt(" ", &group.enable, |p, enable| {
            p.text(if *enable { "ENABLE" } else { "DISABLE" })
        });
        self.when(group.force, " FORCE");
    }
}
