//! What each command answers, seen by a client on a real socket.

use std::io::Write;

use crate::support::{Answer, CAPABILITIES, Client, TestServer, answer_of};
use mysql_wire::auth::native;
use mysql_wire::column::ColumnType;
use mysql_wire::command::{ChangeUser, Command, SetOption};
use mysql_wire::handshake::Attributes;
use mysql_wire::row::binary_values;
use mysql_wire::statement::{CursorFlags, Execute, ParameterType, Prepared, TypeBinding, encode_parameters};
use mysql_wire::value::{BinaryDateTime, BinaryTime, BinaryValue};
use mysql_wire::{Capabilities, Output, Status};

fn without_deprecate_eof() -> Capabilities {
    CAPABILITIES.with(Capabilities::DEPRECATE_EOF, false)
}

/// Prepares a statement and skips its definitions.
fn prepare(client: &mut Client, text: &str) -> Prepared {
    client.command(Command::StmtPrepare(text.as_bytes()));
    let prepared = Prepared::decode(&client.read_packet().unwrap()).unwrap();
    for count in [prepared.parameters, prepared.columns] {
        if count > 0 {
            client.read_definitions(count.into());
        }
    }
    prepared
}

/// Executes a statement that echoes its parameters; none for an error.
fn echo(
    client: &mut Client,
    id: u32,
    parameters: &[(ParameterType, BinaryValue)],
    types: TypeBinding,
) -> Result<Vec<Option<String>>, Answer> {
    let mut encoded = Vec::new();
    encode_parameters(&mut encoded, parameters, types);
    client.command(Command::StmtExecute(Execute::new(id, CursorFlags::NONE, &encoded)));
    let packet = client.read_packet().unwrap();
    if packet[0] == 0xff {
        return Err(answer_of(&packet));
    }
    let count = usize::from(packet[0]);
    client.read_definitions(count);
    let mut values = Vec::new();
    client.read_rows(|packet| {
        let columns = vec![(ColumnType::VarString, false); count];
        values = binary_values(packet, columns.into_iter())
            .unwrap()
            .into_iter()
            .map(|value| match value {
                BinaryValue::Bytes(text) => Some(String::from_utf8_lossy(text).into_owned()),
                _ => None,
            })
            .collect();
    })?;
    Ok(values)
}

fn bound(ty: ColumnType, value: BinaryValue) -> (ParameterType, BinaryValue) {
    (
        ParameterType {
            ty,
            unsigned: matches!(value, BinaryValue::UInt(_)),
        },
        value,
    )
}

#[test]
fn text_results_with_and_without_deprecate_eof() {
    let server = TestServer::start();
    for capabilities in [CAPABILITIES, without_deprecate_eof()] {
        let mut client = Client::with(server.addr(), capabilities);
        let Answer::Rows { columns, rows, status } = client.query("rows 2 3") else {
            panic!("rows")
        };
        assert_eq!(columns, ["id", "text"]);
        let row = |id: &str| vec![Some(id.to_owned()), Some("xxx".to_owned())];
        assert_eq!(rows, [row("0"), row("1")]);
        assert_eq!(status, Status::AUTOCOMMIT);
        client.query("anything").ok();
    }
}

#[test]
fn several_statements_in_one_query() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.command(Command::Query(b"rows 1 1; anything; fail; never"));
    let Answer::Rows { status, .. } = client.read_answer() else {
        panic!("rows")
    };
    assert!(status.contains(Status::MORE_RESULTS_EXISTS));
    let Answer::Ok { status, .. } = client.read_answer() else {
        panic!("OK")
    };
    assert!(status.contains(Status::MORE_RESULTS_EXISTS));
    assert_eq!(client.read_answer().error().0, 1365);
    client.expect_alive();
}

#[test]
fn an_error_may_end_a_result() {
    let server = TestServer::start();
    let mut client = server.connect();
    assert_eq!(client.query("fail_after 3").error().0, 1365);
    client.expect_alive();
}

#[test]
fn commands_sent_at_once_are_answered_in_order() {
    let server = TestServer::start();
    let mut client = server.connect();
    let mut output = Output::new(Vec::new());
    for i in 1..=100 {
        output.set_sequence(0);
        let text = format!("rows {i} 10");
        output.packet(|out| Command::Query(text.as_bytes()).encode(out, CAPABILITIES));
    }
    client.stream.write_all(output.as_slice()).unwrap();
    for i in 1..=100 {
        assert_eq!(client.read_answer().rows().len(), i);
    }
}

