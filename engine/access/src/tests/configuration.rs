//! Reading the configuration: what is read, and its mistakes, all at once, each with its place and what may have been meant.

use expect_test::{Expect, expect};
use prony_graphql::selection::Value;
use prony_source::permissions::Columns;

use super::*;
use crate::Openness;

fn check(text: &str, expected: &Expect) {
    let (_, faults) = Beside::new().read(text);
    expected.assert_eq(&faults);
}

/// It was left out, and whoever listens at the usual one was asked, with the credentials of clients.
#[test]
fn a_port_that_is_none_is_no_part_of_an_address() {
    check(
        r#"
[auth.webhook]
address = "http://127.0.0.1:99999/who"
forward = ["authorization"]
[[auth.jwt]]
jwks = "https://login.example:99999/keys"
algorithms = ["RS256"]
role = "a"
[roles.a]
"#,
        &expect![[r"
            prony.toml:3:11: `address` has a port that is none
            prony.toml:6:8: `jwks` has a port that is none"]],
    );
}

#[test]
fn the_address_of_a_webhook_may_have_a_variable() {
    let text =
        "[auth.webhook]\naddress = \"http://prony:${JWT_SECRET}@127.0.0.1:8000/who\"\nforward = [\"cookie\"]";
    let webhook = Beside::new().settings(text).webhook.expect("there is one");
    assert_eq!(webhook.address, format!("http://prony:{SECRET}@127.0.0.1:8000/who"));
    check(
        "[auth.webhook]\naddress = \"http://${NOTHING}/who\"\nforward = [\"cookie\"]",
        &expect![
            "prony.toml:2:11: the environment has no variable `NOTHING`; set it before starting, or `NOTHING_FILE` to a file that has the value"
        ],
    );
}

#[test]
fn a_server_is_open_closed_or_open_on_loopback_addresses() {
    for (text, openness) in [
        ("", Openness::LoopbackOnly),
        ("auth = \"open\"", Openness::Open),
        ("[auth]\nanonymous = \"a\"\n[roles.a]", Openness::Closed),
    ] {
        assert_eq!(Beside::new().settings(text).openness, openness, "{text}");
    }
    check(
        "auth = \"opn\"",
        &expect![[r#"prony.toml:1:8: `auth` is a table, or "open" for everybody on any address"#]],
    );
    // Whoever names a role that is not there lets others in all the same.
    check("[auth]\nanonymous = \"a\"", &expect!["prony.toml:2:13: role `a` is unknown"]);
    check(
        "[auth]",
        &expect![
            "prony.toml:1:1: [auth] lets nobody in: it needs `anonymous`, [[auth.jwt]], [[auth.api_key]], [auth.mtls] or [auth.webhook]"
        ],
    );
    check(
        "[roles.a]",
        &expect![
            "prony.toml:1:2: roles need [auth], which says who has them; without it everybody may do everything"
        ],
    );
    check(
        "auth = \"open\"\n[roles.a]",
        &expect![
            "prony.toml:2:2: roles need [auth], which says who has them; without it everybody may do everything"
        ],
    );
    check(
        "auth = \"open\"\nroles = 5",
        &expect![[r#"
        prony.toml:2:1: roles need [auth], which says who has them; without it everybody may do everything
        prony.toml:2:9: `roles` is a table, not a whole number"#]],
    );
}

#[test]
fn all_of_it_is_read() {
    let text = r#"
[auth]
anonymous = "visitor"
trusted_proxies = ["10.0.0.0/8", "::1"]
hosts = ["Shop.local"]
max_token_bytes = 4096
[[auth.jwt]]
issuer = "https://login.example/"
audience = ["shop"]
jwks = "https://login.example/.well-known/jwks.json"
algorithms = ["RS256", "ES256"]
claims = { role = "/shop/role", allowed_roles = "/shop/roles", scopes = "/scope", "user.id" = "/sub", user.customer = "/shop/customer" }
[roles.visitor.sources.shop.tables]
items = { select = { columns = "*", aggregates = false } }
[roles.customer]
inherits = ["visitor"]
[roles.customer.sources.shop.tables.orders]
select = { columns = ["id", "total", "ordered_at"], filter_columns = ["id"], sort_columns = ["ordered_at"], aggregate_columns = ["total"], rows = { customer = { login = { eq = "$user.id" } }, ordered_at = { gt = 2020-01-31T12:00:00Z }, total = { lt = 1.5, gt = 0x10, lte = 1_000 } }, limit = 100, aggregates = true }
insert = { columns = ["total"], set = { customer_id = "$user.customer", note = "$$5", tags = ["a"] }, check = { total = { lt = 10000 } } }
update = { columns = ["total"], rows = { paid = { eq = false } } }
delete = { rows = { day = { eq = 2020-01-31 } } }
[roles.customer.sources.social.types.Person]
select = { columns = "*" }
"#;
    let settings = Beside::new().settings(text);
    assert_eq!(settings.names.names().collect::<Vec<_>>(), ["user.id", "user.customer"]);
    assert_eq!(settings.hosts, ["shop.local"]);
    assert_eq!(settings.trusted_proxies.len(), 2);
    let shown: Vec<String> =
        settings.roles.iter().map(|role| crate::explain(role, &settings.names)).collect();
    expect![[r#"
        role visitor

        source shop
          TABLE  MAY     COLUMNS  WITH
          items  select  all      all rows

        role customer

        source shop
          TABLE   MAY     COLUMNS                WITH
          items   select  all                    all rows
          orders  select  id, ordered_at, total  rows {customer: {login: {eq: $user.id}}, ordered_at: {gt: "2020-01-31T12:00:00Z"}, total: {lt: 1.5, gt: 16, lte: 1000}}; filter by id; sort by ordered_at; aggregates of total; at most 100 rows
                  insert  total                  set customer_id = $user.customer; set note = "$5"; set tags = ["a"]; check {total: {lt: 10000}}
                  update  total                  rows {paid: {eq: false}}; check {paid: {eq: false}}
                  delete                         rows {day: {eq: "2020-01-31"}}

        source social
          TABLE   MAY     COLUMNS  WITH
          Person  select  all      all rows
    "#]].assert_eq(&shown.join("\n"));
    let orders = &settings.roles[1].permissions["shop"].tables["orders"];
    let select = orders.select.as_ref().expect("it is given");
    assert_eq!(select.sort, Some(Columns::Only(["ordered_at".to_owned()].into())));
    let update = orders.update.as_ref().expect("it is given");
    assert_eq!(update.check, update.rows, "rows must stay among those that can be updated");
    assert_eq!(orders.insert.as_ref().expect("it is given").set["note"], Value::Scalar(json!("$5")));
}

#[test]
fn mistakes_of_auth_are_reported_at_once() {
    check(
        r#"
[auth]
anonymus = "a"
trusted_proxies = ["10.0.0.0/33", 5]
hosts = 7
max_token_bytes = 1
webhook = { addres = "ftp://x", forward = ["a b"] }
mtls = { role = "b", claims = { me = "subjct" } }
[[auth.jwt]]
issuer = "i"
audience = [1]
algorithms = ["RS265", "none", "HS256", "HS256"]
claims = { rol = "sub", "user.id" = "/a~2", x = 5 }
leeway_s = 601
require_expiry = "yes"
[[auth.jwt]]
issuer = "i"
algorithms = "RS256"
jwks = "https://x/"
secret = "y"
role = "aa"
[[auth.jwt]]
[auth.foo]
[roles.a]
"#,
        &expect![[r#"
            prony.toml:3:1: `anonymus` is no option of [auth]; did you mean `anonymous`?
            prony.toml:4:20: `trusted_proxies`: write an address, or a range such as 10.0.0.0/8
            prony.toml:4:35: `trusted_proxies`: write a text in quotes, not a whole number
            prony.toml:5:9: `hosts` is a list, not a whole number
            prony.toml:6:19: `max_token_bytes`: write a whole number from 256 to 1048576
            prony.toml:7:11: [auth.webhook] needs its `address`
            prony.toml:7:13: `addres` is no option of [auth.webhook]; did you mean `address`?
            prony.toml:7:44: `a b` is no name of a header
            prony.toml:8:17: role `b` is unknown
            prony.toml:8:38: name of a certificate `subjct` is unknown; did you mean `subject`?
            prony.toml:9:1: [[auth.jwt]] needs its keys: `jwks`, `key_file` or `secret`
            prony.toml:9:1: [[auth.jwt]] gives no role: write claims = { role = "/…" }, or `role` for all its tokens
            prony.toml:11:13: `audience`: write a text in quotes, not a whole number
            prony.toml:12:15: algorithm `RS265` is unknown; did you mean `RS256`?
            prony.toml:12:24: tokens without a signature are never accepted
            prony.toml:12:41: `HS256` stands twice
            prony.toml:13:18: `rol`: write a JSON pointer such as "/sub" (RFC 6901)
            prony.toml:13:37: `user.id`: write a JSON pointer such as "/sub" (RFC 6901)
            prony.toml:13:49: `x`: write a text in quotes, not a whole number
            prony.toml:14:12: `leeway_s`: write a whole number from 0 to 600
            prony.toml:15:18: `require_expiry`: write true or false, not a text
            prony.toml:16:1: [[auth.jwt]] gives no role: write claims = { role = "/…" }, or `role` for all its tokens
            prony.toml:16:1: issuer `i` stands twice
            prony.toml:20:1: one of `jwks`, `key_file` and `secret` is enough
            prony.toml:21:8: role `aa` is unknown; did you mean `a`?
            prony.toml:22:1: [[auth.jwt]] needs `algorithms`, such as ["RS256"]: a token must not choose how it is checked
            prony.toml:22:1: [[auth.jwt]] needs its keys: `jwks`, `key_file` or `secret`
            prony.toml:22:1: [[auth.jwt]] gives no role: write claims = { role = "/…" }, or `role` for all its tokens
            prony.toml:23:7: `foo` is no option of [auth]"#]],
    );
}

#[test]
fn keys_of_the_wrong_kind_are_mistakes() {
    let rsa = TestKey::rsa(KeySize::Rsa2048);
    let small = include_str!("rsa_1024.pem");
    let private = pem::encode(&pem::Pem::new("PRIVATE KEY", vec![1, 2, 3]));
    let beside = Beside::new()
        .file("rsa.pem", rsa.pem())
        .file("small.pem", small)
        .file("ec.pem", TestKey::p256().pem())
        .file("private.pem", private)
        .file("certificate.pem", pem::encode(&pem::Pem::new("CERTIFICATE", vec![1, 2, 3])))
        .file("broken.pem", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
        .file("empty", "")
        .file("binary", vec![0xff, 0xfe])
        .file("set.json", json!({"keys": [rsa.jwk(json!({"alg": "RS256"}))]}).to_string())
        .file("enc.json", rsa.jwk(json!({"use": "enc"})).to_string())
        .file("oct.json", json!({"kty": "oct", "k": encoded("short")}).to_string());
    let mut all = String::new();
    for (keys, algorithms) in [
        ("key_file = \"rsa.pem\"", "[\"HS256\"]"),
        ("key_file = \"rsa.pem\"", "[\"RS256\", \"ES256\"]"),
        ("key_file = \"small.pem\"", "[\"RS256\"]"),
        ("key_file = \"ec.pem\"", "[\"RS256\"]"),
        ("key_file = \"ec.pem\"", "[\"ES384\"]"),
        ("key_file = \"private.pem\"", "[\"RS256\"]"),
        ("key_file = \"certificate.pem\"", "[\"RS256\"]"),
        ("key_file = \"broken.pem\"", "[\"RS256\"]"),
        ("key_file = \"empty\"", "[\"RS256\"]"),
        ("key_file = \"binary\"", "[\"RS256\"]"),
        ("key_file = \"missing\"", "[\"RS256\"]"),
        ("jwks = \"set.json\"", "[\"RS512\"]"),
        ("jwks = \"set.json\"", "[\"RS256\", \"HS256\"]"),
        ("jwks = \"enc.json\"", "[\"RS256\"]"),
        ("jwks = \"oct.json\"", "[\"HS256\"]"),
        ("jwks = \"https://login.example/\"", "[\"HS256\"]"),
        ("secret = \"hunter2\"", "[\"HS256\"]"),
        ("secret = \"hunter2${\"", "[\"HS256\"]"),
        ("secret = \"${MISSING}\"", "[\"HS256\"]"),
        ("secret = \"${JWT_SECRET}\"", "[\"RS256\"]"),
        ("secret = \"${JWT_SECRET}\"", "[\"HS256\", \"RS256\"]"),
    ] {
        let text = format!("[[auth.jwt]]\n{keys}\nalgorithms = {algorithms}\nrole = \"a\"\n[roles.a]");
        let (settings, faults) = beside.read(&text);
        assert!(!faults.is_empty(), "{text}");
        assert!(!faults.contains("hunter2") && !format!("{settings:?}").contains("hunter2"), "{faults}");
        all.extend([keys, " ", algorithms, "\n  ", &faults.replace('\n', "\n  "), "\n"]);
    }
    expect![[r#"
        key_file = "rsa.pem" ["HS256"]
          prony.toml:2:12: `rsa.pem`: the key is for none of these algorithms
        key_file = "rsa.pem" ["RS256", "ES256"]
          prony.toml:2:12: ES256 cannot be checked with these keys
        key_file = "small.pem" ["RS256"]
          prony.toml:2:12: `small.pem`: the RSA key has 1024 bits; at least 2048 are needed
        key_file = "ec.pem" ["RS256"]
          prony.toml:2:12: `ec.pem`: the key is for none of these algorithms
        key_file = "ec.pem" ["ES384"]
          prony.toml:2:12: `ec.pem`: the key is for none of these algorithms
        key_file = "private.pem" ["RS256"]
          prony.toml:2:12: `private.pem`: a private key is no key to verify with; give the public one
        key_file = "certificate.pem" ["RS256"]
          prony.toml:2:12: `certificate.pem`: a certificate is no key; give its public key (`openssl x509 -pubkey -noout`)
        key_file = "broken.pem" ["RS256"]
          prony.toml:2:12: `broken.pem`: the key is for none of these algorithms
        key_file = "empty" ["RS256"]
          prony.toml:2:12: `empty`: no public key in PEM, and no JWK or JWK set
        key_file = "binary" ["RS256"]
          prony.toml:2:12: `binary`: no public key in PEM, and no JWK or JWK set
        key_file = "missing" ["RS256"]
          prony.toml:2:12: `missing` cannot be read: entity not found
        jwks = "set.json" ["RS512"]
          prony.toml:2:8: `set.json`: the key is for none of these algorithms
        jwks = "set.json" ["RS256", "HS256"]
          prony.toml:2:8: HS256 cannot be checked with these keys
        jwks = "enc.json" ["RS256"]
          prony.toml:2:8: `enc.json`: `use` of a key is not `sig`
        jwks = "oct.json" ["HS256"]
          prony.toml:2:8: `oct.json`: the secret has 5 bytes; HS256 needs at least 32
        jwks = "https://login.example/" ["HS256"]
          prony.toml:2:8: HS256 cannot be checked with public keys
        secret = "hunter2" ["HS256"]
          prony.toml:2:10: the secret has 7 bytes; HS256 needs at least 32
        secret = "hunter2${" ["HS256"]
          prony.toml:2:10: `secret`: a `${` lacks its closing brace
        secret = "${MISSING}" ["HS256"]
          prony.toml:2:10: the environment has no variable `MISSING`; set it before starting, or `MISSING_FILE` to a file that has the value
        secret = "${JWT_SECRET}" ["RS256"]
          prony.toml:2:10: `secret` is for HS256, HS384 and HS512; other algorithms need a public key
        secret = "${JWT_SECRET}" ["HS256", "RS256"]
          prony.toml:2:10: RS256 cannot be checked with a secret
    "#]].assert_eq(&all);
}

#[test]
fn secrets_are_in_no_debug_output() {
    let settings = Beside::new().settings(&format!("{SHOP_ISSUER}{SHOP}"));
    let shown = format!("{settings:?} {:?}", Authenticator::new(&settings));
    assert!(!shown.contains(&SECRET[..16]), "{shown}");
}

#[test]
fn mistakes_of_roles_are_reported_at_once() {
    check(
        r#"
[auth]
anonymous = "visiter"
[[auth.jwt]]
secret = "${JWT_SECRET}"
algorithms = ["HS256"]
claims = { role = "/r", "user.id" = "/sub" }
[roles."no name"]
[roles.visitor]
inherit = ["a"]
unrestricted = true
sources.shop = {}
[roles.a.sources.shop]
table = {}
types.x = { select = true }
[roles.a.sources.shop.tables]
x = { select = true }
y = { selec = true, update = 5, delete = { row = {} } }
z = 7
[roles.a.sources.shop.tables.orders]
select = { rows = { owner = { eq = "$user.idd" }, "no field" = 1, n = { gt = nan } }, colums = [], limit = 0, aggregates = "yes" }
insert = { columns = ["a", 5], set = { a = 1, b = "$role" }, check = [] }
update = { columns = "all", rows = { a = { lt = 99999999999999999999 } } }
"#,
        &expect![[r#"
            prony.toml:3:13: role `visiter` is unknown; did you mean `visitor`?
            prony.toml:8:8: `no name` is no name of a role: letters, digits, `_`, `-` and `.`, a letter first, 64 at most
            prony.toml:10:1: `inherit` is no option of [roles.visitor]; did you mean `inherits`?
            prony.toml:12:1: `visitor` is unrestricted: what else it may do with sources says nothing
            prony.toml:14:1: `table` is no option of the permissions for `shop`; did you mean `tables`?
            prony.toml:15:7: `x` is given twice
            prony.toml:18:7: `selec` is no option of the permissions of `y`; did you mean `select`?
            prony.toml:18:30: `update`: write true for everything, or a table
            prony.toml:18:44: `row` is no option of `delete`; did you mean `rows`?
            prony.toml:19:5: `z` is a table, not a whole number
            prony.toml:21:10: `select` needs `columns`: a list of names, or "*" for all
            prony.toml:21:36: session variable `user.idd` is unknown; did you mean `user.id`?
            prony.toml:21:51: `no field` is no field's name
            prony.toml:21:78: nan is no finite number
            prony.toml:21:87: `colums` is no option of `select`; did you mean `columns`?
            prony.toml:21:108: `limit`: write a whole number from 1 to 4294967295
            prony.toml:21:124: `aggregates`: write true or false, not a text
            prony.toml:22:28: `columns`: write a text in quotes, not a whole number
            prony.toml:22:40: `a` is set and cannot be among `columns`
            prony.toml:22:70: `check` is a table, not a list
            prony.toml:23:22: `columns`: write a list of names, or "*" for all
            prony.toml:23:49: 99999999999999999999 is out of range"#]],
    );
    check("[roles.a]\n[roles.a]\n[auth]\nanonymous = \"a\"", &expect!["prony.toml:2:8: duplicate key"]);
}

/// Nor are those that requests bring.
#[test]
fn credentials_are_in_no_debug_output() {
    let text = format!("[auth.webhook]\naddress = \"https://x/\"\nforward = \"cookie\"\n{SHOP}");
    let shop = Beside::new().authenticator(&text);
    let mut credentials = shop.credentials();
    for name in ["authorization", "x-api-key", "cookie"] {
        credentials.header(name, b"hunter2");
    }
    let mut asked = shop.credentials();
    asked.header("cookie", b"hunter2");
    let shown = format!("{credentials:?} {:?}", shop.identify(&asked, None, NOW));
    assert!(shown.contains("NeedsWebhook"), "{shown}");
    let as_numbers = format!("{:?}", b"hunter2");
    assert!(!shown.contains("hunter2") && !shown.contains(as_numbers.trim_matches(['[', ']'])), "{shown}");
}

/// All configurations of the documentation are right.
#[test]
fn the_documentation_is_right() {
    for text in [include_str!("../../../../docs/access.md"), include_str!("../../../../docs/limits.md")] {
        let mut blocks = text.split("```toml\n").skip(1).peekable();
        assert!(blocks.peek().is_some());
        for block in blocks {
            let (block, _) = block.split_once("```").expect("a block ends");
            let (_, faults) = Beside::new().read(block);
            assert_eq!(faults, "", "{block}");
        }
    }
}

/// Whoever has no claims for a variable would hide all rows by it.
#[test]
fn variables_that_nothing_gives_are_mistakes() {
    let roles = "[roles.a.sources.s.tables.t.delete]\nrows = { a = { eq = \"$user.ip\" } }\n";
    check(
        &format!("[auth]\nanonymous = \"a\"\n{roles}"),
        &expect![
            "prony.toml:4:21: session variable `user.ip` is unknown; give it a claim of tokens in `claims` of [[auth.jwt]], or a value in `session` of [[auth.api_key]]"
        ],
    );
    // A webhook may give any.
    check(&format!("[auth.webhook]\naddress = \"https://x/\"\nforward = \"cookie\"\n{roles}"), &expect![""]);
}
