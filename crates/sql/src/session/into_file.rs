//! SELECT … INTO OUTFILE and DUMPFILE: the rows go to a file, and the client is told how many.

use types::{ErrorKind, SqlError};

use super::Session;
use super::parameters::Parameters;
use super::run_plan::Failure;
use crate::exec::Answer;
use crate::host::Host;
use crate::plan::Planned;
use crate::plan::files::no_server_files;
use crate::result::{ResultSink, ServerStatus};
use crate::server_files::FileSink;

impl Session {
    /// Runs a plan; where its rows are for a file, they come there, or nothing does.
    pub(super) fn run_plan_into(
        &mut self,
        planned: &Planned,
        catalog_version: u64,
        parameters: Parameters<'_>,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> Result<Answer, Failure> {
        let Some(target) = planned.file_target() else {
            return self.run_plan(planned, catalog_version, parameters, more, host, sink);
        };
        let directory = self.engine.server_files().cloned();
        let directory = directory.ok_or_else(|| Failure::Error(no_server_files()))?;
        let mut file = FileSink::create(target, &directory, host).map_err(Failure::Error)?;
        let ran = self.run_plan(planned, catalog_version, parameters, more, host, &mut file);
        let written = ran.and_then(|_| file.finish(host).map_err(Failure::Error));
        if written.is_ok() && file.is_ambiguous {
            self.warnings.warn(SqlError::from(ErrorKind::AmbiguousFieldTerm));
        }
        match written {
            Ok(rows) => {
                self.state.found_rows.set(rows);
                Ok(Answer::affected(rows))
            }
            Err(failure) => {
                file.discard();
                Err(failure)
            }
        }
    }
}
