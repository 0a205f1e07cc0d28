//! CREATE, ALTER, DROP and RENAME: which thing, and the smaller things.

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn create(&mut self) -> PResult<Statement> {
        self.bump();
        let Tok::Kw(keyword) = self.tok.kind else {
            return Err(self.unexpected());
        };
        match keyword {
            Kw::OR
            | Kw::ALGORITHM
            | Kw::DEFINER
            | Kw::SQL
            | Kw::VIEW
            | Kw::TRIGGER
            | Kw::PROCEDURE
            | Kw::FUNCTION
            | Kw::AGGREGATE
            | Kw::EVENT => return self.create_stored(),
            Kw::SPATIAL if self.peek_is(Kw::REFERENCE) => return self.spatial_reference_system(DdlVerb::Create, false),
            _ => {}
        }
        let kind = self.bump();
        match keyword {
            Kw::TABLE => self.create_table(false),
            Kw::TEMPORARY => {
                self.expect(Kw::TABLE)?;
                self.create_table(true)
            }
            Kw::DATABASE | Kw::SCHEMA => {
                let if_not_exists = self.if_not_exists()?;
                let name = self.ident()?;
                let options = self.database_options(false)?;
                Ok(Statement::CreateDatabase(Box::new(CreateDatabase {
                    if_not_exists,
                    name,
                    options,
                })))
            }
            Kw::UNIQUE => self.create_index(KeyKind::Unique),
            Kw::FULLTEXT => self.create_index(KeyKind::FullText),
            Kw::SPATIAL => self.create_index(KeyKind::Spatial),
            Kw::INDEX => self.create_index_named(KeyKind::Index),
            Kw::USER => self.create_user(),
            Kw::ROLE => {
                let if_not_exists = self.if_not_exists()?;
                let roles = self.list(Self::account)?;
                Ok(Statement::CreateRole(Box::new(CreateRole { if_not_exists, roles })))
            }
            Kw::SERVER => self.server(DdlVerb::Create),
            Kw::TABLESPACE => self.tablespace(DdlVerb::Create, TablespaceKind::Tablespace),
            Kw::UNDO => {
                self.expect(Kw::TABLESPACE)?;
                self.tablespace(DdlVerb::Create, TablespaceKind::Undo)
            }
            Kw::LOGFILE => {
                self.expect(Kw::GROUP)?;
                self.tablespace(DdlVerb::Create, TablespaceKind::LogfileGroup)
            }
            Kw::RESOURCE => self.resource_group(DdlVerb::Create),
            _ => Err(self.unexpected_at(kind)),
        }
    }

    fn create_index(&mut self, kind: KeyKind) -> PResult<Statement> {
        self.expect(Kw::INDEX)?;
        self.create_index_named(kind)
    }

    /// `name [USING ..] ON table (parts) options`
    fn create_index_named(&mut self, kind: KeyKind) -> PResult<Statement> {
        let name = self.ident()?;
        let mut algorithm = None;
        if self.eat_any(&[Kw::USING, Kw::TYPE]).is_some() {
            algorithm = Some(self.index_algorithm()?);
        }
        self.expect(Kw::ON)?;
        let table = self.table_name()?;
        let key = self.key_parts(kind, None, Some(name), algorithm)?;
        let mut online = AlterOnline::default();
        while self.opt_online(&mut online)? {}
        Ok(Statement::CreateIndex(Box::new(CreateIndex { table, key, online })))
    }

    pub(super) fn alter(&mut self) -> PResult<Statement> {
        self.bump();
        let Tok::Kw(keyword) = self.tok.kind else {
            return Err(self.unexpected());
        };
        match keyword {
            Kw::ALGORITHM | Kw::DEFINER | Kw::SQL | Kw::VIEW | Kw::PROCEDURE | Kw::FUNCTION | Kw::EVENT => {
                return self.alter_stored();
            }
            _ => {}
        }
        let kind = self.bump();
        match keyword {
            Kw::TABLE => self.alter_table(),
            Kw::DATABASE | Kw::SCHEMA => {
                // The database may be missing, and its name may be a word that begins an option.
                let name =
                    if self.at_ident() && !self.at_any(&[Kw::CHARSET, Kw::ENCRYPTION]) || self.option_after_name() {
                        Some(self.ident()?)
                    } else {
                        None
                    };
                let options = self.database_options(true)?;
                if options.is_empty() {
                    return Err(self.unexpected());
                }
                Ok(Statement::AlterDatabase(Box::new(AlterDatabase { name, options })))
            }
            Kw::USER => self.alter_user(),
            Kw::SERVER => self.server(DdlVerb::Alter),
            Kw::TABLESPACE => self.tablespace(DdlVerb::Alter, TablespaceKind::Tablespace),
            Kw::UNDO => {
                self.expect(Kw::TABLESPACE)?;
                self.tablespace(DdlVerb::Alter, TablespaceKind::Undo)
            }
            Kw::LOGFILE => {
                self.expect(Kw::GROUP)?;
                self.tablespace(DdlVerb::Alter, TablespaceKind::LogfileGroup)
            }
            Kw::RESOURCE => self.resource_group(DdlVerb::Alter),
            Kw::INSTANCE => self.alter_instance(),
            _ => Err(self.unexpected_at(kind)),
        }
    }

    /// `CHARSET` or `ENCRYPTION` at hand is the database's name: an option follows it.
    fn option_after_name(&mut self) -> bool {
        self.at_any(&[Kw::CHARSET, Kw::ENCRYPTION])
            && matches!(
                self.peek(),
                Tok::Kw(Kw::CHARSET | Kw::CHARACTER | Kw::COLLATE | Kw::ENCRYPTION | Kw::READ)
            )
    }

    /// After `ALTER INSTANCE`.
    fn alter_instance(&mut self) -> PResult<Statement> {
        const COMMANDS: &[&str] = &[
            "ROTATE INNODB MASTER KEY",
            "ROTATE BINLOG MASTER KEY",
            "RELOAD TLS",
            "RELOAD TLS NO ROLLBACK ON ERROR",
            "RELOAD KEYRING",
            "ENABLE INNODB REDO_LOG",
            "DISABLE INNODB REDO_LOG",
        ];
        self.phrase(COMMANDS).map(Statement::AlterInstance)
    }

    pub(super) fn drop(&mut self) -> PResult<Statement> {
        self.bump();
        let Tok::Kw(keyword) = self.tok.kind else {
            return Err(self.unexpected());
        };
        if keyword == Kw::SPATIAL {
            return self.spatial_reference_system(DdlVerb::Drop, false);
        }
        let kind = self.bump();
        match keyword {
            Kw::TABLE | Kw::TABLES => self.drop_table(false),
            Kw::TEMPORARY => {
                self.expect_any(&[Kw::TABLE, Kw::TABLES])?;
                self.drop_table(true)
            }
            Kw::DATABASE | Kw::SCHEMA => {
                let if_exists = self.if_exists()?;
                Ok(Statement::DropDatabase(Box::new(DropDatabase {
                    if_exists,
                    name: self.ident()?,
                })))
            }
            Kw::INDEX => {
                let name = self.index_name()?;
                self.expect(Kw::ON)?;
                let table = self.table_name()?;
                let mut online = AlterOnline::default();
                while self.opt_online(&mut online)? {}
                Ok(Statement::DropIndex(Box::new(DropIndex { table, name, online })))
            }
            Kw::VIEW => {
                let if_exists = self.if_exists()?;
                let names = self.list(Self::table_name)?;
                let behavior = self.opt_drop_behavior();
                Ok(Statement::DropView(Box::new(DropView {
                    if_exists,
                    names,
                    behavior,
                })))
            }
            Kw::TRIGGER => self.drop_object(DropKind::Trigger),
            Kw::PROCEDURE => self.drop_object(DropKind::Procedure),
            Kw::FUNCTION => self.drop_object(DropKind::Function),
            Kw::EVENT => self.drop_object(DropKind::Event),
            Kw::PREPARE => self.ident().map(Statement::Deallocate),
            Kw::USER => {
                let if_exists = self.if_exists()?;
                Ok(Statement::DropUser(Box::new(DropUser {
                    if_exists,
                    accounts: self.list(Self::account)?,
                })))
            }
            Kw::ROLE => {
                let if_exists = self.if_exists()?;
                Ok(Statement::DropRole(Box::new(DropRole {
                    if_exists,
                    roles: self.list(Self::account)?,
                })))
            }
            Kw::SERVER => self.server(DdlVerb::Drop),
            Kw::TABLESPACE => self.tablespace(DdlVerb::Drop, TablespaceKind::Tablespace),
            Kw::UNDO => {
                self.expect(Kw::TABLESPACE)?;
                self.tablespace(DdlVerb::Drop, TablespaceKind::Undo)
            }
            Kw::LOGFILE => {
                self.expect(Kw::GROUP)?;
                self.tablespace(DdlVerb::Drop, TablespaceKind::LogfileGroup)
            }
            Kw::RESOURCE => self.resource_group(DdlVerb::Drop),
            _ => Err(self.unexpected_at(kind)),
        }
    }

    fn drop_table(&mut self, temporary: bool) -> PResult<Statement> {
        let if_exists = self.if_exists()?;
        let names = self.list(Self::table_name)?;
        let behavior = self.opt_drop_behavior();
        Ok(Statement::DropTable(Box::new(DropTable {
            temporary,
            if_exists,
            names,
            behavior,
        })))
    }

    fn drop_object(&mut self, kind: DropKind) -> PResult<Statement> {
        let if_exists = self.if_exists()?;
        let name = self.table_name()?;
        Ok(Statement::DropObject(Box::new(DropObject { kind, if_exists, name })))
    }

    /// `RENAME TABLE a TO b, ..`, `RENAME USER a TO b, ..`
    pub(super) fn rename(&mut self) -> PResult<Statement> {
        self.bump();
        if self.eat(Kw::USER) {
            let renames = self.list(|parser| {
                let from = parser.account()?;
                parser.expect(Kw::TO)?;
                Ok((from, parser.account()?))
            })?;
            return Ok(Statement::RenameUser(renames));
        }
        self.expect_any(&[Kw::TABLE, Kw::TABLES])?;
        let renames = self.list(|parser| {
            let from = parser.table_name()?;
            parser.expect(Kw::TO)?;
            Ok(RenameTable {
                from,
                to: parser.table_name()?,
            })
        })?;
        Ok(Statement::RenameTable(renames))
    }

    // ---- the rarer things ----

    fn tablespace(&mut self, verb: DdlVerb, kind: TablespaceKind) -> PResult<Statement> {
        let name = self.ident()?;
        let mut clauses = Vec::new();
        while let Some(clause) = self.opt_tablespace_clause()? {
            clauses.push(clause);
            self.eat_tok(Tok::Comma);
        }
        Ok(Statement::Tablespace(Box::new(Tablespace {
            verb,
            kind,
            name,
            clauses,
        })))
    }

    fn opt_tablespace_clause(&mut self) -> PResult<Option<TablespaceClause>> {
        let Some(keyword) = self.eat_any(&[
            Kw::ADD,
            Kw::DROP,
            Kw::USE,
            Kw::RENAME,
            Kw::SET,
            Kw::INITIAL_SIZE,
            Kw::EXTENT_SIZE,
            Kw::MAX_SIZE,
            Kw::AUTOEXTEND_SIZE,
            Kw::NODEGROUP,
            Kw::FILE_BLOCK_SIZE,
            Kw::UNDO_BUFFER_SIZE,
            Kw::REDO_BUFFER_SIZE,
            Kw::ENGINE,
            Kw::STORAGE,
            Kw::COMMENT,
            Kw::ENCRYPTION,
            Kw::ENGINE_ATTRIBUTE,
            Kw::WAIT,
            Kw::NO_WAIT,
        ]) else {
            return Ok(None);
        };
        Ok(Some(match keyword {
            Kw::ADD => match self.expect_any(&[Kw::DATAFILE, Kw::UNDOFILE])? {
                Kw::DATAFILE => TablespaceClause::AddDataFile(self.text()?),
                _ => TablespaceClause::AddUndoFile(self.text()?),
            },
            Kw::DROP => {
                self.expect(Kw::DATAFILE)?;
                TablespaceClause::DropDataFile(self.text()?)
            }
            Kw::USE => {
                self.expect_all(&[Kw::LOGFILE, Kw::GROUP])?;
                TablespaceClause::UseLogfileGroup(self.ident()?)
            }
            Kw::RENAME => {
                self.expect(Kw::TO)?;
                TablespaceClause::RenameTo(self.ident()?)
            }
            Kw::SET => TablespaceClause::SetActive(self.expect_any(&[Kw::ACTIVE, Kw::INACTIVE])? == Kw::ACTIVE),
            Kw::WAIT => TablespaceClause::Wait(true),
            Kw::NO_WAIT => TablespaceClause::Wait(false),
            Kw::ENGINE | Kw::STORAGE => {
                if keyword == Kw::STORAGE {
                    self.expect(Kw::ENGINE)?;
                }
                self.opt_eq();
                TablespaceClause::Engine(self.ident_or_text()?)
            }
            Kw::COMMENT => {
                self.opt_eq();
                TablespaceClause::Comment(self.text()?)
            }
            Kw::ENCRYPTION => {
                self.opt_eq();
                TablespaceClause::Encryption(self.text()?)
            }
            Kw::ENGINE_ATTRIBUTE => {
                self.opt_eq();
                TablespaceClause::EngineAttribute(self.text()?)
            }
            size => {
                self.opt_eq();
                TablespaceClause::Size(size.text().into(), self.size()?)
            }
        }))
    }

    fn server(&mut self, verb: DdlVerb) -> PResult<Statement> {
        let if_exists = verb == DdlVerb::Drop && self.if_exists()?;
        let name = self.ident_or_text()?;
        let mut wrapper = None;
        if verb == DdlVerb::Create {
            self.expect_all(&[Kw::FOREIGN, Kw::DATA, Kw::WRAPPER])?;
            wrapper = Some(self.ident_or_text()?);
        }
        let mut options = Vec::new();
        if verb != DdlVerb::Drop {
            self.expect(Kw::OPTIONS)?;
            let names = ["HOST", "DATABASE", "USER", "PASSWORD", "SOCKET", "OWNER", "PORT"];
            options = self.paren_list(|parser| {
                let name = parser.one_of_words(&names)?;
                let value = match parser.opt_literal()? {
                    Some(value @ (Literal::String(_) | Literal::Int(_))) => value,
                    _ => return Err(parser.unexpected()),
                };
                Ok((name, value))
            })?;
        }
        Ok(Statement::Server(Box::new(ServerStatement {
            verb,
            if_exists,
            name,
            wrapper,
            options,
        })))
    }

    /// At `SPATIAL REFERENCE SYSTEM`.
    pub(super) fn spatial_reference_system(&mut self, verb: DdlVerb, or_replace: bool) -> PResult<Statement> {
        self.expect_all(&[Kw::SPATIAL, Kw::REFERENCE, Kw::SYSTEM])?;
        let conditional = match verb {
            DdlVerb::Drop => self.if_exists()?,
            _ => !or_replace && self.if_not_exists()?,
        };
        let mut system = SpatialReferenceSystem {
            verb,
            or_replace,
            conditional,
            srid: self.unsigned()?,
            name: None,
            definition: None,
            organization: None,
            description: None,
        };
        loop {
            if verb == DdlVerb::Drop {
                break;
            }
            if self.at_word("NAME") {
                self.bump();
                system.name = Some(self.text()?);
            } else if self.eat(Kw::DEFINITION) {
                system.definition = Some(self.text()?);
            } else if self.eat(Kw::ORGANIZATION) {
                let organization = self.text()?;
                self.expect_all(&[Kw::IDENTIFIED, Kw::BY])?;
                system.organization = Some((organization, self.unsigned()?));
            } else if self.eat(Kw::DESCRIPTION) {
                system.description = Some(self.text()?);
            } else {
                break;
            }
        }
        Ok(Statement::SpatialReferenceSystem(Box::new(system)))
    }

    fn resource_group(&mut self, verb: DdlVerb) -> PResult<Statement> {
        self.expect(Kw::GROUP)?;
        let mut group = ResourceGroup {
            verb,
            name: self.ident()?,
            system: None,
            vcpus: Vec::new(),
            thread_priority: None,
            enable: None,
            force: false,
        };
        if verb == DdlVerb::Create {
            self.expect(Kw::TYPE)?;
            self.opt_eq();
            group.system = Some(self.expect_any(&[Kw::SYSTEM, Kw::USER])? == Kw::SYSTEM);
        }
        if verb != DdlVerb::Drop {
            if self.eat(Kw::VCPU) {
                self.opt_eq();
                group.vcpus = self.list(|parser| {
                    let first = parser.unsigned()?;
                    let last = if parser.eat_tok(Tok::Minus) {
                        Some(parser.unsigned()?)
                    } else {
                        None
                    };
                    Ok((first, last))
                })?;
            }
            if self.eat(Kw::THREAD_PRIORITY) {
                self.opt_eq();
                let negative = self.eat_tok(Tok::Minus);
                let priority = i64::from(self.unsigned_to::<u32>()?);
                group.thread_priority = Some(if negative { -priority } else { priority });
            }
            group.enable = self
                .eat_any(&[Kw::ENABLE, Kw::DISABLE])
                .map(|keyword| keyword == Kw::ENABLE);
        }
        if verb != DdlVerb::Create {
            group.force = self.eat(Kw::FORCE);
        }
        Ok(Statement::ResourceGroup(Box::new(group)))
    }
}
