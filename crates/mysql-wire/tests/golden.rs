//! Byte sequences printed in the public protocol documentation (MySQL Internals, "Client/Server Protocol"),
//! read and, where the bytes are determined, written again.

use mysql_wire::column::{ColumnDefinition, ColumnType};
use mysql_wire::command::Command;
use mysql_wire::frame::{Scan, scan};
use mysql_wire::handshake::{Greeting, Login};
use mysql_wire::response::{EofPacket, ErrPacket, OkKind, OkPacket};
use mysql_wire::row::{BinaryRow, TextRow};
use mysql_wire::statement::Prepared;
use mysql_wire::value::{BinaryDateTime, BinaryTime, BinaryValue};
use mysql_wire::{Capabilities, Output, Reader, Status};

fn bytes(hex: &str) -> Vec<u8> {
    hex.split_ascii_whitespace()
        .map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal pairs"))
        .collect()
}

/// The payload of the one frame that `hex` is.
fn payload(hex: &str) -> Vec<u8> {
    let frame = bytes(hex);
    let Ok(Scan::Complete(frames)) = scan(&frame, frame[3], 1 << 20) else {
        panic!("not one frame: {hex}")
    };
    assert_eq!(frames.len, frame.len());
    frame[4..].to_vec()
}

#[test]
fn handshake_v10() {
    let payload = payload(
        "36 00 00 00 0a 35 2e 35 2e 32 2d 6d 32 00 0b 00 00 00 64 76 48 40 49 2d 43 4a 00 ff f7 08 02 00 00 00 00
         00 00 00 00 00 00 00 00 00 00 2a 34 64 7c 63 5a 77 6b 34 5e 5d 3a 00",
    );
    let greeting = Greeting::decode(&payload).unwrap();
    assert_eq!(
        (greeting.server_version, greeting.connection_id),
        (&b"5.5.2-m2"[..], 11)
    );
    assert_eq!(&greeting.nonce.0, b"dvH@I-CJ*4d|cZwk4^]:");
    assert_eq!(
        (greeting.capabilities.0, greeting.collation, greeting.status),
        (0xf7ff, 8, Status::AUTOCOMMIT)
    );
}

#[test]
fn handshake_response_41() {
    let hex =
        "54 00 00 01 8d a6 0f 00 00 00 00 01 08 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
         70 61 6d 00 14 ab 09 ee f6 bc b1 32 3e 61 14 38 65 c0 99 1d 95 7d 75 d4 47 74 65 73 74 00 6d 79 73 71 6c 5f
         6e 61 74 69 76 65 5f 70 61 73 73 77 6f 72 64 00";
    let payload = payload(hex);
    let login = Login::decode(&payload, Capabilities(u32::MAX)).unwrap();
    assert_eq!((login.user, login.database), (&b"pam"[..], Some(&b"test"[..])));
    assert_eq!(
        (login.plugin, login.auth_answer.len()),
        (Some(&b"mysql_native_password"[..]), 20)
    );
    let mut out = Vec::new();
    login.encode(&mut out);
    assert_eq!(out, payload);
}

#[test]
fn text_result_set() {
    let expected = bytes(
        "01 00 00 01 01
         27 00 00 02 03 64 65 66 00 00 00 11 40 40 76 65 72 73 69 6f 6e 5f 63 6f 6d 6d 65 6e 74 00 0c 08 00 1c 00 00 00
         fd 00 00 1f 00 00
         05 00 00 03 fe 00 00 02 00
         1d 00 00 04 1c 4d 79 53 51 4c 20 43 6f 6d 6d 75 6e 69 74 79 20 53 65 72 76 65 72 20 28 47 50 4c 29
         05 00 00 05 fe 00 00 02 00",
    );
    let mut output = Output::new(Vec::new());
    output.set_sequence(1);
    output.packet(|out| mysql_wire::put::lenenc_int(out, 1));
    let column = ColumnDefinition {
        schema: b"",
        table: b"",
        org_table: b"",
        name: b"@@version_comment",
        org_name: b"",
        collation: 8,
        length: 28,
        ty: ColumnType::VarString,
        flags: 0,
        decimals: 31,
        default: None,
    };
    output.packet(|out| column.encode(out));
    let eof = EofPacket {
        warnings: 0,
        status: Status::AUTOCOMMIT,
    };
    output.packet(|out| eof.encode(out));
    output.packet(|out| TextRow::new(out).bytes(b"MySQL Community Server (GPL)"));
    output.packet(|out| eof.encode(out));
    assert_eq!(output.as_slice(), expected);
}

