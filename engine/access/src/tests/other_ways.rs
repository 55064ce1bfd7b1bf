//! Cookies, certificates, the webhook, and requests without anything.

use http::StatusCode;

use super::*;
use crate::{CacheFacts, CertificateNames, Way, WebhookQuestion, WebhookResponse};

#[test]
fn a_token_may_come_in_the_cookie_of_its_issuer() {
    let second = SHOP_ISSUER.replace("https://login.example/", "https://second.example/");
    let text = format!("{SHOP_ISSUER}cookie = \"shop_token\"\n{second}cookie = \"second_token\"\n{SHOP}");
    let shop = Beside::new().authenticator(&text);
    let token = token(&customer());
    let kind =
        |headers: &[(&str, &str)]| identify(&shop, headers, NOW).map(|_| ()).map_err(|refused| refused.kind);
    let cookie = format!("theme=dark; shop_token={token}");
    let of_second = format!("second_token={token}");
    // Also when the token is known already.
    for _ in 0..2 {
        assert_eq!(kind(&[("cookie", &cookie)]), Ok(()));
        assert_eq!(kind(&[("cookie", &of_second)]), Err(RefusalKind::InvalidToken));
    }
    assert_eq!(kind(&[("cookie", "theme=dark")]), Err(RefusalKind::NoCredentials));
    assert_eq!(kind(&[("cookie", "shop_token=; theme=dark")]), Err(RefusalKind::NoCredentials));
    assert_eq!(kind(&[("cookie", "shop_token=x")]), Err(RefusalKind::InvalidToken));
    assert_eq!(kind(&[("cookie", &cookie), ("cookie", "shop_token=x")]), Err(RefusalKind::InvalidRequest));
    assert_eq!(kind(&[("cookie", &cookie), ("cookie", "second_token=x")]), Err(RefusalKind::InvalidRequest));
    // A header counts before cookies, which browsers send unasked.
    assert_eq!(kind(&[("cookie", "shop_token=x"), ("authorization", &format!("Bearer {token}"))]), Ok(()));
    assert_eq!(kind(&[("cookie", &cookie), ("authorization", "Bearer x")]), Err(RefusalKind::InvalidToken));
}

#[test]
fn nobody_is_the_anonymous_role_and_a_wrong_credential_is_not_nobody() {
    let text = format!("[auth]\nanonymous = \"customer\"\n{SHOP_ISSUER}{SHOP}");
    let settings = Beside::new().settings(&text);
    let shop = Authenticator::new(&settings);
    let nobody = identify(&shop, &[], NOW).expect("there is an anonymous role");
    assert_eq!(role(&settings, &nobody), "customer");
    assert_eq!((nobody.session.to_vec(), nobody.expires_at), (vec![json!(null), json!(null)], None));
    assert!(identify(&shop, &[("x-prony-role", "customer")], NOW).is_ok());
    let other = identify(&shop, &[("x-prony-role", "admin")], NOW).expect_err("it is not allowed");
    assert_eq!(other.kind, RefusalKind::RoleNotAllowed);
    for headers in [
        ("authorization", "Bearer x"),
        ("authorization", "Bearer "),
        ("authorization", "Basic eDp5"),
        ("authorization", ""),
        ("x-api-key", "x"),
        ("x-api-key", ""),
    ] {
        assert!(identify(&shop, &[headers], NOW).is_err(), "{headers:?}");
    }
    let expired = token(&with(customer(), json!({"exp": 1})));
    assert!(bearer(&shop, &expired, NOW).is_err());
}

#[test]
fn a_verified_certificate_gives_variables() {
    let text = format!(
        "[auth.mtls]\nrole = \"clerk\"\nclaims = {{ \"user.id\" = \"subject\", shop = \"dns_names\" }}\n{SHOP_ISSUER}{SHOP}"
    );
    let settings = Beside::new().settings(&text);
    let shop = Authenticator::new(&settings);
    let names = CertificateNames {
        subject: "CN=till 7".to_owned(),
        dns: vec!["a.example".to_owned(), "b.example".to_owned()],
        ..CertificateNames::default()
    };
    let identify = |authorization: Option<String>| {
        let authorization = authorization.unwrap_or_default();
        let mut credentials = shop.credentials();
        credentials.certificate(&names);
        if !authorization.is_empty() {
            credentials.header("authorization", authorization.as_bytes());
        }
        match shop.identify(&credentials, None, NOW) {
            Identified::Known(identity) => identity,
            other => panic!("{other:?}"),
        }
    };
    let of_certificate = identify(None);
    assert_eq!(role(&settings, &of_certificate), "clerk");
    assert_eq!(of_certificate.session[..], [json!("CN=till 7"), json!(["a.example", "b.example"])]);
    // A token decides on the role, and what it says of its user counts first.
    let claims = with(customer(), json!({"shop": {"role": "customer"}}));
    let of_both = identify(Some(format!("Bearer {}", token(&claims))));
    assert_eq!(role(&settings, &of_both), "customer");
    assert_eq!(of_both.session[..], [json!("ann"), json!(["a.example", "b.example"])]);
    // Without a certificate there is nobody.
    assert!(super::identify(&shop, &[], NOW).is_err());
}

