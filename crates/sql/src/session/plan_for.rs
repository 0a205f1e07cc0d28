//! The plan of a statement, from the cache or from the planner, and what evaluates its expressions.

use std::sync::Arc;

use catalog::ViewDef;
use parser::UserVariables;
use parser::ast::{self, Statement};
use types::{ErrorKind, SqlError, SqlResult, SqlType, UnixTime};

use super::Session;
use super::parameters::Parameters;
use super::services::SessionServices;
use crate::expr::StatementContext;
use crate::expr::context::Strictness;
use crate::host::Host;
use crate::plan::{OpenViews, Planned, Planner, Purpose};
use crate::plan_cache::{CachedPlan, ParameterType, PlanKey, PlanText};
use crate::table::Table;

impl Session {
    /// The plan of a statement: shared by text where there is one.
    pub(crate) fn plan_for(
        &mut self,
        statement: &Arc<Statement>,
        text: Option<&PlanText>,
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<Arc<Planned>> {
        let access = self.access();
        // A shared plan knows no session's own tables, nor the types of its variables.
        let shares = self.table_locks.is_empty()
            && self.temporary.is_empty()
            && self.state.user_variables_use.get() == UserVariables::None;
        let text = text.filter(|_| shares);
        let settings = &self.variables.settings;
        let collation = settings.expressions.collation;
        let types = parameters.types(collation);
        let key = text.map(|text| PlanKey {
            text: text.clone(),
            owner: access.plan_owner(),
            database: self.database.clone(),
            sql_mode: settings.sql_mode(),
            collation,
            div_precision_increment: settings.expressions.div_precision_increment,
            group_concat_max_len: settings.expressions.group_concat_max_len,
            parameters: types.iter().map(ParameterType::of).collect(),
        });
        let catalog_version = self.engine.catalog_version();
        if let Some(key) = &key
            && let Some(plan) = self.engine.plans().get(key, catalog_version)
        {
            self.check_in_xa(&plan)?;
            return Ok(plan);
        }
        let purpose = match self.analysis {
            Some(_) => Purpose::Measure,
            None => Purpose::Run,
        };
        self.planned(statement, &types, host, purpose, key)
    }

    /// The plan of a statement, for EXPLAIN to tell of.
    pub(crate) fn plan_to_explain(
        &mut self,
        statement: &Arc<Statement>,
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<Arc<Planned>> {
        let collation = self.variables.settings.expressions.collation;
        let types = parameters.types(collation);
        self.planned(statement, &types, host, Purpose::Explain, None)
    }

    /// Plans a statement, and keeps the plan for others where it has a key.
    fn planned(
        &mut self,
        statement: &Arc<Statement>,
        types: &[SqlType],
        host: &dyn Host,
        purpose: Purpose,
        key: Option<PlanKey>,
    ) -> SqlResult<Arc<Planned>> {
        let access = self.access();
        let catalog = self.engine.catalog();
        let strictness = match is_change(statement) && self.variables.settings.sql_mode().is_strict() {
            true => Strictness::Fail,
            false => Strictness::Warn,
        };
        let plan_it = |session: &Session, ctx: &StatementContext<'_>| {
            let planner = Planner {
                database: session.database.as_deref(),
                params: types,
                table_locks: match session.transaction.is_part() {
                    // What functions and triggers use need not be named in LOCK TABLES.
                    true => None,
                    false => Some(&*session.table_locks),
                },
                temporary: Some(&session.temporary),
                views: OpenViews::to(purpose),
                ..Planner::new(&*session.engine, &catalog, ctx.eval(), access.clone())
            };
            let plan = planner.plan(statement)?;
            let of_another_kind = || SqlError::internal("a statement of another kind has no plan");
            Ok::<_, SqlError>(Arc::new(Planned {
                plan: plan.ok_or_else(of_another_kind)?,
                uses: planner.uses.take(),
            }))
        };
        let (plan, bytes) = governor::measured(|| self.with_strictness(strictness, host, Parameters::NONE, plan_it));
        let plan = plan?;
        governor::check()?;
        self.check_in_xa(&plan)?;
        if let Some(key) = key {
            let cached = CachedPlan {
                catalog_version: catalog.version(),
                plan: plan.clone(),
            };
            self.engine.plans().put(key, cached, bytes);
        }
        Ok(plan)
    }

    /// Calls `work` with a context for evaluating expressions; takes over the warnings.
    pub(crate) fn with_context<R>(
        &mut self,
        host: &dyn Host,
        parameters: Parameters<'_>,
        work: impl FnOnce(&Session, &StatementContext<'_>) -> R,
    ) -> R {
        self.with_strictness(Strictness::Warn, host, parameters, work)
    }

    fn with_strictness<R>(
        &mut self,
        strictness: Strictness,
        host: &dyn Host,
        parameters: Parameters<'_>,
        work: impl FnOnce(&Session, &StatementContext<'_>) -> R,
    ) -> R {
        let services = self.services(host);
        let settings = &self.variables.settings.expressions;
        let ctx = StatementContext::new(settings, &services, self.statement_time())
            .with_params(parameters.values)
            .with_strictness(strictness);
        let result = work(self, &ctx);
        let warnings = ctx.take_warnings();
        drop(ctx);
        self.keep_warnings(warnings);
        result
    }

    pub(crate) fn services<'s>(&'s self, host: &'s dyn Host) -> SessionServices<'s> {
        SessionServices {
            state: &self.state,
            engine: &self.engine,
            host,
            variables: &self.variables,
            access: self.access.as_ref().map(|(_, access)| &**access),
            database: self.database.as_deref(),
            without_tables: true,
            warning_count: self.warnings.count(),
            error_count: self.warnings.error_count(),
            kept: &self.programs.kept,
        }
    }

    /// `NOW()` of a statement that begins at this moment.
    pub(crate) fn statement_time(&self) -> UnixTime {
        let micros = match self.variables.settings.fixed_timestamp {
            Some(seconds) => {
                let parts = (seconds.fract() * 1e6).round_ties_even().min(999_999.0);
                seconds.trunc() as i64 * 1_000_000 + parts as i64
            }
            None => self.engine.clock_micros(),
        };
        UnixTime { micros, fsp: 6 }
    }

    /// The view of a name, unless a temporary table hides it.
    pub(crate) fn view(&self, name: &ast::TableName) -> SqlResult<Option<Arc<ViewDef>>> {
        let database = match &name.schema {
            Some(schema) => schema.as_str(),
            None => self.database.as_deref().ok_or(ErrorKind::NoDb)?,
        };
        Ok(match self.temporary.get(database, &name.name) {
            Some(_) => None,
            None => self.engine.catalog().view(database, &name.name).cloned(),
        })
    }

    /// `SELECT * FROM view`, planned: whether the view still can be, and from what.
    pub(crate) fn plan_of_view(&mut self, name: &ast::TableName, host: &dyn Host) -> SqlResult<Arc<Planned>> {
        let factor = ast::TableFactor::plain(name.clone());
        self.plan_for(&crate::plan::query::select_all_of(factor), None, Parameters::NONE, host)
    }

    /// The definition and rows of a table by name.
    pub(crate) fn table(&self, name: &ast::TableName) -> SqlResult<Arc<Table>> {
        self.check_table_in_xa()?;
        let database = match &name.schema {
            Some(schema) => schema.as_str(),
            None => self.database.as_deref().ok_or(ErrorKind::NoDb)?,
        };
        if let Some(table) = self.temporary.get(database, &name.name) {
            return Ok(table.clone());
        }
        let catalog = self.engine.catalog();
        if catalog.view(database, &name.name).is_some() {
            return Err(SqlError::new(
                ErrorKind::WrongObject,
                &[&database, &name.name.as_str(), &"BASE TABLE"],
            ));
        }
        let missing = || crate::names::missing_table(&catalog, database, &name.name);
        let def = catalog.table(database, &name.name).ok_or_else(missing)?;
        self.engine.table(def).ok_or_else(missing)
    }
}

/// Whether bad values end it in strict mode.
fn is_change(statement: &Statement) -> bool {
    match statement {
        Statement::Insert(insert) => !insert.ignore,
        Statement::Update(update) => !update.ignore,
        Statement::Delete(delete) => !delete.ignore,
        _ => false,
    }
}
