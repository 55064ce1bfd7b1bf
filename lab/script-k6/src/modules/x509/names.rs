//! Distinguished names (RFC 5280, section 4.1.2.4) as k6 shows them: attributes by their types, and all of them in order.

use super::error::CertificateError;
use serde::Serialize;
use x509_parser::asn1_rs::{Any, Tag};
use x509_parser::x509::X509Name;

/// An attribute of a name: its type as an object identifier, `2.5.4.3`, and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Attribute {
    #[serde(rename = "type")]
    kind: String,
    value: String,
}

/// Members without a value are empty texts.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Subject {
    common_name: String,
    country: String,
    postal_code: String,
    state_or_province_name: String,
    locality_name: String,
    street_address: String,
    organization_name: String,
    organizational_unit_name: Vec<String>,
    names: Vec<Attribute>,
}

/// Members without a value are empty texts.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Issuer {
    common_name: String,
    country: String,
    state_or_province_name: String,
    locality_name: String,
    organization_name: String,
    names: Vec<Attribute>,
}

/// All attributes in their order.
pub(super) fn attributes(name: &X509Name<'_>) -> Result<Vec<Attribute>, CertificateError> {
    let attribute = |(kind, value): (String, &Any<'_>)| Ok(Attribute { kind, value: text_of(value)? });
    name.iter_attributes()
        .map(|part| (part.attr_type().to_id_string(), part.attr_value()))
        .map(attribute)
        .collect()
}

impl Subject {
    pub(super) fn of(names: Vec<Attribute>) -> Self {
        Self {
            common_name: last(&names, "2.5.4.3"),
            country: first(&names, "2.5.4.6"),
            postal_code: first(&names, "2.5.4.17"),
            state_or_province_name: first(&names, "2.5.4.8"),
            locality_name: first(&names, "2.5.4.7"),
            street_address: first(&names, "2.5.4.9"),
            organization_name: first(&names, "2.5.4.10"),
            organizational_unit_name: of_kind(&names, "2.5.4.11").collect(),
            names,
        }
    }
}

impl Issuer {
    pub(super) fn of(names: Vec<Attribute>) -> Self {
        Self {
            common_name: last(&names, "2.5.4.3"),
            country: first(&names, "2.5.4.6"),
            state_or_province_name: first(&names, "2.5.4.8"),
            locality_name: first(&names, "2.5.4.7"),
            organization_name: first(&names, "2.5.4.10"),
            names,
        }
    }
}

fn of_kind<'a>(names: &'a [Attribute], kind: &'a str) -> impl DoubleEndedIterator<Item = String> + 'a {
    names.iter().filter(move |name| name.kind == kind).map(|name| name.value.clone())
}

fn first(names: &[Attribute], kind: &str) -> String {
    of_kind(names, kind).next().unwrap_or_default()
}

/// Go keeps one common name, whichever comes last.
fn last(names: &[Attribute], kind: &str) -> String {
    of_kind(names, kind).next_back().unwrap_or_default()
}

/// Of the types of text that Go reads.
fn text_of(value: &Any<'_>) -> Result<String, CertificateError> {
    let bytes = value.data;
    let refused = |what: &str| {
        CertificateError::Malformed(format!("invalid RDNSequence: invalid attribute value: {what}"))
    };
    match value.tag() {
        Tag::Utf8String | Tag::PrintableString | Tag::NumericString | Tag::Ia5String => {
            String::from_utf8(bytes.to_vec()).map_err(|_| refused("invalid UTF-8 string"))
        }
        // Nearly all of T.61 is as in Latin-1.
        Tag::TeletexString => Ok(bytes.iter().map(|byte| char::from(*byte)).collect()),
        Tag::BmpString => {
            let (units, rest) = bytes.as_chunks::<2>();
            let units: Vec<u16> = units.iter().map(|unit| u16::from_be_bytes(*unit)).collect();
            if rest.is_empty() {
                Ok(String::from_utf16_lossy(&units))
            } else {
                Err(refused("invalid BMPString"))
            }
        }
        tag => Err(refused(&format!("unsupported string type: {}", tag.0))),
    }
}
