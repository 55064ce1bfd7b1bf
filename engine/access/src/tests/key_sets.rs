//! Key sets at an address: when they are fetched, what stays, what goes. Time is virtual.

use std::slice;

use super::*;
use crate::{CacheFacts, KeySetId, LastToken, RefusalKind};

const ADDRESS: &str = "https://login.example/keys";

fn text() -> String {
    let issuer = SHOP_ISSUER
        .replace("secret = \"${JWT_SECRET}\"", &format!("jwks = \"{ADDRESS}\""))
        .replace("HS256", "ES256\", \"EdDSA");
    format!("{issuer}{SHOP}")
}

fn of_address() -> (Authenticator, KeySetId) {
    let shop = Beside::new().authenticator(&text());
    let (id, address, timeout) = shop.key_sets().next().expect("there is one");
    assert_eq!((address, timeout.as_millis()), (ADDRESS, 5_000));
    (shop, id)
}

fn set(keys: &[Json]) -> Vec<u8> {
    json!({ "keys": keys }).to_string().into_bytes()
}

/// What becomes of a token: accepted, refused, or its keys are to be fetched.
fn outcome(shop: &Authenticator, token: &str, now: i64) -> &'static str {
    let authorization = format!("Bearer {token}");
    let mut credentials = Credentials::default();
    credentials.header("authorization", authorization.as_bytes());
    match shop.identify(&credentials, None, now) {
        Identified::Known(_) => "known",
        Identified::Refused(refused) if refused.kind == RefusalKind::Unavailable => "unavailable",
        Identified::Refused(_) => "refused",
        Identified::NeedsKeys(_) => "needs keys",
        Identified::NeedsWebhook(_) => "needs the webhook",
    }
}

const SAID: CacheFacts = CacheFacts { lifetime_s: Some(1_000) };

#[test]
fn keys_are_fetched_and_replaced() {
    let (shop, id) = of_address();
    let (old, new, kept) = (TestKey::p256(), TestKey::p256(), TestKey::ed());
    let claims = customer();
    let old_token = old.token("ES256", Some("old"), &claims);
    let new_token = new.token("ES256", Some("new"), &claims);
    let kept_token = kept.token("EdDSA", Some("kept"), &claims);
    assert_eq!(shop.next_refresh(id, NOW), Some(NOW));
    assert_eq!(outcome(&shop, &old_token, NOW), "needs keys");
    assert!(shop.begin_fetch(id, NOW));
    assert!(!shop.begin_fetch(id, NOW), "one fetches");
    assert_eq!(outcome(&shop, &old_token, NOW), "needs keys");
    let (old_key, kept_key) = (old.jwk(json!({"kid": "old"})), kept.jwk(json!({"kid": "kept"})));
    let encryption = TestKey::rsa(KeySize::Rsa2048).jwk(json!({"kid": "old", "use": "enc"}));
    let fetched = shop.replace_keys(id, &set(&[old_key, encryption, kept_key.clone()]), SAID, NOW);
    let fetched = fetched.expect("it is a key set");
    assert_eq!((fetched.keys, fetched.skipped), (2, 1));
    assert_eq!(outcome(&shop, &old_token, NOW), "known");
    assert_eq!(outcome(&shop, &kept_token, NOW), "known");
    assert_eq!(shop.statistics().entries, 2);
    assert_eq!(shop.next_refresh(id, NOW), Some(NOW + 900));
    // An unknown key: once in the configured time.
    assert_eq!(outcome(&shop, &new_token, NOW + 29), "refused");
    assert_eq!(outcome(&shop, &new_token, NOW + 30), "needs keys");
    assert!(shop.begin_fetch(id, NOW + 30));
    let new_key = new.jwk(json!({"kid": "new"}));
    shop.replace_keys(id, &set(&[new_key, kept_key]), SAID, NOW + 30).expect("it is a key set");
    assert_eq!(outcome(&shop, &new_token, NOW + 30), "known");
    assert_eq!(outcome(&shop, &old_token, NOW + 31), "refused", "its key is gone");
    assert_eq!(shop.statistics().entries, 2, "tokens of keys that stay are kept, others not");
    assert_eq!(outcome(&shop, &kept_token, NOW + 31), "known");
    let status = shop.key_set_status(id).expect("it is one");
    assert_eq!((status.keys, status.skipped, status.fetches, status.failures), (2, 0, 2, 0));
    assert_eq!(status.fetched_at, Some(NOW + 30));
}

