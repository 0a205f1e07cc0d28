//! `CREATE TABLE (…)` into a [`TableDef`]: what is written, what MySQL adds silently, and what it refuses.

use std::collections::HashSet;

use catalog::{
    CheckDef, ColumnDef, ColumnDefault, GeneratedDef, GeneratedKind, IndexDef, IndexKind, IndexPart, TableDef,
    same_name,
};
use parser::ast::{self, KeyKind, TableElement, TableOption};
use types::cast;
use types::collation::CollationId;
use types::{ErrorKind, IndexId, SqlError, SqlResult, SqlType, TableId, Timestamp, TypeKind, Warnings};

use super::alter::columns_of;
use super::checks::generated_name;
use super::column_type;
use super::default_value::{check_default, rules_of_defaults};
use super::foreign_keys::has_written_key;
use super::full_text;
use super::functional_keys::FUNCTIONAL_INDEX;
use super::lenient::Lenience;
use super::ttl::TtlOptions;
use crate::expr::sql_mode::SqlMode;
use crate::names::{charset_by_name, collation_by_name};

/// Longest name of a database, table, column or index, in characters.
pub const MAX_NAME_CHARS: usize = 64;
const MAX_COLUMNS: usize = 4096;
const MAX_INDEXES: usize = 64;
const MAX_KEY_PARTS: usize = 16;
/// Bytes of one key column, as InnoDB's DYNAMIC row format allows.
const MAX_KEY_BYTES: u32 = 3072;

/// The options of a table that mean something here; the rest is checked and kept or refused.
#[derive(Debug, Default)]
pub struct TableOptions {
    pub collation: Option<CollationId>,
    pub comment: String,
    pub auto_increment: Option<u64>,
    pub kept: Vec<String>,
    pub ttl: TtlOptions,
    /// What the definition gets less than it asks for.
    pub warnings: Warnings,
}

/// Turns the elements of a CREATE TABLE into a table without an id.
pub fn table_def(
    database: &str,
    name: &str,
    definition: &ast::TableDefinition,
    database_collation: CollationId,
    mode: SqlMode,
) -> SqlResult<(TableDef, TableOptions)> {
    let (empty, mut options) = empty_table(database, name, definition, database_collation, mode)?;
    let mut builder = TableBuilder::new(empty, mode);
    for element in &definition.elements {
        if let TableElement::Column(column) = element {
            builder.add_column(column, None)?;
        }
    }
    for element in &definition.elements {
        match element {
            TableElement::ForeignKey(key) if has_written_key(&definition.elements, key) => {
                builder.add_foreign_key(key)?
            }
            element => builder.add_constraint(element)?,
        }
    }
    let (def, warnings) = builder.finish()?;
    options.warnings.append(warnings);
    Ok((def, options))
}

