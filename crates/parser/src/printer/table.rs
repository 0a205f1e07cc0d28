//! What a table is made of: types, columns, keys, options, partitions.

use super::Printer;
use crate::ast::*;

impl Printer {
    pub(super) fn create_table(&mut self, create: &CreateTable) {
        self.text(if create.temporary {
            "CREATE TEMPORARY TABLE "
        } else {
            "CREATE TABLE "
        });
        self.when(create.if_not_exists, "IF NOT EXISTS ");
        self.table_name(&create.name);
        let definition = match &create.body {
            CreateTableBody::Like(table) => {
                self.text(" LIKE ");
                return self.table_name(table);
            }
            CreateTableBody::Definition(definition) => definition,
        };
        if !definition.elements.is_empty() {
            self.text(" ");
            self.paren_list(&definition.elements, Self::table_element);
        }
        for option in &definition.options {
            self.text(" ");
            self.table_option(option);
        }
        self.opt(" ", &definition.partitioning, Self::partition_by);
        self.opt(" ", &definition.duplicates, Self::on_duplicate_row);
        self.opt(" AS ", &definition.query, Self::query);
    }

    pub(super) fn table_element(&mut self, element: &TableElement) {
        match element {
            TableElement::Column(column) => self.column_def(column),
            TableElement::Key(key) => self.key_def(key),
            TableElement::ForeignKey(key) => self.foreign_key(key),
            TableElement::Check(check) => self.check(check),
        }
    }

    pub(super) fn data_type(&mut self, data_type: &DataType) {
        self.text(type_name(data_type.name));
        self.type_length(data_type);
        if !data_type.values.is_empty() {
            self.paren_list(&data_type.values, |p, value| p.string(value));
        }
        self.when(data_type.unsigned && !data_type.zerofill, " UNSIGNED");
        self.when(data_type.zerofill, " ZEROFILL");
        self.opt(" CHARACTER SET ", &data_type.charset, Self::ident);
        self.when(data_type.binary, " BINARY");
    }

    /// The type as CAST spells it.
    pub(super) fn cast_type(&mut self, data_type: &DataType) {
        if data_type.name == TypeName::BigInt {
            return self.text(if data_type.unsigned { "UNSIGNED" } else { "SIGNED" });
        }
        self.data_type(data_type);
    }

    fn type_length(&mut self, data_type: &DataType) {
        match (data_type.length, data_type.decimals) {
            (Some(length), Some(decimals)) => self.text(&format!("({length}, {decimals})")),
            (Some(length), None) => self.text(&format!("({length})")),
            (None, _) => {}
        }
    }

    pub(super) fn column_def(&mut self, column: &ColumnDef) {
        self.ident(&column.name);
        self.text(" ");
        self.data_type(&column.data_type);
        self.opt(" COLLATE ", &column.collation, Self::ident);
        self.opt(" GENERATED ALWAYS AS (", &column.generated, |p, generated| {
            p.expr(&generated.expr);
            p.text(if generated.stored { ") STORED" } else { ") VIRTUAL" });
        });
        self.text(match column.nullable {
            Some(true) => " NULL",
            Some(false) => " NOT NULL",
            None => "",
        });
        self.when(column.not_secondary, " NOT SECONDARY");
        self.opt(" DEFAULT ", &column.default, Self::column_default);
        self.opt(" ON UPDATE ", &column.on_update_now, |p, digits| p.now(*digits));
        self.when(column.auto_increment, " AUTO_INCREMENT");
        self.when(column.unique, " UNIQUE KEY");
        self.when(column.primary_key, " PRIMARY KEY");
        self.text(match column.visible {
            Some(true) => " VISIBLE",
            Some(false) => " INVISIBLE",
            None => "",
        });
        self.opt(" COMMENT ", &column.comment, |p, comment| p.str(comment));
        self.opt(" COLUMN_FORMAT ", &column.format, |p, format| {
            p.text(match format {
                ColumnFormat::Default => "DEFAULT",
                ColumnFormat::Fixed => "FIXED",
                ColumnFormat::Dynamic => "DYNAMIC",
            });
        });
        self.opt(" STORAGE ", &column.storage, |p, storage| p.storage(*storage));
        self.opt(" SRID ", &column.srid, |p, srid| p.number(srid));
        self.opt(" ENGINE_ATTRIBUTE ", &column.engine_attribute, |p, text| p.str(text));
        self.opt(
            " SECONDARY_ENGINE_ATTRIBUTE ",
            &column.secondary_engine_attribute,
            |p, text| p.str(text),
        );
        for check in &column.checks {
            self.text(" ");
            self.check(check);
        }
    }