#[test]
fn old_keys_stay_while_the_address_is_dead() {
    let (shop, id) = of_address();
    let key = TestKey::p256();
    let token = key.token("ES256", None, &with(customer(), json!({"exp": NOW + 100_000})));
    assert!(shop.begin_fetch(id, NOW));
    shop.failed(id, "connection refused", NOW);
    assert_eq!(outcome(&shop, &token, NOW), "unavailable");
    assert_eq!(outcome(&shop, &token, NOW + 30), "needs keys");
    assert_eq!(shop.next_refresh(id, NOW), Some(NOW + 5));
    shop.replace_keys(id, &set(&[key.jwk(json!({}))]), CacheFacts::default(), NOW + 5).expect("a key set");
    assert_eq!(shop.next_refresh(id, NOW + 5), Some(NOW + 5 + 540));
    let mut now = NOW + 545;
    let mut waits = Vec::new();
    for body in
        [&b""[..], b"<html>", b"{}", b"{\"keys\":[]}", b"{\"keys\":[{\"kty\":\"RSA\"}]}", b"[", b"null", b"1"]
    {
        shop.replace_keys(id, body, SAID, now).expect_err("it is no key set");
        let next = shop.next_refresh(id, now).expect("it is one");
        waits.push(next - now);
        now = next;
        assert_eq!(outcome(&shop, &token, now), "known");
    }
    assert_eq!(waits, [5, 10, 20, 40, 80, 160, 300, 300]);
    let status = shop.key_set_status(id).expect("it is one");
    assert_eq!((status.keys, status.failures, status.failing_since), (1, 9, Some(NOW + 545)));
    assert!(status.last_failure.is_some());
    let huge = vec![b' '; crate::MAX_KEY_SET_BYTES + 1];
    shop.replace_keys(id, &huge, SAID, now).expect_err("it is too large");
    shop.replace_keys(id, &set(&[key.jwk(json!({}))]), SAID, now).expect("a key set");
    assert_eq!(shop.key_set_status(id).expect("it is one").failing_since, None);
}

/// Another configuration knew no keys: while their address was dead all tokens were refused.
#[test]
fn keys_stay_in_another_configuration() {
    let (before, id) = of_address();
    let key = TestKey::p256();
    let token = key.token("ES256", None, &customer());
    before.replace_keys(id, &set(&[key.jwk(json!({}))]), SAID, NOW).expect("a key set");
    let after = |text: &str| Authenticator::after(&Beside::new().settings(text), Some(&before));
    let same = after(&text());
    assert_eq!(outcome(&same, &token, NOW + 30), "known");
    assert_eq!(same.next_refresh(id, NOW), Some(NOW + 900), "they are as fresh as they were");
    // Of the same address under other settings they are known, and fetched at once.
    let slower = after(&text().replace("algorithms", "timeout_ms = 9000\nalgorithms"));
    assert_eq!(slower.next_refresh(id, NOW), Some(NOW));
    assert!(slower.begin_fetch(id, NOW));
    slower.failed(id, "connection refused", NOW);
    assert_eq!(outcome(&slower, &token, NOW), "known");
    // One that is gone from there and comes again is no key that is gone.
    let other = TestKey::p256().jwk(json!({}));
    before.replace_keys(id, &set(&[other]), SAID, NOW).expect("a key set");
    assert_eq!(outcome(&same, &token, NOW), "refused");
    for known in [&same, &slower] {
        known.replace_keys(id, &set(&[key.jwk(json!({}))]), SAID, NOW).expect("a key set");
        assert_eq!(outcome(known, &token, NOW), "known");
    }
    // Another address, issuer or algorithm has keys of its own.
    for (part, instead) in
        [(ADDRESS, "https://login.example/others"), ("ES256", "ES384"), ("issuer = \"", "issuer = \"x")]
    {
        assert_eq!(after(&text().replace(part, instead)).key_set_status(id).expect("it is one").keys, 0);
    }
}

/// The connection that had brought its token before was refused until its end.
#[test]
fn a_key_that_comes_again_counts_on_open_connections() {
    let (shop, id) = of_address();
    let (key, other) = (TestKey::p256(), TestKey::p256());
    let authorization = format!("Bearer {}", key.token("ES256", Some("k"), &customer()));
    let last = LastToken::default();
    for (jwk, is_known) in [
        (key.jwk(json!({"kid": "k"})), true),
        (other.jwk(json!({"kid": "other"})), false),
        (key.jwk(json!({"kid": "k"})), true),
    ] {
        shop.replace_keys(id, &set(&[jwk]), SAID, NOW).expect("a key set");
        let mut credentials = Credentials::default();
        credentials.header("authorization", authorization.as_bytes());
        let identified = shop.identify(&credentials, Some(&last), NOW);
        assert_eq!(matches!(identified, Identified::Known(_)), is_known, "{identified:?}");
    }
}

