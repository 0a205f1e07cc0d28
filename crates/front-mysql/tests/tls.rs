//! TLS from the middle of the login on.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use crate::support::{CAPABILITIES, TestServer, answer_of};
use front::Tls;
use mysql_wire::auth::sha2;
use mysql_wire::command::Command;
use mysql_wire::frame::{Scan, scan};
use mysql_wire::handshake::{Greeting, Login, SslRequest};
use mysql_wire::{Capabilities, Output};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
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

fn client_connection(
    version: &'static rustls::SupportedProtocolVersion,
    shown: Option<&Certified>,
) -> ClientConnection {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(TrustAnybody));
    let config = match shown {
        None => builder.with_no_client_auth(),
        Some(shown) => {
            let key = PrivatePkcs8KeyDer::from(shown.key.serialize_der());
            builder
                .with_client_auth_cert(vec![shown.certificate.der().clone()], key.into())
                .unwrap()
        }
    };
    ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap()
}

fn read_packet(stream: &mut impl Read, sequence: u8) -> io::Result<Vec<u8>> {
    let mut input = Vec::new();
    loop {
        match scan(&input, sequence, 1 << 26).unwrap() {
            Scan::Complete(frames) => return Ok(frames.payload(&mut input).to_vec()),
            Scan::Incomplete { wanted } => {
                let held = input.len();
                input.resize(wanted, 0);
                stream.read_exact(&mut input[held..])?;
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

fn directory(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("latsdb-front-tls-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn tls_server(name: &str) -> TestServer {
    let dir = directory(name);
    let tls = Tls::load_or_generate(&dir).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    TestServer::with(|config, _| config.tls = Some(tls))
}

/// Who a certificate was made out to, and the key to it.
struct Certified {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

fn named(names: &[(DnType, &str)]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for (kind, value) in names {
        params.distinguished_name.push(kind.clone(), *value);
    }
    params
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = named(&[(DnType::CommonName, name)]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn signed_by(issuer: &CertifiedIssuer<'static, KeyPair>, name: &str) -> Certified {
    let key = KeyPair::generate().unwrap();
    let params = named(&[(DnType::OrganizationName, "Lats"), (DnType::CommonName, name)]);
    let certificate = params.signed_by(&key, issuer).unwrap();
    Certified { certificate, key }
}

type Session = StreamOwned<ClientConnection, TcpStream>;

/// Encrypts the connection and logs in with the password `secret`: the session and the server's last word. An error where the server
/// does not take the certificate.
fn log_in(server: &TestServer, connection: ClientConnection, user: &str) -> io::Result<(Session, Vec<u8>)> {
    let mut connection = connection;
    let mut socket = TcpStream::connect(server.addr())?;
    let greeting = read_packet(&mut socket, 0)?;
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
    connection.write_tls(&mut first)?;
    socket.write_all(&first)?;
    let mut stream = StreamOwned::new(connection, socket);

    let login = Login {
        capabilities,
        packet_len_max: 1 << 24,
        collation: 45,
        user: user.as_bytes(),
        auth_answer: &sha2::answer(b"secret", &greeting.nonce),
        database: None,
        plugin: Some(b"caching_sha2_password"),
        attributes: Default::default(),
        zstd_level: None,
    };
    stream.write_all(&packet(2, |out| login.encode(out)))?;
    let mut reply = read_packet(&mut stream, 3)?;
    let mut sequence = 4;
    if reply == [1, sha2::FULL_AUTHENTICATION] {
        stream.write_all(&packet(4, |out| out.extend_from_slice(b"secret\0")))?;
        reply = read_packet(&mut stream, 5)?;
        sequence = 6;
    }
    if reply == [1, sha2::FAST_AUTHENTICATION_DONE] {
        reply = read_packet(&mut stream, sequence)?;
    }
    Ok((stream, reply))
}

#[test]
fn a_session_over_tls() {
    let server = tls_server("session");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let (mut stream, reply) = log_in(&server, client_connection(version, None), "sha2").unwrap();
        answer_of(&reply).ok();

        let query = Command::Query(b"rows 1 5000000");
        stream
            .write_all(&packet(0, |out| query.encode(out, CAPABILITIES | Capabilities::SSL)))
            .unwrap();
        let mut next = |sequence| read_packet(&mut stream, sequence).unwrap();
        let rows: Vec<Vec<u8>> = (1..=5).map(&mut next).collect();
        assert_eq!(rows[0], [2]);
        assert!(rows[3].len() > 5_000_000 && rows[4][0] == 0xfe);
    }
}

#[test]
fn a_certificate_says_who_the_client_is() {
    let (trusted, stranger) = (authority("authority"), authority("authority"));
    let server = TestServer::with(|config, _| {
        let dir = directory("certificates");
        std::fs::write(dir.join("ca.pem"), trusted.pem()).unwrap();
        config.tls = Some(Tls::load_or_generate(&dir).unwrap());
        std::fs::remove_dir_all(&dir).unwrap();
    });
    let (alice, bob) = (signed_by(&trusted, "alice"), signed_by(&trusted, "bob"));
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let as_certified = |shown| log_in(&server, client_connection(version, shown), "certified");
        answer_of(&as_certified(Some(&alice)).unwrap().1).ok();
        for shown in [None, Some(&bob)] {
            assert_eq!(answer_of(&as_certified(shown).unwrap().1).error().0, 1045);
        }
        // Of the same names, and signed by somebody else.
        assert!(as_certified(Some(&signed_by(&stranger, "alice"))).is_err());
        // Who need not show one may.
        let (_, reply) = log_in(&server, client_connection(version, Some(&bob)), "sha2").unwrap();
        answer_of(&reply).ok();
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
        read_packet(&mut socket, 0).unwrap();
        socket.write_all(&packet(1, |out| request.encode(out))).unwrap();
        socket
            .write_all(b"this is no client hello, and it is long enough to see that")
            .unwrap();
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
        server.connect().expect_alive();
    }
}
