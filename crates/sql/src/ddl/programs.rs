//! CREATE, ALTER and DROP of stored routines.
//!
//! A routine is kept as text. It is compiled once when it is made, so that a wrong one is refused there.

use catalog::{AccountDef, Characteristics, DataAccess, Privileges, ProgramContext, RoutineDef, RoutineKind};
use env::Feature;
use parser::ast::{self, RoutineCharacteristic, SqlSecurity};
use types::{CollationId, ErrorKind, SqlError, SqlResult};

use super::{ObjectLocks, check_name, unknown_database};
use crate::accounts::grants::{forget_routine, give_on_routine};
use crate::host::Host;
use crate::program::{compile, shown};
use crate::session::Session;
use crate::variables;

impl Session {
    /// What a program is defined under, in a database of this collation.
    pub(super) fn program_context(&self, database: CollationId) -> SqlResult<ProgramContext> {
        let variable = |name: &str| Ok::<_, SqlError>(self.variables.get(variables::find(name)?).to_string());
        Ok(ProgramContext {
            sql_mode: variable("sql_mode")?,
            connection: self.variables.settings.expressions.collation,
            client_charset: variable("character_set_client")?,
            database,
        })
    }

    pub(super) fn create_routine(
        &mut self,
        create: &ast::CreateRoutine,
        locks: ObjectLocks,
        host: &dyn Host,
    ) -> SqlResult<()> {
        match create.kind {
            ast::RoutineKind::Procedure => self.check_level(Feature::Programs, "stored programs")?,
            ast::RoutineKind::Function => self.check_level(Feature::FunctionsAndTriggers, "stored functions")?,
        }
        let (database, name) = self.qualified(&create.name)?;
        check_name(&name, ErrorKind::SpWrongName)?;
        let kind = kind_of(create.kind);
        let catalog = self.engine.catalog();
        let Some(known) = catalog.database(&database) else {
            return Err(unknown_database(&database));
        };
        let exists = SqlError::new(ErrorKind::SpAlreadyExists, &[&kind.as_str(), &name]);
        if catalog.routine(&database, kind, &name).is_some() {
            return self.forgive(exists, create.if_not_exists);
        }
        let definer = self.definer_of(create.definer.as_ref())?;
        let now = self.engine.clock_micros();
        let context = self.program_context(known.def.collation)?;
        let returns = match &create.returns {
            Some(ty) => shown::type_text(&compile::type_of("", ty, context.database)?),
            None => String::new(),
        };
        let plain = Characteristics {
            deterministic: false,
            data_access: DataAccess::ContainsSql,
            definer_security: true,
            comment: String::new(),
        };
        let def = RoutineDef {
            parameters: create.params_text.0.as_deref().unwrap_or_default().to_owned(),
            returns,
            body: create.body.0.to_string(),
            characteristics: characteristics(&plain, &create.characteristics, &name)?,
            definer,
            context,
            created_at: now,
            altered_at: now,
            database: database.clone(),
            name: name.clone(),
            kind,
        };
        compile::routine(&def)?;
        // Who makes a routine may run, change and drop it (`automatic_sp_privileges`).
        let held = self.access().on_routine(&database, kind, &name);
        let missing = Privileges::OF_ROUTINES.without(held);
        let owner = self
            .access()
            .account()
            .filter(|_| !missing.is_empty() && self.grants_to_makers());
        self.change_schema(locks, host, |change| {
            if change.before.routine(&database, kind, &name).is_some() {
                return Err(exists);
            }
            if change.before.database(&database).is_none() {
                return Err(unknown_database(&database));
            }
            let maker = owner.and_then(|(user, host)| change.edit.catalog().account(&user, &host).cloned());
            if let Some(maker) = maker {
                let mut maker = AccountDef::clone(&maker);
                give_on_routine(&mut maker, &def, Privileges::OF_ROUTINES);
                change.edit.put_account(maker);
            }
            change.edit.put_routine(def);
            Ok(())
        })
    }

