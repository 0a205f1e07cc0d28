//! Which statement it is, and the short ones.

use super::Printer;
use crate::ast::*;

impl Printer {
    pub(crate) fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Query(query) => self.query(query),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::LoadData(load) => self.load_data(load),
            Statement::Call(call) => {
                self.text("CALL ");
                self.table_name(&call.name);
                self.paren_list(&call.args, Self::expr);
            }
            Statement::Do(items) => {
                self.text("DO ");
                self.list(items, Self::select_item);
            }
            Statement::Handler(handler) => self.handler(handler),

            Statement::Begin(begin) => self.begin(begin),
            Statement::Commit(end) => self.end_transaction("COMMIT", end),
            Statement::Rollback(end) => self.end_transaction("ROLLBACK", end),
            Statement::RollbackTo(name) => self.named("ROLLBACK TO SAVEPOINT ", name),
            Statement::Savepoint(name) => self.named("SAVEPOINT ", name),
            Statement::ReleaseSavepoint(name) => self.named("RELEASE SAVEPOINT ", name),
            Statement::SetTransaction(transaction) => self.set_transaction(transaction),
            Statement::LockTables(tables) => self.lock_tables(tables),
            Statement::UnlockTables => self.text("UNLOCK TABLES"),
            Statement::LockInstanceForBackup => self.text("LOCK INSTANCE FOR BACKUP"),
            Statement::UnlockInstance => self.text("UNLOCK INSTANCE"),
            Statement::Xa(xa) => self.xa(xa),
            Statement::Prepare(prepare) => self.prepare(prepare),
            Statement::Execute(execute) => self.execute(execute),
            Statement::Deallocate(name) => self.named("DEALLOCATE PREPARE ", name),

            Statement::Use(name) => self.named("USE ", name),
            Statement::Set(items) => self.set(items),
            Statement::SetPassword(set) => self.set_password(set),
            Statement::SetRole(role) => {
                self.text("SET ROLE ");
                self.role_choice(role);
            }
            Statement::SetDefaultRole(set) => {
                self.text("SET DEFAULT ROLE ");
                self.role_choice(&set.role);
                self.text(" TO ");
                self.list(&set.accounts, Self::account);
            }
            Statement::SetResourceGroup(set) => {
                self.named("SET RESOURCE GROUP ", &set.name);
                if !set.threads.is_empty() {
                    self.text(" FOR ");
                    self.list(&set.threads, |p, thread| p.number(thread));
                }
            }
            Statement::Show(show) => self.show(show),
            Statement::Explain(explain) => self.explain(explain),
            Statement::Describe(describe) => {
                self.text("DESCRIBE ");
                self.table_name(&describe.table);
                self.opt(" ", &describe.column, |p, column| p.string(column));
            }
            Statement::Help(topic) => {
                self.text("HELP ");
                self.str(topic);
            }
            Statement::Signal(signal) => self.signal("SIGNAL", signal),
            Statement::Resignal(signal) => self.signal("RESIGNAL", signal),
            Statement::GetDiagnostics(get) => self.get_diagnostics(get),
            _ => self.schema_statement(statement),
        }
    }

    fn schema_statement(&mut self, statement: &Statement) {
        match statement {
            Statement::CreateDatabase(create) => self.create_database(create),
            Statement::AlterDatabase(alter) => self.alter_database(alter),
            Statement::DropDatabase(drop) => {
                self.text("DROP DATABASE ");
                self.when(drop.if_exists, "IF EXISTS ");
                self.ident(&drop.name);
            }
            Statement::CreateTable(create) => self.create_table(create),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::DropTable(drop) => self.drop_table(drop),
            Statement::RenameTable(renames) => {
                self.text("RENAME TABLE ");
                self.list(renames, |p, rename| {
                    p.table_name(&rename.from);
                    p.text(" TO ");
                    p.table_name(&rename.to);
                });
            }
            Statement::Truncate(table) => {
                self.text("TRUNCATE TABLE ");
                self.table_name(table);
            }
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::DropIndex(drop) => {
                self.text("DROP INDEX ");
                self.index_name(&drop.name);
                self.text(" ON ");
                self.table_name(&drop.table);
                self.online(&drop.online);
            }
            Statement::CreateView(view) => self.create_view(view),
            Statement::DropView(drop) => {
                self.text("DROP VIEW ");
                self.when(drop.if_exists, "IF EXISTS ");
                self.list(&drop.names, Self::table_name);
                self.drop_behavior(drop.behavior);
            }
            Statement::CreateTrigger(trigger) => self.create_trigger(trigger),
            Statement::CreateRoutine(routine) => self.create_routine(routine),
            Statement::AlterRoutine(alter) => {
                self.text("ALTER ");
                self.routine_kind(alter.kind);
                self.table_name(&alter.name);
                self.characteristics(&alter.characteristics);
            }
            Statement::CreateEvent(event) => self.create_event(event),
            Statement::AlterEvent(event) => self.alter_event(event),
            Statement::DropObject(drop) => {
                self.text(match drop.kind {
                    DropKind::Trigger => "DROP TRIGGER ",
                    DropKind::Procedure => "DROP PROCEDURE ",
                    DropKind::Function => "DROP FUNCTION ",
                    DropKind::Event => "DROP EVENT ",
                });
                self.when(drop.if_exists, "IF EXISTS ");
                self.table_name(&drop.name);
            }
            Statement::CreateLoadableFunction(function) => self.create_loadable_function(function),
            Statement::Tablespace(tablespace) => self.tablespace(tablespace),
            Statement::Server(server) => self.server(server),
            Statement::SpatialReferenceSystem(system) => self.spatial_reference_system(system),
            Statement::ResourceGroup(group) => self.resource_group(group),
            Statement::CreateUser(create) => self.create_user(create),
            Statement::AlterUser(alter) => self.alter_user(alter),
            Statement::DropUser(drop) => {
                self.text("DROP USER ");
                self.when(drop.if_exists, "IF EXISTS ");
                self.list(&drop.accounts, Self::account);
            }
            Statement::RenameUser(renames) => {
                self.text("RENAME USER ");
                self.list(renames, |p, (from, to)| {
                    p.account(from);
                    p.text(" TO ");
                    p.account(to);
                });
            }
            Statement::CreateRole(create) => {
                self.text("CREATE ROLE ");
                self.when(create.if_not_exists, "IF NOT EXISTS ");
                self.list(&create.roles, Self::account);
            }
            Statement::DropRole(drop) => {
                self.text("DROP ROLE ");
                self.when(drop.if_exists, "IF EXISTS ");
                self.list(&drop.roles, Self::account);
            }
            Statement::Grant(grant) => self.grant(grant),
            Statement::Revoke(revoke) => self.revoke(revoke),
            _ => self.admin_statement(statement),
        }
    }

    pub(super) fn named(&mut self, before: &str, name: &Ident) {
        self.text(before);
        self.ident(name);
    }
}
