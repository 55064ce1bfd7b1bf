//! The attacks on tokens that are known (RFC 8725 and its references), each with a token that would be accepted otherwise.

use super::*;

const CUSTOMER_HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// Signed as the shop's issuer would, whatever is in it.
fn signed(header: &str, payload: &str) -> String {
    token_of(header, payload, hs256(SECRET.as_bytes()))
}

#[test]
fn a_good_token_is_accepted() {
    let identity = bearer(&shop(), &token(&customer()), NOW).expect("it is accepted");
    assert_eq!(identity.session[..], [json!("ann"), json!(7)]);
    assert_eq!(identity.subject.as_deref(), Some("ann"));
    assert_eq!(identity.expires_at, Some(NOW + 330));
}

#[test]
fn tokens_without_a_signature_are_refused() {
    let shop = shop();
    for name in ["none", "None", "NONE", "nOnE", ""] {
        let header = json!({"alg": name}).to_string();
        let unsigned = token_of(&header, &customer().to_string(), |_| Vec::new());
        assert!(refusal(&shop, &unsigned, NOW).contains("is not known"), "{name}");
        let signed = signed(&header, &customer().to_string());
        assert!(refusal(&shop, &signed, NOW).contains("is not known"), "{name}");
    }
    let whole = token(&customer());
    let (front, _) = whole.rsplit_once('.').expect("it has dots");
    assert_eq!(refusal(&shop, front, NOW), "the token has not three parts");
    assert_eq!(refusal(&shop, &format!("{front}."), NOW), "the signature is wrong");
}

#[test]
fn a_changed_token_is_refused() {
    let shop = shop();
    let whole = token(&customer());
    let parts: Vec<&str> = whole.split('.').collect();
    let admin = with(customer(), json!({"shop": {"role": "admin"}}));
    let forged = format!("{}.{}.{}", parts[0], encoded(admin.to_string()), parts[2]);
    assert_eq!(refusal(&shop, &forged, NOW), "the signature is wrong");
    for wrong in [&parts[2][..40], &parts[2].replace(|_: char| true, "A")] {
        let forged = format!("{}.{}.{wrong}", parts[0], parts[1]);
        assert_eq!(refusal(&shop, &forged, NOW), "the signature is wrong");
    }
    let other = token_of(CUSTOMER_HEADER, &customer().to_string(), hs256(&[7; 64]));
    assert_eq!(refusal(&shop, &other, NOW), "the signature is wrong");
}

/// Whoever knows a public key could sign with it if a token chose its algorithm.
#[test]
fn an_hmac_made_with_a_public_key_is_refused() {
    let key = TestKey::rsa(KeySize::Rsa2048);
    let issuer =
        SHOP_ISSUER.replace("secret = \"${JWT_SECRET}\"", "key_file = \"key.pem\"").replace("HS256", "RS256");
    let text = format!("{issuer}{SHOP}");
    let shop = Beside::new().file("key.pem", key.pem()).authenticator(&text);
    bearer(&shop, &key.token("RS256", None, &customer()), NOW).expect("the right algorithm is accepted");
    for secret in [key.pem().into_bytes(), key.pem().trim().as_bytes().to_vec(), key.spki()] {
        let forged = token_of(CUSTOMER_HEADER, &customer().to_string(), hs256(&secret));
        assert_eq!(refusal(&shop, &forged, NOW), "algorithm HS256 is not configured for this issuer");
    }
    // Nor is a public key taken for a secret by mistake.
    let mut beside = Beside::new();
    beside.variables.insert("JWT_SECRET", key.pem());
    let (_, faults) = beside.read(&format!("{SHOP_ISSUER}{SHOP}"));
    assert_eq!(
        faults,
        "prony.toml:5:10: the secret is a public key, which everybody knows; give it as `key_file`"
    );
}