    fn grants_to_makers(&self) -> bool {
        let setting = variables::find("automatic_sp_privileges").map(|id| self.engine.globals().get(id));
        setting.is_ok_and(|setting| &*setting == "ON")
    }

    pub(super) fn alter_routine(
        &mut self,
        alter: &ast::AlterRoutine,
        locks: ObjectLocks,
        host: &dyn Host,
    ) -> SqlResult<()> {
        let (database, name) = self.qualified(&alter.name)?;
        let kind = kind_of(alter.kind);
        let now = self.engine.clock_micros();
        self.change_schema(locks, host, |change| {
            let known = change.before.routine(&database, kind, &name);
            let def = known.ok_or_else(|| no_such_routine(kind, &database, &name))?;
            change.edit.put_routine(RoutineDef {
                characteristics: characteristics(&def.characteristics, &alter.characteristics, &name)?,
                altered_at: now,
                ..RoutineDef::clone(def)
            });
            Ok(())
        })
    }

    pub(super) fn drop_routine(
        &mut self,
        kind: RoutineKind,
        drop: &ast::DropObject,
        locks: ObjectLocks,
        host: &dyn Host,
    ) -> SqlResult<()> {
        let (database, name) = self.qualified(&drop.name)?;
        if self.engine.catalog().routine(&database, kind, &name).is_none() {
            let absent = no_such_routine(kind, &database, &name);
            return self.forgive(absent, drop.if_exists);
        }
        let forgets = self.grants_to_makers();
        self.change_schema(locks, host, |change| {
            change.edit.remove_routine(&database, kind, &name);
            let accounts: Vec<_> = change.before.accounts().cloned().collect();
            for account in accounts.into_iter().filter(|_| forgets) {
                let mut account = AccountDef::clone(&account);
                if forget_routine(&mut account, kind, &database, &name) {
                    change.edit.put_account(account);
                }
            }
            Ok(())
        })
    }
}

pub(crate) fn kind_of(kind: ast::RoutineKind) -> RoutineKind {
    match kind {
        ast::RoutineKind::Procedure => RoutineKind::Procedure,
        ast::RoutineKind::Function => RoutineKind::Function,
    }
}

/// 1305
pub(crate) fn no_such_routine(kind: RoutineKind, database: &str, name: &str) -> SqlError {
    let named = format!("{database}.{name}");
    SqlError::new(ErrorKind::SpDoesNotExist, &[&kind.as_str(), &named])
}

/// In characters.
const LONGEST_COMMENT: usize = 65_535;

/// The characteristics with what a statement says of them.
fn characteristics(
    known: &Characteristics,
    written: &[RoutineCharacteristic],
    name: &str,
) -> SqlResult<Characteristics> {
    let mut made = known.clone();
    for characteristic in written {
        match characteristic {
            RoutineCharacteristic::Comment(comment) if comment.chars().count() > LONGEST_COMMENT => {
                return Err(SqlError::new(
                    ErrorKind::TooLongRoutineComment,
                    &[&name, &LONGEST_COMMENT],
                ));
            }
            RoutineCharacteristic::Comment(comment) => made.comment = comment.to_string(),
            RoutineCharacteristic::Language(language) if language.is("SQL") => {}
            RoutineCharacteristic::Language(language) => {
                return Err(SqlError::not_supported(format!("LANGUAGE {}", language.as_str())));
            }
            RoutineCharacteristic::Deterministic(deterministic) => made.deterministic = *deterministic,
            RoutineCharacteristic::ContainsSql => made.data_access = DataAccess::ContainsSql,
            RoutineCharacteristic::NoSql => made.data_access = DataAccess::NoSql,
            RoutineCharacteristic::ReadsSqlData => made.data_access = DataAccess::ReadsSqlData,
            RoutineCharacteristic::ModifiesSqlData => made.data_access = DataAccess::ModifiesSqlData,
            RoutineCharacteristic::Security(security) => made.definer_security = *security == SqlSecurity::Definer,
        }
    }
    Ok(made)
}
