//! The session as the fronts know it.

use std::sync::Arc;
use std::time::Duration;

use sql_api::session::{Fetch, PreparedInfo};
use types::{CharsetId, SqlResult, Value};

use super::Session;
use crate::host::Host;
use crate::result::{ResultShape, ResultSink, ServerStatus};

impl sql_api::session::Session for Session {
    fn query(&mut self, text: &[u8], host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()> {
        self.query(text, host, sink)
    }

    fn prepare(&mut self, text: &[u8], host: &dyn Host) -> SqlResult<PreparedInfo> {
        self.log_text("Prepare", text);
        self.prepare(text, host)
    }

    fn execute(
        &mut self,
        id: u32,
        parameters: &[Value],
        fetch: Fetch,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.execute(id, parameters, fetch, host, sink)
    }

    fn fetch(&mut self, id: u32, rows: usize, host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()> {
        self.fetch(id, rows, host, sink)
    }

    fn reset_statement(&mut self, id: u32) -> SqlResult<()> {
        self.reset_statement(id)
    }

    fn close_statement(&mut self, id: u32) {
        self.close_statement(id);
    }

    fn use_database(&mut self, name: &str) -> SqlResult<()> {
        self.log_command("Init DB", |_| name.to_owned());
        self.use_database(name)
    }

    fn reset(&mut self) {
        self.reset();
    }

    fn recover(&mut self) {
        self.recover();
    }

    fn field_list(&mut self, table: &str, pattern: &str) -> SqlResult<Arc<ResultShape>> {
        self.field_list(table, pattern)
    }

    fn status(&self) -> ServerStatus {
        self.status()
    }

    fn set_multi_statements(&mut self, allowed: bool) {
        self.set_multi_statements(allowed);
    }

    fn database(&self) -> Option<&str> {
        self.database()
    }

    fn results_collation(&self) -> Option<u16> {
        self.results_collation()
    }

    fn client_charset(&self) -> CharsetId {
        self.client_charset()
    }

    fn ends(&self) -> bool {
        self.ends()
    }

    fn wait_timeout_seconds(&self) -> u64 {
        self.wait_timeout_seconds()
    }

    fn net_read_timeout(&self) -> Duration {
        self.variables.settings.net_read_timeout
    }

    fn net_write_timeout(&self) -> Duration {
        self.variables.settings.net_write_timeout
    }

    fn max_allowed_packet(&self) -> u64 {
        self.max_allowed_packet()
    }
}