/// A key is for the algorithms that are configured, not for all that its kind could have.
#[test]
fn algorithms_are_pinned() {
    let key = TestKey::rsa(KeySize::Rsa2048);
    let issuer =
        SHOP_ISSUER.replace("secret = \"${JWT_SECRET}\"", "key_file = \"key.pem\"").replace("HS256", "PS256");
    let shop = Beside::new().file("key.pem", key.pem()).authenticator(&format!("{issuer}{SHOP}"));
    bearer(&shop, &key.token("PS256", None, &customer()), NOW).expect("the right algorithm is accepted");
    for algorithm in ["RS256", "RS512", "PS512"] {
        let token = key.token(algorithm, None, &customer());
        let reason = refusal(&shop, &token, NOW);
        assert_eq!(reason, format!("algorithm {algorithm} is not configured for this issuer"));
    }
    // The header's algorithm is the one that verifies, too.
    let header = json!({"alg": "PS256"}).to_string();
    let mixed = token_of(&header, &customer().to_string(), |signed| key.sign("RS256", signed));
    assert_eq!(refusal(&shop, &mixed, NOW), "the signature is wrong");
}

#[test]
fn a_key_id_is_only_compared() {
    let key = json!({"keys": [{"kty": "oct", "k": encoded(SECRET), "kid": "one"}]}).to_string();
    let issuer = SHOP_ISSUER.replace("secret = \"${JWT_SECRET}\"", "key_file = \"keys.json\"");
    let shop = Beside::new().file("keys.json", key).authenticator(&format!("{issuer}{SHOP}"));
    let of = |id: Json| signed(&json!({"alg": "HS256", "kid": id}).to_string(), &customer().to_string());
    bearer(&shop, &of(json!("one")), NOW).expect("a known one is accepted");
    for id in [
        "../../../../dev/null",
        "/etc/passwd",
        "one' OR '1'='1",
        "one\u{0}",
        "One",
        "",
        "https://evil.example/",
    ] {
        let reason = refusal(&shop, &of(json!(id)), NOW);
        assert!(reason.starts_with("no key is named"), "{id}: {reason}");
        assert!(reason.chars().all(|letter| !letter.is_control()), "{id}: {reason}");
    }
    for id in [json!(1), json!(null), json!(["one"]), json!({"a": 1})] {
        assert_eq!(refusal(&shop, &of(id), NOW), "header `kid` is no text");
    }
    // A key of an empty secret, for which a file that is empty would stand.
    let empty = token_of(
        &json!({"alg": "HS256", "kid": "../../dev/null"}).to_string(),
        &customer().to_string(),
        hs256(b""),
    );
    assert!(refusal(&shop, &empty, NOW).starts_with("no key is named"));
}

/// A secret, or a key in PEM, has no name, and names of issuers are ignored with it; those of attackers are not.
#[test]
fn a_key_id_that_is_a_path_or_an_injection_is_refused_without_names_to_compare() {
    let shop = shop();
    let of = |id: &str| signed(&json!({"alg": "HS256", "kid": id}).to_string(), &customer().to_string());
    for id in [
        "../../../../dev/null",
        "keys/../one",
        "/dev/null",
        "/key.pem",
        "C:\\keys\\one",
        "%2e%2e%2fone",
        "one' OR '1'='1",
        "1 or 1=1",
        "x; cat /etc/passwd",
        "|id",
        "$(id)",
        "`id`",
        "one\u{0}",
    ] {
        let reason = refusal(&shop, &of(id), NOW);
        assert!(reason.starts_with("no key is named"), "{id}: {reason}");
    }
    for id in [
        "",
        "one",
        "2026-01",
        "vJ3Nz+Kd/abc12==",
        "/Kd3+z==",
        "did:example:123#key-1",
        "https://vault.example/keys/one/2",
    ] {
        assert!(bearer(&shop, &of(id), NOW).is_ok(), "{id}");
    }
}

