//! An authority of the tests' own with certificates for servers and clients, as PEM files in a temporary directory.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// When a certificate holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Now,
    Expired,
}

/// A chain of one, and its key.
#[derive(Debug)]
pub struct Identity {
    pub certificate: CertificateDer<'static>,
    pub key: PrivateKeyDer<'static>,
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self { certificate: self.certificate.clone(), key: self.key.clone_key() }
    }
}

#[derive(Debug)]
pub struct Certificates {
    directory: TempDir,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Certificates {
    /// # Panics
    /// When the temporary directory cannot be written.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name = name("prony test authority");
        let authority =
            CertifiedIssuer::self_signed(params, key()).expect("the authority's fields are valid");
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        fs::write(directory.path().join("ca.pem"), authority.pem()).expect("the certificate can be written");
        Self { directory, authority }
    }

    pub fn ca_path(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    pub fn ca(&self) -> CertificateDer<'static> {
        self.authority.der().clone()
    }

    /// For a server of these names and addresses.
    pub fn server(&self, names: &[&str], validity: Validity) -> Identity {
        self.issue(names, ExtendedKeyUsagePurpose::ServerAuth, validity).0
    }

    /// What `openssl req -x509` makes for a server: signed by itself, an authority's, and in a file.
    ///
    /// # Panics
    /// When the temporary directory cannot be written.
    pub fn self_signed(&self, names: &[&str]) -> (Identity, PathBuf) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("the names are valid");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = name("prony self-signed");
        let key = key();
        let certificate = params.self_signed(&key).expect("the fields are valid");
        let path = self.directory.path().join("self-signed.pem");
        fs::write(&path, certificate.pem()).expect("the certificate can be written");
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        (Identity { certificate: certificate.der().clone(), key }, path)
    }

    /// Paths of a client's certificate and key.
    ///
    /// # Panics
    /// When the temporary directory cannot be written.
    pub fn client(&self) -> (PathBuf, PathBuf) {
        self.files("client", &["client.test"], ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// Paths of the certificate and key of a server with these names, for one that is another program.
    ///
    /// # Panics
    /// When the temporary directory cannot be written.
    pub fn server_files(&self, names: &[&str]) -> (PathBuf, PathBuf) {
        self.files("server", names, ExtendedKeyUsagePurpose::ServerAuth)
    }

    fn files(&self, name: &str, names: &[&str], usage: ExtendedKeyUsagePurpose) -> (PathBuf, PathBuf) {
        let (identity, key) = self.issue(names, usage, Validity::Now);
        let path = |end: &str| self.directory.path().join(format!("{name}{end}.pem"));
        let paths = (path(""), path("-key"));
        fs::write(&paths.0, pem("CERTIFICATE", &identity.certificate))
            .expect("the certificate can be written");
        fs::write(&paths.1, key.serialize_pem()).expect("the key can be written");
        paths
    }

    fn issue(
        &self,
        names: &[&str],
        usage: ExtendedKeyUsagePurpose,
        validity: Validity,
    ) -> (Identity, KeyPair) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("the names are valid");
        params.distinguished_name = name("prony test peer");
        params.extended_key_usages = vec![usage];
        if validity == Validity::Expired {
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        let key = key();
        let certificate = params.signed_by(&key, &self.authority).expect("the fields are valid");
        let identity = Identity {
            certificate: certificate.der().clone(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        };
        (identity, key)
    }
}

impl Default for Certificates {
    fn default() -> Self {
        Self::new()
    }
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key can be made")
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}

fn pem(label: &str, der: &[u8]) -> String {
    const LINE: usize = 48;
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in der.chunks(LINE) {
        for three in line.chunks(3) {
            let word = three.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
                << (8 * (3 - three.len()));
            for place in 0..4 {
                let digit = DIGITS[(word >> (18 - 6 * place) & 63) as usize];
                text.push(if place <= three.len() { char::from(digit) } else { '=' });
            }
        }
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}
