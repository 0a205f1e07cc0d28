//! TLS between nodes: both sides show a certificate, and each believes those that the cluster's own authority has signed.

use std::fmt::Display;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::hello::Refused;
use crate::names::{Naming, NodeNames};
use crate::socket::Socket;

/// The first byte of a TLS connection.
const HANDSHAKE_RECORD: u8 = 0x16;

/// A node's certificate and key, and the authority that signs those of all nodes.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    connector: TlsConnector,
    name: Option<ServerName<'static>>,
    naming: Naming,
    /// By its own certificate.
    own_names: NodeNames,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Reads PEM files: the node's certificate with its chain, its key, which only its owner may read, and the authorities.
    ///
    /// A certificate must hold good for the host that a node is called at, or for `name` if there is one: then all nodes can have the same
    /// names, or the same certificate. If it says what it may be used for, both server and client authentication must be among it.
    pub fn load(certificate: &Path, key: &Path, authorities: &Path, name: Option<&str>) -> io::Result<Tls> {
        let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| in_file(certificate, error))?;
        refuse_readable_by_others(key)?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| in_file(key, error))?;
        let mut roots = RootCertStore::empty();
        for authority in CertificateDer::pem_file_iter(authorities).map_err(|error| in_file(authorities, error))? {
            let authority = authority.map_err(|error| in_file(authorities, error))?;
            roots.add(authority).map_err(|error| in_file(authorities, error))?;
        }
        let (roots, provider) = (Arc::new(roots), Arc::new(aws_lc_rs::default_provider()));

        let own_names = chain.first().map_or_else(|| Ok(NodeNames::default()), NodeNames::of);
        let own_names = own_names.map_err(|error| in_file(certificate, error))?;

        let clients = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone()).build();
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .with_client_cert_verifier(clients.map_err(|error| in_file(authorities, error))?)
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(|error| in_file(certificate, error))?;

        let servers = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .with_webpki_verifier(servers.map_err(|error| in_file(authorities, error))?)
            .with_client_auth_cert(chain, key)
            .map_err(|error| in_file(certificate, error))?;

        let name = name.map(|name| ServerName::try_from(name.to_owned()));
        Ok(Tls {
            acceptor: TlsAcceptor::from(Arc::new(server)),
            connector: TlsConnector::from(Arc::new(client)),
            name: name.transpose().map_err(io::Error::other)?,
            naming: Naming::default(),
            own_names,
        })
    }

    #[must_use]
    pub fn with_naming(self, naming: Naming) -> Tls {
        Tls { naming, ..self }
    }

    /// Whether a node may show the certificate with these names.
    pub(crate) fn judge(&self, names: &NodeNames, node: u32) -> Result<(), Refused> {
        names.judge(node, self.naming)
    }

    pub(crate) fn judge_own(&self, node: u32) -> Result<(), Refused> {
        self.judge(&self.own_names, node)
    }

    /// Calls a node at `host`.
    pub(crate) async fn connect(&self, stream: TcpStream, host: &str) -> Result<Socket, String> {
        let name = match &self.name {
            Some(name) => name.clone(),
            None => ServerName::try_from(host.to_owned()).map_err(|error| format!("{host}: {error}"))?,
        };
        match self.connector.connect(name, stream).await {
            Ok(stream) => {
                let names = names(stream.get_ref().1.peer_certificates())?;
                Ok(Socket::encrypted(stream, names))
            }
            Err(error) => Err(format!("no encryption with the other end: {error}")),
        }
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> Result<Socket, String> {
        let mut first = [0];
        match stream.peek(&mut first).await {
            Ok(1) if first[0] != HANDSHAKE_RECORD => {
                return Err("the other end does not speak TLS; all nodes of a cluster do, or none".into());
            }
            Ok(0) => return Err("the other end has closed the connection".into()),
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
        match self.acceptor.accept(stream).await {
            Ok(stream) => {
                let names = names(stream.get_ref().1.peer_certificates())?;
                Ok(Socket::encrypted(stream, names))
            }
            Err(error) => Err(format!("no encryption with the other end: {error}")),
        }
    }
}

/// Of a chain that was verified; its first certificate is the other end's own.
fn names(chain: Option<&[CertificateDer<'_>]>) -> Result<NodeNames, String> {
    let own = chain
        .and_then(<[_]>::first)
        .ok_or("the other end shows no certificate")?;
    NodeNames::of(own).map_err(|error| format!("the other end's certificate cannot be read: {error}"))
}

/// As ssh does: a key that others have read is no key.
fn refuse_readable_by_others(key: &Path) -> io::Result<()> {
    let metadata = fs::metadata(key).map_err(|error| in_file(key, error))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let reason = format!(
        "others may read or change the private key (mode {mode:03o}); mend it: chmod 600 {}",
        key.display()
    );
    Err(in_file(key, reason))
}

fn in_file(path: &Path, error: impl Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}