    fn storage(&mut self, storage: ColumnStorage) {
        self.text(match storage {
            ColumnStorage::Default => "DEFAULT",
            ColumnStorage::Disk => "DISK",
            ColumnStorage::Memory => "MEMORY",
        });
    }

    fn now(&mut self, digits: u32) {
        self.text("CURRENT_TIMESTAMP");
        if digits > 0 {
            self.text(&format!("({digits})"));
        }
    }

    pub(super) fn column_default(&mut self, default: &ColumnDefault) {
        match default {
            ColumnDefault::Literal { negative, value } => {
                self.when(*negative, "-");
                self.literal(value);
            }
            ColumnDefault::Now(digits) => self.now(*digits),
            ColumnDefault::Expr(expr) => {
                self.text("(");
                self.expr(expr);
                self.text(")");
            }
        }
    }

    pub(super) fn check(&mut self, check: &CheckConstraint) {
        self.constraint_name(&check.name);
        self.text("CHECK (");
        self.expr(&check.expr);
        self.text(")");
        self.when(!check.enforced, " NOT ENFORCED");
    }

    /// `CONSTRAINT name ` or nothing.
    fn constraint_name(&mut self, name: &Option<Ident>) {
        self.opt("CONSTRAINT ", name, |p, name| {
            p.ident(name);
            p.text(" ");
        });
    }

    pub(super) fn key_def(&mut self, key: &KeyDef) {
        self.constraint_name(&key.constraint);
        self.text(match key.kind {
            KeyKind::Primary => "PRIMARY KEY",
            KeyKind::Unique => "UNIQUE KEY",
            KeyKind::Index => "KEY",
            KeyKind::FullText => "FULLTEXT KEY",
            KeyKind::Spatial => "SPATIAL KEY",
        });
        self.opt(" ", &key.name, Self::ident);
        self.key_parts(key);
    }

    /// ` (parts) options`
    pub(super) fn key_parts(&mut self, key: &KeyDef) {
        self.text(" ");
        self.paren_list(&key.parts, |p, part| match part {
            KeyPart::Column {
                name,
                length,
                descending,
            } => {
                p.ident(name);
                p.opt("(", length, |p, length| p.text(&format!("{length})")));
                p.when(*descending, " DESC");
            }
            KeyPart::Expr { expr, descending } => {
                p.text("(");
                p.expr(expr);
                p.text(")");
                p.when(*descending, " DESC");
            }
        });
        let options = &key.options;
        self.opt(" USING ", &options.algorithm, |p, algorithm| {
            p.text(match algorithm {
                IndexAlgorithm::BTree => "BTREE",
                IndexAlgorithm::Hash => "HASH",
                IndexAlgorithm::RTree => "RTREE",
            });
        });
        self.opt(" KEY_BLOCK_SIZE = ", &options.block_size, |p, size| p.number(size));
        self.opt(" WITH PARSER ", &options.parser, Self::ident);
        self.opt(" COMMENT ", &options.comment, |p, comment| p.str(comment));
        self.text(match options.visible {
            Some(true) => " VISIBLE",
            Some(false) => " INVISIBLE",
            None => "",
        });
        self.opt(" ENGINE_ATTRIBUTE ", &options.engine_attribute, |p, text| p.str(text));
        self.opt(
            " SECONDARY_ENGINE_ATTRIBUTE ",
            &options.secondary_engine_attribute,
            |p, text| p.str(text),
        );
    }

    pub(super) fn foreign_key(&mut self, key: &ForeignKey) {
        self.constraint_name(&key.constraint);
        self.text("FOREIGN KEY ");
        self.opt("", &key.index, |p, index| {
            p.ident(index);
            p.text(" ");
        });
        self.paren_list(&key.columns, Self::ident);
        self.text(" ");
        self.references(&key.references);
    }

