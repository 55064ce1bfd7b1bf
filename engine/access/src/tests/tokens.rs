//! All algorithms with all ways to write keys; tokens that are known already.

use super::*;
use crate::{AuthStatistics, LastToken};

/// Every algorithm with its key as PEM, as a JWK and as a set of them.
#[test]
fn all_algorithms_verify_with_all_kinds_of_keys() {
    let rsa = TestKey::rsa(KeySize::Rsa2048);
    let p256 = TestKey::p256();
    let p384 = TestKey::ec(&aws::ECDSA_P384_SHA384_FIXED_SIGNING, "P-384");
    let p521 = TestKey::ec(&aws::ECDSA_P521_SHA512_FIXED_SIGNING, "P-521");
    let ed = TestKey::ed();
    for (algorithm, key) in [
        ("RS256", &rsa),
        ("RS384", &rsa),
        ("RS512", &rsa),
        ("PS256", &rsa),
        ("PS384", &rsa),
        ("PS512", &rsa),
        ("ES256", &p256),
        ("ES384", &p384),
        ("ES512", &p521),
        ("EdDSA", &ed),
    ] {
        let set = json!({"keys": [p256.jwk(json!({"kid": "other", "alg": algorithm})), key.jwk(json!({"kid": "k", "use": "sig", "key_ops": ["verify"], "alg": algorithm}))]});
        let set = if algorithm == "ES256" {
            json!({"keys": [key.jwk(json!({}))]})
        } else {
            json!({"keys": [set["keys"][1]]})
        };
        let mut written = vec![key.pem(), key.jwk(json!({})).to_string(), set.to_string()];
        if let TestKey::Rsa(key) = key {
            let pkcs1 = key.public_key().as_ref().to_vec();
            written.push(pem::encode(&pem::Pem::new("RSA PUBLIC KEY", pkcs1)));
        }
        for text in written {
            let issuer = SHOP_ISSUER
                .replace("secret = \"${JWT_SECRET}\"", "key_file = \"key\"")
                .replace("HS256", algorithm);
            let shop = Beside::new().file("key", text.clone()).authenticator(&format!("{issuer}{SHOP}"));
            let good = key.token(algorithm, None, &customer());
            bearer(&shop, &good, NOW).unwrap_or_else(|refused| panic!("{algorithm} {text}: {refused}"));
            let claims = with(customer(), json!({"sub": "eve"})).to_string();
            let (front, signature) = good.rsplit_once('.').expect("it has dots");
            let header = front.split('.').next().expect("it has a header");
            let forged = format!("{header}.{}.{signature}", encoded(claims));
            assert_eq!(refusal(&shop, &forged, NOW), "the signature is wrong", "{algorithm}");
        }
    }
    for (algorithm, hash) in
        [("HS256", hmac::HMAC_SHA256), ("HS384", hmac::HMAC_SHA384), ("HS512", hmac::HMAC_SHA512)]
    {
        let shop = Beside::new().authenticator(&format!("{}{SHOP}", SHOP_ISSUER.replace("HS256", algorithm)));
        let key = hmac::Key::new(hash, SECRET.as_bytes());
        let header = json!({"alg": algorithm}).to_string();
        let good =
            token_of(&header, &customer().to_string(), |signed| hmac::sign(&key, signed).as_ref().to_vec());
        bearer(&shop, &good, NOW).expect(algorithm);
        let short = token_of(&header, &customer().to_string(), |signed| {
            hmac::sign(&key, signed).as_ref()[..16].to_vec()
        });
        assert_eq!(refusal(&shop, &short, NOW), "the signature is wrong");
    }
}

