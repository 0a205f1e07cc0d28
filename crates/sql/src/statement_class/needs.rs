//! Which privileges a statement asks for before it runs, as data: `accounts::checks` looks whether they are held.
//!
//! What the planner plans has no list here: it asks for each table where its name is met, as reading and changing depend on the place.

use catalog::{DynamicPrivilege as D, Privileges as P};
use parser::ast::{self, Account, Ident, Statement, TableName, VarScope};

/// One thing that whoever runs a statement needs.
#[derive(Debug, Clone, PartialEq)]
pub enum Need<'a> {
    /// One of these for the whole server: 1227, with the names as MySQL writes them for that statement.
    OneOf(P, &'static [D], &'static str),
    /// FILE: 1045.
    Files,
    /// On a database; without a name, the current one: 1044.
    Database(Option<&'a Ident>, P),
    /// On the database of an object: 1044.
    DatabaseOf(&'a TableName, P),
    /// Some privilege in a database: 1044.
    SomethingIn(Option<&'a Ident>),
    /// On a table: 1142.
    Table(&'a TableName, P),
    /// On a table of `mysql`: 1142; without a name, on all of them: 1044.
    SystemTable(&'static str, P),
    /// Something that is granted on a table itself or on a column of it, or this on all of its database: 1142.
    SomethingOn(&'a TableName, P),
    /// Some privilege on all of a table: 1142, of the command named here.
    SomethingOnAllOf(&'a TableName, &'static str),
    /// On a stored routine: 1370.
    Routine(ast::RoutineKind, &'a TableName, P, &'static str),
    /// REFERENCES on the parents of these keys; parents without a database are in that of the child: 1142.
    Parents(&'a TableName, &'a [ast::TableElement]),
    /// As each assigned variable asks: 1227.
    Variables(&'a [ast::SetItem]),
    /// Nothing to change one's own account in this way, and what follows to change another's.
    ForOthers(Vec<&'a Account>, &'static Need<'static>),
    /// SYSTEM_USER, where one of the accounts has it: 1227.
    ToChange(Vec<&'a Account>),
}

const CREATE_USER: Need<'static> = Need::OneOf(P::CREATE_USER, &[], "CREATE USER");
/// Of one's own account.
const SECOND_PASSWORDS: Need<'static> = Need::OneOf(
    P::CREATE_USER,
    &[D::APPLICATION_PASSWORD_ADMIN],
    "CREATE USER or APPLICATION_PASSWORD_ADMIN",
);
/// SET PASSWORD asks for UPDATE on all of `mysql`.
const UPDATE_OF_ACCOUNTS: Need<'static> = Need::SystemTable("", P::UPDATE);
const SUPER: Need<'static> = Need::OneOf(P::SUPER, &[], "SUPER");

/// The list for a statement.
pub fn needs(statement: &Statement) -> Vec<Need<'_>> {
    match statement {
        // The planner asks.
        Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => Vec::new(),
        Statement::LoadData(load) => match load.local {
            true => Vec::new(),
            false => vec![Need::Files],
        },
        // Of subqueries the planner asks.
        Statement::Do(_) => Vec::new(),
        Statement::Call(call) => vec![Need::Routine(
            ast::RoutineKind::Procedure,
            &call.name,
            P::EXECUTE,
            "execute",
        )],
        Statement::Handler(handler) => match handler.action {
            ast::HandlerAction::Open { .. } => vec![Need::Table(&handler.table, P::SELECT)],
            // The name is the handler's. What it reads is asked for when it does.
            ast::HandlerAction::Read { .. } | ast::HandlerAction::Close => Vec::new(),
        },

        Statement::Begin(_)
        | Statement::Commit(_)
        | Statement::Rollback(_)
        | Statement::RollbackTo(_)
        | Statement::Savepoint(_)
        | Statement::ReleaseSavepoint(_) => Vec::new(),
        Statement::SetTransaction(set) => match set.scope {
            Some(VarScope::Global) => vec![GLOBAL_VARIABLES],
            // Refused to everybody.
            Some(VarScope::Persist | VarScope::PersistOnly) => Vec::new(),
            Some(VarScope::Session) | None => Vec::new(),
        },
        Statement::LockTables(tables) => {
            let each = tables.iter();
            each.flat_map(|lock| {
                [
                    Need::DatabaseOf(&lock.table, P::LOCK_TABLES),
                    Need::Table(&lock.table, P::SELECT),
                ]
            })
            .collect()
        }
        Statement::UnlockTables => Vec::new(),
        Statement::LockInstanceForBackup | Statement::UnlockInstance => {
            vec![Need::OneOf(P::NONE, &[D::BACKUP_ADMIN], "BACKUP_ADMIN")]
        }
        // XA RECOVER asks by itself, because its refusal is an error of XA's own. To end what is prepared its name is enough.
        Statement::Xa(_) => Vec::new(),

        // The statement inside is looked at by itself.
        Statement::Prepare(_) | Statement::Execute(_) | Statement::Deallocate(_) => Vec::new(),

        Statement::Use(name) => vec![Need::SomethingIn(Some(name))],
        Statement::Set(items) => vec![Need::Variables(items)],
        Statement::SetPassword(set) => {
            let accounts: Vec<_> = set.account.iter().collect();
            vec![
                Need::ForOthers(accounts.clone(), &UPDATE_OF_ACCOUNTS),
                Need::ToChange(accounts),
            ]
        }
        // Only what was granted can be activated.
        Statement::SetRole(_) => Vec::new(),
        Statement::SetDefaultRole(set) => {
            let accounts: Vec<_> = set.accounts.iter().collect();
            vec![
                Need::ToChange(accounts.clone()),
                Need::ForOthers(accounts, &CREATE_USER),
            ]
        }
        Statement::SetResourceGroup(_) => vec![Need::OneOf(
            P::NONE,
            &[D::RESOURCE_GROUP_ADMIN, D::RESOURCE_GROUP_USER],
            "RESOURCE_GROUP_ADMIN OR RESOURCE_GROUP_USER",
        )],

        Statement::Show(show) => of_show(show),
        // The planner asks for the explained statement.
        Statement::Explain(_) => Vec::new(),
        Statement::Describe(describe) => vec![Need::SomethingOn(&describe.table, P::SELECT)],
        Statement::Help(_) => Vec::new(),

        Statement::CreateDatabase(create) => vec![Need::Database(Some(&create.name), P::CREATE)],
        Statement::AlterDatabase(alter) => vec![Need::Database(alter.name.as_ref(), P::ALTER)],
        Statement::DropDatabase(drop) => vec![Need::Database(Some(&drop.name), P::DROP)],
        Statement::CreateTable(create) => of_create_table(create),
        Statement::AlterTable(alter) => of_alter_table(alter),
        Statement::DropTable(drop) => match drop.temporary {
            true => Vec::new(),
            false => drop.names.iter().map(|name| Need::Table(name, P::DROP)).collect(),
        },
        Statement::RenameTable(renames) => {
            let each = renames.iter();
            each.flat_map(|rename| {
                [
                    Need::Table(&rename.from, P::ALTER.with(P::DROP)),
                    Need::Table(&rename.to, P::CREATE.with(P::INSERT)),
                ]
            })
            .collect()
        }
        Statement::Truncate(name) => vec![Need::Table(name, P::DROP)],
        Statement::CreateIndex(create) => vec![Need::Table(&create.table, P::INDEX)],
        Statement::DropIndex(drop) => vec![Need::Table(&drop.table, P::INDEX)],
        Statement::CreateView(create) => match create.action {
            ast::ViewAction::Create => vec![Need::Table(&create.name, P::CREATE_VIEW)],
            ast::ViewAction::CreateOrReplace | ast::ViewAction::Alter => {
                vec![
                    Need::Table(&create.name, P::CREATE_VIEW),
                    Need::Table(&create.name, P::DROP),
                ]
            }
        },
        Statement::DropView(drop) => drop.names.iter().map(|name| Need::Table(name, P::DROP)).collect(),
        Statement::CreateTrigger(create) => vec![Need::Table(&create.table, P::TRIGGER)],
        Statement::CreateRoutine(create) => vec![Need::DatabaseOf(&create.name, P::CREATE_ROUTINE)],
        Statement::AlterRoutine(alter) => vec![Need::Routine(
            alter.kind,
            &alter.name,
            P::ALTER_ROUTINE,
            "alter routine",
        )],
        Statement::CreateEvent(create) => vec![Need::DatabaseOf(&create.name, P::EVENT)],
        Statement::AlterEvent(alter) => {
            let moved = alter.rename_to.iter().map(|name| Need::DatabaseOf(name, P::EVENT));
            std::iter::once(Need::DatabaseOf(&alter.name, P::EVENT))
                .chain(moved)
                .collect()
        }
        Statement::DropObject(drop) => match drop.kind {
            // Asked of the trigger's table, once there are triggers.
            ast::DropKind::Trigger => Vec::new(),
            ast::DropKind::Procedure => vec![Need::Routine(
                ast::RoutineKind::Procedure,
                &drop.name,
                P::ALTER_ROUTINE,
                "alter routine",
            )],
            ast::DropKind::Function => vec![Need::Routine(
                ast::RoutineKind::Function,
                &drop.name,
                P::ALTER_ROUTINE,
                "alter routine",
            )],
            ast::DropKind::Event => vec![Need::DatabaseOf(&drop.name, P::EVENT)],
        },
        Statement::CreateLoadableFunction(_) => vec![Need::SystemTable("", P::INSERT)],
        Statement::Tablespace(_) => vec![Need::OneOf(P::CREATE_TABLESPACE, &[], "CREATE TABLESPACE")],
        Statement::Server(_) | Statement::SpatialReferenceSystem(_) => vec![SUPER],
        Statement::ResourceGroup(_) => {
            vec![Need::OneOf(P::NONE, &[D::RESOURCE_GROUP_ADMIN], "RESOURCE_GROUP_ADMIN")]
        }

        Statement::CreateUser(create) => {
            let known = match create.if_not_exists {
                true => create.users.iter().map(|user| &user.account).collect(),
                false => Vec::new(),
            };
            vec![CREATE_USER, Need::ToChange(known)]
        }
        Statement::AlterUser(alter) => {
            let accounts: Vec<_> = alter.users.iter().map(|user| &user.account).collect();
            let own = match () {
                () if is_of_everybody(alter) => vec![Need::ForOthers(accounts.clone(), &CREATE_USER)],
                () if discards_only_passwords(alter) => {
                    vec![Need::ForOthers(accounts.clone(), &CREATE_USER), SECOND_PASSWORDS]
                }
                () => vec![CREATE_USER],
            };
            [own, vec![Need::ToChange(accounts)]].concat()
        }
        Statement::DropUser(drop) => vec![CREATE_USER, Need::ToChange(drop.accounts.iter().collect())],
        Statement::RenameUser(renames) => {
            vec![
                CREATE_USER,
                Need::ToChange(renames.iter().map(|(from, _)| from).collect()),
            ]
        }
        Statement::CreateRole(_) => vec![Need::OneOf(
            P::CREATE_USER.with(P::CREATE_ROLE),
            &[],
            "CREATE USER, CREATE ROLE",
        )],
        Statement::DropRole(drop) => vec![
            Need::OneOf(P::CREATE_USER.with(P::DROP_ROLE), &[], "CREATE USER, DROP ROLE"),
            Need::ToChange(drop.roles.iter().collect()),
        ],
        // The level of the privileges and the roles decide: `accounts/grants.rs`, `accounts/roles.rs`.
        Statement::Grant(_) | Statement::Revoke(_) => Vec::new(),

        Statement::TableMaintenance(maintenance) => {
            let wanted = match maintenance.action {
                ast::MaintenanceAction::Check(_) => {
                    let tables = maintenance.tables.iter();
                    return tables.map(|name| Need::SomethingOn(name, P::SELECT)).collect();
                }
                ast::MaintenanceAction::Checksum(_) => P::SELECT,
                ast::MaintenanceAction::Analyze
                | ast::MaintenanceAction::UpdateHistogram { .. }
                | ast::MaintenanceAction::DropHistogram { .. }
                | ast::MaintenanceAction::Optimize
                | ast::MaintenanceAction::Repair(_) => P::SELECT.with(P::INSERT),
            };
            maintenance
                .tables
                .iter()
                .map(|name| Need::Table(name, wanted))
                .collect()
        }
        // Whose session it is decides.
        Statement::Kill(_) => Vec::new(),
        Statement::Flush(flush) => of_flush(flush),
        Statement::Reset(_) => vec![RELOAD],
        // Only what is there to be removed asks.
        Statement::ResetPersist { .. } => Vec::new(),
        Statement::Purge(_) => vec![Need::OneOf(P::SUPER, &[D::BINLOG_ADMIN], "SUPER or BINLOG_ADMIN")],
        Statement::CacheIndex(cache) => cache
            .tables
            .iter()
            .map(|one| Need::SomethingOn(&one.table, P::INDEX))
            .collect(),
        Statement::LoadIndex(load) => load
            .tables
            .iter()
            .map(|one| Need::SomethingOn(&one.table, P::INDEX))
            .collect(),
        Statement::InstallPlugin { .. } => vec![Need::SystemTable("plugin", P::INSERT)],
        Statement::UninstallPlugin(_) => vec![Need::SystemTable("plugin", P::DELETE)],
        Statement::InstallComponent(_) => vec![Need::SystemTable("component", P::INSERT)],
        Statement::UninstallComponent(_) => vec![Need::SystemTable("component", P::DELETE)],
        Statement::ImportTable(_) => vec![Need::Files],
        Statement::Shutdown | Statement::Restart => vec![Need::OneOf(P::SHUTDOWN, &[], "SHUTDOWN")],
        Statement::Clone(_) => vec![Need::OneOf(P::NONE, &[D::BACKUP_ADMIN], "BACKUP_ADMIN")],
        Statement::AlterInstance(_) => vec![Need::OneOf(
            P::SUPER,
            &[D::ENCRYPTION_KEY_ADMIN],
            "SUPER or ENCRYPTION_KEY_ADMIN",
        )],
        Statement::Binlog(_) => vec![Need::OneOf(
            P::SUPER,
            &[D::BINLOG_ADMIN, D::REPLICATION_APPLIER],
            "SUPER, BINLOG_ADMIN or REPLICATION_APPLIER",
        )],
        Statement::Replication(_) => vec![Need::OneOf(
            P::SUPER,
            &[D::REPLICATION_SLAVE_ADMIN],
            "SUPER or REPLICATION_SLAVE_ADMIN",
        )],

        Statement::Signal(_) | Statement::Resignal(_) | Statement::GetDiagnostics(_) => Vec::new(),
    }
}

/// What everybody may do to his own account: another password, other default roles.
fn is_of_everybody(alter: &ast::AlterUser) -> bool {
    let only_roles = alter.default_role.is_some() && alter.options == ast::AccountOptions::default();
    only_roles || changes_only_passwords(alter)
}

/// Whether ALTER USER gives passwords, for the plugins that the accounts have, and nothing else.
pub fn changes_only_passwords(alter: &ast::AlterUser) -> bool {
    let only_password = |spec: &ast::UserSpec| {
        spec.action.is_none() && !spec.auth.is_empty() && spec.auth.iter().all(|factor| factor.plugin.is_none())
    };
    alter.options == ast::AccountOptions::default()
        && alter.default_role.is_none()
        && alter.users.iter().all(only_password)
}

/// Whether ALTER USER takes second passwords away, and does nothing else.
fn discards_only_passwords(alter: &ast::AlterUser) -> bool {
    let discards =
        |spec: &ast::UserSpec| matches!(spec.action, Some(ast::UserAction::DiscardOldPassword)) && spec.auth.is_empty();
    alter.options == ast::AccountOptions::default() && alter.default_role.is_none() && alter.users.iter().all(discards)
}

const RELOAD: Need<'static> = Need::OneOf(P::RELOAD, &[], "RELOAD");
/// What SET GLOBAL asks for.
pub const GLOBAL_VARIABLES: Need<'static> = Need::OneOf(
    P::SUPER,
    &[D::SYSTEM_VARIABLES_ADMIN],
    "SUPER or SYSTEM_VARIABLES_ADMIN",
);

fn of_create_table(create: &ast::CreateTable) -> Vec<Need<'_>> {
    let mut needs = Vec::new();
    let copies = matches!(&create.body, ast::CreateTableBody::Definition(body) if body.query.is_some());
    needs.push(match (create.temporary, copies) {
        (true, _) => Need::DatabaseOf(&create.name, P::CREATE_TEMPORARY_TABLES),
        (false, true) => Need::Table(&create.name, P::CREATE.with(P::INSERT)),
        (false, false) => Need::Table(&create.name, P::CREATE),
    });
    match &create.body {
        ast::CreateTableBody::Like(other) => needs.push(Need::Table(other, P::SELECT)),
        ast::CreateTableBody::Definition(body) => needs.push(Need::Parents(&create.name, &body.elements)),
    }
    needs
}

fn of_alter_table(alter: &ast::AlterTable) -> Vec<Need<'_>> {
    let renames = |action: &ast::AlterAction| matches!(action, ast::AlterAction::RenameTable(_));
    let wanted = match alter.actions.iter().any(renames) {
        true => P::ALTER.with(P::DROP),
        false => P::ALTER,
    };
    let mut needs = vec![Need::Table(&alter.table, wanted)];
    for action in &alter.actions {
        match action {
            ast::AlterAction::AddConstraint(element) => {
                needs.push(Need::Parents(&alter.table, std::slice::from_ref(element)));
            }
            ast::AlterAction::AddElements(elements) => needs.push(Need::Parents(&alter.table, elements)),
            ast::AlterAction::RenameTable(to) => needs.push(Need::Table(to, P::CREATE.with(P::INSERT))),
            _ => {}
        }
    }
    needs
}

fn of_flush(flush: &ast::Flush) -> Vec<Need<'_>> {
    let targets = match &flush.what {
        ast::FlushWhat::Tables { tables, mode } => {
            let mut needs = vec![Need::OneOf(P::RELOAD, &[D::FLUSH_TABLES], "RELOAD or FLUSH_TABLES")];
            if *mode != ast::FlushTables::Close {
                for table in tables {
                    needs.push(Need::DatabaseOf(table, P::LOCK_TABLES));
                    needs.push(Need::Table(table, P::SELECT));
                }
            }
            return needs;
        }
        ast::FlushWhat::Targets(targets) => targets,
    };
    let of_target = |target: &ast::FlushTarget| match target {
        ast::FlushTarget::OptimizerCosts => Need::OneOf(
            P::RELOAD,
            &[D::FLUSH_OPTIMIZER_COSTS],
            "RELOAD or FLUSH_OPTIMIZER_COSTS",
        ),
        ast::FlushTarget::Privileges => Need::OneOf(P::RELOAD, &[D::FLUSH_PRIVILEGES], "RELOAD or FLUSH_PRIVILEGES"),
        ast::FlushTarget::Status => Need::OneOf(P::RELOAD, &[D::FLUSH_STATUS], "RELOAD or FLUSH_STATUS"),
        ast::FlushTarget::UserResources => {
            Need::OneOf(P::RELOAD, &[D::FLUSH_USER_RESOURCES], "RELOAD or FLUSH_USER_RESOURCES")
        }
        ast::FlushTarget::BinaryLogs
        | ast::FlushTarget::EngineLogs
        | ast::FlushTarget::ErrorLogs
        | ast::FlushTarget::GeneralLogs
        | ast::FlushTarget::Hosts
        | ast::FlushTarget::Logs
        | ast::FlushTarget::RelayLogs { .. }
        | ast::FlushTarget::SlowLogs => RELOAD,
    };
    targets.iter().map(of_target).collect()
}

fn of_show(show: &ast::Show) -> Vec<Need<'_>> {
    use ast::Show as S;
    match show {
        S::CreateTable(name) => vec![Need::SomethingOnAllOf(name, "SHOW")],
        // With SHOW VIEW, which is asked for when it is known that there is a view.
        S::CreateView(name) => vec![Need::Table(name, P::SELECT)],
        S::Columns { table, .. } | S::Indexes { table, .. } => vec![Need::SomethingOn(table, P::SELECT)],
        S::Tables { schema, .. } | S::TableStatus { schema, .. } | S::Triggers { schema, .. } => {
            vec![Need::SomethingIn(schema.as_ref())]
        }
        S::Events { schema, .. } => vec![Need::Database(schema.as_ref(), P::EVENT)],
        S::CreateDatabase { name, .. } => vec![Need::SomethingIn(Some(name))],
        S::CreateEvent(name) => vec![Need::DatabaseOf(name, P::EVENT)],
        S::Engine { .. } => vec![Need::OneOf(P::PROCESS, &[], "PROCESS")],
        S::BinaryLogs | S::BinaryLogStatus | S::ReplicaStatus { .. } => vec![Need::OneOf(
            P::SUPER.with(P::REPLICATION_CLIENT),
            &[],
            "SUPER, REPLICATION CLIENT",
        )],
        S::Replicas | S::BinlogEvents { .. } | S::RelayLogEvents { .. } => {
            vec![Need::OneOf(P::REPLICATION_SLAVE, &[], "REPLICATION SLAVE")]
        }
        S::Grants { account, .. } => vec![Need::ForOthers(account.iter().collect(), &READ_GRANTS)],
        S::CreateUser(account) => vec![Need::ForOthers(vec![account], &READ_ACCOUNTS)],
        // Rows are shown as the session may see them.
        S::Databases(_) | S::ProcessList { .. } | S::OpenTables { .. } => Vec::new(),
        S::ProcedureStatus(_)
        | S::FunctionStatus(_)
        | S::ProcedureCode(_)
        | S::FunctionCode(_)
        | S::CreateProcedure(_)
        | S::CreateFunction(_)
        | S::CreateTrigger(_) => Vec::new(),
        S::Variables { .. }
        | S::Status { .. }
        | S::Warnings(_)
        | S::Errors(_)
        | S::WarningCount
        | S::ErrorCount
        | S::Engines
        | S::CharacterSets(_)
        | S::Collations(_)
        | S::Privileges
        | S::Plugins
        | S::Profiles
        | S::Profile { .. } => Vec::new(),
    }
}

const READ_GRANTS: Need<'static> = Need::SystemTable("user", P::SELECT);
const READ_ACCOUNTS: Need<'static> = Need::SystemTable("", P::SELECT);