    fn references(&mut self, references: &References) {
        self.text("REFERENCES ");
        self.table_name(&references.table);
        self.opt_idents(&references.columns);
        self.opt(" MATCH ", &references.matching, |p, matching| {
            p.text(match matching {
                MatchKind::Full => "FULL",
                MatchKind::Partial => "PARTIAL",
                MatchKind::Simple => "SIMPLE",
            });
        });
        self.opt(" ON DELETE ", &references.on_delete, Self::reference_action);
        self.opt(" ON UPDATE ", &references.on_update, Self::reference_action);
    }

    fn reference_action(&mut self, action: &ReferenceAction) {
        self.text(match action {
            ReferenceAction::Restrict => "RESTRICT",
            ReferenceAction::Cascade => "CASCADE",
            ReferenceAction::SetNull => "SET NULL",
            ReferenceAction::NoAction => "NO ACTION",
            ReferenceAction::SetDefault => "SET DEFAULT",
        });
    }

    pub(super) fn table_option(&mut self, option: &TableOption) {
        match option {
            TableOption::Engine(engine) => self.named("ENGINE = ", engine),
            TableOption::SecondaryEngine(Some(engine)) => self.named("SECONDARY_ENGINE = ", engine),
            TableOption::SecondaryEngine(None) => self.text("SECONDARY_ENGINE = NULL"),
            TableOption::AutoIncrement(value) => self.numbered("AUTO_INCREMENT = ", *value),
            TableOption::AvgRowLength(value) => self.numbered("AVG_ROW_LENGTH = ", *value),
            TableOption::Charset(charset) => self.named_or_default("DEFAULT CHARACTER SET = ", charset),
            TableOption::Collate(collation) => self.named_or_default("COLLATE = ", collation),
            TableOption::Checksum(on) => self.numbered("CHECKSUM = ", u64::from(*on)),
            TableOption::TableChecksum(on) => self.numbered("TABLE_CHECKSUM = ", u64::from(*on)),
            TableOption::Comment(text) => self.quoted("COMMENT = ", text),
            TableOption::Compression(text) => self.quoted("COMPRESSION = ", text),
            TableOption::Connection(text) => self.quoted("CONNECTION = ", text),
            TableOption::DataDirectory(text) => self.quoted("DATA DIRECTORY = ", text),
            TableOption::IndexDirectory(text) => self.quoted("INDEX DIRECTORY = ", text),
            TableOption::DelayKeyWrite(on) => self.numbered("DELAY_KEY_WRITE = ", u64::from(*on)),
            TableOption::Encryption(text) => self.quoted("ENCRYPTION = ", text),
            TableOption::EngineAttribute(text) => self.quoted("ENGINE_ATTRIBUTE = ", text),
            TableOption::SecondaryEngineAttribute(text) => self.quoted("SECONDARY_ENGINE_ATTRIBUTE = ", text),
            TableOption::InsertMethod(method) => self.text(match method {
                InsertMethod::No => "INSERT_METHOD = NO",
                InsertMethod::First => "INSERT_METHOD = FIRST",
                InsertMethod::Last => "INSERT_METHOD = LAST",
            }),
            TableOption::KeyBlockSize(value) => self.numbered("KEY_BLOCK_SIZE = ", *value),
            TableOption::MaxRows(value) => self.numbered("MAX_ROWS = ", *value),
            TableOption::MinRows(value) => self.numbered("MIN_ROWS = ", *value),
            TableOption::PackKeys(value) => self.ternary("PACK_KEYS = ", *value),
            TableOption::Password(text) => self.quoted("PASSWORD = ", text),
            TableOption::RowFormat(format) => {
                self.text("ROW_FORMAT = ");
                self.text(match format {
                    RowFormat::Default => "DEFAULT",
                    RowFormat::Dynamic => "DYNAMIC",
                    RowFormat::Fixed => "FIXED",
                    RowFormat::Compressed => "COMPRESSED",
                    RowFormat::Redundant => "REDUNDANT",
                    RowFormat::Compact => "COMPACT",
                });
            }
            TableOption::StartTransaction => self.text("START TRANSACTION"),
            TableOption::StatsAutoRecalc(value) => self.ternary("STATS_AUTO_RECALC = ", *value),
            TableOption::StatsPersistent(value) => self.ternary("STATS_PERSISTENT = ", *value),
            TableOption::StatsSamplePages(Some(pages)) => self.numbered("STATS_SAMPLE_PAGES = ", *pages),
            TableOption::StatsSamplePages(None) => self.text("STATS_SAMPLE_PAGES = DEFAULT"),
            TableOption::Tablespace(name) => self.named("TABLESPACE = ", name),
            TableOption::Storage(storage) => {
                self.text("STORAGE ");
                self.storage(*storage);
            }
            TableOption::AutoextendSize(bytes) => self.numbered("AUTOEXTEND_SIZE = ", *bytes),
            TableOption::Union(tables) => {
                self.text("UNION = ");
                self.paren_list(tables, Self::table_name);
            }
            TableOption::Ttl(ttl) => {
                self.named("TTL = ", &ttl.column);
                if let Some((count, unit)) = ttl.interval {
                    self.numbered(" + INTERVAL ", count);
                    self.text(" ");
                    self.text(super::expr::unit(unit));
                }
            }
            TableOption::TtlEnable(on) => self.text(match on {
                true => "TTL_ENABLE = 'ON'",
                false => "TTL_ENABLE = 'OFF'",
            }),
            TableOption::TtlJobInterval(text) => self.quoted("TTL_JOB_INTERVAL = ", text),
        }
    }