#[test]
fn packets_beyond_16_mib_both_ways() {
    let server = TestServer::start();
    let mut client = server.connect();
    let text = format!("rows 1 {} {}", 20_000_000, "x".repeat(17_000_000));
    let rows = client.query(&text).rows();
    assert_eq!(rows[0][1].as_ref().map(String::len), Some(20_000_000));
    let exactly_one_frame = (1 << 24) - 1 - b"\x010\xfd\xff\xff\xff".len() as u64;
    let rows = client.query(&format!("rows 1 {exactly_one_frame}")).rows();
    assert_eq!(rows[0][1].as_ref().map(String::len), Some(exactly_one_frame as usize));
    client.expect_alive();
}

#[test]
fn small_commands() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.expect_alive();
    client.command(Command::Statistics);
    assert!(client.read_packet().unwrap().starts_with(b"Uptime: "));
    for end_of_rows in [Command::Debug, Command::SetOption(SetOption::MultiStatementsOff)] {
        client.command(end_of_rows);
        assert_eq!(client.read_packet().unwrap()[0], 0xfe);
    }
    client.command(Command::FieldList {
        table: b"t",
        wildcard: b"",
    });
    assert_eq!(client.read_rows(|_| {}), Ok(Status::AUTOCOMMIT));
    client.command(Command::InitDb(b"test"));
    client.read_answer().ok();
    assert_eq!(client.query("whoami").rows()[0][2].as_deref(), Some("test"));
    client.command(Command::InitDb(b"nowhere"));
    assert_eq!(
        client.read_answer().error(),
        (1049, "Unknown database 'nowhere'".into())
    );
    client.command(Command::ResetConnection);
    client.read_answer().ok();
    client.command(Command::Quit);
    assert_eq!(client.read_packet(), None);
}

#[test]
fn unknown_and_malformed_commands_are_errors_and_no_more() {
    let server = TestServer::start();
    let mut client = server.connect();
    for code in [0x00, 0x05, 0x13, 0x55, 0xff] {
        client.command(Command::Unknown(code));
        assert_eq!(client.read_answer().error(), (1047, "Unknown command".into()));
    }
    for malformed in [&b""[..], b"\x17\x01", b"\x1a", b"\x1c\x01\x00\x00\x00", b"\x04no end"] {
        client.command(Command::Ping);
        client.read_answer().ok();
        let mut output = Output::new(Vec::new());
        output.packet(|out| out.extend_from_slice(malformed));
        client.write_raw(output.as_slice());
        assert_eq!(client.read_answer().error().0, 1835);
    }
}

#[test]
fn parameters_of_every_type_reach_the_session() {
    let server = TestServer::start();
    let mut client = server.connect();
    let moment = BinaryDateTime {
        year: 2024,
        month: 2,
        day: 29,
        hour: 1,
        minute: 2,
        second: 3,
        microsecond: 4,
    };
    let span = BinaryTime {
        negative: true,
        days: 1,
        hour: 2,
        minute: 3,
        second: 4,
        microsecond: 5,
    };
    let parameters = [
        bound(ColumnType::Tiny, BinaryValue::Int(-128)),
        bound(ColumnType::Short, BinaryValue::UInt(65_535)),
        bound(ColumnType::Long, BinaryValue::Int(i32::MIN.into())),
        bound(ColumnType::LongLong, BinaryValue::UInt(u64::MAX)),
        bound(ColumnType::Float, BinaryValue::Float(1.5)),
        bound(ColumnType::Double, BinaryValue::Double(-0.25)),
        bound(ColumnType::VarString, BinaryValue::Bytes("größe".as_bytes())),
        bound(ColumnType::Blob, BinaryValue::Bytes(&[0, 255])),
        bound(ColumnType::VarString, BinaryValue::Bytes(&[0, 255])),
        bound(ColumnType::NewDecimal, BinaryValue::Bytes(b"-12.50")),
        bound(ColumnType::Date, BinaryValue::Date(moment)),
        bound(ColumnType::DateTime, BinaryValue::DateTime(moment)),
        bound(ColumnType::Time, BinaryValue::Time(span)),
        bound(ColumnType::LongLong, BinaryValue::Null),
    ];
    let statement = prepare(&mut client, &format!("echo {}", "?,".repeat(parameters.len())));
    assert_eq!(usize::from(statement.parameters), parameters.len());
    let echoed = echo(&mut client, statement.statement_id, &parameters, TypeBinding::New).unwrap();
    let echoed: Vec<&str> = echoed.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
    assert_eq!(
        echoed[..6],
        [
            "Int(-128)",
            "UInt(65535)",
            "Int(-2147483648)",
            "UInt(18446744073709551615)",
            "Float(1.5)",
            "Double(-0.25)"
        ]
    );
    assert!(
        echoed[6].starts_with("Str(") && echoed[6].contains("größe"),
        "{}",
        echoed[6]
    );
    assert!(echoed[7].starts_with("Bytes(") && echoed[8].starts_with("Bytes("));
    assert!(
        echoed[9].starts_with("Decimal(") && echoed[9].contains("-12.50"),
        "{}",
        echoed[9]
    );
    assert!(echoed[10].contains("year: 2024, month: 2, day: 29"), "{}", echoed[10]);
    assert!(echoed[11].contains("micros: 4"), "{}", echoed[11]);
    assert!(echoed[12].contains("-93784000005"), "{}", echoed[12]);
    assert_eq!(echoed[13], "NULL");
}

