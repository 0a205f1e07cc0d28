//! The session, the statement before, user-level locks.

use std::time::Duration;

use types::error::{ErrorKind, SqlError};
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use super::args::{Args, Inference, string_type};
use super::{Function, between, exactly};
use crate::collation::Coercibility;

pub const FUNCTIONS: &[Function] = &[
    Function::nullable(
        "LOAD_FILE",
        exactly(1),
        |_| Ok(SqlType::blob(TypeKind::LongBlob)),
        load_file,
    )
    .volatile(),
    Function::strict(
        "VERSION",
        exactly(0),
        |i| constant(i, 60),
        |args| text(args, args.ctx.services.version()),
    )
    .per_statement(),
    Function::strict("DATABASE", exactly(0), infer_database, database).per_statement(),
    Function::strict("SCHEMA", exactly(0), infer_database, database).per_statement(),
    Function::strict("USER", exactly(0), |i| constant(i, 288), user).per_statement(),
    Function::strict("SESSION_USER", exactly(0), |i| constant(i, 288), user).per_statement(),
    Function::strict("SYSTEM_USER", exactly(0), |i| constant(i, 288), user).per_statement(),
    Function::strict(
        "CURRENT_USER",
        exactly(0),
        |i| constant(i, 288),
        |args| text(args, args.ctx.services.current_user()),
    )
    .per_statement(),
    Function::strict(
        "CURRENT_ROLE",
        exactly(0),
        |i| constant(i, 1024),
        |args| text(args, args.ctx.services.current_role()),
    )
    .per_statement(),
    Function::strict(
        "ICU_VERSION",
        exactly(0),
        |i| constant(i, 5),
        |args| text(args, "73.1".to_owned()),
    )
    .per_statement(),
    Function::strict("CONNECTION_ID", exactly(0), unsigned, |args| {
        Ok(Value::UInt(args.ctx.services.connection_id()))
    })
    .per_statement(),
    Function::nullable("LAST_INSERT_ID", between(0, 1), infer_last_insert_id, last_insert_id).volatile(),
    Function::strict("ROW_COUNT", exactly(0), signed, |args| {
        Ok(Value::Int(args.ctx.services.row_count()))
    })
    .per_statement(),
    Function::strict("FOUND_ROWS", exactly(0), signed, |args| {
        Ok(Value::Int(args.ctx.services.found_rows() as i64))
    })
    .per_statement(),
    Function::strict(
        "VALIDATE_PASSWORD_STRENGTH",
        exactly(1),
        |_| {
            Ok(SqlType {
                length: 10,
                ..SqlType::bigint()
            })
        },
        |args| {
            let password = args.values[0].to_string();
            Ok(Value::Int(args.ctx.services.password_strength(&password)))
        },
    )
    .volatile(),
    Function::nullable("SLEEP", exactly(1), signed, sleep).volatile(),
    Function::nullable("GET_LOCK", exactly(2), nullable_flag, get_lock).volatile(),
    Function::nullable("RELEASE_LOCK", exactly(1), nullable_flag, release_lock).volatile(),
    Function::nullable("RELEASE_ALL_LOCKS", exactly(0), signed, |args| {
        Ok(Value::Int(args.ctx.services.release_all_locks()? as i64))
    })
    .volatile(),
    Function::nullable("IS_FREE_LOCK", exactly(1), nullable_flag, is_free_lock).volatile(),
    Function::nullable(
        "IS_USED_LOCK",
        exactly(1),
        |_| {
            Ok(SqlType {
                length: 21,
                ..SqlType::bigint_unsigned()
            })
        },
        is_used_lock,
    )
    .volatile(),
];

fn load_file(args: &Args<'_>) -> SqlResult<Value> {
    if args.values[0].is_null() {
        return Ok(Value::Null);
    }
    let path = args.values[0].to_string();
    let most = args.ctx.settings.max_allowed_packet;
    match args.ctx.services.load_file(&path, most) {
        Ok(Some(bytes)) => Ok(Value::Bytes(bytes.as_slice().into())),
        Ok(None) => Ok(Value::Null),
        Err(error) if error.kind() == ErrorKind::AllowedPacketOverflowed => {
            args.ctx.with_warnings(|warnings| warnings.warn(error));
            Ok(Value::Null)
        }
        Err(error) => Err(error),
    }
}

