//! Digest access authentication (RFC 7616): the answer to a challenge.
//!
//! The library for this brings a second generation of hash functions and of random numbers.

use md5::{Digest as _, Md5};
use sha2::Sha256;
use std::fmt::Write as _;

/// What a server asks for in `WWW-Authenticate`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Challenge {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    quality: Quality,
    algorithm: Algorithm,
    is_session: bool,
}

/// `qop`: what the digest covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Quality {
    /// As before RFC 2617.
    #[default]
    Legacy,
    Auth,
    AuthInt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Algorithm {
    #[default]
    Md5,
    Sha256,
}

/// What is to be authorised.
#[derive(Debug, Clone, Copy)]
pub struct DigestRequest<'a> {
    pub method: &'a str,
    /// As in the request's first line.
    pub target: &'a str,
    pub body: &'a [u8],
    pub user: &'a str,
    pub password: &'a str,
    /// The client's nonce: random, of letters and digits.
    pub client_nonce: &'a str,
}

impl Challenge {
    /// Reads the value of `WWW-Authenticate`. `None` where it is no digest challenge of a kind that is known.
    pub fn parse(header: &str) -> Option<Self> {
        let (scheme, mut rest) = header.trim_start().split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("digest") {
            return None;
        }
        let mut challenge = Self::default();
        while let Some((name, value, after)) = next_parameter(rest) {
            rest = after;
            match name.to_ascii_lowercase().as_str() {
                "realm" => challenge.realm = value,
                "nonce" => challenge.nonce = value,
                "opaque" => challenge.opaque = Some(value),
                "qop" => challenge.quality = Quality::best_of(&value),
                "algorithm" => {
                    let lower = value.to_ascii_lowercase();
                    let plain = lower.strip_suffix("-sess");
                    challenge.is_session = plain.is_some();
                    challenge.algorithm = match plain.unwrap_or(&lower) {
                        "md5" => Algorithm::Md5,
                        "sha-256" => Algorithm::Sha256,
                        _ => return None,
                    };
                }
                _ => {}
            }
        }
        (!challenge.nonce.is_empty()).then_some(challenge)
    }

    /// The value of `Authorization`.
    pub fn answer(&self, request: &DigestRequest<'_>) -> String {
        let hash = |text: &str| self.algorithm.hash(text.as_bytes());
        let mut secret = hash(&format!("{}:{}:{}", request.user, self.realm, request.password));
        if self.is_session {
            secret = hash(&format!("{secret}:{}:{}", self.nonce, request.client_nonce));
        }
        let mut subject = format!("{}:{}", request.method, request.target);
        if self.quality == Quality::AuthInt {
            let _ = write!(subject, ":{}", self.algorithm.hash(request.body));
        }
        let subject = hash(&subject);
        let nonce = &self.nonce;
        let response = match self.quality.as_str() {
            None => hash(&format!("{secret}:{nonce}:{subject}")),
            Some(qop) => hash(&format!("{secret}:{nonce}:00000001:{}:{qop}:{subject}", request.client_nonce)),
        };
        let user = request.user.replace('\\', "\\\\").replace('"', "\\\"");
        let mut answer = format!(
            "Digest username=\"{user}\", realm=\"{}\", nonce=\"{nonce}\", uri=\"{}\", response=\"{response}\", \
             algorithm={}{}",
            self.realm,
            request.target,
            self.algorithm.as_str(),
            if self.is_session { "-sess" } else { "" },
        );
        if let Some(qop) = self.quality.as_str() {
            let _ = write!(answer, ", qop={qop}, nc=00000001, cnonce=\"{}\"", request.client_nonce);
        }
        if let Some(opaque) = &self.opaque {
            let _ = write!(answer, ", opaque=\"{opaque}\"");
        }
        answer
    }
}

impl Quality {
    fn best_of(offered: &str) -> Self {
        let has = |name: &str| offered.split(',').any(|offer| offer.trim().eq_ignore_ascii_case(name));
        match (has("auth"), has("auth-int")) {
            (true, _) => Self::Auth,
            (false, true) => Self::AuthInt,
            (false, false) => Self::Legacy,
        }
    }

    const fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Legacy => None,
            Self::Auth => Some("auth"),
            Self::AuthInt => Some("auth-int"),
        }
    }
}

impl Algorithm {
    fn hash(self, bytes: &[u8]) -> String {
        match self {
            Self::Md5 => hex(&Md5::digest(bytes)),
            Self::Sha256 => hex(&Sha256::digest(bytes)),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Md5 => "MD5",
            Self::Sha256 => "SHA-256",
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The first `name=value` of a list, the value without its quotes, and what follows.
fn next_parameter(text: &str) -> Option<(&str, String, &str)> {
    let (name, rest) = text.trim_start_matches([' ', ',', '\t']).split_once('=')?;
    let (name, rest) = (name.trim(), rest.trim_start());
    let Some(inner) = rest.strip_prefix('"') else {
        let end = rest.find(',').unwrap_or(rest.len());
        return Some((name, rest[..end].trim().to_owned(), &rest[end..]));
    };
    let mut value = String::new();
    let mut letters = inner.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((name, value, &inner[at + 1..])),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    Some((name, value, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(challenge: &str, client_nonce: &str, password: &str, expected: &str) {
        let request = DigestRequest {
            method: "GET",
            target: "/dir/index.html",
            body: b"",
            user: "Mufasa",
            password,
            client_nonce,
        };
        let answer = Challenge::parse(challenge).expect("a challenge").answer(&request);
        let (_, rest) = answer.split_once("response=\"").unwrap();
        assert_eq!(rest.split_once('"').unwrap().0, expected, "{answer}");
    }

    #[test]
    fn the_examples_of_the_rfcs_are_answered() {
        // RFC 2617, 3.5; RFC 7616, 3.9.1 twice.
        check(
            "Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", \
             nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"",
            "0a4f113b",
            "Circle Of Life",
            "6629fae49393a05397450978507c4ef1",
        );
        let rest = "realm=\"http-auth@example.org\", qop=\"auth, auth-int\", \
                    nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", \
                    opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";
        let client_nonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
        check(
            &format!("Digest {rest}, algorithm=MD5"),
            client_nonce,
            "Circle of Life",
            "8ca523f5e9506fed4657c9700eebdbec",
        );
        check(
            &format!("digest {rest}, algorithm=SHA-256"),
            client_nonce,
            "Circle of Life",
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
        );
    }

    #[test]
    fn other_challenges_are_none() {
        for header in ["", "Basic realm=\"x\"", "Digest realm=\"x\"", "Digest nonce=\"x\", algorithm=SHA-512"]
        {
            assert_eq!(Challenge::parse(header), None, "{header}");
        }
        assert!(Challenge::parse("Digest nonce=\"open, realm=\"").is_some());
    }
}