#[test]
fn a_token_cannot_bring_its_key() {
    let shop = shop();
    let attacker = TestKey::rsa(KeySize::Rsa2048);
    for (name, value) in [
        ("jku", json!("https://evil.example/keys")),
        ("x5u", json!("https://evil.example/cert")),
        ("jwk", attacker.jwk(json!({}))),
        ("x5c", json!([encoded(attacker.spki())])),
    ] {
        let mut header = json!({"alg": "HS256"});
        header[name] = value.clone();
        let token = signed(&header.to_string(), &customer().to_string());
        assert_eq!(refusal(&shop, &token, NOW), format!("header `{name}` brings a key"));
        header["alg"] = json!("RS256");
        let token =
            token_of(&header.to_string(), &customer().to_string(), |signed| attacker.sign("RS256", signed));
        assert_eq!(refusal(&shop, &token, NOW), format!("header `{name}` brings a key"));
    }
}

#[test]
fn extensions_that_must_be_understood_are_refused() {
    let shop = shop();
    for crit in [json!(["b64"]), json!(["exp"]), json!([]), json!("exp"), json!(null)] {
        let header = json!({"alg": "HS256", "crit": crit, "b64": false}).to_string();
        let reason = refusal(&shop, &signed(&header, &customer().to_string()), NOW);
        assert_eq!(reason, "header `crit` asks for an extension");
    }
}

/// The same keys sign tokens that are for something else.
#[test]
fn other_kinds_of_tokens_are_refused() {
    let shop = shop();
    for (kind, is_accepted) in [
        ("JWT", true),
        ("jwt", true),
        ("at+jwt", true),
        ("application/at+jwt", true),
        ("logout+jwt", false),
        ("dpop+jwt", false),
        ("secevent+jwt", false),
        ("application/application/jwt", false),
        ("", false),
    ] {
        let header = json!({"alg": "HS256", "typ": kind}).to_string();
        let token = signed(&header, &customer().to_string());
        assert_eq!(bearer(&shop, &token, NOW).is_ok(), is_accepted, "{kind}");
    }
}

#[test]
fn names_that_stand_twice_are_refused() {
    let shop = shop();
    let payload = customer().to_string();
    for header in [r#"{"alg":"HS256","alg":"HS256"}"#, r#"{"alg":"none","alg":"HS256"}"#] {
        let reason = refusal(&shop, &signed(header, &payload), NOW);
        assert!(reason.starts_with("the header is no JSON object with each name once"), "{reason}");
    }
    for added in [r#""sub":"ann","#, r#""s\u0075b":"bob","#, r#""x":{"a":1,"a":2},"#] {
        let payload = payload.replacen('{', &format!("{{{added}"), 1);
        let reason = refusal(&shop, &signed(CUSTOMER_HEADER, &payload), NOW);
        assert!(reason.starts_with("the payload is no JSON object with each name once"), "{reason}");
    }
}

/// One token, one text: otherwise a list of revoked ones could be passed by.
#[test]
fn other_texts_of_the_same_token_are_refused() {
    let shop = shop();
    let whole = token(&customer());
    bearer(&shop, &whole, NOW).expect("it is accepted");
    let (front, signature) = whole.rsplit_once('.').expect("it has dots");
    // The last letter of 32 bytes in base64 has two bits that say nothing.
    let last = signature.chars().last().expect("it is not empty");
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let index = alphabet.find(last).expect("it is base64url");
    let other = alphabet.as_bytes()[index ^ 1] as char;
    let stretched = format!("{front}.{}{other}", &signature[..signature.len() - 1]);
    assert_eq!(refusal(&shop, &stretched, NOW), "the signature is not canonical base64url");
    for changed in [
        format!("{whole}="),
        format!("{whole}%3D"),
        whole.replace('.', ".="),
        format!("{front}.{}", signature.replace(['-', '_'], "+")) + "+",
        format!("{whole}\t"),
        format!("{front}\n.{signature}"),
        format!("{front}.{signature}."),
        format!(".{whole}"),
        "..".to_owned(),
        ".".to_owned(),
    ] {
        let refused = bearer(&shop, &changed, NOW);
        // White space at the end is that of the header, which counts for nothing.
        assert_eq!(refused.is_ok(), changed.trim_ascii() == whole, "{changed:?}");
    }
    for spaced in [format!("{front} .{signature}"), format!("{whole} {whole}")] {
        let refused = bearer(&shop, &spaced, NOW).expect_err("it has two words");
        assert_eq!(refused.kind, RefusalKind::InvalidRequest);
    }
}

