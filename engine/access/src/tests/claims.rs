//! What claims grant: roles, scopes, variables of the session.

use super::*;

fn settings_and_shop(text: &str) -> (AccessSettings, Authenticator) {
    let settings = Beside::new().settings(text);
    let authenticator = Authenticator::new(&settings);
    (settings, authenticator)
}

#[test]
fn a_header_chooses_among_the_allowed_roles() {
    let (settings, shop) = settings_and_shop(&format!("{SHOP_ISSUER}{SHOP}"));
    let authorization = format!("Bearer {}", token(&customer()));
    let with_role =
        |role: &str| identify(&shop, &[("authorization", &authorization), ("x-prony-role", role)], NOW);
    // Before and after the token is known.
    for _ in 0..2 {
        let chosen = with_role("clerk").expect("it is allowed");
        assert_eq!(role(&settings, &chosen), "clerk");
        assert!(Arc::ptr_eq(&chosen, &with_role("clerk").expect("it is allowed")));
        assert_eq!(role(&settings, &with_role("customer").expect("it is allowed")), "customer");
        let default = identify(&shop, &[("authorization", &authorization)], NOW).expect("it is accepted");
        assert_eq!(role(&settings, &default), "customer");
        for refused in ["admin", "", "Clerk", "clerk ", "nobody"] {
            let refused = with_role(refused).expect_err("it is not allowed");
            assert_eq!((refused.kind, refused.status().as_u16()), (RefusalKind::RoleNotAllowed, 403));
            assert_eq!(refused.code(), "FORBIDDEN");
        }
    }
    assert_eq!(shop.statistics().entries, 1);
}

#[test]
fn roles_come_from_a_claim_or_the_only_one_that_is_allowed() {
    let (settings, shop) = settings_and_shop(&format!("{SHOP_ISSUER}{SHOP}"));
    let of = |claim: Json| {
        let identity = bearer(&shop, &token(&with(customer(), json!({"shop": claim}))), NOW);
        identity.map(|identity| role(&settings, &identity)).map_err(|refused| refused.kind)
    };
    let refused = || Err(RefusalKind::RoleNotAllowed);
    for (claim, expected) in [
        (json!({"role": "admin"}), Ok("admin".to_owned())),
        (json!({"role": "unknown"}), refused()),
        (json!({"role": "unknown", "roles": ["clerk"]}), refused()),
        (json!({"role": 1}), refused()),
        (json!({"role": null}), refused()),
        (json!({"roles": ["clerk"]}), Ok("clerk".to_owned())),
        (json!({"roles": "clerk"}), Ok("clerk".to_owned())),
        (json!({"roles": ["offline_access", "clerk", 7]}), Ok("clerk".to_owned())),
        (json!({"roles": ["clerk", "offline_access", "clerk"]}), Ok("clerk".to_owned())),
        (json!({"roles": ["clerk", "customer"]}), refused()),
        (json!({"roles": []}), refused()),
        (json!({}), refused()),
    ] {
        assert_eq!(of(claim.clone()), expected, "{claim}");
    }
    let (settings, shop) = settings_and_shop(&format!("{SHOP_ISSUER}role = \"customer\"\n{SHOP}"));
    let claims = with(customer(), json!({"shop": {}}));
    let identity = bearer(&shop, &token(&claims), NOW).expect("all tokens have a role");
    assert_eq!(role(&settings, &identity), "customer");
}

#[test]
fn claims_become_variables_by_pointer() {
    let text = r#"[[auth.jwt]]
secret = "${JWT_SECRET}"
algorithms = ["HS256"]
role = "reader"
claims.scopes = "/scp"
claims.user.id = "/sub"
claims."user.odd" = "/https:~1~1shop.example~1claims/a~0b/1"
claims."user.groups" = "/groups"
[roles.reader.sources.shop.tables.t.select]
columns = "*"
rows = { or = [{ a = { eq = "$user.groups" } }, { b = { eq = "$user.odd" } }, { c = { eq = "$role" } }, { d = { eq = "$user.id" } }] }
"#;
    let settings = Beside::new().settings(text);
    assert_eq!(settings.names.names().collect::<Vec<_>>(), ["user.groups", "user.odd", "role", "user.id"]);
    let shop = Authenticator::new(&settings);
    let session = |claims: Json| {
        let identity =
            bearer(&shop, &token(&with(claims, json!({"exp": NOW + 1}))), NOW).expect("it is accepted");
        identity.session.to_vec()
    };
    let claims = json!({
        "sub": 7, "https://shop.example/claims": {"a~b": [1, {"deep": true}]}, "groups": ["x", "y"],
    });
    assert_eq!(session(claims), [json!(["x", "y"]), json!({"deep": true}), json!("reader"), json!(7)]);
    let missing = json!({"https://shop.example/claims": {"a~b": "text"}});
    assert_eq!(session(missing), [json!(null), json!(null), json!("reader"), json!(null)]);
}

#[test]
fn scopes_are_a_text_or_a_list() {
    let shop = shop();
    for (claim, expected) in [
        (json!("orders:read  items:read"), true),
        (json!(["orders:read", "items:read"]), true),
        (json!(["orders:read items:read"]), false),
        (json!(7), false),
        (json!(null), false),
    ] {
        let claims = with(customer(), json!({"scope": claim}));
        let identity = bearer(&shop, &token(&claims), NOW).expect("it is accepted");
        assert_eq!(identity.scopes.satisfy(&[vec!["items:read", "orders:read"]]), expected);
    }
}

#[test]
fn refusals_say_little() {
    let shop = shop();
    for (headers, kind, status, challenge) in [
        (vec![], RefusalKind::NoCredentials, 401, "Bearer"),
        (
            vec![("authorization", "Bearer x")],
            RefusalKind::InvalidToken,
            401,
            "Bearer error=\"invalid_token\"",
        ),
        (
            vec![("authorization", "Bearer")],
            RefusalKind::InvalidRequest,
            400,
            "Bearer error=\"invalid_request\"",
        ),
        (vec![("authorization", "")], RefusalKind::InvalidRequest, 400, "Bearer error=\"invalid_request\""),
        (
            vec![("authorization", "Basic YTpi")],
            RefusalKind::InvalidToken,
            401,
            "Bearer error=\"invalid_token\"",
        ),
        (
            vec![("authorization", "Bearer x"), ("Authorization", "Bearer y")],
            RefusalKind::InvalidRequest,
            400,
            "Bearer error=\"invalid_request\"",
        ),
        (
            vec![("authorization", "Bearer x"), ("x-api-key", "y")],
            RefusalKind::InvalidRequest,
            400,
            "Bearer error=\"invalid_request\"",
        ),
        (vec![("x-api-key", "y")], RefusalKind::InvalidToken, 401, "Bearer error=\"invalid_token\""),
        (vec![("x-prony-role", "admin")], RefusalKind::NoCredentials, 401, "Bearer"),
    ] {
        let refused = identify(&shop, &headers, NOW).expect_err("it is refused");
        assert_eq!((refused.kind, refused.status().as_u16()), (kind, status), "{headers:?}");
        assert_eq!(refused.www_authenticate(), Some(challenge), "{headers:?}");
        assert_eq!(refused.code(), "UNAUTHENTICATED");
    }
}