#[test]
fn a_known_token_is_looked_up_and_its_time_is_checked() {
    let shop = shop();
    let token = token(&customer());
    let first = bearer(&shop, &token, NOW).expect("it is accepted");
    let again = bearer(&shop, &token, NOW + 1).expect("it is accepted");
    assert!(Arc::ptr_eq(&first, &again));
    let AuthStatistics { hits, misses, entries, .. } = shop.statistics();
    assert_eq!((hits, misses, entries), (1, 1, 1));
    assert_eq!(refusal(&shop, &token, NOW + 330), format!("the token has expired at {}", NOW + 330));
    // A clock that is set back makes it valid again.
    assert!(bearer(&shop, &token, NOW + 2).is_ok());
    assert!(bearer(&shop, &token, NOW - 1_000_000).is_ok());
    let later = super::token(&with(customer(), json!({"nbf": NOW})));
    assert!(bearer(&shop, &later, NOW).is_ok());
    assert_eq!(refusal(&shop, &later, NOW - 31), format!("the token is not valid before {}", NOW - 30));
}

/// What a connection brought last is another way to the same decision: times and configurations count as ever.
#[test]
fn the_last_token_of_a_connection_is_known_without_a_look_up() {
    let last = LastToken::default();
    let ask = |shop: &Authenticator, token: &str, now| {
        let header: &str = format!("Bearer {token}").leak();
        let mut credentials = shop.credentials();
        credentials.header("authorization", header.as_bytes());
        match shop.identify(&credentials, Some(&last), now) {
            Identified::Known(identity) => Ok(identity),
            Identified::Refused(refusal) => Err(refusal.reason),
            other => panic!("{other:?}"),
        }
    };
    let (ann, bob) = (token(&customer()), token(&with(customer(), json!({"sub": "bob"}))));
    let shop = shop();
    let subject = |asked: Result<Arc<Identity>, String>| asked.map(|identity| identity.subject.clone());
    let named = |name: &str| Ok(Some(Arc::from(name)));
    for (token, name) in [(&ann, "ann"), (&ann, "ann"), (&bob, "bob"), (&ann, "ann"), (&ann, "ann")] {
        assert_eq!(subject(ask(&shop, token, NOW)), named(name));
    }
    let AuthStatistics { hits, misses, .. } = shop.statistics();
    assert_eq!((hits, misses), (3, 2));
    assert_eq!(subject(ask(&shop, &ann, NOW + 330)), Err(format!("the token has expired at {}", NOW + 330)));
    let forged = token_of("{\"alg\":\"HS256\"}", &customer().to_string(), hs256(b"not the secret"));
    assert_eq!(subject(ask(&shop, &forged, NOW)), Err("the signature is wrong".to_owned()));
    // Another configuration has another secret.
    let text = format!("{SHOP_ISSUER}{SHOP}").replace("${JWT_SECRET}", &"another secret ".repeat(4));
    let other = Beside::new().authenticator(&text);
    assert_eq!(subject(ask(&other, &ann, NOW)), Err("the signature is wrong".to_owned()));
    assert_eq!(subject(ask(&shop, &ann, NOW)), named("ann"));
}

#[test]
fn many_tokens_leave_the_memory_flat() {
    let text = format!("[auth]\ntoken_cache_bytes = 1_000_000\n{SHOP_ISSUER}{SHOP}");
    let shop = Beside::new().authenticator(&text);
    let mut most = 0;
    for number in 0..20_000 {
        let claims = with(customer(), json!({"sub": format!("user {number}")}));
        bearer(&shop, &token(&claims), NOW).expect("it is accepted");
        most = most.max(shop.statistics().bytes);
    }
    assert!((500_000..=1_000_000).contains(&most), "{most}");
    assert!(shop.statistics().entries < 3_000, "{:?}", shop.statistics());
}

/// One token with a large claim cannot push out all others, and is accepted all the same.
#[test]
fn a_token_with_large_claims_is_counted_by_its_size() {
    let shop = shop();
    let large = with(customer(), json!({"sub": "x".repeat(5_000)}));
    bearer(&shop, &token(&large), NOW).expect("it is accepted");
    assert!(shop.statistics().bytes > 10_000);
}
