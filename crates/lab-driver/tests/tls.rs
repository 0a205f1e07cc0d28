//! Encrypted connections to a server whose certificate is as wrong as the test wants it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::support::{Auth, Door, Execution, Reply, Server};
use lab_driver::{Control, DriverError, Identity, Idle, Pem, RungSpec, Stop, Target, Tls, TlsMode, Workload};
use lab_results::run::Load;
use mysql_wire::Capabilities;
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig};

struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let issuer = Issuer::new(params, key);
        Authority { certificate, issuer }
    }

    fn certify(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> (Certificate, KeyPair) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    fn server(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> ServerConfig {
        config(self.certify(name, change), None)
    }

    fn pem(&self) -> Option<Pem> {
        Some(pem(&self.certificate.pem()))
    }
}

fn pem(text: &str) -> Pem {
    Pem::new(Path::new("test.pem"), text)
}

fn config((certificate, key): (Certificate, KeyPair), clients: Option<&Authority>) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority.certificate.der().clone()).unwrap();
            let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    builder.with_single_cert(vec![certificate.der().clone()], key).unwrap()
}

fn answers(execution: &Execution) -> Reply {
    if execution.sql.contains("BETWEEN") {
        Reply::Rows(1000)
    } else if execution.sql.starts_with("SELECT") {
        Reply::Rows(1)
    } else {
        Reply::Ok
    }
}

fn server(config: ServerConfig, auth: Auth) -> Server {
    let door = Door {
        capabilities: Capabilities::SSL | Capabilities::DEPRECATE_EOF,
        tls: Some(Arc::new(config)),
        auth,
    };
    Server::behind(door, answers)
}

/// By the name that the certificates are made out to.
fn target(server: &Server, mode: TlsMode, ca: Option<Pem>) -> Target {
    let port = server.address.rsplit(':').next().unwrap();
    Target {
        servers: vec![format!("localhost:{port}")],
        tls: Tls {
            mode,
            ca,
            identity: None,
        },
        ..server.target()
    }
}

fn connect(target: &Target) -> Result<String, DriverError> {
    let mut control = Control::connect(target, &target.servers[0])?;
    control.query("UPDATE t SET a=1")?;
    Ok(control.encryption().unwrap_or_else(|| "plain".to_owned()))
}

fn refused(target: &Target) -> String {
    connect(target).unwrap_err().to_string()
}

fn read_write() -> Workload {
    Workload::new("oltp_read_write", &BTreeMap::new()).unwrap()
}

fn spec(connections: u32) -> RungSpec {
    let load = Load::Closed {
        threads_per_server: connections,
        threads_total: connections,
    };
    RungSpec::new(load, Duration::ZERO, Duration::from_millis(400), 1)
}

#[test]
fn load_goes_through_tls_as_it_does_without() {
    let authority = Authority::new();
    let server = server(authority.server("localhost", |_| {}), Auth::Native);
    let target = target(&server, TlsMode::VerifyIdentity, authority.pem());
    let outcome = lab_driver::run(&target, &read_write(), &spec(3), &Stop::new(), &mut |_| {}).unwrap();
    assert_eq!(outcome.failure, None);
    assert!(outcome.totals.transactions > 3);
    // Answers of 120 KB come in records of 16 KB: every row of them is seen.
    let ranges = &outcome.statements["simple_range"];
    assert_eq!(ranges.rows, ranges.count * 1000);
    for connection in &*server.log.lock().unwrap() {
        assert_eq!(connection.len() % 20, 0, "transactions are whole");
    }
}

#[test]
fn what_a_mode_checks_it_checks_and_no_more() {
    let (authority, other) = (Authority::new(), Authority::new());
    let good = server(authority.server("localhost", |_| {}), Auth::Native);
    let misnamed = server(authority.server("db.example.com", |_| {}), Auth::Native);
    let expired = server(
        authority.server("localhost", |params| {
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        }),
        Auth::Native,
    );
    use TlsMode::*;
    for (server, mode, ca, said) in [
        (&good, Preferred, None, ""),
        (&good, Required, None, ""),
        (&good, VerifyCa, authority.pem(), ""),
        (&good, VerifyIdentity, authority.pem(), ""),
        (
            &good,
            VerifyCa,
            other.pem(),
            "name the file with the authority's certificate",
        ),
        (&misnamed, Required, None, ""),
        (&misnamed, VerifyCa, authority.pem(), ""),
        (
            &misnamed,
            VerifyIdentity,
            authority.pem(),
            "made out to db.example.com): use a name",
        ),
        (&misnamed, VerifyIdentity, other.pem(), "signed by no authority"),
        (&expired, Required, None, ""),
        (&expired, VerifyCa, authority.pem(), "has expired: renew it"),
        (&expired, VerifyIdentity, authority.pem(), "has expired: renew it"),
    ] {
        match connect(&target(server, mode, ca)) {
            Ok(used) => assert!(
                said.is_empty() && used == "TLSv1.3 TLS_AES_256_GCM_SHA384",
                "{mode:?}: {used}"
            ),
            Err(error) => assert!(
                !said.is_empty() && error.to_string().contains(said),
                "{mode:?}: {error}"
            ),
        }
    }
}