#[test]
fn long_tokens_are_refused_unread() {
    let shop = shop();
    let long = with(customer(), json!({"padding": "x".repeat(8 << 10)}));
    assert!(refusal(&shop, &token(&long), NOW).ends_with("bytes, more than 8192"));
    let text = format!("[auth]\nmax_token_bytes = 20_000\n{SHOP_ISSUER}{SHOP}");
    bearer(&Beside::new().authenticator(&text), &token(&long), NOW).expect("the limit is an option");
}

#[test]
fn times_are_numbers_of_seconds() {
    let shop = shop();
    for name in ["exp", "nbf", "iat"] {
        for wrong in
            ["\"1800000300\"", "[1800000300]", "{}", "true", "null", "-1", "1e300", "253402300800", "\"NaN\""]
        {
            let payload = with(customer(), json!({ name: 4242 })).to_string().replace("4242", wrong);
            let reason = refusal(&shop, &signed(CUSTOMER_HEADER, &payload), NOW);
            assert_eq!(reason, format!("claim `{name}` is no time in seconds"), "{wrong}");
        }
        for wrong in ["NaN", "1e999", "Infinity", "0x10"] {
            let payload = with(customer(), json!({ name: 4242 })).to_string().replace("4242", wrong);
            let reason = refusal(&shop, &signed(CUSTOMER_HEADER, &payload), NOW);
            assert!(reason.starts_with("the payload is no JSON"), "{wrong}: {reason}");
        }
    }
}

#[test]
fn tokens_are_valid_from_and_until() {
    let shop = shop();
    let at = |changes: Json, now: i64| {
        bearer(&shop, &token(&with(customer(), changes)), now).map_err(|refused| refused.reason)
    };
    let expired = || Err(format!("the token has expired at {}", NOW + 30));
    let early = || Err(format!("the token is not valid before {}", NOW - 30));
    for (changes, now, expected) in [
        (json!({"exp": NOW}), NOW + 29, Ok(())),
        (json!({"exp": NOW}), NOW + 30, expired()),
        (json!({"exp": NOW as f64 + 0.9}), NOW + 30, expired()),
        (json!({"nbf": NOW}), NOW - 30, Ok(())),
        (json!({"nbf": NOW}), NOW - 31, early()),
        (json!({"nbf": NOW as f64 - 0.9}), NOW - 31, early()),
        (json!({"iat": NOW}), NOW - 30, Ok(())),
        (json!({"iat": NOW}), NOW - 31, early()),
        (json!({"exp": null}), NOW, Err("claim `exp` is missing".to_owned())),
    ] {
        assert_eq!(at(changes.clone(), now).map(|_| ()), expected, "{changes} {now}");
    }
    let expired = token(&with(customer(), json!({"exp": NOW - 100})));
    let entries = shop.statistics().entries;
    assert!(bearer(&shop, &expired, NOW).is_err());
    assert_eq!(shop.statistics().entries, entries, "what is not valid is not kept");
    let text = format!("{SHOP_ISSUER}require_expiry = false\nleeway_s = 0\n{SHOP}");
    let lasting = Beside::new().authenticator(&text);
    let identity = bearer(&lasting, &token(&with(customer(), json!({"exp": null}))), NOW);
    assert_eq!(identity.expect("it is configured").expires_at, None);
    let end = with(customer(), json!({"exp": NOW}));
    assert!(bearer(&lasting, &token(&end), NOW - 1).is_ok());
    assert!(bearer(&lasting, &token(&end), NOW).is_err());
}

