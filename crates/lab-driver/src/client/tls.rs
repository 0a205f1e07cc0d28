//! TLS as bytes: what goes out is sealed, what comes in is opened; sockets and waiting are the caller's.
//!
//! ```text
//!   Dialer: settings read once ──▶ shake_hands (on the blocking socket, before the login) ──▶ Sealed
//!                                                       commands ──▶ seal ──▶ socket ──▶ open ──▶ answers
//! ```
//!
//! Sessions are not resumed: each connection pays for a whole handshake, as those of MySQL's clients do.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, UnbufferedClientConnection, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, InconsistentKeys, ProtocolVersion, RootCertStore,
    SignatureScheme,
};

use super::link::{Wire, is_late};
use crate::error::{DriverError, LinkError};
use crate::target::{Identity, Pem, Target, Tls, TlsMode};

/// Where systems keep the certificates that they trust.
const SYSTEM_CERTIFICATES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
const RECORD_LEN_MAX: usize = 16 << 10;
/// More than a record takes beside what it carries.
const RECORD_OVERHEAD: usize = 64;

/// Why a connection is not encrypted as it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsFailure {
    #[error(
        "the server does not offer TLS: give it a certificate (`ssl_cert` and `ssl_key` in MySQL's and MariaDB's settings), or set \
         `tls = \"preferred\"` or `tls = \"disabled\"` for this target"
    )]
    NotOffered,
    #[error("{}: {what}", .path.display())]
    File { path: PathBuf, what: String },
    #[error("no certificates of authorities were found on this machine: name a file with them (`tls_ca`)")]
    NoAuthorities,
    #[error(
        "`{0}` is neither a host name nor an address that a certificate could be made out to: use `tls = \"verify_ca\"`"
    )]
    Name(String),
    #[error(
        "the server closed the connection within the TLS handshake: its log may say why. It may speak nothing newer than TLS 1.1, have a \
         broken certificate, or want one of the client (`tls_cert` and `tls_key`)"
    )]
    HungUp,
    #[error("no answer within the TLS handshake")]
    Silent,
    #[error("{}", explained(.0))]
    Rustls(#[from] rustls::Error),
}

/// What TLS has to say, with what can be done about it.
fn explained(error: &rustls::Error) -> String {
    let certificate = match error {
        rustls::Error::InvalidCertificate(certificate) => certificate,
        rustls::Error::AlertReceived(alert) => {
            return format!(
                "the server refused the TLS handshake ({alert:?}): it may want a client's certificate (`tls_cert` and `tls_key`), or know \
                 none of our protocol versions (1.2 and 1.3) and ciphers"
            );
        }
        rustls::Error::PeerIncompatible(why) => {
            return format!(
                "the server and the lab have no TLS version or cipher in common ({why:?}); the lab speaks 1.2 and 1.3"
            );
        }
        other => return format!("TLS: {other}"),
    };
    match certificate {
        // A bad signature is that of another authority by the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "the server's certificate is signed by no authority of `tls_ca` (or of this system, where that is not given): name the file with \
             the authority's certificate, or use `tls = \"required\"`, which does not check it"
                .to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            let presented = match certificate {
                CertificateError::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
                    format!(" (it is made out to {})", presented.join(", ").replace("DnsName(", "(").replace(['(', ')', '"'], ""))
                }
                _ => String::new(),
            };
            format!(
                "the server's certificate is not made out to the name in `hosts`{presented}: use a name that it has, or `tls = \
                 \"verify_ca\"`, which does not look at the name"
            )
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the server's certificate has expired: renew it, or use `tls = \"required\"`, which does not check it".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet: look at this machine's clock and the server's".to_owned()
        }
        other => format!(
            "the server's certificate is refused ({other}): give the server another, or use `tls = \"required\"`, which does not check it"
        ),
    }
}

/// A target, and what all its connections have in common, read once.
#[derive(Debug, Clone)]
pub(crate) struct Dialer<'a> {
    pub target: &'a Target,
    pub tls: Option<Arc<ClientConfig>>,
}