/// A table without columns, with the options of a definition.
pub(super) fn empty_table(
    database: &str,
    name: &str,
    definition: &ast::TableDefinition,
    database_collation: CollationId,
    mode: SqlMode,
) -> SqlResult<(TableDef, TableOptions)> {
    check_name(name, ErrorKind::WrongTableName)?;
    if definition.partitioning.is_some() {
        return Err(SqlError::not_supported("PARTITION BY"));
    }
    let mut lenience = Lenience::under(mode);
    let mut options = table_options(&definition.options, name, &mut lenience)?;
    options.warnings = lenience.warnings;
    let def = TableDef {
        id: TableId(0),
        database: database.to_owned(),
        name: name.to_owned(),
        columns: Vec::new(),
        indexes: Vec::new(),
        collation: options.collation.unwrap_or(database_collation),
        comment: options.comment.clone(),
        kept_options: options.kept.clone(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: Vec::new(),
        ttl: options.ttl.of_new_table()?,
        created_at: 0,
        visible_from: Timestamp::ZERO,
        next_index_id: 1,
    };
    Ok((def, options))
}

/// Reads table options: `ENGINE` and the like are accepted and mapped, what would change the meaning is refused.
pub fn table_options(written: &[TableOption], table: &str, lenience: &mut Lenience) -> SqlResult<TableOptions> {
    let mut options = TableOptions::default();
    let mut charset = None;
    for option in written {
        match option {
            TableOption::Charset(Some(name)) => {
                let named = charset_by_name(name)?;
                charset = Some(named);
                options.collation = Some(named.default_collation());
            }
            TableOption::Collate(Some(name)) => {
                let collation = collation_by_name(name)?;
                if let Some(charset) = charset.filter(|&charset| charset != collation.charset()) {
                    return Err(SqlError::new(
                        ErrorKind::CollationCharsetMismatch,
                        &[&&**name, &charset.name()],
                    ));
                }
                options.collation = Some(collation);
            }
            TableOption::Comment(comment) => {
                let too_long = || SqlError::new(ErrorKind::TooLongTableComment, &[&table, &2048]);
                options.comment = lenience.comment(comment, 2048, too_long)?;
            }
            TableOption::AutoIncrement(next) => options.auto_increment = Some(*next),
            TableOption::DataDirectory(_) => return Err(SqlError::not_supported("DATA DIRECTORY")),
            TableOption::IndexDirectory(_) => return Err(SqlError::not_supported("INDEX DIRECTORY")),
            TableOption::Union(_) => return Err(SqlError::not_supported("UNION tables")),
            TableOption::Encryption(value) if !value.eq_ignore_ascii_case("n") => {
                return Err(SqlError::not_supported("ENCRYPTION"));
            }
            TableOption::Storage(ast::ColumnStorage::Disk) => return Err(SqlError::not_supported("STORAGE DISK")),
            TableOption::Engine(name) => lenience.engine(name, table)?,
            TableOption::StartTransaction => return Err(SqlError::not_supported("START TRANSACTION")),
            TableOption::RowFormat(format) if *format != ast::RowFormat::Default => {
                options
                    .kept
                    .push(format!("ROW_FORMAT={}", format!("{format:?}").to_uppercase()));
            }
            TableOption::Ttl(_) | TableOption::TtlEnable(_) => options.ttl.add(option)?,
            // Hints to storage engines that LatsDB does not have; they change no result.
            _ => {}
        }
    }
    Ok(options)
}

/// A name of 1 to 64 characters without a trailing space.
pub fn check_name(name: &str, wrong: ErrorKind) -> SqlResult<()> {
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(SqlError::new(wrong, &[&name]));
    }
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(SqlError::new(ErrorKind::TooLongIdent, &[&name]));
    }
    Ok(())
}

/// The name of an index that is none of the engine's own: 1280, 1059.
pub(super) fn check_index_name(name: &str) -> SqlResult<()> {
    check_name(name, ErrorKind::WrongNameForIndex)?;
    let is_own = |own: &&str| name.eq_ignore_ascii_case(own);
    match ["PRIMARY", "GEN_CLUST_INDEX"].iter().any(is_own) {
        true => Err(SqlError::new(ErrorKind::WrongNameForIndex, &[&name])),
        false => Ok(()),
    }
}

/// The name of a CHECK or of a foreign key: unlike others, it may end with a space.
pub(super) fn check_constraint_name(name: &str) -> SqlResult<()> {
    check_name(name.trim_end_matches(' '), ErrorKind::WrongNameForIndex)?;
    match name.chars().count() > MAX_NAME_CHARS {
        true => Err(SqlError::new(ErrorKind::TooLongIdent, &[&name])),
        false => Ok(()),
    }
}

/// Adds columns and keys to a table and checks the whole. Serves CREATE and ALTER.
#[derive(Debug)]
pub struct TableBuilder {
    pub def: TableDef,
    /// What literal defaults may be.
    defaults: cast::SqlMode,
    pub lenience: Lenience,
    /// The highest number in a name that was made for a check.
    checks_named: u64,
    /// Columns whose definition says NULL.
    said_null: Vec<String>,
}

impl TableBuilder {
    /// For a statement under this `sql_mode`.
    pub fn new(def: TableDef, mode: SqlMode) -> TableBuilder {
        TableBuilder {
            def,
            defaults: rules_of_defaults(mode),
            lenience: Lenience::under(mode),
            checks_named: 0,
            said_null: Vec::new(),
        }
    }

    /// 1117 where there are too many columns already: their names need not be compared. It is looked at again when the table is whole.
    pub fn check_room(&self) -> SqlResult<()> {
        governor::tick()?;
        match self.def.columns.len() > MAX_COLUMNS {
            true => Err(ErrorKind::TooManyFields.into()),
            false => Ok(()),
        }
    }