#[test]
fn tokens_for_others_are_refused() {
    let shop = shop();
    let not_for = "is neither a text nor a list of texts";
    for (audience, expected) in [
        (json!("shop"), Ok(())),
        (json!(["bank", "shop"]), Ok(())),
        (json!("bank"), Err("the token is for `bank`".to_owned())),
        (json!(["bank", "mail"]), Err("the token is for `bank, mail`".to_owned())),
        (json!([]), Err("the token is for ``".to_owned())),
        (json!("shop "), Err("the token is for `shop `".to_owned())),
        (json!("SHOP"), Err("the token is for `SHOP`".to_owned())),
        (json!(["shop", 1]), Err(format!("claim `aud` {not_for}"))),
        (json!({"shop": true}), Err(format!("claim `aud` {not_for}"))),
        (json!(null), Err("claim `aud` is missing".to_owned())),
    ] {
        let claims = with(customer(), json!({"aud": audience.clone()}));
        let found = bearer(&shop, &token(&claims), NOW).map(|_| ()).map_err(|refused| refused.reason);
        assert_eq!(found, expected, "{audience}");
    }
    // Who is nobody in particular takes no tokens for somebody (RFC 7519, section 4.1.3).
    let any =
        Beside::new().authenticator(&format!("{}{SHOP}", SHOP_ISSUER.replace("audience = \"shop\"\n", "")));
    assert_eq!(refusal(&any, &token(&customer()), NOW), "the token is for `shop`");
    bearer(&any, &token(&with(customer(), json!({"aud": null}))), NOW)
        .expect("it is for nobody in particular");
}

#[test]
fn tokens_of_other_issuers_are_refused() {
    let shop = shop();
    for (issuer, expected) in [
        (json!("https://login.example"), "issuer `https://login.example` is not configured"),
        (json!("https://evil.example/"), "issuer `https://evil.example/` is not configured"),
        (json!("evil\n"), "issuer `evil\\n` is not configured"),
        (json!(["https://login.example/"]), "claim `iss` is no text"),
        (json!(null), "claim `iss` is missing"),
    ] {
        let claims = with(customer(), json!({"iss": issuer}));
        assert_eq!(refusal(&shop, &token(&claims), NOW), expected);
    }
}

/// A key of one issuer verifies no tokens that say they are of another.
#[test]
fn issuers_do_not_share_keys() {
    let other = "other-secret-other-secret-other-secret-other-secret";
    let second = SHOP_ISSUER
        .replace("https://login.example/", "https://second.example/")
        .replace("${JWT_SECRET}", other);
    let both = Beside::new().authenticator(&format!("{SHOP_ISSUER}{second}{SHOP}"));
    let of = |issuer: &str, secret: &str| {
        let claims = with(customer(), json!({"iss": issuer})).to_string();
        token_of(CUSTOMER_HEADER, &claims, hs256(secret.as_bytes()))
    };
    bearer(&both, &of("https://login.example/", SECRET), NOW).expect("the first is known");
    bearer(&both, &of("https://second.example/", other), NOW).expect("the second is known");
    assert_eq!(refusal(&both, &of("https://login.example/", other), NOW), "the signature is wrong");
    assert_eq!(refusal(&both, &of("https://second.example/", SECRET), NOW), "the signature is wrong");
}

/// Signatures of all zeros are right for any message with implementations that do not check their range (CVE-2022-21449).
#[test]
fn empty_elliptic_signatures_are_refused() {
    let key = TestKey::p256();
    let issuer =
        SHOP_ISSUER.replace("secret = \"${JWT_SECRET}\"", "key_file = \"key.pem\"").replace("HS256", "ES256");
    let shop = Beside::new().file("key.pem", key.pem()).authenticator(&format!("{issuer}{SHOP}"));
    bearer(&shop, &key.token("ES256", None, &customer()), NOW).expect("the right one is accepted");
    for signature in [vec![0; 64], vec![0; 0], vec![0xff; 64], vec![0x30, 6, 2, 1, 1, 2, 1, 1]] {
        let forged = token_of(r#"{"alg":"ES256"}"#, &customer().to_string(), |_| signature.clone());
        assert_eq!(refusal(&shop, &forged, NOW), "the signature is wrong");
    }
}

#[test]
fn encrypted_tokens_are_none() {
    let shop = shop();
    let five = [
        encoded(r#"{"alg":"dir","enc":"A256GCM"}"#),
        String::new(),
        encoded("iv"),
        encoded("x"),
        encoded("tag"),
    ];
    assert_eq!(refusal(&shop, &five.join("."), NOW), "the token has not three parts");
}
