//! Which node a certificate is of.
//!
//! A certificate of the cluster's authority may name a node, by a URI among its subject alternative names: `latsdb:node:2`. Whoever shows it is that
//! node and no other. Of one that names no node, whoever has its key may be any. Programs that come without a number, as `latsdb backup` does, are no
//! nodes, and may show either.

use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

use crate::hello::{Refusal, Refused};

const PREFIX: &str = "latsdb:node:";

/// The nodes that a certificate names, as it names them: `latsdb:node:2`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeNames(Vec<String>);

/// Whether certificates have to name their nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Naming {
    /// Where one names a node it is that node's.
    #[default]
    Optional,
    Required,
}

impl NodeNames {
    /// Of a certificate that can be read.
    pub fn of(certificate: &CertificateDer<'_>) -> Result<NodeNames, webpki::Error> {
        let certificate = EndEntityCert::try_from(certificate)?;
        let uris = certificate.valid_uri_names();
        let named = uris.filter(|uri| {
            uri.get(..PREFIX.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
        });
        Ok(NodeNames(named.map(str::to_owned).collect()))
    }

    /// Whether `node` may show the certificate; 0: whoever is no node.
    pub fn judge(&self, node: u32, naming: Naming) -> Result<(), Refused> {
        let refuse = |reason| {
            Err(Refused {
                refusal: Refusal::Certificate,
                reason,
            })
        };
        match (self.0.is_empty(), naming) {
            _ if node == 0 => Ok(()),
            (true, Naming::Optional) => Ok(()),
            (true, Naming::Required) => refuse(format!(
                "node {node} shows a certificate that names no node, and --peer-tls-require-node-name is set: give it one with \
                 URI:{PREFIX}{node} among its subject alternative names"
            )),
            (false, _) if self.0.iter().any(|name| name[PREFIX.len()..] == node.to_string()) => Ok(()),
            (false, _) => refuse(format!(
                "node {node} shows a certificate of {}: give it one of its own, with URI:{PREFIX}{node} among its subject alternative names",
                self.0.join(", ")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(names: &[&str], node: u32, naming: Naming) -> Result<(), String> {
        let names = NodeNames(names.iter().map(|name| (*name).to_owned()).collect());
        names.judge(node, naming).map_err(|refused| refused.reason)
    }

    #[test]
    fn a_name_is_that_nodes_alone() {
        assert_eq!(judged(&[], 2, Naming::Optional), Ok(()));
        assert_eq!(judged(&["latsdb:node:2"], 2, Naming::Required), Ok(()));
        assert_eq!(judged(&["latsdb:node:1", "LATSDB:node:2"], 2, Naming::Required), Ok(()));
        let reason = judged(&["latsdb:node:2"], 3, Naming::Optional).unwrap_err();
        assert!(
            reason.contains("node 3 shows a certificate of latsdb:node:2"),
            "{reason}"
        );
        for wrong in ["latsdb:node:", "latsdb:node:02", "latsdb:node:22", "latsdb:node:2 "] {
            assert!(judged(&[wrong], 2, Naming::Optional).is_err(), "{wrong}");
        }
        assert!(judged(&[], 2, Naming::Required).is_err());
        assert_eq!(judged(&["latsdb:node:2"], 0, Naming::Required), Ok(()));
    }
}