    /// Adds a column at `position`, or last, with the key its own attributes ask for.
    pub fn add_column(&mut self, written: &ast::ColumnDef, position: Option<usize>) -> SqlResult<()> {
        self.check_room()?;
        let column = self.column_def(written)?;
        if self.def.column(&column.name).is_some() {
            return Err(SqlError::new(ErrorKind::DupFieldName, &[&column.name]));
        }
        let at = position.unwrap_or(self.def.named_columns().len());
        self.def.columns.insert(at, column);
        for part in self.def.indexes.iter_mut().flat_map(|index| &mut index.parts) {
            part.column += usize::from(part.column >= at);
        }
        self.add_column_keys(written, at)
    }

    /// Moves a column behind all others.
    pub fn move_to_end(&mut self, from: usize) {
        let column = self.def.columns.remove(from);
        self.def.columns.push(column);
        let last = self.def.columns.len() - 1;
        for part in self.def.indexes.iter_mut().flat_map(|index| &mut index.parts) {
            part.column = match part.column {
                at if at == from => last,
                at => at - usize::from(at > from),
            };
        }
    }

    /// The keys and checks that stand in the column's own definition.
    pub fn add_column_keys(&mut self, written: &ast::ColumnDef, at: usize) -> SqlResult<()> {
        let part = IndexPart {
            column: at,
            prefix: None,
            descending: false,
            elements: None,
        };
        if written.primary_key {
            self.add_index(
                IndexKind::Primary,
                None,
                vec![part.clone()],
                &ast::KeyOptions::default(),
            )?;
        }
        if written.unique {
            self.add_index(IndexKind::Unique, None, vec![part], &ast::KeyOptions::default())?;
        }
        for check in &written.checks {
            let name = self.add_check(check)?;
            let is_other = |column: &String| !same_name(column, &written.name);
            if columns_of(&check.expr.to_string())?.iter().any(is_other) {
                let kind = ErrorKind::ColumnCheckConstraintReferencesOtherColumn;
                return Err(SqlError::new(kind, &[&name]));
            }
        }
        Ok(())
    }

    /// A written column, checked on its own.
    pub fn column_def(&mut self, written: &ast::ColumnDef) -> SqlResult<ColumnDef> {
        let name = &*written.name;
        check_name(name, ErrorKind::WrongColumnName)?;
        if written.storage == Some(ast::ColumnStorage::Disk) {
            return Err(SqlError::not_supported("STORAGE DISK"));
        }
        if written.srid.is_some() {
            return Err(SqlError::not_supported("SRID"));
        }
        let (own, tables) = (written.collation.as_deref(), self.def.collation);
        let make = |data_type: &ast::DataType| column_type(name, data_type, own, tables);
        let mut ty = self.lenience.column_type(name, &written.data_type, make)?;
        let nullable = written.nullable.unwrap_or(true) && !written.primary_key;
        if written.primary_key && written.nullable == Some(true) {
            return Err(ErrorKind::PrimaryCantHaveNull.into());
        }
        if written.nullable == Some(true) {
            self.said_null.push(name.to_owned());
        }
        ty.nullable = nullable;
        let auto_increment = written.auto_increment;
        if auto_increment {
            let counts = ty.kind.is_integer() || matches!(ty.kind, TypeKind::Float | TypeKind::Double);
            if !counts {
                return Err(SqlError::new(ErrorKind::WrongFieldSpec, &[&name]));
            }
            if written.default.is_some() {
                return Err(SqlError::new(ErrorKind::InvalidDefault, &[&name]));
            }
            ty.nullable = false;
        }
        let is_timestamp = matches!(ty.kind, TypeKind::Timestamp | TypeKind::DateTime);
        if let Some(digits) = written.on_update_now
            && (!is_timestamp || digits != u32::from(ty.decimals))
        {
            return Err(SqlError::new(ErrorKind::InvalidOnUpdate, &[&name]));
        }
        let comment = written.comment.as_deref().unwrap_or_default();
        let too_long = || SqlError::new(ErrorKind::TooLongFieldComment, &[&name, &1024]);
        let comment = self.lenience.comment(comment, 1024, too_long)?;
        let generated = written.generated.as_ref().map(|generated| GeneratedDef {
            expression: generated.expr.to_string(),
            kind: if generated.stored {
                GeneratedKind::Stored
            } else {
                GeneratedKind::Virtual
            },
        });
        if generated.is_some() && (written.default.is_some() || auto_increment || written.on_update_now.is_some()) {
            return Err(SqlError::new(
                ErrorKind::WrongUsage,
                &[&"generated column", &"DEFAULT or AUTO_INCREMENT"],
            ));
        }
        let may_drop = ty.kind.is_lob() || ty.kind == TypeKind::Json;
        let default = match &written.default {
            Some(default) if may_drop && self.lenience.drops_default(name, default) => None,
            Some(default) => Some(self.default_of(name, default, &ty)?),
            None => None,
        };
        if default == Some(ColumnDefault::Null) && !ty.nullable {
            return Err(SqlError::new(ErrorKind::InvalidDefault, &[&name]));
        }
        Ok(ColumnDef {
            name: name.to_owned(),
            nullable: ty.nullable,
            ty,
            default,
            on_update_now: written.on_update_now.map(|digits| digits as u8),
            auto_increment,
            generated,
            invisible: written.visible == Some(false),
            comment,
            hidden: false,
        })
    }

