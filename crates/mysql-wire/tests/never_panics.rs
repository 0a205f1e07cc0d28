//! Whatever bytes arrive, decoders answer with a value or an error.

use mysql_wire::column::{ColumnDefinition, ColumnType};
use mysql_wire::command::Command;
use mysql_wire::frame::{Scan, scan};
use mysql_wire::handshake::{AuthSwitch, Greeting, Login, SslRequest, decode_auth_more_data};
use mysql_wire::response::{EofPacket, ErrPacket, OkPacket};
use mysql_wire::row::{binary_values, text_values};
use mysql_wire::statement::{ParameterType, Prepared};
use mysql_wire::{Capabilities, auth};
use proptest::prelude::*;

/// Random bytes, with the bytes that mean something to the protocol more often than by chance.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), Just(0), 0..32u8, 0xf9..=0xffu8, Just(b'$'), Just(b'*')];
    prop::collection::vec(byte, 0..200)
}

fn decode_as_command(payload: &[u8], capabilities: Capabilities) {
    match Command::decode(payload, capabilities) {
        Ok(Command::StmtExecute(execute)) => {
            for count in [0, 1, 8, 9, 40] {
                let Ok(mut parameters) = execute.parameters(count) else {
                    continue;
                };
                let types: Vec<_> = parameters.types().into_iter().flatten().collect();
                let default = ParameterType {
                    ty: ColumnType::DateTime,
                    unsigned: false,
                };
                for index in 0..count {
                    let ty = types.get(index).copied().unwrap_or(Ok(default)).unwrap_or(default);
                    let _ = parameters.read(index, ty);
                }
            }
        }
        Ok(Command::ChangeUser(change)) => drop(change.attributes.iter().count()),
        Ok(_) | Err(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn server_side(payload in noise(), first in 0..0x20u8, capabilities in any::<u32>()) {
        let capabilities = Capabilities(capabilities);
        decode_as_command(&payload, capabilities);
        let mut command = vec![first];
        command.extend_from_slice(&payload);
        decode_as_command(&command, capabilities);
        let _ = SslRequest::decode(&payload);
        let with_protocol_41 = |out: &mut Vec<u8>| if let Some(byte) = out.get_mut(1) { *byte |= 2 };
        let mut login = payload.clone();
        with_protocol_41(&mut login);
        if let Ok(login) = Login::decode(&login, capabilities) {
            login.attributes.iter().count();
        }
        let nonce = auth::Nonce(*b"01234567890123456789");
        auth::native::verify(&payload, &nonce, &payload);
        auth::sha2::Digest::of(b"x").verify(&nonce, &payload);
        auth::sha2::is_well_formed(&payload);
    }

    #[test]
    fn client_side(payload in noise()) {
        let _ = Greeting::decode(&payload);
        let _ = AuthSwitch::decode(&payload);
        let _ = decode_auth_more_data(&payload);
        if let Ok((_, rest)) = OkPacket::decode(&payload) {
            let _ = OkPacket::decode_changes(rest);
        }
        let _ = ErrPacket::decode(&payload);
        let _ = EofPacket::decode(&payload);
        let _ = Prepared::decode(&payload);
        let _ = ColumnDefinition::decode(&payload);
        text_values(&payload).count();
        for columns in [0, 1, 5, 6, 7] {
            let types = ColumnType::ALL.iter().cycle().skip(payload.len()).map(|ty| (*ty, payload.len() % 2 == 0));
            let types: Vec<_> = types.take(columns).collect();
            let _ = binary_values(&payload, types.into_iter());
        }
    }

    #[test]
    fn frames(mut input in noise(), sequence in any::<u8>(), limit in 0..100_000usize) {
        match scan(&input, sequence, limit) {
            Ok(Scan::Complete(frames)) => {
                prop_assert!(frames.len <= input.len());
                prop_assert!(frames.payload(&mut input).len() <= limit);
            }
            Ok(Scan::Incomplete { wanted }) => prop_assert!(wanted > input.len()),
            Err(_) => {}
        }
    }
}