/// It gave them to the end of its connection, and to WebSockets to the end of the token.
#[test]
fn a_certificate_that_has_expired_gives_no_variables_beside_a_token() {
    let text = format!("[auth.mtls]\nclaims = {{ shop = \"common_name\" }}\n{SHOP_ISSUER}{SHOP}");
    let shop = Beside::new().authenticator(&text);
    let names = CertificateNames {
        common_name: Some("7".to_owned()),
        expires_at: Some(NOW + 10),
        ..CertificateNames::default()
    };
    let claims = with(customer(), json!({"shop": {"role": "customer"}}));
    let authorization = format!("Bearer {}", token(&claims));
    let end = |now: i64| {
        let mut credentials = shop.credentials();
        credentials.certificate(&names);
        credentials.header("authorization", authorization.as_bytes());
        match shop.identify(&credentials, None, now) {
            Identified::Known(identity) => Ok(identity.expires_at),
            Identified::Refused(refusal) => Err(refusal.kind),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(end(NOW + 9), Ok(Some(NOW + 10)));
    assert_eq!(end(NOW + 10), Err(RefusalKind::InvalidToken));
}

/// Beside the anonymous role and the webhook it gave nothing, and one that had expired was none.
#[test]
fn a_certificate_counts_beside_nobody_and_the_webhook() {
    let text = format!(
        "[auth]\nanonymous = \"customer\"\n[auth.mtls]\nclaims = {{ shop = \"common_name\" }}\n[auth.webhook]\naddress = \"http://127.0.0.1:9/who\"\nforward = [\"x-session\"]\n{SHOP_ISSUER}{SHOP}"
    );
    let shop = Beside::new().authenticator(&text);
    let names = CertificateNames {
        common_name: Some("7".to_owned()),
        expires_at: Some(NOW + 10),
        ..CertificateNames::default()
    };
    let mut credentials = shop.credentials();
    credentials.certificate(&names);
    let nobody = |now: i64| match shop.identify(&credentials, None, now) {
        Identified::Known(identity) => Ok(identity),
        Identified::Refused(refusal) => Err(refusal.kind),
        other => panic!("{other:?}"),
    };
    let identity = nobody(NOW + 9).expect("there is an anonymous role");
    assert_eq!((identity.way, identity.expires_at), (Way::Anonymous, Some(NOW + 10)));
    assert_eq!(identity.session[..], [json!(null), json!("7")]);
    assert_eq!(nobody(NOW + 10).expect_err("it has expired"), RefusalKind::InvalidToken);
    let asked = question(&shop, &[("x-session", "1")], NOW).expect_err("it is not known");
    let response = WebhookResponse {
        status: StatusCode::OK,
        body: br#"{"role":"clerk","session":{"user.id":"bob"}}"#,
        cache: CacheFacts { lifetime_s: Some(60) },
    };
    let known = shop.webhook_response(&asked, &response, NOW).expect("it is somebody");
    let beside = |now: i64| shop.beside_certificate(Arc::clone(&known), &credentials, now);
    assert_eq!(beside(NOW).expect("it counts").session[..], [json!("bob"), json!("7")]);
    assert_eq!(beside(NOW + 10).expect_err("it has expired").kind, RefusalKind::InvalidToken);
    let mut of_both = shop.credentials();
    of_both.certificate(&names);
    of_both.header("x-session", b"1");
    let Identified::Known(kept) = shop.identify(&of_both, None, NOW) else { panic!("it is kept") };
    assert_eq!(kept.session[..], [json!("bob"), json!("7")]);
}

fn question<'a>(
    shop: &'a Authenticator,
    headers: &[(&str, &'a str)],
    now: i64,
) -> Result<Arc<Identity>, WebhookQuestion<'a>> {
    let mut credentials = shop.credentials();
    for (name, value) in headers {
        credentials.header(name, value.as_bytes());
    }
    match shop.identify(&credentials, None, now) {
        Identified::Known(identity) => Ok(identity),
        Identified::NeedsWebhook(question) => Err(question),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_webhook_says_who_asks() {
    let text = format!(
        "[auth]\nanonymous = \"customer\"\n[auth.webhook]\naddress = \"http://127.0.0.1:9/who\"\nforward = [\"Cookie\", \"Authorization\"]\nmax_cache_s = 60\n{SHOP}"
    );
    let settings = Beside::new().settings(&text);
    let shop = Authenticator::new(&settings);
    let headers = [("cookie", "session=1"), ("accept", "*/*"), ("authorization", "Basic eDp5")];
    let asked = question(&shop, &headers, NOW).expect_err("it is not known");
    assert_eq!(asked.address, "http://127.0.0.1:9/who");
    assert_eq!(asked.headers, [("cookie", &b"session=1"[..]), ("authorization", &b"Basic eDp5"[..])]);
    let respond = |status: StatusCode, body: Json, lifetime_s: Option<u64>| {
        let body = body.to_string();
        let cache = CacheFacts { lifetime_s };
        let response = WebhookResponse { status, body: body.as_bytes(), cache };
        shop.webhook_response(&asked, &response, NOW).map_err(|refused| refused.kind)
    };
    let body =
        json!({"role": "clerk", "session": {"user.id": 1, "shop": [2]}, "subject": "bob", "scopes": "a b"});
    let identity = respond(StatusCode::OK, body.clone(), None).expect("it is somebody");
    assert_eq!(role(&settings, &identity), "clerk");
    assert_eq!(identity.session[..], [json!(1), json!([2])]);
    assert!(identity.scopes.satisfy(&[vec!["a", "b"]]));
    // Nothing was said of keeping it.
    assert!(question(&shop, &headers, NOW).is_err());
    let kept = respond(StatusCode::OK, body.clone(), Some(600)).expect("it is somebody");
    assert!(Arc::ptr_eq(&kept, &question(&shop, &headers, NOW + 59).expect("it is kept")));
    assert!(question(&shop, &headers, NOW + 60).is_err(), "the configured bound holds");
    assert!(question(&shop, &[("cookie", "session=2")], NOW).is_err(), "it is kept for the same headers");
    for (status, body, expected) in [
        (StatusCode::UNAUTHORIZED, body.clone(), RefusalKind::InvalidToken),
        (StatusCode::FORBIDDEN, body.clone(), RefusalKind::InvalidToken),
        (StatusCode::INTERNAL_SERVER_ERROR, body.clone(), RefusalKind::Unavailable),
        (StatusCode::FOUND, body.clone(), RefusalKind::Unavailable),
        (StatusCode::OK, json!([]), RefusalKind::Unavailable),
        (StatusCode::OK, json!({}), RefusalKind::RoleNotAllowed),
        (StatusCode::OK, json!({"role": "unknown"}), RefusalKind::RoleNotAllowed),
        (StatusCode::OK, with(body.clone(), json!({"expires_at": NOW})), RefusalKind::InvalidToken),
        (StatusCode::OK, with(body.clone(), json!({"expires_at": "soon"})), RefusalKind::InvalidToken),
    ] {
        assert_eq!(
            respond(status, body.clone(), Some(60)).expect_err("it is refused"),
            expected,
            "{status} {body}"
        );
    }
    // As of tokens, the only role that is allowed needs no other word.
    let only =
        respond(StatusCode::OK, json!({"allowed_roles": ["clerk", "clerk"]}), None).expect("it is one");
    assert_eq!(role(&settings, &only), "clerk");
    for several in
        [json!({"allowed_roles": ["clerk", "customer"]}), json!({"role": null, "allowed_roles": ["clerk"]})]
    {
        assert_eq!(respond(StatusCode::OK, several, None).map(|_| ()), Err(RefusalKind::RoleNotAllowed));
    }
    // Requests without any of the headers are nobody's.
    let nobody = question(&shop, &[("accept", "*/*")], NOW).expect("it is the anonymous role");
    assert_eq!(role(&settings, &nobody), "customer");
}

/// One that was written as programs in JavaScript have the time, or as null, was refused as one that has passed.
#[test]
fn the_webhook_may_say_when_its_response_ends() {
    let text =
        format!("[auth.webhook]\naddress = \"http://127.0.0.1:9/who\"\nforward = [\"x-session\"]\n{SHOP}");
    let shop = Beside::new().authenticator(&text);
    let asked = question(&shop, &[("x-session", "1")], NOW).expect_err("it is not known");
    for (said, expected) in [
        (json!(null), Some(None)),
        (json!(NOW + 9), Some(Some(NOW + 9))),
        (json!(NOW as f64 + 9.75), Some(Some(NOW + 9))),
        (json!(1e300), Some(Some(i64::MAX))),
        (json!(NOW), None),
        (json!(NOW as f64 + 0.75), None),
        (json!(-1), None),
        (json!("soon"), None),
    ] {
        let body = json!({"role": "clerk", "expires_at": said}).to_string();
        let cache = CacheFacts::default();
        let response = WebhookResponse { status: StatusCode::OK, body: body.as_bytes(), cache };
        let found = shop.webhook_response(&asked, &response, NOW).map(|identity| identity.expires_at);
        assert_eq!(found.ok(), expected, "{said}");
    }
}