    /// The default of a column, which must convert to the column's type.
    pub fn default_of(&self, name: &str, written: &ast::ColumnDefault, ty: &SqlType) -> SqlResult<ColumnDefault> {
        let is_lob = ty.kind.is_lob() || ty.kind == TypeKind::Json;
        Ok(match written {
            ast::ColumnDefault::Now(digits @ 7..) => {
                return Err(SqlError::new(
                    ErrorKind::TooBigPrecision,
                    &[digits, &"CURRENT_TIMESTAMP", &6],
                ));
            }
            ast::ColumnDefault::Now(digits) => {
                let fits =
                    matches!(ty.kind, TypeKind::Timestamp | TypeKind::DateTime) && *digits == u32::from(ty.decimals);
                if !fits {
                    return Err(SqlError::new(ErrorKind::InvalidDefault, &[&name]));
                }
                ColumnDefault::Now(*digits as u8)
            }
            ast::ColumnDefault::Expr(expr) => ColumnDefault::Expression(expr.to_string()),
            ast::ColumnDefault::Literal {
                value: ast::Literal::Null,
                ..
            } => ColumnDefault::Null,
            ast::ColumnDefault::Literal { .. } if is_lob => {
                return Err(SqlError::new(ErrorKind::BlobCantHaveDefault, &[&name]));
            }
            ast::ColumnDefault::Literal { negative, value } => {
                check_default(name, *negative, value, ty, self.defaults)?
            }
        })
    }

    /// Adds a key, check or foreign key. Columns are skipped.
    pub fn add_constraint(&mut self, element: &TableElement) -> SqlResult<()> {
        governor::tick()?;
        match element {
            TableElement::Column(_) => Ok(()),
            TableElement::Key(key) => self.add_key(key),
            TableElement::Check(check) => self.add_check(check).map(drop),
            TableElement::ForeignKey(key) => {
                self.add_foreign_key(key)?;
                self.add_foreign_key_index(key)
            }
        }
    }

    pub fn add_key(&mut self, key: &ast::KeyDef) -> SqlResult<()> {
        // As in MySQL, before anything is said of its columns.
        let name = key.name.as_deref().or(key.constraint.as_deref());
        if let Some(name) = name.filter(|_| key.kind != KeyKind::Primary) {
            self.give_way(name, key);
            if self.def.index(name).is_some() {
                return Err(SqlError::new(ErrorKind::DupKeyName, &[&name]));
            }
        }
        let is_expression = |part: &ast::KeyPart| matches!(part, ast::KeyPart::Expr { .. });
        if key.parts.iter().any(is_expression) {
            return self.add_functional_key(key);
        }
        let kind = match key.kind {
            KeyKind::Primary => IndexKind::Primary,
            KeyKind::Unique => IndexKind::Unique,
            KeyKind::Index => IndexKind::Plain,
            KeyKind::FullText => IndexKind::FullText,
            KeyKind::Spatial => return Err(SqlError::not_supported("SPATIAL INDEX")),
        };
        let parts = key.parts.iter().map(|part| self.key_part(part));
        let mut parts = parts.collect::<SqlResult<Vec<_>>>()?;
        if kind == IndexKind::FullText {
            full_text::fit_parts(&mut parts)?;
        }
        self.add_index(kind, name, parts, &key.options)
    }