/// Keys without names rotate, too.
#[test]
fn a_token_that_names_no_key_may_be_of_a_newer_one() {
    let (shop, id) = of_address();
    let (old, new) = (TestKey::p256(), TestKey::p256());
    shop.replace_keys(id, &set(&[old.jwk(json!({}))]), SAID, NOW).expect("a key set");
    for key_id in [None, Some("new")] {
        let token = new.token("ES256", key_id, &customer());
        assert_eq!(outcome(&shop, &token, NOW + 29), "refused");
        assert_eq!(outcome(&shop, &token, NOW + 30), "needs keys");
    }
    // A key that is known by its name is the one.
    shop.replace_keys(id, &set(&[old.jwk(json!({"kid": "old"}))]), SAID, NOW).expect("a key set");
    let forged = new.token("ES256", Some("old"), &customer());
    assert_eq!(outcome(&shop, &forged, NOW + 30), "refused");
}

/// Everybody may read what stands at an address: what is not public there is no key.
#[test]
fn secrets_and_private_keys_at_an_address_are_none() {
    let (shop, id) = of_address();
    let key = TestKey::p256();
    for bad in [
        json!({"kty": "oct", "k": encoded(SECRET)}),
        key.jwk(json!({"d": "AAAA"})),
        key.jwk(json!({"use": "enc"})),
        key.jwk(json!({"key_ops": ["sign"]})),
        key.jwk(json!({"key_ops": "verify"})),
        key.jwk(json!({"alg": "ES384"})),
        key.jwk(json!({"alg": "RS256"})),
        key.jwk(json!({"alg": 1})),
        key.jwk(json!({"crv": "P-384"})),
        key.jwk(json!({"crv": "secp256k1"})),
        key.jwk(json!({"x": encoded([1; 32])})),
        key.jwk(json!({"x": encoded([1; 31])})),
        key.jwk(json!({"kid": 1})),
        key.jwk(json!({"kty": "RSA"})),
        TestKey::rsa(KeySize::Rsa2048).jwk(json!({})),
        json!("key"),
    ] {
        shop.replace_keys(id, &set(slice::from_ref(&bad)), SAID, NOW).expect_err(&bad.to_string());
        let with_good = set(&[bad, key.jwk(json!({}))]);
        assert_eq!(shop.replace_keys(id, &with_good, SAID, NOW).expect("one is good").keys, 1);
    }
    let many: Vec<Json> = (0..257).map(|id| key.jwk(json!({"kid": id.to_string()}))).collect();
    shop.replace_keys(id, &set(&many), SAID, NOW).expect_err("they are too many");
}

#[test]
fn refreshes_keep_within_their_bounds() {
    for (lifetime_s, wait) in [
        (None, 540),
        (Some(0), 54),
        (Some(1), 54),
        (Some(100), 90),
        (Some(1_000_000), 77_760),
        (Some(u64::MAX), 77_760),
    ] {
        let (shop, id) = of_address();
        let key = TestKey::p256().jwk(json!({}));
        shop.replace_keys(id, &set(&[key]), CacheFacts { lifetime_s }, NOW).expect("a key set");
        assert_eq!(shop.next_refresh(id, NOW + 3), Some(NOW + wait), "{lifetime_s:?}");
        // A clock that is set back makes it due, and does not put it off for years.
        assert_eq!(shop.next_refresh(id, NOW - 1_000_000), Some(NOW - 1_000_000));
    }
}

/// Whoever fetches may be stopped in the midst of it.
#[test]
fn a_fetch_that_is_forgotten_does_not_hold_up_others() {
    let (shop, id) = of_address();
    assert!(shop.begin_fetch(id, NOW));
    assert!(!shop.begin_fetch(id, NOW + 29));
    assert_eq!(shop.next_refresh(id, NOW + 1), Some(NOW + 30));
    assert!(shop.begin_fetch(id, NOW + 30));
}

#[test]
fn responses_say_how_long_they_may_be_kept() {
    // 1,800,000,000 is Fri, 15 Jan 2027 08:00:00 GMT.
    for (cache_control, age, expires, lifetime_s) in [
        (None, None, None, None),
        (Some("max-age=60"), None, None, Some(60)),
        (Some("public, Max-Age=\"60\", must-revalidate"), Some("20"), None, Some(40)),
        (Some("max-age=60"), Some("100"), None, Some(0)),
        (Some("max-age=60"), Some("x"), None, Some(60)),
        (Some("max-age=soon"), None, None, Some(0)),
        (Some("no-store"), None, None, Some(0)),
        (Some("no-cache, max-age=60"), None, None, Some(0)),
        (Some("max-age=60"), None, Some("Fri, 15 Jan 2027 09:00:00 GMT"), Some(60)),
        (Some("public"), None, Some("Fri, 15 Jan 2027 08:10:00 GMT"), Some(600)),
        (None, None, Some("Fri, 15 Jan 2027 07:00:00 GMT"), Some(0)),
        (None, None, Some("0"), Some(0)),
        (None, None, Some("-1"), Some(0)),
    ] {
        let found = CacheFacts::from_fields(cache_control, age, expires, NOW);
        assert_eq!(found.lifetime_s, lifetime_s, "{cache_control:?} {age:?} {expires:?}");
    }
}