    pub(super) fn numbered(&mut self, before: &str, value: u64) {
        self.text(before);
        self.number(value);
    }

    pub(super) fn quoted(&mut self, before: &str, text: &str) {
        self.text(before);
        self.str(text);
    }

    pub(super) fn named_or_default(&mut self, before: &str, name: &Option<Ident>) {
        self.text(before);
        match name {
            Some(name) => self.ident(name),
            None => self.text("DEFAULT"),
        }
    }

    pub(super) fn ternary(&mut self, before: &str, value: Option<bool>) {
        self.text(before);
        self.text(match value {
            Some(true) => "1",
            Some(false) => "0",
            None => "DEFAULT",
        });
    }

    // ---- partitions ----

    pub(super) fn partition_by(&mut self, partitioning: &Partitioning) {
        self.text("PARTITION BY ");
        self.partition_method(&partitioning.method);
        self.opt(" PARTITIONS ", &partitioning.count, |p, count| p.number(count));
        self.opt(" SUBPARTITION BY ", &partitioning.subpartition, |p, sub| {
            p.partition_method(&sub.method);
            p.opt(" SUBPARTITIONS ", &sub.count, |p, count| p.number(count));
        });
        if !partitioning.partitions.is_empty() {
            self.text(" ");
            self.partition_defs(&partitioning.partitions);
        }
    }

    fn partition_method(&mut self, method: &PartitionMethod) {
        match method {
            PartitionMethod::Hash { linear, expr } => {
                self.when(*linear, "LINEAR ");
                self.partition_function("HASH", expr);
            }
            PartitionMethod::Key {
                linear,
                algorithm,
                columns,
            } => {
                self.when(*linear, "LINEAR ");
                self.text("KEY ");
                self.opt("ALGORITHM = ", algorithm, |p, version| p.text(&format!("{version} ")));
                self.paren_list(columns, Self::ident);
            }
            PartitionMethod::Range(expr) => self.partition_function("RANGE", expr),
            PartitionMethod::List(expr) => self.partition_function("LIST", expr),
            PartitionMethod::RangeColumns(columns) => {
                self.text("RANGE COLUMNS ");
                self.paren_list(columns, Self::ident);
            }
            PartitionMethod::ListColumns(columns) => {
                self.text("LIST COLUMNS ");
                self.paren_list(columns, Self::ident);
            }
        }
    }

    fn partition_function(&mut self, name: &str, expr: &Expr) {
        self.text(name);
        self.text(" (");
        self.expr_at(expr, crate::parser::level::BIT_OR);
        self.text(")");
    }