    pub(super) fn key_part(&mut self, part: &ast::KeyPart) -> SqlResult<IndexPart> {
        match part {
            ast::KeyPart::Column {
                name,
                length,
                descending,
            } => {
                let missing = || SqlError::new(ErrorKind::KeyColumnDoesNotExist, &[&&**name]);
                Ok(IndexPart {
                    column: self.def.column(name).ok_or_else(missing)?,
                    prefix: *length,
                    descending: *descending,
                    elements: None,
                })
            }
            ast::KeyPart::Expr { expr, descending } => self.functional_part(expr, *descending),
        }
    }

    /// Adds an index over columns, named after its first column if it has no name.
    pub(super) fn add_index(
        &mut self,
        kind: IndexKind,
        name: Option<&str>,
        mut parts: Vec<IndexPart>,
        options: &ast::KeyOptions,
    ) -> SqlResult<()> {
        if parts.len() > MAX_KEY_PARTS {
            return Err(SqlError::new(ErrorKind::TooManyKeyParts, &[&MAX_KEY_PARTS]));
        }
        if self.def.indexes.len() >= MAX_INDEXES {
            return Err(SqlError::new(ErrorKind::TooManyKeys, &[&MAX_INDEXES]));
        }
        let mut seen = HashSet::new();
        for part in &mut parts {
            if !seen.insert(part.column) {
                return Err(SqlError::new(
                    ErrorKind::DupFieldName,
                    &[&self.def.columns[part.column].name],
                ));
            }
            match self.check_part(kind, part) {
                Err(error) if kind == IndexKind::Plain && error.kind() == ErrorKind::TooLongKey => {
                    self.lenience.forgive(error)?;
                    let charset = self.def.columns[part.column].ty.charset();
                    part.prefix = Some(MAX_KEY_BYTES / charset.max_bytes_per_char());
                }
                checked => checked?,
            }
        }
        if kind == IndexKind::FullText {
            full_text::check_columns(&self.def, &parts)?;
        }
        if kind == IndexKind::Primary {
            if self.def.primary().is_some() {
                return Err(ErrorKind::MultiplePriKey.into());
            }
            if options.visible == Some(false) {
                return Err(ErrorKind::PkIndexCantBeInvisible.into());
            }
            for part in &parts {
                let column = &mut self.def.columns[part.column];
                let is_meant = column.default == Some(ColumnDefault::Null) || self.said_null.contains(&column.name);
                if column.nullable && is_meant {
                    return Err(ErrorKind::PrimaryCantHaveNull.into());
                }
                column.nullable = false;
                column.ty.nullable = false;
            }
        }
        let comment = options.comment.as_deref().unwrap_or_default();
        let too_long = || SqlError::new(ErrorKind::TooLongIndexComment, &[&name.unwrap_or_default(), &1024]);
        let comment = self.lenience.comment(comment, 1024, too_long)?;
        let index = IndexDef {
            id: IndexId(if kind == IndexKind::Primary {
                IndexId::PRIMARY.0
            } else {
                self.def.next_index_id
            }),
            name: self.index_name(kind, name, &parts)?,
            parts,
            kind,
            visible: options.visible != Some(false),
            comment,
            using: options
                .algorithm
                .map(|algorithm| format!("{algorithm:?}").to_uppercase()),
            generated: false,
            text: full_text::rules(kind, options)?,
        };
        match kind {
            IndexKind::Primary => self.def.indexes.insert(0, index),
            IndexKind::Unique | IndexKind::Plain | IndexKind::FullText => {
                self.def.next_index_id += 1;
                self.def.indexes.push(index);
            }
        }
        Ok(())
    }

    /// The name of a new index: as given, `PRIMARY`, or the first column's with a number where it is taken.
    fn index_name(&self, kind: IndexKind, name: Option<&str>, parts: &[IndexPart]) -> SqlResult<String> {
        if kind == IndexKind::Primary {
            return Ok("PRIMARY".to_owned());
        }
        if let Some(name) = name {
            check_index_name(name)?;
            if self.def.index(name).is_some() {
                return Err(SqlError::new(ErrorKind::DupKeyName, &[&name]));
            }
            return Ok(name.to_owned());
        }
        let first = &self.def.columns[parts[0].column];
        let base = match first.hidden {
            true => &FUNCTIONAL_INDEX.to_owned(),
            false => &first.name,
        };
        let mut candidates = std::iter::once(base.clone()).chain((2..).map(|n| format!("{base}_{n}")));
        Ok(candidates
            .find(|candidate| self.def.index(candidate).is_none() && !candidate.eq_ignore_ascii_case("PRIMARY"))
            .expect("the candidates never end"))
    }