#[test]
fn a_certificate_that_signed_itself_can_be_named_as_what_to_trust() {
    let own = |not_after: i32| {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = rcgen::date_time_ymd(not_after, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let pem = pem(&certificate.pem());
        (server(config((certificate, key), None), Auth::Native), pem)
    };
    let (server, pem) = own(2050);
    for mode in [TlsMode::VerifyCa, TlsMode::VerifyIdentity] {
        connect(&target(&server, mode, Some(pem.clone()))).unwrap();
    }
    let mut by_address = target(&server, TlsMode::VerifyIdentity, Some(pem.clone()));
    by_address.servers = vec![server.address.clone()];
    assert!(refused(&by_address).contains("made out to localhost"));
    let unnamed = target(&server, TlsMode::VerifyCa, Authority::new().pem());
    assert!(connect(&unnamed).is_err());
    let (server, pem) = own(2001);
    assert!(refused(&target(&server, TlsMode::VerifyCa, Some(pem))).contains("expired"));
}

#[test]
fn a_server_without_tls_is_told_from_one_that_breaks() {
    let without = Server::start(Capabilities::default(), answers);
    assert!(refused(&target(&without, TlsMode::Required, None)).contains("does not offer TLS: give it a certificate"));
    assert_eq!(connect(&target(&without, TlsMode::Preferred, None)).unwrap(), "plain");
    // It offers TLS and hangs up when it is to begin.
    let hangs_up = Server::start(Capabilities::SSL, answers);
    for mode in [TlsMode::Preferred, TlsMode::Required] {
        assert!(refused(&target(&hangs_up, mode, None)).contains("closed the connection within the TLS handshake"));
    }
    assert_eq!(connect(&target(&hangs_up, TlsMode::Disabled, None)).unwrap(), "plain");
}

#[test]
fn a_server_that_wants_a_certificate_gets_it() {
    let authority = Authority::new();
    let config = config(authority.certify("localhost", |_| {}), Some(&authority));
    let server = server(config, Auth::Native);
    let mut target = target(&server, TlsMode::VerifyIdentity, authority.pem());
    let said = refused(&target);
    assert!(said.contains("`tls_cert` and `tls_key`"), "{said}");
    let (certificate, key) = authority.certify("client", |_| {});
    let identity = |key: &KeyPair| Identity {
        certificate: pem(&certificate.pem()),
        key: pem(&key.serialize_pem()),
    };
    target.tls.identity = Some(identity(&key));
    connect(&target).unwrap();
    target.tls.identity = Some(identity(&KeyPair::generate().unwrap()));
    assert!(refused(&target).contains("is not the key of the certificate"));
}

#[test]
fn the_password_itself_goes_only_through_tls() {
    let authority = Authority::new();
    for auth in [Auth::Native, Auth::Sha2InFull, Auth::Clear] {
        let server = server(authority.server("localhost", |_| {}), auth);
        connect(&target(&server, TlsMode::Required, None)).unwrap();
        let mut wrong = target(&server, TlsMode::Required, None);
        wrong.password = lab_driver::Password::new("falsch");
        assert!(
            matches!(connect(&wrong), Err(DriverError::Server { code: 1045, .. })),
            "{auth:?}"
        );
    }
    let door = Door {
        capabilities: Capabilities::SSL,
        tls: None,
        auth: Auth::Clear,
    };
    let plain = Server::behind(door, answers);
    assert!(matches!(
        connect(&target(&plain, TlsMode::Disabled, None)),
        Err(DriverError::ClearPassword { .. })
    ));
}

#[test]
fn an_account_that_insists_on_tls_says_what_to_do() {
    let server = Server::start(Capabilities::SSL, answers);
    let mut target = target(&server, TlsMode::Disabled, None);
    target.password = lab_driver::Password::new("falsch");
    assert!(refused(&target).contains("`tls = \"required\"`"));
}

#[test]
fn files_that_hold_no_certificates_are_named() {
    let server = Server::start(Capabilities::default(), answers);
    let mut target = target(&server, TlsMode::VerifyCa, Some(pem("nothing")));
    assert!(
        target
            .tls
            .check()
            .unwrap_err()
            .to_string()
            .contains("test.pem: holds no certificate")
    );
    target.tls.ca = Authority::new().pem();
    target.tls.check().unwrap();
    target.tls.identity = Some(Identity {
        certificate: pem("nothing"),
        key: pem("nothing"),
    });
    assert!(refused(&target).contains("no private key"));
}

#[test]
fn neither_a_key_nor_a_password_is_printed_or_written_down() {
    let server = Server::start(Capabilities::default(), answers);
    let target = target(&server, TlsMode::VerifyCa, Some(pem("SECRET")));
    for text in [format!("{target:?}"), serde_json::to_string(&target).unwrap()] {
        assert!(!text.contains("SECRET") && !text.contains("geheim"), "{text}");
        assert!(text.contains("test.pem"));
    }
}

#[test]
fn idle_connections_are_encrypted_too() {
    let authority = Authority::new();
    let server = server(authority.server("localhost", |_| {}), Auth::Native);
    let mut spec = spec(1);
    spec.idle = Some(Idle {
        per_server: 20,
        prepared: true,
    });
    let target = target(&server, TlsMode::VerifyIdentity, authority.pem());
    let outcome = lab_driver::run(&target, &read_write(), &spec, &Stop::new(), &mut |_| {}).unwrap();
    let idle = outcome.idle.unwrap();
    assert_eq!((idle.opened, idle.kept, outcome.failure), (20, 20, None));
}

#[test]
fn a_refusal_counts_though_the_server_says_goodbye_in_the_same_breath() {
    let authority = Authority::new();
    let server = server(authority.server("localhost", |_| {}), Auth::Native);
    let target = Target {
        user: "nobody".into(),
        ..target(&server, TlsMode::Required, None)
    };
    let error = Control::connect(&target, &target.servers[0]).err().unwrap();
    assert!(matches!(error, DriverError::Server { code: 1045, .. }), "{error}");
}
