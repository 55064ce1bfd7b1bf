//! The names in a client's certificate, as session variables have them.

use std::fmt::Write as _;

use prony_access::CertificateNames;
use x509_parser::{
    extensions::GeneralName,
    parse_x509_certificate,
    x509::{AttributeTypeAndValue, X509Name},
};

/// The short names of RFC 4514, section 3.
const SHORT_NAMES: [(&str, &str); 9] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.6", "C"),
    ("2.5.4.9", "STREET"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("0.9.2342.19200300.100.1.1", "UID"),
];

/// What a verified certificate says; none where it cannot be read whole.
pub(super) fn read(certificate: &[u8]) -> Option<CertificateNames> {
    let (_, certificate) = parse_x509_certificate(certificate).ok()?;
    let subject = certificate.subject();
    let mut names = CertificateNames {
        subject: distinguished_name(subject),
        common_name: subject.iter_common_name().next().and_then(|name| Some(name.as_str().ok()?.to_owned())),
        expires_at: Some(certificate.validity().not_after.timestamp()),
        ..CertificateNames::default()
    };
    let alternatives = certificate.subject_alternative_name().ok()?;
    for name in alternatives.iter().flat_map(|extension| &extension.value.general_names) {
        match name {
            GeneralName::DNSName(name) => names.dns.push((*name).to_owned()),
            GeneralName::RFC822Name(name) => names.emails.push((*name).to_owned()),
            GeneralName::URI(name) => names.uris.push((*name).to_owned()),
            _ => {}
        }
    }
    Some(names)
}

/// RFC 4514, section 2: the last part of the name stands first.
fn distinguished_name(name: &X509Name<'_>) -> String {
    let parts = name.iter_rdn().map(|part| {
        let attributes: Vec<String> = part.iter().map(attribute).collect();
        attributes.join("+")
    });
    let mut parts: Vec<String> = parts.collect();
    parts.reverse();
    parts.join(",")
}

fn attribute(attribute: &AttributeTypeAndValue<'_>) -> String {
    let kind = attribute.attr_type().to_id_string();
    let short = SHORT_NAMES.iter().find(|(id, _)| *id == kind).map(|(_, name)| *name);
    match (short, attribute.as_str()) {
        (Some(short), Ok(value)) => format!("{short}={}", escaped(value)),
        (short, _) => {
            let mut text = format!("{}=#", short.unwrap_or(&kind));
            let value = attribute.attr_value();
            for byte in der(value.tag().0, value.data) {
                // Writing to a string cannot fail.
                let _ = write!(text, "{byte:02x}");
            }
            text
        }
    }
}

/// The encoding of a value of a universal type (X.690, section 8.1).
fn der(tag: u32, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag as u8];
    let length = value.len().to_be_bytes();
    let significant = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    match significant {
        [] => bytes.push(0),
        [single] if *single < 0x80 => bytes.push(*single),
        several => {
            bytes.push(0x80 | several.len() as u8);
            bytes.extend_from_slice(several);
        }
    }
    bytes.extend_from_slice(value);
    bytes
}

/// RFC 4514, section 2.4.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let last = value.chars().count().saturating_sub(1);
    for (place, character) in value.chars().enumerate() {
        match character {
            '\0' => text.push_str("\\00"),
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' => text.extend(['\\', character]),
            '#' if place == 0 => text.push_str("\\#"),
            ' ' if place == 0 || place == last => text.push_str("\\ "),
            _ => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_distinguished_name_are_escaped() {
        for (value, expected) in [
            ("till 7", "till 7"),
            ("a,O=admin", "a\\,O=admin"),
            ("#1 ", "\\#1\\ "),
            (" ", "\\ "),
            ("a+b;<c>\"\\", "a\\+b\\;\\<c\\>\\\"\\\\"),
            ("nul\0", "nul\\00"),
            ("", ""),
        ] {
            assert_eq!(escaped(value), expected);
        }
    }

    #[test]
    fn values_without_a_text_are_written_in_their_encoding() {
        assert_eq!(der(30, &[0, 65]), [30, 2, 0, 65]);
        assert_eq!(der(12, &[]), [12, 0]);
        assert_eq!(der(12, &[7; 200])[..3], [12, 0x81, 200]);
        assert_eq!(der(12, &[7; 300])[..4], [12, 0x82, 1, 44]);
    }

    #[test]
    fn what_is_no_certificate_says_nothing() {
        assert_eq!(read(b"not a certificate"), None);
    }
}