    /// A column has another type: what of it was the beginning may now be the whole, or may have no beginning.
    pub fn fit_prefixes(&mut self, column: usize) {
        let ty = &self.def.columns[column].ty;
        let is_string = ty.kind.is_text() || ty.kind.is_binary();
        for part in self.def.indexes.iter_mut().flat_map(|index| &mut index.parts) {
            let is_whole = |length: u32| !is_string || !ty.kind.is_lob() && length >= ty.length;
            if part.column == column && part.prefix.is_some_and(is_whole) {
                part.prefix = None;
            }
        }
    }

    /// Checks all keys, of columns that may have other types than when the keys were made.
    pub fn check_keys(&self) -> SqlResult<()> {
        for index in &self.def.indexes {
            for part in &index.parts {
                self.check_part(index.kind, &mut part.clone())?;
            }
            if index.kind == IndexKind::FullText {
                full_text::check_columns(&self.def, &index.parts)?;
            }
        }
        Ok(())
    }

    /// Checks one column of a key; a prefix as long as the column is no prefix.
    fn check_part(&self, kind: IndexKind, part: &mut IndexPart) -> SqlResult<()> {
        let column = &self.def.columns[part.column];
        if column.hidden {
            // When its type is known.
            return Ok(());
        }
        let ty = &column.ty;
        if ty.kind == TypeKind::Json {
            return Err(SqlError::new(ErrorKind::JsonUsedAsKey, &[&column.name]));
        }
        if kind == IndexKind::Primary && column.is_virtual() {
            return Err(SqlError::new(
                ErrorKind::UnsupportedActionOnGeneratedColumn,
                &[&"Defining a virtual generated column as primary key"],
            ));
        }
        if kind == IndexKind::FullText {
            return full_text::check_column(column);
        }
        let is_string = ty.kind.is_text() || ty.kind.is_binary();
        let is_list = matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
        // As many bytes as it has are all of it.
        let is_whole = |length: u32| !is_string && !is_list && u64::from(length) == declared_bytes(ty);
        if part.prefix.is_some_and(is_whole) {
            part.prefix = None;
        }
        match part.prefix {
            Some(0) => return Err(SqlError::new(ErrorKind::KeyPartZero, &[&column.name])),
            Some(_) if !is_string => return Err(ErrorKind::WrongSubKey.into()),
            Some(length) if !ty.kind.is_lob() && length > ty.length => return Err(ErrorKind::WrongSubKey.into()),
            Some(length) if !ty.kind.is_lob() && length == ty.length => part.prefix = None,
            None if ty.kind.is_lob() => {
                return Err(SqlError::new(ErrorKind::BlobKeyWithoutLength, &[&column.name]));
            }
            _ => {}
        }
        check_key_bytes(ty, part.prefix)
    }

    /// Returns the name of the check.
    pub fn add_check(&mut self, check: &ast::CheckConstraint) -> SqlResult<String> {
        let table = self.def.name.clone();
        governor::tick()?;
        let taken = |name: &str, checks: &[CheckDef]| {
            let mut checks = checks.iter().take_while(|_| governor::go_on());
            checks.any(|check| same_name(&check.name, name))
        };
        let name = match check.name.as_deref() {
            Some(name) => {
                check_constraint_name(name)?;
                if taken(name, &self.def.checks) {
                    return Err(SqlError::new(ErrorKind::CheckConstraintDupName, &[&name]));
                }
                name.to_owned()
            }
            None => loop {
                // Names that were made before are not tried again.
                self.checks_named += 1;
                let name = generated_name(&table, self.checks_named);
                check_constraint_name(&name)?;
                if !taken(&name, &self.def.checks) {
                    break name;
                }
            },
        };
        let expression = check.expr.to_string();
        self.def.checks.push(CheckDef {
            name: name.clone(),
            expression,
            enforced: check.enforced,
        });
        Ok(name)
    }