impl<'a> Dialer<'a> {
    pub fn new(target: &'a Target) -> Result<Dialer<'a>, DriverError> {
        let tls = settings(&target.tls).map_err(|failure| DriverError::Spec(failure.to_string()))?;
        Ok(Dialer { target, tls })
    }
}

impl Tls {
    /// Whether its files hold what they should.
    pub fn check(&self) -> Result<(), DriverError> {
        settings(self)
            .map(|_| ())
            .map_err(|failure| DriverError::Spec(failure.to_string()))
    }
}

fn settings(tls: &Tls) -> Result<Option<Arc<ClientConfig>>, TlsFailure> {
    if tls.mode == TlsMode::Disabled {
        return Ok(None);
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = if tls.mode.verifies() {
        Arc::new(Checked::new(tls, &provider)?)
    } else {
        Arc::new(Unchecked(provider.clone()))
    };
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match &tls.identity {
        None => config.with_no_client_auth(),
        Some(identity) => config.with_client_cert_resolver(Arc::new(certified(identity, &provider)?)),
    };
    config.resumption = Resumption::disabled();
    Ok(Some(Arc::new(config)))
}

/// The client's certificate with its key. Old servers make such of X.509 version 1; whether the key goes with one cannot be seen here,
/// and is left to the server.
fn certified(identity: &Identity, provider: &CryptoProvider) -> Result<SingleCertAndKey, TlsFailure> {
    let of_key = |what: &str| TlsFailure::File {
        path: identity.key.path.clone(),
        what: what.to_owned(),
    };
    let key =
        PrivateKeyDer::from_pem_slice(identity.key.text()).map_err(|_| of_key("holds no private key in PEM form"))?;
    let key = provider
        .key_provider
        .load_private_key(key)
        .map_err(|_| of_key("holds a key of a kind that is not known"))?;
    let certified = CertifiedKey::new(certificates(&identity.certificate)?, key);
    if let Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) = certified.keys_match() {
        let certificate = identity.certificate.path.display();
        return Err(of_key(&format!("is not the key of the certificate in {certificate}")));
    }
    Ok(SingleCertAndKey::from(certified))
}

fn certificates(pem: &Pem) -> Result<Vec<CertificateDer<'static>>, TlsFailure> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.text()).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(TlsFailure::File {
            path: pem.path.clone(),
            what: "holds no certificate in PEM form".to_owned(),
        }),
    }
}

fn system_certificates() -> Result<Pem, TlsFailure> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    named
        .into_iter()
        .chain(SYSTEM_CERTIFICATES.map(PathBuf::from))
        .find_map(|path| Pem::read(&path).ok())
        .ok_or(TlsFailure::NoAuthorities)
}

/// Takes any certificate. Whoever shows it may be anyone, so there is nothing to gain from checking that the key goes with it; and
/// certificates as old servers make them (X.509 version 1), which no longer can be checked, will do.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Signed by an authority, valid now, and made out to the right name if that is asked for.
#[derive(Debug)]
struct Checked {
    inner: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
    name_matters: bool,
}

impl Checked {
    fn new(tls: &Tls, provider: &Arc<CryptoProvider>) -> Result<Checked, TlsFailure> {
        let (pem, whole) = match &tls.ca {
            Some(pem) => (pem.clone(), true),
            None => (system_certificates()?, false),
        };
        let named = certificates(&pem)?;
        let mut roots = RootCertStore::empty();
        let (_, refused) = roots.add_parsable_certificates(named.iter().cloned());
        if roots.is_empty() || (whole && refused > 0) {
            return Err(TlsFailure::File {
                path: pem.path,
                what: "holds a certificate that cannot be read: authorities' certificates are of X.509 version 3"
                    .to_owned(),
            });
        }
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .map_err(|error| TlsFailure::File {
                path: pem.path,
                what: error.to_string(),
            })?;
        Ok(Checked {
            inner,
            named: if whole { named } else { Vec::new() },
            name_matters: tls.mode == TlsMode::VerifyIdentity,
        })
    }
}

