//! Encryption of connections: the server's certificate and key.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use ::aws_lc_rs::hmac;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{ProtocolVersion, RootCertStore, ServerConfig, ServerConnection};
use sql_api::session::Encryption;
use tokio_rustls::TlsAcceptor;

const CERTIFICATE_FILE: &str = "server-cert.pem";
const KEY_FILE: &str = "server-key.pem";
/// Certificates of the authorities whose clients are believed to be who their certificates say. MySQL's name.
const AUTHORITIES_FILE: &str = "ca.pem";

/// The first byte of a TLS record with a handshake.
pub(crate) const HANDSHAKE: u8 = 22;

/// What the server needs to answer a client that wants TLS (1.2 or 1.3).
#[derive(Clone)]
pub struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    secret: [u8; 32],
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// A certificate (with its chain) and its key, and the authorities that sign certificates of clients, all in PEM.
    pub fn load(certificate: &Path, key: &Path, authorities: Option<&Path>) -> io::Result<Tls> {
        let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| in_file(certificate, error))?;
        refuse_readable_by_others(key)?;
        let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| in_file(key, error))?;
        let secret = secret_of(key_der.secret_der());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| in_file(certificate, error))?;
        let builder = match authorities {
            None => builder.with_no_client_auth(),
            Some(path) => builder.with_client_cert_verifier(verifier(path, provider)?),
        };
        let config = builder
            .with_single_cert(chain, key_der)
            .map_err(|error| in_file(certificate, error))?;
        Ok(Tls {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            secret,
        })
    }

    /// The same for a front whose clients name the protocol that they want: the first of these that a client knows is spoken. Who names none is
    /// served, too.
    pub fn for_protocols(&self, protocols: &[&[u8]]) -> Tls {
        let mut config = ServerConfig::clone(self.acceptor.config());
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Tls {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            secret: self.secret,
        }
    }

    /// A number that only who has the key can know, the same after a restart.
    pub fn secret(&self) -> [u8; 32] {
        self.secret
    }

    /// The certificate in `dir`, which is made on the first start: self-signed, for clients that encrypt and do not ask
    /// who they talk to.
    pub fn load_or_generate(dir: &Path) -> io::Result<Tls> {
        let (certificate, key) = (dir.join(CERTIFICATE_FILE), dir.join(KEY_FILE));
        if !certificate.exists() {
            generate(&certificate, &key)?;
        }
        let authorities = dir.join(AUTHORITIES_FILE);
        Tls::load(&certificate, &key, authorities.exists().then_some(&*authorities))
    }
}

/// A client may come without a certificate; one that it shows must be signed by one of the authorities.
fn verifier(authorities: &Path, provider: Arc<CryptoProvider>) -> io::Result<Arc<dyn ClientCertVerifier>> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(authorities).map_err(|error| in_file(authorities, error))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| in_file(authorities, error))?;
        roots.add(certificate).map_err(|error| in_file(authorities, error))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .allow_unauthenticated()
        .build()
        .map_err(|error| in_file(authorities, error))
}

/// As ssh does: a key that others have read is no key.
fn refuse_readable_by_others(key: &Path) -> io::Result<()> {
    let mode = fs::metadata(key)
        .map_err(|error| in_file(key, error))?
        .permissions()
        .mode();
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(in_file(
            key,
            format!(
                "others may read or change the private key (mode {:03o}); mend it: chmod 600 {}",
                mode & 0o777,
                key.display()
            ),
        )),
    }
}

fn secret_of(key: &[u8]) -> [u8; 32] {
    let purpose = hmac::Key::new(hmac::HMAC_SHA256, b"answers to users who do not exist");
    let mut secret = [0; 32];
    secret.copy_from_slice(hmac::sign(&purpose, key).as_ref());
    secret
}

/// OpenSSL's names for what was agreed on.
pub(crate) fn encryption_of(connection: &ServerConnection) -> Encryption {
    let version = match connection.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
        _ => "TLSv1.3",
    };
    let suite = connection.negotiated_cipher_suite().map(|suite| suite.suite());
    let name = suite.and_then(|suite| suite.as_str()).unwrap_or_default();
    Encryption {
        version: version.to_owned(),
        cipher: openssl_name(name),
    }
}

/// `TLS13_AES_128_GCM_SHA256` as `TLS_AES_128_GCM_SHA256`, and `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`, which is of TLS 1.2,
/// as `ECDHE-RSA-AES128-GCM-SHA256`.
fn openssl_name(name: &str) -> String {
    match name.strip_prefix("TLS13_") {
        Some(suite) => format!("TLS_{suite}"),
        None => name
            .trim_start_matches("TLS_")
            .replace("_WITH_", "_")
            .replace("AES_", "AES")
            .replace("POLY1305_SHA256", "POLY1305")
            .replace('_', "-"),
    }
}

fn generate(certificate: &Path, key: &Path) -> io::Result<()> {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
    // The key first: a certificate without its key would keep the next start from making both.
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(key)?;
    file.write_all(made.signing_key.serialize_pem().as_bytes())?;
    file.sync_all()?;
    let unfinished = certificate.with_extension("new");
    let mut file = File::create(&unfinished)?;
    file.write_all(made.cert.pem().as_bytes())?;
    file.sync_all()?;
    fs::rename(unfinished, certificate)
}

fn in_file(path: &Path, error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ciphers_have_openssls_names() {
        for (name, expected) in [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            ("TLS13_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
            (
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                "ECDHE-ECDSA-CHACHA20-POLY1305",
            ),
        ] {
            assert_eq!(openssl_name(name), expected);
        }
    }

    #[test]
    fn the_certificate_is_made_once_and_the_key_is_private() {
        let dir = std::env::temp_dir().join(format!("latsdb-tls-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Tls::load_or_generate(&dir).unwrap();
        let certificate = fs::read(dir.join(CERTIFICATE_FILE)).unwrap();
        assert_eq!(
            fs::metadata(dir.join(KEY_FILE)).unwrap().permissions().mode() & 0o777,
            0o600
        );
        Tls::load_or_generate(&dir).unwrap();
        assert_eq!(fs::read(dir.join(CERTIFICATE_FILE)).unwrap(), certificate);

        fs::write(dir.join(KEY_FILE), "no key").unwrap();
        let error = Tls::load_or_generate(&dir).unwrap_err().to_string();
        assert!(error.contains(KEY_FILE), "{error}");
        fs::remove_dir_all(&dir).unwrap();
    }
}
