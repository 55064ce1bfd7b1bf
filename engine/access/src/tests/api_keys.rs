//! API keys: made, printed, found, expired, revoked.

use super::*;
use crate::{KEY_RANDOM_BYTES, new_key};

const ROLES: &str = r#"
[roles.robot.sources.shop.tables.orders.select]
columns = "*"
rows = { shop = { eq = "$shop" } }
[roles.admin]
unrestricted = true
"#;

#[test]
fn a_key_is_known_by_its_record() {
    let mut random = [7; KEY_RANDOM_BYTES];
    let key = new_key(&random);
    random[0] = 8;
    let other = new_key(&random);
    assert!(key.printed.starts_with("prony_07070707_") && key.printed.len() == 58, "{}", key.printed);
    assert!(!format!("{key:?}").contains(&key.printed[15..]));
    let record = key.record("ci", "robot", Some("2027-01-16T00:00:00Z"));
    assert!(!record.contains(&key.printed[15..]), "{record}");
    let session = "scopes = [\"orders:read\"]\nsession = { shop = 5 }\n";
    let beside = Beside::new().file("keys.toml", format!("{record}{session}"));
    let settings = beside.settings(&format!("[auth]\nkeys_file = \"keys.toml\"\n{ROLES}"));
    let shop = Authenticator::new(&settings);
    let ends = 1_800_057_600;
    for headers in [
        [("x-api-key", key.printed.clone())],
        [("authorization", format!("ApiKey {}", key.printed))],
        [("Authorization", format!("apikey  {}", key.printed))],
    ] {
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        let identity = identify(&shop, &headers, NOW).expect("it is known");
        assert_eq!(role(&settings, &identity), "robot");
        assert_eq!(identity.session[..], [json!(5)]);
        assert_eq!((identity.subject.as_deref(), identity.expires_at), (Some("ci"), Some(ends)));
        assert!(identity.scopes.contains("orders:read"));
        assert!(identify(&shop, &headers, ends - 1).is_ok());
        let expired = identify(&shop, &headers, ends).expect_err("it has expired");
        assert_eq!(
            (expired.kind, expired.reason.as_str()),
            (RefusalKind::InvalidToken, "API key `ci` has expired")
        );
    }
    let wrong_secret =
        format!("{}{}", &key.printed[..57], if key.printed.ends_with('A') { 'B' } else { 'A' });
    let same_prefix = format!("prony_07070707_{}", "A".repeat(43));
    for wrong in
        [&other.printed, &wrong_secret, &same_prefix, "", "prony_", &key.printed[..57], "x", &key.hash]
    {
        let refused = identify(&shop, &[("x-api-key", wrong)], NOW).expect_err(wrong);
        assert_eq!(refused.kind, RefusalKind::InvalidToken, "{wrong}");
    }
    // A key has one role.
    let with_role = |role| identify(&shop, &[("x-api-key", &key.printed), ("x-prony-role", role)], NOW);
    assert!(with_role("robot").is_ok());
    assert_eq!(with_role("admin").expect_err("it is another's").kind, RefusalKind::RoleNotAllowed);
    // As a Bearer token it is none.
    let bearer = bearer(&shop, &key.printed, NOW).expect_err("there is no issuer");
    assert_eq!(bearer.kind, RefusalKind::InvalidToken);
}

#[test]
fn mistakes_in_a_file_of_keys_have_their_place_there() {
    let key = new_key(&[7; KEY_RANDOM_BYTES]);
    let file = format!(
        "{}{}\n[[api_key]]\nname = \"x\"\nprefix = \"abc\"\nhash = \"{}\"\nrole = \"robt\"\nexpires = 5\nfoo = 1\n[[api_key]]\n[keys]\n",
        key.record("ci", "robot", None),
        key.record("ci", "robot", None),
        key.printed,
    );
    let beside = Beside::new().file("keys.toml", file);
    let (_, faults) = beside.read(&format!("[auth]\nkeys_file = \"keys.toml\"\n{ROLES}"));
    assert!(!faults.contains(&key.printed), "{faults}");
    expect_test::expect![[r#"
        keys.toml:6:1: an API key is named `ci` already
        keys.toml:6:1: an API key has the prefix `07070707` already
        prony.toml:6:24: session variable `shop` is unknown; give it a claim of tokens in `claims` of [[auth.jwt]], or a value in `session` of [[auth.api_key]]
        keys.toml:14:10: `prefix` has 8 letters and digits
        keys.toml:15:8: `hash` is what `prony key new` writes: sha256:…
        keys.toml:16:8: role `robt` is unknown; did you mean `robot`?
        keys.toml:17:11: `expires`: write a time such as 2030-01-31T12:00:00Z
        keys.toml:18:1: `foo` is no option of an API key
        keys.toml:19:1: an API key needs `name`, `prefix`, `hash`, `role`; `prony key new` writes all of it
        keys.toml:20:2: `keys` is no option of a file of keys"#]]
    .assert_eq(&faults);
    let (_, faults) = Beside::new().read(&format!("[auth]\nkeys_file = \"keys.toml\"\n{ROLES}"));
    expect_test::expect![[r#"
        prony.toml:2:13: `keys.toml` cannot be read: entity not found
        prony.toml:6:24: session variable `shop` is unknown; give it a claim of tokens in `claims` of [[auth.jwt]], or a value in `session` of [[auth.api_key]]"#]]
    .assert_eq(&faults);
}
