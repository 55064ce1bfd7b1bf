//! Certificates with several kinds of keys and names, and texts that are none.

use super::certificate::Pem;
use super::error::CertificateError;
use rcgen::string::{BmpString, Ia5String, PrintableString, TeletexString, UniversalString};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, DnValue, KeyPair, PKCS_ECDSA_P256_SHA256,
    PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA512, SanType, SignatureAlgorithm, date_time_ymd,
};
use serde_json::{Value, json};

fn pem(algorithm: &'static SignatureAlgorithm, change: impl FnOnce(&mut CertificateParams)) -> String {
    let key = KeyPair::generate_for(algorithm).expect("random numbers");
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    (params.not_before, params.not_after) = (date_time_ymd(2024, 2, 29), date_time_ymd(2051, 1, 2));
    change(&mut params);
    params.self_signed(&key).expect("valid fields").pem()
}

fn named(names: &[(DnType, DnValue)]) -> String {
    pem(&PKCS_ECDSA_P256_SHA256, |params| {
        for (kind, value) in names {
            params.distinguished_name.push(kind.clone(), value.clone());
        }
    })
}

fn read(text: &str) -> Result<Pem, CertificateError> {
    Pem::read(text.as_bytes())
}

fn whole(text: &str) -> Result<Value, CertificateError> {
    let certificate = read(text)?.certificate()?;
    Ok(serde_json::to_value(certificate).expect("texts and numbers are JSON"))
}

fn subject(text: &str) -> Result<Value, CertificateError> {
    let subject = read(text)?.subject()?;
    Ok(serde_json::to_value(subject).expect("texts are JSON"))
}

#[test]
fn keys_and_signatures_are_told_by_their_kinds() {
    let rsa = whole(&pem(&PKCS_RSA_SHA512, |_| {})).expect("a certificate");
    assert_eq!(rsa["signatureAlgorithm"], "SHA512-RSA");
    assert_eq!(
        (&rsa["publicKey"]["algorithm"], &rsa["publicKey"]["key"]["e"]),
        (&json!("RSA"), &json!(65537))
    );
    assert!(rsa["publicKey"]["key"]["n"].as_str().is_some_and(|n| n.trim_start_matches('0').len() == 512));
    for (algorithm, signature, curve, bits) in [
        (&PKCS_ECDSA_P256_SHA256, "ECDSA-SHA256", "P-256", 256),
        (&PKCS_ECDSA_P384_SHA384, "ECDSA-SHA384", "P-384", 384),
    ] {
        let read = whole(&pem(algorithm, |_| {})).expect("a certificate");
        assert_eq!(read["signatureAlgorithm"], signature);
        let key = &read["publicKey"]["key"];
        assert_eq!(key["curve"], json!({ "name": curve, "bit_size": bits }));
        assert!(["x", "y"].iter().all(|at| key[at].as_str().is_some_and(|text| text.len() == bits / 4)));
    }
}

#[test]
fn an_edwards_key_is_refused_and_its_names_are_not() {
    let text = pem(&PKCS_ED25519, |params| params.distinguished_name.push(DnType::CommonName, "ed"));
    assert_eq!(whole(&text), Err(CertificateError::UnknownKey));
    assert_eq!(subject(&text).expect("a name")["commonName"], "ed");
    let issuer = read(&text).and_then(|pem| pem.issuer()).expect("a name");
    assert_eq!(serde_json::to_value(issuer).expect("texts")["commonName"], "ed");
}

#[test]
fn times_have_no_fraction_on_both_sides_of_2050() {
    let read = whole(&named(&[])).expect("a certificate");
    assert_eq!(read["notBefore"], "2024-02-29T00:00:00Z");
    assert_eq!(read["notAfter"], "2051-01-02T00:00:00Z");
    assert_eq!(read["fingerPrint"].as_array().map(Vec::len), Some(20));
}

