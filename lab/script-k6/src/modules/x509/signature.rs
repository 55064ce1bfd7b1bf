//! How a certificate is signed, in Go's words.

use x509_parser::asn1_rs::Any;
use x509_parser::signature_algorithm::RsaSsaPssParams;
use x509_parser::x509::AlgorithmIdentifier;

const UNKNOWN: &str = "UnknownSignatureAlgorithm";
const RSA_PSS: &str = "1.2.840.113549.1.1.10";
/// By the identifiers of RFC 3279, 4055, 5758 and 8410.
const ALGORITHMS: [(&str, &str); 13] = [
    ("1.2.840.113549.1.1.4", "MD5-RSA"),
    ("1.2.840.113549.1.1.5", "SHA1-RSA"),
    ("1.3.14.3.2.29", "SHA1-RSA"),
    ("1.2.840.113549.1.1.11", "SHA256-RSA"),
    ("1.2.840.113549.1.1.12", "SHA384-RSA"),
    ("1.2.840.113549.1.1.13", "SHA512-RSA"),
    ("1.2.840.10040.4.3", "DSA-SHA1"),
    ("2.16.840.1.101.3.4.3.2", "DSA-SHA256"),
    ("1.2.840.10045.4.1", "ECDSA-SHA1"),
    ("1.2.840.10045.4.3.2", "ECDSA-SHA256"),
    ("1.2.840.10045.4.3.3", "ECDSA-SHA384"),
    ("1.2.840.10045.4.3.4", "ECDSA-SHA512"),
    ("1.3.101.112", "Ed25519"),
];
/// Of RSASSA-PSS: the hash, and how long the salt has to be.
const PSS: [(&str, u32, &str); 3] = [
    ("2.16.840.1.101.3.4.2.1", 32, "SHA256-RSAPSS"),
    ("2.16.840.1.101.3.4.2.2", 48, "SHA384-RSAPSS"),
    ("2.16.840.1.101.3.4.2.3", 64, "SHA512-RSAPSS"),
];

pub(super) fn signature_algorithm(algorithm: &AlgorithmIdentifier<'_>) -> &'static str {
    let id = algorithm.algorithm.to_id_string();
    if id == RSA_PSS {
        return algorithm.parameters().and_then(pss).unwrap_or(UNKNOWN);
    }
    ALGORITHMS.iter().find(|(known, _)| *known == id).map_or(UNKNOWN, |(_, name)| name)
}

/// Where hash, mask and salt belong together.
fn pss(parameters: &Any<'_>) -> Option<&'static str> {
    let parameters = RsaSsaPssParams::try_from(parameters).ok()?;
    let hash = parameters.hash_algorithm_oid().to_id_string();
    let mask = parameters.mask_gen_algorithm().ok()?.hash.to_id_string();
    let known = PSS.iter().find(|(id, salt, _)| *id == hash && *salt == parameters.salt_length());
    known.filter(|_| mask == hash && parameters.trailer_field() == 1).map(|(.., name)| *name)
}
