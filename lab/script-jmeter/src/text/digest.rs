//! `__digest`: algorithm, text, salt, whether in capitals, variable.

use super::expression::FunctionCall;
use crate::run::context::Context;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

pub(super) fn digest(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let algorithm = call.argument(0, context).trim().to_ascii_uppercase();
    let mut text = call.argument(1, context);
    text.push_str(&call.argument(2, context));
    let hex = match algorithm.as_str() {
        "MD5" => hex::<Md5>(&text),
        "SHA-1" | "SHA1" => hex::<Sha1>(&text),
        "SHA-224" | "SHA224" => hex::<Sha224>(&text),
        "SHA-256" | "SHA256" => hex::<Sha256>(&text),
        "SHA-384" | "SHA384" => hex::<Sha384>(&text),
        "SHA-512" | "SHA512" => hex::<Sha512>(&text),
        _ => {
            let known = "MD5, SHA-1, SHA-224, SHA-256, SHA-384, SHA-512";
            context.shared.log(&format!("__digest: `{algorithm}` is none of {known}"));
            return String::new();
        }
    };
    let in_capitals = call.argument(3, context).trim().eq_ignore_ascii_case("true");
    let value = if in_capitals { hex.to_uppercase() } else { hex };
    call.keep(4, &value, context);
    value
}

fn hex<D: Digest>(text: &str) -> String {
    let digits =
        |byte: u8| [byte >> 4, byte & 15].map(|half| char::from(b"0123456789abcdef"[usize::from(half)]));
    D::digest(text.as_bytes()).iter().copied().flat_map(digits).collect()
}
