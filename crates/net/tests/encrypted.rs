//! TLS between nodes: who has a certificate of the cluster's authority is let in, and nobody else.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use net::{CallError, Config, Lane, Naming, Net, StartError, Tls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::support::raw::{self, HELLO};
use crate::support::{Node, PATIENCE, config, pair_of, start, until, wait};

/// An authority, and a folder for its PEM files that goes with it.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    dir: PathBuf,
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Authority {
    fn new(name: &str) -> Authority {
        let dir = std::env::temp_dir().join(format!("latsdb-net-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        std::fs::write(dir.join("ca.pem"), issuer.pem()).unwrap();
        Authority { issuer, dir }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Signs a certificate for a host; returns the files of the certificate and its key.
    fn sign(&self, host: &str) -> (PathBuf, PathBuf) {
        self.sign_with_uris(host, &[])
    }

    fn sign_with_uris(&self, host: &str, uris: &[&str]) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let uris = uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap()));
        params.subject_alt_names.extend(uris);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let (certificate_file, key_file) = (self.file(&format!("{host}.pem")), self.file(&format!("{host}-key.pem")));
        std::fs::write(&certificate_file, certificate.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        std::fs::set_permissions(&key_file, Permissions::from_mode(0o600)).unwrap();
        (certificate_file, key_file)
    }

    /// For this machine, with these names of nodes.
    fn of_nodes(&self, uris: &[&str]) -> Tls {
        let (certificate, key) = self.sign_with_uris("127.0.0.1", uris);
        Tls::load(&certificate, &key, &self.file("ca.pem"), None).unwrap()
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_file(self.file("ca.pem")).unwrap();
        roots.add(ca).unwrap();
        Arc::new(roots)
    }

    fn tls(&self, host: &str, believes: &Path, name: Option<&str>) -> Tls {
        let (certificate, key) = self.sign(host);
        Tls::load(&certificate, &key, believes, name).unwrap()
    }
}

fn encrypted(node: u32, tls: Tls) -> Config {
    let mut config = config(node, 1);
    config.tls = Some(tls);
    config
}

/// Why node 2 cannot be reached.
fn trouble(one: Config, two: Config) -> String {
    let (one, two) = (start(one), start(two));
    one.knows(2, &two);
    match one.call(2, Lane::Storage, b"x").unwrap_err() {
        CallError::NotSent { reason, .. } => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn nodes_of_one_authority_talk() {
    let authority = Authority::new("talk");
    let ca = authority.file("ca.pem");
    let tls = authority.tls("127.0.0.1", &ca, None);
    let (one, two) = pair_of(encrypted(1, tls.clone()), encrypted(2, tls));
    assert_eq!(one.call(2, Lane::Storage, b"x").unwrap(), b"1:x");
    let large = vec![b'x'; 5 << 20];
    assert_eq!(two.call(1, Lane::Storage, &large).unwrap().len(), large.len() + 2);
    let met = wait(one.net.call_address(&two.addr(), b"x".to_vec(), PATIENCE)).unwrap();
    assert_eq!(met.node, 2);
}

#[test]
fn all_nodes_may_have_one_name() {
    let authority = Authority::new("name");
    let ca = authority.file("ca.pem");
    let tls = authority.tls("node.latsdb", &ca, Some("node.latsdb"));
    let (one, _two) = pair_of(encrypted(1, tls.clone()), encrypted(2, tls));
    assert_eq!(one.call(2, Lane::Storage, b"x").unwrap(), b"1:x");
}

#[test]
fn a_certificate_for_another_host_is_refused() {
    let authority = Authority::new("host");
    let ca = authority.file("ca.pem");
    let tls = authority.tls("db9.example", &ca, None);
    let reason = trouble(encrypted(1, tls.clone()), encrypted(2, tls));
    assert!(reason.contains("not valid for name"), "{reason}");
}

#[test]
fn a_node_of_another_authority_is_refused_by_both_sides() {
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    let (our_ca, other_ca) = (ours.file("ca.pem"), other.file("ca.pem"));
    let good = ours.tls("127.0.0.1", &our_ca, None);
    // The caller does not believe the other one.
    let reason = trouble(
        encrypted(1, good.clone()),
        encrypted(2, other.tls("127.0.0.1", &other_ca, None)),
    );
    assert!(reason.contains("no encryption"), "{reason}");
    // The caller would believe, and is not believed.
    let reason = trouble(encrypted(1, other.tls("127.0.0.1", &our_ca, None)), encrypted(2, good));
    assert!(reason.contains("alert"), "{reason}");
}

#[test]
fn a_caller_without_a_certificate_gets_no_word() {
    let authority = Authority::new("without");
    let ca = authority.file("ca.pem");
    let one = start(encrypted(1, authority.tls("127.0.0.1", &ca, None)));

    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let client = builder
        .unwrap()
        .with_root_certificates(authority.roots())
        .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(client), "127.0.0.1".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, raw::connect(&one.addr()));
    let refused = stream
        .write_all(&HELLO.encode())
        .and_then(|()| stream.read_exact(&mut [0]))
        .unwrap_err();
    assert!(refused.to_string().contains("CertificateRequired"), "{refused}");
    until(|| one.net.turned_away() == 1);
    assert_eq!(*one.host.renewed.lock(), []);
}

#[test]
fn a_node_with_tls_and_one_without_are_told() {
    let authority = Authority::new("half");
    let ca = authority.file("ca.pem");
    let tls = authority.tls("127.0.0.1", &ca, None);
    let reason = trouble(config(1, 1), encrypted(2, tls.clone()));
    assert!(reason.contains("do both use TLS"), "{reason}");
    let reason = trouble(encrypted(1, tls), config(2, 1));
    assert!(reason.contains("no encryption"), "{reason}");
}

#[test]
fn strangers_who_speak_no_tls_are_closed_at_once() {
    let authority = Authority::new("strangers");
    let one = start(encrypted(
        1,
        authority.tls("127.0.0.1", &authority.file("ca.pem"), None),
    ));
    let hello = HELLO.encode();
    let attempts: [&[u8]; 4] = [b"GET / HTTP/1.1\r\n\r\n", &hello, &[0x16; 3000], b""];
    for bytes in attempts {
        let mut stream = raw::connect(&one.addr());
        stream.write_all(bytes).unwrap();
        if bytes.is_empty() {
            stream.shutdown(std::net::Shutdown::Write).unwrap();
        }
        assert!(raw::is_closed(&mut stream));
    }
    until(|| one.net.turned_away() == 4);
}

#[test]
fn files_that_do_not_serve_are_named() {
    let authority = Authority::new("files");
    let (certificate, key) = authority.sign("127.0.0.1");
    let ca = authority.file("ca.pem");
    let load =
        |certificate: &Path, key: &Path, ca: &Path| Tls::load(certificate, key, ca, None).unwrap_err().to_string();

    let missing = authority.file("missing.pem");
    assert!(load(&missing, &key, &ca).contains("missing.pem"));
    assert!(load(&certificate, &key, &missing).contains("missing.pem"));
    let empty = authority.file("empty.pem");
    std::fs::write(&empty, "").unwrap();
    assert!(load(&certificate, &key, &empty).contains("empty.pem"));
    assert!(load(&empty, &key, &ca).contains("empty.pem"));
    std::fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    assert!(load(&certificate, &key, &ca).contains("chmod 600"));
}

/// What a node says to somebody who has the files of a certificate and says that it is this node.
fn answer_to(one: &Node, authority: &Authority, (certificate, key): &(PathBuf, PathBuf), node: u32) -> (u8, String) {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.unwrap().with_root_certificates(authority.roots());
    let chain = vec![CertificateDer::from_pem_file(certificate).unwrap()];
    let client = builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap());
    let connection = ClientConnection::new(Arc::new(client.unwrap()), "127.0.0.1".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, raw::connect(&one.addr()));
    let hello = raw::Hello { node, ..HELLO };
    stream.write_all(&hello.encode()).unwrap();
    let mut answer = [0; 56];
    stream.read_exact(&mut answer).unwrap();
    let mut reason = Vec::new();
    if answer[13] != 0 {
        reason = vec![0; usize::from(u16::from_le_bytes([answer[14], answer[15]]))];
        stream.read_exact(&mut reason).unwrap();
    }
    (answer[13], String::from_utf8(reason).unwrap())
}

#[test]
fn a_certificate_that_names_a_node_is_that_nodes_alone() {
    let authority = Authority::new("named");
    let one = start(encrypted(1, authority.of_nodes(&["latsdb:node:1"])));
    let two = authority.sign_with_uris("127.0.0.1", &["https://example.org", "latsdb:node:2"]);
    assert_eq!(answer_to(&one, &authority, &two, 2), (0, String::new()));
    let (code, reason) = answer_to(&one, &authority, &two, 3);
    assert_eq!(code, 12);
    assert!(
        reason.contains("node 3 shows a certificate of latsdb:node:2"),
        "{reason}"
    );
    // One that names no node is any node's.
    let any = authority.sign_with_uris("127.0.0.1", &["https://example.org"]);
    assert_eq!(answer_to(&one, &authority, &any, 3), (0, String::new()));
}

#[test]
fn where_names_are_required_a_certificate_without_is_refused() {
    let authority = Authority::new("required");
    let tls = |uris: &[&str]| authority.of_nodes(uris).with_naming(Naming::Required);
    let one = start(encrypted(1, tls(&["latsdb:node:1"])));
    let (code, reason) = answer_to(&one, &authority, &authority.sign("127.0.0.1"), 2);
    assert_eq!(code, 12);
    assert!(
        reason.contains("names no node") && reason.contains("latsdb:node:2"),
        "{reason}"
    );
    let two = start(encrypted(2, tls(&["latsdb:node:2"])));
    one.knows(2, &two);
    assert_eq!(one.call(2, Lane::Storage, b"x").unwrap(), b"1:x");
    // A program without a number is no node.
    let drawer = start(Config {
        cluster: None,
        ..encrypted(0, authority.of_nodes(&[]))
    });
    assert!(wait(drawer.net.call_address(&one.addr(), b"x".to_vec(), PATIENCE)).is_ok());
}

#[test]
fn who_answers_with_another_nodes_certificate_is_not_called() {
    let authority = Authority::new("answers");
    let one = start(encrypted(1, authority.of_nodes(&["latsdb:node:1"])));
    let (certificate, key) = authority.sign_with_uris("127.0.0.1", &["latsdb:node:2"]);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(authority.roots(), provider.clone()).build();
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.unwrap().with_client_cert_verifier(clients.unwrap());
    let chain = vec![CertificateDer::from_pem_file(certificate).unwrap()];
    let server = builder.with_single_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap());
    let server = Arc::new(server.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    one.net.set_peer(3, &listener.local_addr().unwrap().to_string());
    let (stream, _) = listener.accept().unwrap();
    let mut stream = StreamOwned::new(ServerConnection::new(server).unwrap(), stream);
    let mut theirs = [0; 56];
    stream.read_exact(&mut theirs).unwrap();
    let hello = raw::Hello {
        node: 3,
        lane: theirs[12],
        ..HELLO
    };
    stream.write_all(&hello.encode()).unwrap();
    let is_refused = |error: &str| error.contains("node 3 shows a certificate of latsdb:node:2");
    until(|| one.peer(3).error().is_some_and(is_refused));
}

#[test]
fn a_node_does_not_start_with_another_nodes_certificate() {
    let authority = Authority::new("own");
    struct Nobody;
    impl net::Service for Nobody {
        fn receive(&self, _from: net::Caller, _lane: Lane, _request: Vec<u8>) -> net::Answering {
            Box::pin(std::future::ready(Vec::new()))
        }
    }
    let started = |tls: Tls| Net::start(encrypted(3, tls), Arc::new(Nobody)).map(|_| ());
    let refused = started(authority.of_nodes(&["latsdb:node:2"])).unwrap_err();
    assert!(matches!(refused, StartError::Certificate(_)), "{refused}");
    assert!(refused.to_string().contains("latsdb:node:2"), "{refused}");
    assert!(started(authority.of_nodes(&["latsdb:node:2", "latsdb:node:3"])).is_ok());
}
