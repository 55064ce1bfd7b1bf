//! A certificate as k6 shows it: PEM, names of its subject and issuer, times, fingerprint. Keys and algorithms are read
//! by the files beside this one.

use super::error::CertificateError;
use super::keys::PublicKeyData;
use super::names::{Issuer, Subject, attributes};
use super::signature::signature_algorithm;
use serde::Serialize;
use sha1::{Digest as _, Sha1};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;
use x509_parser::time::ASN1Time;

/// What the first block of a PEM text holds.
#[derive(Debug)]
pub(super) struct Pem(Vec<u8>);

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Certificate {
    subject: Subject,
    issuer: Issuer,
    not_before: String,
    not_after: String,
    alt_names: Vec<String>,
    signature_algorithm: &'static str,
    /// SHA-1 of the certificate.
    finger_print: Vec<u8>,
    public_key: PublicKeyData,
}

impl Pem {
    /// The first block that is whole, whatever it is called.
    pub(super) fn read(text: &[u8]) -> Result<Self, CertificateError> {
        let block = x509_parser::pem::Pem::iter_from_buffer(text).find_map(Result::ok);
        block.map(|block| Self(block.contents)).ok_or(CertificateError::NotPem)
    }

    fn parsed(&self) -> Result<X509Certificate<'_>, CertificateError> {
        match parse_x509_certificate(&self.0) {
            Ok(([], certificate)) => Ok(certificate),
            Ok(_) => Err(CertificateError::malformed("trailing data")),
            Err(error) => Err(CertificateError::Malformed(format!("malformed certificate: {error}"))),
        }
    }

    pub(super) fn certificate(&self) -> Result<Certificate, CertificateError> {
        let parsed = self.parsed()?;
        let validity = parsed.validity();
        Ok(Certificate {
            subject: Subject::of(attributes(parsed.subject())?),
            issuer: Issuer::of(attributes(parsed.issuer())?),
            not_before: rfc3339(validity.not_before),
            not_after: rfc3339(validity.not_after),
            alt_names: alternative_names(&parsed)?,
            signature_algorithm: signature_algorithm(&parsed.signature_algorithm),
            finger_print: Sha1::digest(&self.0).to_vec(),
            public_key: PublicKeyData::of(parsed.public_key())?,
        })
    }

    pub(super) fn subject(&self) -> Result<Subject, CertificateError> {
        Ok(Subject::of(attributes(self.parsed()?.subject())?))
    }

    pub(super) fn issuer(&self) -> Result<Issuer, CertificateError> {
        Ok(Issuer::of(attributes(self.parsed()?.issuer())?))
    }

    pub(super) fn alternative_names(&self) -> Result<Vec<String>, CertificateError> {
        alternative_names(&self.parsed()?)
    }
}

/// Those that k6 knows, by their kinds: names of hosts, addresses of mail, of the Internet, URIs.
fn alternative_names(certificate: &X509Certificate<'_>) -> Result<Vec<String>, CertificateError> {
    let extension = certificate.subject_alternative_name().map_err(CertificateError::malformed)?;
    let [mut hosts, mut mails, mut addresses, mut uris] = [const { Vec::new() }; 4];
    for name in extension.iter().flat_map(|extension| &extension.value.general_names) {
        match name {
            GeneralName::DNSName(name) => hosts.push((*name).to_owned()),
            GeneralName::RFC822Name(name) => mails.push((*name).to_owned()),
            GeneralName::IPAddress(bytes) => addresses.push(ip_address(bytes)?),
            GeneralName::URI(uri) => uris.push((*uri).to_owned()),
            _ => {}
        }
    }
    Ok([hosts, mails, addresses, uris].concat())
}

/// An address of IPv4 within one of IPv6 is shown as itself.
fn ip_address(bytes: &[u8]) -> Result<String, CertificateError> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|bytes| IpAddr::V4(Ipv4Addr::from(bytes)));
    let v6 = <[u8; 16]>::try_from(bytes).map(|bytes| Ipv6Addr::from(bytes).to_canonical());
    let address = v4.or(v6).map(|address| address.to_string());
    address.map_err(|_| {
        CertificateError::Malformed(format!("cannot parse IP address of length {}", bytes.len()))
    })
}

/// `2026-11-23T08:00:00Z`.
fn rfc3339(time: ASN1Time) -> String {
    let time = time.to_datetime();
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second()
    )
}
