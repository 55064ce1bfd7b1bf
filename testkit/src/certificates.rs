//! An authority of the tests' own with certificates for servers and clients, as PEM files in a temporary directory.

pub use rcgen::DnType;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DistinguishedName,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SanType,
    SerialNumber, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

/// When a certificate holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Now,
    Expired,
    /// From now on for so long.
    For(Duration),
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

/// A client's certificate, as a test wants it.
#[derive(Debug, Clone, Copy)]
pub struct ClientNames<'a> {
    pub serial: u64,
    /// The parts of its subject, the first one first.
    pub subject: &'a [(DnType, &'a str)],
    pub dns: &'a [&'a str],
    pub emails: &'a [&'a str],
    pub uris: &'a [&'a str],
    pub validity: Validity,
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

    /// The PEM texts of a server's certificate and key.
    pub fn server_pem(&self, names: &[&str], validity: Validity) -> (String, String) {
        let (identity, key) = self.issue(names, ExtendedKeyUsagePurpose::ServerAuth, validity);
        (pem("CERTIFICATE", &identity.certificate), key.serialize_pem())
    }

    /// For a client of these names.
    ///
    /// # Panics
    /// When a name is no ASCII.
    pub fn client_of(&self, names: ClientNames<'_>) -> Identity {
        let ia5 = |name: &&str| (*name).try_into().expect("names are ASCII");
        let mut params = CertificateParams::default();
        let mut subject = DistinguishedName::new();
        for (kind, value) in names.subject {
            subject.push(kind.clone(), *value);
        }
        params.distinguished_name = subject;
        params.serial_number = Some(SerialNumber::from(names.serial));
        let dns = names.dns.iter().map(|name| SanType::DnsName(ia5(name)));
        let emails = names.emails.iter().map(|name| SanType::Rfc822Name(ia5(name)));
        let uris = names.uris.iter().map(|name| SanType::URI(ia5(name)));
        params.subject_alt_names = dns.chain(emails).chain(uris).collect();
        self.sign(params, ExtendedKeyUsagePurpose::ClientAuth, names.validity).0
    }

    /// The PEM text of a list that revokes certificates with these serial numbers.
    ///
    /// # Panics
    /// Never: the list's fields are valid.
    pub fn revocation_list(&self, serials: &[u64], validity: Validity) -> String {
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: date_time_ymd(2001, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let next_year = if validity == Validity::Expired { 2002 } else { 2090 };
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2001, 1, 1),
            next_update: date_time_ymd(next_year, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = params.signed_by(&self.authority).expect("the list's fields are valid");
        pem("X509 CRL", list.der())
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
        self.sign(params, usage, validity)
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        usage: ExtendedKeyUsagePurpose,
        validity: Validity,
    ) -> (Identity, KeyPair) {
        params.extended_key_usages = vec![usage];
        match validity {
            Validity::Now => {}
            Validity::Expired => {
                params.not_before = date_time_ymd(2000, 1, 1);
                params.not_after = date_time_ymd(2001, 1, 1);
            }
            Validity::For(time) => {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                params.not_after = date_time_ymd(1970, 1, 1) + now.expect("it is after 1970") + time;
            }
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

/// The PEM text of the key.
pub fn key_pem(identity: &Identity) -> String {
    pem("PRIVATE KEY", identity.key.secret_der())
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