#[test]
fn alternative_names_stand_by_their_kinds() {
    let ia5 = |text: &str| Ia5String::try_from(text).expect("ASCII");
    let text = pem(&PKCS_ECDSA_P256_SHA256, |params| {
        params.subject_alt_names = vec![
            SanType::URI(ia5("https://shop.test/a?b=c")),
            SanType::IpAddress([2, 1, 0, 9].into()),
            SanType::Rfc822Name(ia5("ann@shop.test")),
            SanType::IpAddress(std::net::Ipv6Addr::LOCALHOST.into()),
            SanType::IpAddress(std::net::Ipv4Addr::new(9, 8, 7, 6).to_ipv6_mapped().into()),
            SanType::DnsName(ia5("*.shop.test")),
            SanType::DnsName(ia5("shop.test")),
        ];
    });
    let names = read(&text).and_then(|pem| pem.alternative_names()).expect("names");
    assert_eq!(
        names,
        ["*.shop.test", "shop.test", "ann@shop.test", "2.1.0.9", "::1", "9.8.7.6", "https://shop.test/a?b=c"]
    );
    assert_eq!(read(&named(&[])).and_then(|pem| pem.alternative_names()), Ok(Vec::new()));
}

#[test]
fn names_of_all_types_of_text_are_read() {
    let printable = PrintableString::try_from("DE").expect("printable");
    let text = named(&[
        (DnType::CountryName, DnValue::PrintableString(printable)),
        (DnType::OrganizationName, DnValue::Utf8String("Käse, \"Co\" = 1".to_owned())),
        (DnType::OrganizationalUnitName, DnValue::BmpString(BmpString::try_from("Ω unit").expect("UCS-2"))),
        (DnType::LocalityName, DnValue::TeletexString(TeletexString::try_from("Koln").expect("T.61"))),
        (
            DnType::CustomDnType(vec![0, 9, 2342, 1]),
            DnValue::Ia5String(Ia5String::try_from("x@y").expect("ASCII")),
        ),
    ]);
    let read = subject(&text).expect("a name");
    let expected = json!({
        "commonName": "", "country": "DE", "postalCode": "", "stateOrProvinceName": "", "localityName": "Koln",
        "streetAddress": "", "organizationName": "Käse, \"Co\" = 1", "organizationalUnitName": ["Ω unit"],
        "names": [
            { "type": "2.5.4.6", "value": "DE" },
            { "type": "2.5.4.10", "value": "Käse, \"Co\" = 1" },
            { "type": "2.5.4.11", "value": "Ω unit" },
            { "type": "2.5.4.7", "value": "Koln" },
            { "type": "0.9.2342.1", "value": "x@y" },
        ],
    });
    assert_eq!(read, expected);
    let universal = DnValue::UniversalString(UniversalString::try_from("x").expect("UTF-32"));
    let refused = subject(&named(&[(DnType::CommonName, universal)])).expect_err("Go reads no such text");
    assert_eq!(
        refused.to_string(),
        "failed to parse certificate: x509: invalid RDNSequence: invalid attribute value: unsupported string type: 28"
    );
}

#[test]
fn what_is_no_certificate_is_refused() {
    let good = named(&[(DnType::CommonName, DnValue::Utf8String("good".to_owned()))]);
    let end = good.find("-----END").expect("an end");
    for text in [
        "",
        "not a certificate",
        &good[..end],
        "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n",
    ] {
        assert_eq!(subject(text), Err(CertificateError::NotPem), "{text}");
    }
    // What stands around a block does not matter, and a block that is broken is passed over.
    let around =
        format!("a comment\n-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n{good}\nmore");
    assert_eq!(subject(&around).expect("a certificate")["commonName"], "good");
    let lines: Vec<&str> = good.lines().collect();
    let shorter = [&lines[..2], &lines[3..]].concat().join("\n");
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("random numbers").serialize_pem();
    for text in [shorter, key] {
        let refused = subject(&text).expect_err("no certificate").to_string();
        assert!(refused.starts_with("failed to parse certificate: x509: "), "{refused}");
    }
}