/// Text that the server makes: utf8mb3, weaker than a column's, firmer than a literal's.
fn constant(inference: &mut Inference<'_>, chars: u64) -> SqlResult<SqlType> {
    inference.coercibility = Some(Coercibility::System);
    Ok(string_type(chars, CollationId::UTF8MB3_GENERAL_CI).not_null())
}

fn infer_database(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let ty = constant(inference, 64)?;
    Ok(SqlType { nullable: true, ..ty })
}

fn unsigned(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType {
        length: 21,
        ..SqlType::bigint_unsigned()
    }
    .not_null())
}

fn signed(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType {
        length: 21,
        ..SqlType::bigint()
    }
    .not_null())
}

fn nullable_flag(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType {
        length: 1,
        ..SqlType::bigint()
    })
}

fn text(args: &Args<'_>, text: String) -> SqlResult<Value> {
    Ok(args.text_result(text))
}

fn database(args: &Args<'_>) -> SqlResult<Value> {
    Ok(args
        .ctx
        .services
        .database()
        .map_or(Value::Null, |name| args.text_result(name)))
}

fn user(args: &Args<'_>) -> SqlResult<Value> {
    text(args, args.ctx.services.user())
}

fn infer_last_insert_id(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(inference.nullable_as_args(SqlType {
        length: 21,
        ..SqlType::bigint_unsigned()
    }))
}

/// With an argument: that, which the session keeps for later.
fn last_insert_id(args: &Args<'_>) -> SqlResult<Value> {
    let services = args.ctx.services;
    if args.is_empty() {
        return Ok(Value::UInt(services.last_insert_id()));
    }
    if args.is_null(0) {
        services.set_last_insert_id(0);
        return Ok(Value::Null);
    }
    let id = args.bits(0)?;
    services.set_last_insert_id(id);
    Ok(Value::UInt(id))
}

/// Seconds as a duration; 1210 for NULL and negative ones.
fn sleep(args: &Args<'_>) -> SqlResult<Value> {
    let wrong = || SqlError::with_message(ErrorKind::WrongArguments, "Incorrect arguments to sleep.");
    if args.is_null(0) {
        return Err(wrong());
    }
    let seconds = args.double(0)?;
    if seconds < 0.0 {
        return Err(wrong());
    }
    let duration = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(u64::from(u32::MAX)));
    Ok(Value::from(!duration.is_zero() && args.ctx.services.sleep(duration)?))
}

/// Lock names are 1 to 64 characters and ignore case. 3057 otherwise.
fn lock_name(args: &Args<'_>) -> SqlResult<String> {
    let name = if args.is_null(0) { "NULL".into() } else { args.text(0) };
    let chars = name.chars().count();
    if args.is_null(0) || chars == 0 || chars > 64 {
        return Err(SqlError::new(ErrorKind::UserLockWrongName, &[&name]));
    }
    Ok(name.to_lowercase())
}

/// A negative timeout waits for ever; fractions of seconds are rounded.
fn get_lock(args: &Args<'_>) -> SqlResult<Value> {
    let name = lock_name(args)?;
    let seconds = if args.is_null(1) { 0 } else { args.int(1)? };
    let timeout = u64::try_from(seconds).ok().map(Duration::from_secs);
    Ok(Value::from(args.ctx.services.get_lock(&name, timeout)?))
}

fn release_lock(args: &Args<'_>) -> SqlResult<Value> {
    let name = lock_name(args)?;
    Ok(Value::from(args.ctx.services.release_lock(&name)?))
}

fn is_free_lock(args: &Args<'_>) -> SqlResult<Value> {
    let name = lock_name(args)?;
    Ok(Value::from(args.ctx.services.lock_holder(&name)?.is_none()))
}

fn is_used_lock(args: &Args<'_>) -> SqlResult<Value> {
    let name = lock_name(args)?;
    Ok(Value::from(args.ctx.services.lock_holder(&name)?))
}