    pub(super) fn partition_defs(&mut self, partitions: &[PartitionDef]) {
        self.paren_list(partitions, |p, partition| {
            p.named("PARTITION ", &partition.name);
            p.opt(" VALUES ", &partition.values, Self::partition_values);
            p.partition_options(&partition.options);
            if !partition.subpartitions.is_empty() {
                p.text(" ");
                p.paren_list(&partition.subpartitions, |p, sub| {
                    p.named("SUBPARTITION ", &sub.name);
                    p.partition_options(&sub.options);
                });
            }
        });
    }

    fn partition_values(&mut self, values: &PartitionValues) {
        match values {
            PartitionValues::LessThanMax => self.text("LESS THAN MAXVALUE"),
            PartitionValues::LessThan(values) => {
                self.text("LESS THAN ");
                self.paren_list(values, Self::partition_value);
            }
            PartitionValues::In(tuples) => {
                self.text("IN ");
                self.paren_list(tuples, |p, tuple| p.paren_list(tuple, Self::partition_value));
            }
        }
    }

    fn partition_value(&mut self, value: &PartitionValue) {
        match value {
            PartitionValue::Expr(expr) => self.expr_at(expr, crate::parser::level::BIT_OR),
            PartitionValue::Max => self.text("MAXVALUE"),
        }
    }

    fn partition_options(&mut self, options: &[PartitionOption]) {
        for option in options {
            match option {
                PartitionOption::Engine(engine) => self.named(" ENGINE = ", engine),
                PartitionOption::Comment(text) => self.quoted(" COMMENT = ", text),
                PartitionOption::DataDirectory(path) => self.quoted(" DATA DIRECTORY = ", path),
                PartitionOption::IndexDirectory(path) => self.quoted(" INDEX DIRECTORY = ", path),
                PartitionOption::MaxRows(rows) => self.numbered(" MAX_ROWS = ", *rows),
                PartitionOption::MinRows(rows) => self.numbered(" MIN_ROWS = ", *rows),
                PartitionOption::Tablespace(name) => self.named(" TABLESPACE = ", name),
                PartitionOption::NodeGroup(group) => self.numbered(" NODEGROUP = ", *group),
            }
        }
    }
}

fn type_name(name: TypeName) -> &'static str {
    match name {
        TypeName::TinyInt => "TINYINT",
        TypeName::SmallInt => "SMALLINT",
        TypeName::MediumInt => "MEDIUMINT",
        TypeName::Int => "INT",
        TypeName::BigInt => "BIGINT",
        TypeName::Decimal => "DECIMAL",
        TypeName::Float => "FLOAT",
        TypeName::Double => "DOUBLE",
        TypeName::Bit => "BIT",
        TypeName::Char => "CHAR",
        TypeName::VarChar => "VARCHAR",
        TypeName::Binary => "BINARY",
        TypeName::VarBinary => "VARBINARY",
        TypeName::TinyText => "TINYTEXT",
        TypeName::Text => "TEXT",
        TypeName::MediumText => "MEDIUMTEXT",
        TypeName::LongText => "LONGTEXT",
        TypeName::TinyBlob => "TINYBLOB",
        TypeName::Blob => "BLOB",
        TypeName::MediumBlob => "MEDIUMBLOB",
        TypeName::LongBlob => "LONGBLOB",
        TypeName::Enum => "ENUM",
        TypeName::Set => "SET",
        TypeName::Date => "DATE",
        TypeName::Time => "TIME",
        TypeName::DateTime => "DATETIME",
        TypeName::Timestamp => "TIMESTAMP",
        TypeName::Year => "YEAR",
        TypeName::Json => "JSON",
        TypeName::Geometry => "GEOMETRY",
        TypeName::Point => "POINT",
        TypeName::LineString => "LINESTRING",
        TypeName::Polygon => "POLYGON",
        TypeName::MultiPoint => "MULTIPOINT",
        TypeName::MultiLineString => "MULTILINESTRING",
        TypeName::MultiPolygon => "MULTIPOLYGON",
        TypeName::GeometryCollection => "GEOMETRYCOLLECTION",
    }
}
