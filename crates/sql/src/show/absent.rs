//! SHOW of what there is none of here: binary logs, replicas, profiles. The answer is that of a MySQL which has none either, so
//! that tools which ask go on.

use parser::ast::{EngineInfo, Ident, Show};
use types::{ErrorKind, SqlError, SqlResult};

use crate::ddl::is_engine;

/// The columns of an answer without rows, or MySQL's error; `None`: another SHOW.
pub(super) fn columns_of(show: &Show) -> SqlResult<Option<Vec<&'static str>>> {
    const EVENTS: [&str; 6] = ["Log_name", "Pos", "Event_type", "Server_id", "End_log_pos", "Info"];
    Ok(Some(match show {
        Show::BinaryLogs => return Err(ErrorKind::NoBinaryLogging.into()),
        Show::BinaryLogStatus => vec![
            "File",
            "Position",
            "Binlog_Do_DB",
            "Binlog_Ignore_DB",
            "Executed_Gtid_Set",
        ],
        Show::BinlogEvents { .. } => EVENTS.to_vec(),
        Show::RelayLogEvents { channel, .. } => {
            check_channel(channel.as_deref())?;
            EVENTS.to_vec()
        }
        Show::Replicas => vec!["Server_Id", "Host", "Port", "Source_Id", "Replica_UUID"],
        Show::ReplicaStatus { channel } => {
            check_channel(channel.as_deref())?;
            vec!["Replica_IO_State"]
        }
        Show::Profiles => vec!["Query_ID", "Duration", "Query"],
        Show::Profile { types, .. } => of_profile(types),
        Show::Engine { name, what } if is_silent(name.as_ref(), *what)? => vec!["Type", "Name", "Status"],
        Show::ProcedureCode(_) | Show::FunctionCode(_) => {
            return Err(SqlError::new(
                ErrorKind::FeatureDisabled,
                &[&"SHOW PROCEDURE|FUNCTION CODE", &"--with-debug"],
            ));
        }
        _ => return Ok(None),
    }))
}

/// Whether an engine has nothing to tell. 1286 where MySQL has none of that name.
fn is_silent(name: Option<&Ident>, what: EngineInfo) -> SqlResult<bool> {
    match name {
        None => Ok(what != EngineInfo::Status),
        Some(name) if name.is("InnoDB") => Ok(what != EngineInfo::Status),
        Some(name) if is_engine(name) => Ok(true),
        Some(name) => Err(SqlError::new(ErrorKind::UnknownStorageEngine, &[&name.as_str()])),
    }
}

/// Only the channel without a name is there, and is idle.
fn check_channel(name: Option<&str>) -> SqlResult<()> {
    match name {
        None | Some("") => Ok(()),
        Some(name) => Err(SqlError::new(ErrorKind::ReplicaChannelDoesNotExist, &[&name])),
    }
}

/// Always in the same order, whatever was asked for first.
fn of_profile(types: &[Box<str>]) -> Vec<&'static str> {
    const COLUMNS: [(&str, &[&str]); 7] = [
        ("CPU", &["CPU_user", "CPU_system"]),
        ("CONTEXT SWITCHES", &["Context_voluntary", "Context_involuntary"]),
        ("BLOCK IO", &["Block_ops_in", "Block_ops_out"]),
        ("IPC", &["Messages_sent", "Messages_received"]),
        ("PAGE FAULTS", &["Page_faults_major", "Page_faults_minor"]),
        ("SWAPS", &["Swaps"]),
        ("SOURCE", &["Source_function", "Source_file", "Source_line"]),
    ];
    let is_wanted = |kind: &str| types.iter().any(|wanted| **wanted == *kind || **wanted == *"ALL");
    let wanted = COLUMNS.iter().filter(|(kind, _)| is_wanted(kind));
    ["Status", "Duration"]
        .into_iter()
        .chain(wanted.flat_map(|(_, columns)| columns.iter().copied()))
        .collect()
}
