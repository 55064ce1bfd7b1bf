//! Who stays connected, when other settings take the place of those that let them in.

use super::*;
use crate::{KEY_RANDOM_BYTES, Standing, Standings, new_key};

const REST: &str = r#"
[auth]
anonymous = "customer"
"#;

fn standing(before: &AccessSettings, now: &AccessSettings, identity: &Arc<Identity>) -> &'static str {
    match Standings::between(before, now).of(identity) {
        Standing::Same(known) => {
            assert_eq!(role(now, &known), role(before, identity));
            "same"
        }
        Standing::Other => "other",
        Standing::Refused => "refused",
    }
}

#[test]
fn rights_and_ways_are_held_against_each_other() {
    let key = new_key(&[7; KEY_RANDOM_BYTES]);
    let record = key.record("ci", "clerk", None).replace("[[api_key]]", "[[auth.api_key]]");
    let record = format!("{record}session = {{ shop = 5 }}\n");
    let text = format!("{REST}{SHOP_ISSUER}{record}{SHOP}");
    let before = Beside::new().settings(&text);
    let shop = Authenticator::new(&before);
    let token = token(
        &json!({"iss": "https://login.example/", "aud": "shop", "exp": NOW + 60, "sub": "1", "shop": {"role": "customer"}}),
    );
    let bearer = format!("Bearer {token}");
    let by_token = identify(&shop, &[("authorization", &bearer)], NOW).expect("the token is right");
    let by_key = identify(&shop, &[("x-api-key", &key.printed)], NOW).expect("the key is right");
    let nobody = identify(&shop, &[], NOW).expect("there is a role for it");
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        let now = Beside::new().settings(&text.replacen(from, to, 1));
        [&by_token, &by_key, &nobody].map(|identity| standing(&before, &now, identity))
    };
    for (from, to, expected) in [
        ("[auth]", "# The same, in other places.\n[auth]", ["same", "same", "same"]),
        // Roles are numbered anew.
        ("[roles.customer.", "[roles.a]\nunrestricted = true\n[roles.customer.", ["same", "same", "same"]),
        (r#"columns = ["id"]"#, r#"columns = ["id", "total"]"#, ["other", "same", "other"]),
        (r#"shop = { eq = "$shop" }"#, r#"shop = { ne = "$shop" }"#, ["same", "other", "same"]),
        ("anonymous = \"customer\"", "", ["same", "same", "refused"]),
        ("anonymous = \"customer\"", "anonymous = \"clerk\"", ["same", "same", "other"]),
        ("audience = \"shop\"", "audience = \"other\"", ["other", "same", "same"]),
        (
            "issuer = \"https://login.example/\"",
            "issuer = \"https://another.example/\"",
            ["refused", "same", "same"],
        ),
        ("shop = 5", "shop = 6", ["same", "other", "same"]),
        ("name = \"ci\"", "name = \"cd\"", ["same", "refused", "same"]),
        (&key.hash[7..20], &"A".repeat(13), ["same", "refused", "same"]),
    ] {
        assert_eq!(changed(from, to), expected, "{from} is {to}");
    }
    let with_role = text.replacen("algorithms = ", "role = \"clerk\"\nalgorithms = ", 1);
    let before_with_role = Beside::new().settings(&with_role);
    let renumbered =
        with_role.replacen("[roles.customer.", "[roles.a]\nunrestricted = true\n[roles.customer.", 1);
    let other_role = with_role.replacen("role = \"clerk\"", "role = \"customer\"", 1);
    for (now, expected) in [(renumbered, "same"), (other_role, "other")] {
        assert_eq!(standing(&before_with_role, &Beside::new().settings(&now), &by_token), expected);
    }
    let other_secret =
        Beside { variables: BTreeMap::from([("JWT_SECRET", SECRET.repeat(2))]), ..Beside::new() };
    assert_eq!(standing(&before, &other_secret.settings(&text), &by_token), "other");
}