#[test]
fn types_are_remembered_between_executions() {
    let server = TestServer::start();
    let mut client = server.connect();
    let id = prepare(&mut client, "echo ?").statement_id;
    let unbound = echo(
        &mut client,
        id,
        &[bound(ColumnType::LongLong, BinaryValue::Int(1))],
        TypeBinding::Remembered,
    );
    assert_eq!(unbound.unwrap_err().error().0, 1210);
    for (n, types) in [
        (1, TypeBinding::New),
        (2, TypeBinding::Remembered),
        (-3, TypeBinding::Remembered),
    ] {
        let echoed = echo(
            &mut client,
            id,
            &[bound(ColumnType::LongLong, BinaryValue::Int(n))],
            types,
        )
        .unwrap();
        assert_eq!(echoed, [Some(format!("Int({n})"))]);
    }
    let rebound = [bound(ColumnType::VarString, BinaryValue::Bytes(b"text"))];
    assert!(
        echo(&mut client, id, &rebound, TypeBinding::New).unwrap()[0]
            .as_ref()
            .unwrap()
            .starts_with("Str(")
    );
}

#[test]
fn what_is_no_moment_becomes_the_zero_date() {
    let server = TestServer::start();
    let mut client = server.connect();
    let id = prepare(&mut client, "echo ?").statement_id;
    let nonsense = BinaryDateTime {
        year: 2024,
        month: 200,
        day: 1,
        hour: 99,
        ..Default::default()
    };
    let echoed = echo(
        &mut client,
        id,
        &[bound(ColumnType::DateTime, BinaryValue::DateTime(nonsense))],
        TypeBinding::New,
    );
    assert!(
        echoed.unwrap()[0]
            .as_ref()
            .unwrap()
            .contains("year: 0, month: 0, day: 0")
    );
}

#[test]
fn long_data_is_collected_used_once_and_capped() {
    let server = TestServer::with(|_, canned| canned.max_allowed_packet = 1000);
    let mut client = server.connect();
    let id = prepare(&mut client, "echo ?,?").statement_id;
    let parameters = [
        bound(ColumnType::VarString, BinaryValue::Bytes(b"")),
        bound(ColumnType::LongLong, BinaryValue::Int(7)),
    ];
    // A parameter that came as long data is not in the packet.
    let in_packet = |client: &mut Client| {
        let mut encoded = vec![0, 1, ColumnType::VarString as u8, 0, ColumnType::LongLong as u8, 0];
        encoded.extend_from_slice(&7u64.to_le_bytes());
        client.command(Command::StmtExecute(Execute::new(id, CursorFlags::NONE, &encoded)));
        client.read_answer()
    };
    for piece in ["long ", "data"] {
        client.command(Command::StmtSendLongData {
            statement_id: id,
            parameter: 0,
            data: piece.as_bytes(),
        });
    }
    assert!(matches!(in_packet(&mut client), Answer::Rows { .. }));
    let echoed = echo(&mut client, id, &parameters, TypeBinding::New).unwrap();
    assert!(
        !echoed[0].as_ref().unwrap().contains("long data"),
        "used up by the first execution"
    );

    for _ in 0..3 {
        client.command(Command::StmtSendLongData {
            statement_id: id,
            parameter: 0,
            data: &[b'x'; 400],
        });
    }
    assert_eq!(in_packet(&mut client).error().0, 1105);
    client.command(Command::StmtSendLongData {
        statement_id: id,
        parameter: 0,
        data: b"abc",
    });
    client.command(Command::StmtReset(id));
    client.read_answer().ok();
    assert!(
        echo(&mut client, id, &parameters, TypeBinding::New).is_ok(),
        "reset forgets long data"
    );
}