#[test]
fn binary_row() {
    let expected = bytes("00 00 06 66 6f 6f 62 61 72");
    let mut out = Vec::new();
    BinaryRow::new(&mut out, 1).bytes(b"foobar");
    assert_eq!(out, expected);
}

#[test]
fn ok_err_eof() {
    let mut out = Vec::new();
    let ok = OkPacket {
        status: Status::AUTOCOMMIT,
        ..Default::default()
    };
    ok.encode(&mut out, OkKind::Statement, Capabilities::PROTOCOL_41);
    assert_eq!(out, payload("07 00 00 02 00 00 00 02 00 00 00"));

    let hex = "17 00 00 01 ff 48 04 23 48 59 30 30 30 4e 6f 20 74 61 62 6c 65 73 20 75 73 65 64";
    let error = ErrPacket {
        code: 1096,
        sqlstate: *b"HY000",
        message: b"No tables used",
    };
    assert_eq!(ErrPacket::decode(&payload(hex)), Ok(error));
    out.clear();
    error.encode(&mut out);
    assert_eq!(out, payload(hex));

    out.clear();
    EofPacket {
        warnings: 0,
        status: Status::AUTOCOMMIT,
    }
    .encode(&mut out);
    assert_eq!(out, payload("05 00 00 05 fe 00 00 02 00"));
}

#[test]
fn prepared_statements() {
    let prepared = Prepared {
        statement_id: 1,
        columns: 1,
        parameters: 2,
        warnings: 0,
    };
    let mut out = Vec::new();
    prepared.encode(&mut out);
    assert_eq!(out, payload("0c 00 00 01 00 01 00 00 00 01 00 02 00 00 00 00"));

    let packet = payload("12 00 00 00 17 01 00 00 00 00 01 00 00 00 00 01 0f 00 03 66 6f 6f");
    let Ok(Command::StmtExecute(execute)) = Command::decode(&packet, Capabilities::default()) else {
        panic!("COM_STMT_EXECUTE")
    };
    assert_eq!(execute.statement_id, 1);
    let mut parameters = execute.parameters(1).unwrap();
    let ty = parameters.types().unwrap().next().unwrap().unwrap();
    assert_eq!((ty.ty, ty.unsigned), (ColumnType::VarChar, false));
    assert_eq!(parameters.read(0, ty), Ok(BinaryValue::Bytes(b"foo")));
}

#[test]
fn binary_dates_and_times() {
    let day = BinaryDateTime {
        year: 2010,
        month: 10,
        day: 17,
        ..Default::default()
    };
    let seconds = BinaryDateTime {
        hour: 19,
        minute: 27,
        second: 30,
        ..day
    };
    let dates = [
        (
            "0b da 07 0a 11 13 1b 1e 01 00 00 00",
            BinaryDateTime {
                microsecond: 1,
                ..seconds
            },
        ),
        ("07 da 07 0a 11 13 1b 1e", seconds),
        ("04 da 07 0a 11", day),
        ("00", BinaryDateTime::default()),
    ];
    for (hex, date) in dates {
        let encoded = bytes(hex);
        let read = BinaryValue::read(&mut Reader::new(&encoded), ColumnType::DateTime, false);
        assert_eq!(read, Ok(BinaryValue::DateTime(date)));
        let mut out = Vec::new();
        date.write(&mut out);
        assert_eq!(out, encoded);
    }
    let span = BinaryTime {
        negative: true,
        days: 120,
        hour: 19,
        minute: 27,
        second: 30,
        microsecond: 0,
    };
    let times = [
        (
            "0c 01 78 00 00 00 13 1b 1e 01 00 00 00",
            BinaryTime { microsecond: 1, ..span },
        ),
        ("08 01 78 00 00 00 13 1b 1e", span),
        ("00", BinaryTime::default()),
    ];
    for (hex, time) in times {
        let encoded = bytes(hex);
        assert_eq!(
            BinaryValue::read(&mut Reader::new(&encoded), ColumnType::Time, false),
            Ok(BinaryValue::Time(time))
        );
        let mut out = Vec::new();
        time.write(&mut out);
        assert_eq!(out, encoded);
    }
}