    /// Checks the table as a whole. Returns the warnings of its parts, too.
    pub fn finish(mut self) -> SqlResult<(TableDef, Warnings)> {
        self.finish_foreign_keys()?;
        let def = &self.def;
        if def.columns.is_empty() {
            return Err(ErrorKind::TableMustHaveColumns.into());
        }
        if def.columns.iter().all(|column| column.invisible) {
            return Err(ErrorKind::TableMustHaveColumns.into());
        }
        if def.columns.len() > MAX_COLUMNS {
            return Err(ErrorKind::TooManyFields.into());
        }
        // A bit for each column that may be NULL, then the columns.
        let columns = def.named_columns();
        let nullable = columns.iter().filter(|column| column.nullable).count() as u64;
        let row_bytes = nullable.div_ceil(8) + columns.iter().map(|column| declared_bytes(&column.ty)).sum::<u64>();
        if row_bytes > 65_535 {
            return Err(SqlError::new(ErrorKind::TooBigRowsize, &[&65_535]));
        }
        let mut counters = def
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.auto_increment);
        let counter = counters.next().map(|(position, _)| position);
        let mut ordered = def.indexes.iter().filter(|index| index.is_ordered());
        let mut is_key = |position| ordered.any(|index| index.parts[0].column == position);
        if counters.next().is_some() || counter.is_some_and(|position| !is_key(position)) {
            return Err(ErrorKind::WrongAutoKey.into());
        }
        self.def.order_indexes();
        if self.def.shown_as_primary().is_some_and(|index| !index.visible) {
            return Err(ErrorKind::PkIndexCantBeInvisible.into());
        }
        Ok((self.def, self.lenience.warnings))
    }
}

/// 1071 for a string that is too long for a key.
pub(super) fn check_key_bytes(ty: &SqlType, prefix: Option<u32>) -> SqlResult<()> {
    if ty.kind.is_text() || ty.kind.is_binary() {
        let chars = prefix.unwrap_or(ty.length);
        let bytes = chars.saturating_mul(ty.charset().max_bytes_per_char());
        if bytes > MAX_KEY_BYTES {
            return Err(SqlError::new(ErrorKind::TooLongKey, &[&MAX_KEY_BYTES]));
        }
    }
    Ok(())
}

/// What a column counts against the 65,535 bytes of a row, in MySQL's format of rows; TEXT, BLOB and JSON count their length and a
/// pointer of 8 bytes.
fn declared_bytes(ty: &SqlType) -> u64 {
    const POINTER: u64 = 8;
    let length = u64::from(ty.length);
    let chars = length * u64::from(ty.charset().max_bytes_per_char());
    let with_length = |bytes: u64| bytes + if bytes < 256 { 1 } else { 2 };
    let fraction = u64::from(ty.decimals).div_ceil(2);
    match ty.kind {
        TypeKind::Null => 0,
        TypeKind::TinyInt | TypeKind::Year => 1,
        TypeKind::SmallInt => 2,
        TypeKind::MediumInt | TypeKind::Date => 3,
        TypeKind::Int | TypeKind::Float => 4,
        TypeKind::BigInt | TypeKind::Double => 8,
        TypeKind::Decimal => {
            let scale = u64::from(ty.decimals);
            decimal_bytes(length.saturating_sub(scale)) + decimal_bytes(scale)
        }
        TypeKind::Bit => length.div_ceil(8),
        TypeKind::Char => chars,
        TypeKind::Binary => length,
        TypeKind::VarChar => with_length(chars),
        TypeKind::VarBinary => with_length(length),
        TypeKind::TinyText | TypeKind::TinyBlob => 1 + POINTER,
        TypeKind::Text | TypeKind::Blob => 2 + POINTER,
        TypeKind::MediumText | TypeKind::MediumBlob => 3 + POINTER,
        TypeKind::LongText | TypeKind::LongBlob | TypeKind::Json => 4 + POINTER,
        TypeKind::Time => 3 + fraction,
        TypeKind::DateTime => 5 + fraction,
        TypeKind::Timestamp => 4 + fraction,
        TypeKind::Enum if ty.labels.len() < 256 => 1,
        TypeKind::Enum => 2,
        TypeKind::Set => match ty.labels.len().div_ceil(8) {
            bytes @ 0..=4 => bytes.max(1) as u64,
            _ => 8,
        },
    }
}

/// Nine digits of a DECIMAL take four bytes, fewer as few as they need.
fn decimal_bytes(digits: u64) -> u64 {
    const REST: [u64; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    digits / 9 * 4 + REST[(digits % 9) as usize]
}