impl ServerCertVerifier for Checked {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let checked = self
            .inner
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match checked {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.name_matters => Ok(ServerCertVerified::assertion()),
            // A certificate that signed itself is an authority's by its form, and so refused as a server's; but this very one was named
            // by the user. Its time has been looked at before.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(_)))
                if self.named.iter().any(|named| named == end_entity) =>
            {
                if self.name_matters {
                    rustls::client::verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// The name that `server` (`host:port`) must prove. Where nothing is checked, one that is none gives way to the address.
fn name_of(server: &str, address: IpAddr, mode: TlsMode) -> Result<ServerName<'static>, TlsFailure> {
    let host = server.rsplit_once(':').map_or(server, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match ServerName::try_from(host.to_owned()) {
        Ok(name) => Ok(name),
        Err(_) if mode == TlsMode::VerifyIdentity => Err(TlsFailure::Name(host.to_owned())),
        Err(_) => Ok(ServerName::from(address)),
    }
}

/// An encrypted connection without its socket.
pub(crate) struct Sealed {
    connection: UnbufferedClientConnection,
    /// Of what came, the beginning of a record whose rest has not.
    pub held: Vec<u8>,
    /// What the protocol has to say for itself (a new key): it leaves with the next command.
    unsent: Vec<u8>,
}

/// Agrees on a key with `server`, whose greeting was read and who was told that TLS begins.
pub(crate) fn shake_hands(
    wire: &mut Wire,
    config: Arc<ClientConfig>,
    server: &str,
    mode: TlsMode,
) -> Result<Sealed, LinkError> {
    let name = name_of(server, wire.address.ip(), mode)?;
    let mut connection = UnbufferedClientConnection::new(config, name)?;
    let (mut held, mut out) = (Vec::new(), Vec::new());
    loop {
        let UnbufferedStatus { discard, state } = connection.process_tls_records(&mut held);
        let mut wants_more = false;
        match state? {
            ConnectionState::EncodeTlsData(data) => encode(data, &mut out),
            ConnectionState::TransmitTlsData(data) => {
                wire.write_all(&out).map_err(broken)?;
                out.clear();
                data.done();
            }
            ConnectionState::BlockedHandshake => wants_more = true,
            ConnectionState::WriteTraffic(_) => {
                held.drain(..discard);
                return Ok(Sealed {
                    connection,
                    held,
                    unsent: out,
                });
            }
            _ => return Err(TlsFailure::HungUp.into()),
        }
        held.drain(..discard);
        if wants_more {
            wire.append_to(&mut held).map_err(broken)?;
        }
    }
}

fn broken(error: LinkError) -> LinkError {
    match error {
        LinkError::Io(error) if is_late(&error) => TlsFailure::Silent.into(),
        LinkError::Io(_) | LinkError::Closed => TlsFailure::HungUp.into(),
        other => other,
    }
}

fn encode<Data>(mut data: EncodeTlsData<'_, Data>, out: &mut Vec<u8>) {
    let at = out.len();
    let mut room = RECORD_LEN_MAX + RECORD_OVERHEAD;
    loop {
        out.resize(at + room, 0);
        match data.encode(&mut out[at..]) {
            Ok(written) => return out.truncate(at + written),
            Err(EncodeError::InsufficientSize(wanted)) => room = wanted.required_size,
            Err(EncodeError::AlreadyEncoded) => return out.truncate(at),
        }
    }
}

impl Sealed {
    /// Replaces `out` by `plain` as records.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), LinkError> {
        out.clear();
        out.append(&mut self.unsent);
        loop {
            match self.connection.process_tls_records(&mut []).state? {
                ConnectionState::EncodeTlsData(data) => encode(data, out),
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::WriteTraffic(mut traffic) => {
                    let at = out.len();
                    let records = plain.len() / RECORD_LEN_MAX + 1;
                    out.resize(at + plain.len() + records * RECORD_OVERHEAD, 0);
                    let written = traffic
                        .encrypt(plain, &mut out[at..])
                        .map_err(|_| rustls::Error::EncryptError)?;
                    out.truncate(at + written);
                    return Ok(());
                }
                _ => return Err(LinkError::Closed),
            }
        }
    }

    /// Gives what the whole records at the beginning of `bytes` carry to `take`; says how many bytes those were.
    pub fn open(
        &mut self,
        bytes: &mut [u8],
        mut take: impl FnMut(&[u8]) -> Result<(), LinkError>,
    ) -> Result<usize, LinkError> {
        let mut opened = 0;
        loop {
            let UnbufferedStatus { mut discard, state } = self.connection.process_tls_records(&mut bytes[opened..]);
            let mut is_over = false;
            match state? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
                        discard += record.discard;
                        take(record.payload)?;
                    }
                }
                ConnectionState::EncodeTlsData(data) => encode(data, &mut self.unsent),
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::WriteTraffic(_) | ConnectionState::BlockedHandshake => is_over = true,
                _ => return Err(LinkError::Closed),
            }
            opened += discard;
            if is_over {
                return Ok(opened);
            }
        }
    }

    /// `TLSv1.3 TLS_AES_256_GCM_SHA384`.
    pub fn describe(&self) -> String {
        let version = match self.connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "TLSv1.2".to_owned(),
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3".to_owned(),
            other => format!("{other:?}"),
        };
        let cipher = match self.connection.negotiated_cipher_suite() {
            Some(suite) => format!("{:?}", suite.suite()).replace("TLS13_", "TLS_"),
            None => "?".to_owned(),
        };
        format!("{version} {cipher}")
    }
}

impl From<rustls::Error> for LinkError {
    fn from(error: rustls::Error) -> LinkError {
        LinkError::Tls(TlsFailure::Rustls(error))
    }
}
