//! TLS from the middle of the login on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use crate::support::{CAPABILITIES, TestServer, answer_of};
use front_mysql::Tls;
use mysql_wire::auth::sha2;
use mysql_wire::command::Command;
use mysql_wire::frame::{Scan, scan};
use mysql_wire::handshake::{Greeting, Login, SslRequest};
use mysql_wire::{Capabilities, Output};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};

/// As clients of self-signed certificates do.
#[derive(Debug)]
struct TrustAnybody;

impl ServerCertVerifier for TrustAnybody {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}

fn client_connection(version: &'static rustls::SupportedProtocolVersion) -> ClientConnection {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(TrustAnybody))
        .with_no_client_auth();
    ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap()
}

fn read_packet(stream: &mut impl Read, sequence: u8) -> Vec<u8> {
    let mut input = Vec::new();
    loop {
        match scan(&input, sequence, 1 << 26).unwrap() {
            Scan::Complete(frames) => return frames.payload(&mut input).to_vec(),
            Scan::Incomplete { wanted } => {
                let held = input.len();
                input.resize(wanted, 0);
                stream.read_exact(&mut input[held..]).unwrap();
            }
        }
    }
}

fn packet(sequence: u8, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut output = Output::new(Vec::new());
    output.set_sequence(sequence);
    output.packet(write);
    output.into_bytes()
}

fn tls_server(name: &str) -> TestServer {
    let dir = std::env::temp_dir().join(format!("latsdb-front-tls-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let tls = Tls::load_or_generate(&dir).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    TestServer::with(|config, _| config.tls = Some(tls))
}

#[test]
fn a_session_over_tls() {
    let server = tls_server("session");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut socket = TcpStream::connect(server.addr()).unwrap();
        let greeting = read_packet(&mut socket, 0);
        let greeting = Greeting::decode(&greeting).unwrap();
        assert!(greeting.capabilities.contains(Capabilities::SSL));

        // The request and the beginning of the handshake in one piece: none of it may get lost.
        let capabilities = CAPABILITIES | Capabilities::SSL;
        let request = SslRequest {
            capabilities,
            packet_len_max: 1 << 24,
            collation: 45,
        };
        let mut first = packet(1, |out| request.encode(out));
        let mut connection = client_connection(version);
        connection.write_tls(&mut first).unwrap();
        socket.write_all(&first).unwrap();
        let mut stream = StreamOwned::new(connection, socket);

        let login = Login {
            capabilities,
            packet_len_max: 1 << 24,
            collation: 45,
            user: b"sha2",
            auth_answer: &sha2::answer(b"secret", &greeting.nonce),
            database: None,
            plugin: Some(b"caching_sha2_password"),
            attributes: Default::default(),
        };
        stream.write_all(&packet(2, |out| login.encode(out))).unwrap();
        let mut reply = read_packet(&mut stream, 3);
        let mut sequence = 4;
        if reply == [1, sha2::FULL_AUTHENTICATION] {
            stream
                .write_all(&packet(4, |out| out.extend_from_slice(b"secret\0")))
                .unwrap();
            reply = read_packet(&mut stream, 5);
            sequence = 6;
        }
        if reply == [1, sha2::FAST_AUTHENTICATION_DONE] {
            reply = read_packet(&mut stream, sequence);
        }
        answer_of(&reply).ok();

        let query = Command::Query(b"rows 1 5000000");
        stream
            .write_all(&packet(0, |out| query.encode(out, capabilities)))
            .unwrap();
        let rows: Vec<Vec<u8>> = (1..=5).map(|sequence| read_packet(&mut stream, sequence)).collect();
        assert_eq!(rows[0], [2]);
        assert!(rows[3].len() > 5_000_000 && rows[4][0] == 0xfe);
    }
}

#[test]
fn tls_that_fails_or_is_not_offered_ends_the_connection() {
    let request = SslRequest {
        capabilities: CAPABILITIES,
        packet_len_max: 1 << 24,
        collation: 45,
    };
    for server in [tls_server("failing"), TestServer::start()] {
        let mut socket = TcpStream::connect(server.addr()).unwrap();
        read_packet(&mut socket, 0);
        socket.write_all(&packet(1, |out| request.encode(out))).unwrap();
        socket
            .write_all(b"this is no client hello, and it is long enough to see that")
            .unwrap();
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
        server.connect().expect_alive();
    }
}