#[test]
fn statements_that_do_not_exist() {
    let server = TestServer::start();
    let mut client = server.connect();
    let message = |by: &str| format!("Unknown prepared statement handler (77) given to {by}");
    client.command(Command::StmtExecute(Execute::new(77, CursorFlags::NONE, b"")));
    assert_eq!(client.read_answer().error(), (1243, message("mysqld_stmt_execute")));
    client.command(Command::StmtReset(77));
    assert_eq!(client.read_answer().error(), (1243, message("mysqld_stmt_reset")));
    client.command(Command::StmtFetch {
        statement_id: 77,
        rows: 1,
    });
    assert_eq!(client.read_answer().error(), (1243, message("mysqld_stmt_fetch")));
    // These two have no answer.
    client.command(Command::StmtClose(77));
    client.command(Command::StmtSendLongData {
        statement_id: 77,
        parameter: 0,
        data: b"x",
    });
    client.expect_alive();
    client.command(Command::StmtPrepare(b"fail"));
    assert_eq!(client.read_answer().error().0, 1295);
}

#[test]
fn the_number_of_prepared_statements_is_limited_over_all_connections() {
    let server = TestServer::with(|config, _| config.prepared_statements_max = 2);
    let (mut first, mut second) = (server.connect(), server.connect());
    let id = prepare(&mut first, "echo ?").statement_id;
    prepare(&mut second, "echo ?");
    let refused = |client: &mut Client| {
        client.command(Command::StmtPrepare(b"echo ?"));
        client.read_answer().error()
    };
    let message = "Can't create more than max_prepared_stmt_count statements (current value: 2)";
    assert_eq!(refused(&mut second), (1461, message.into()));
    first.command(Command::StmtClose(id));
    first.expect_alive();
    prepare(&mut second, "echo ?");
    assert_eq!(refused(&mut first).0, 1461);
    drop(second);
    crate::support::wait_until("a closed connection gives its statements back", || {
        server.registry.statistics().prepared_statements == 0
    });
    prepare(&mut first, "echo ?");
}

#[test]
fn cursors_hand_out_rows_in_portions() {
    let server = TestServer::start();
    for capabilities in [CAPABILITIES, without_deprecate_eof()] {
        let mut client = Client::with(server.addr(), capabilities);
        let id = prepare(&mut client, "rows 5").statement_id;
        let fetch = |client: &mut Client, rows| {
            client.command(Command::StmtFetch { statement_id: id, rows });
            let mut count = 0;
            client
                .read_rows(|_| count += 1)
                .map(|status| (count, status.contains(Status::LAST_ROW_SENT)))
        };
        assert_eq!(fetch(&mut client, 1).unwrap_err().error().0, 1421);

        client.command(Command::StmtExecute(Execute::new(id, CursorFlags::READ_ONLY, b"")));
        assert_eq!(client.read_packet().unwrap(), [2]);
        for _ in 0..2 {
            client.read_packet().unwrap();
        }
        let end = client.read_rows(|_| panic!("rows come with COM_STMT_FETCH")).unwrap();
        assert!(end.contains(Status::CURSOR_EXISTS));
        assert_eq!(fetch(&mut client, 2), Ok((2, false)));
        assert_eq!(fetch(&mut client, 2), Ok((2, false)));
        assert_eq!(fetch(&mut client, 2), Ok((1, true)));

        client.command(Command::StmtReset(id));
        client.read_answer().ok();
        assert_eq!(fetch(&mut client, 1).unwrap_err().error().0, 1421);
    }
}

fn change_user<'a>(user: &'a str, answer: &'a [u8]) -> Command<'a> {
    Command::ChangeUser(ChangeUser {
        user: user.as_bytes(),
        auth_answer: answer,
        database: b"other",
        collation: Some(8),
        plugin: Some(native::NAME.as_bytes()),
        attributes: Attributes::default(),
    })
}

#[test]
fn change_user_opens_a_new_session_on_the_connection() {
    let server = TestServer::start();
    let mut client = server.connect();
    let id = prepare(&mut client, "echo ?").statement_id;
    let answer = native::answer(b"secret", &client.nonce);
    client.command(change_user("native", &answer));
    client.read_answer().ok();
    let expected = ["native", "localhost", "other", "8"].map(|text| Some(text.to_owned()));
    assert_eq!(client.query("whoami").rows(), [expected]);
    client.command(Command::StmtReset(id));
    assert_eq!(client.read_answer().error().0, 1243);

    client.command(change_user("native", &[1; 20]));
    client.expect_end(1045);
}
