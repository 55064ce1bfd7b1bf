//! Rules of operations: how they are read, which one counts, and whom they let in.

use std::net::IpAddr;

use expect_test::expect;

use super::*;
use crate::{Asker, OperationRefusal, Operations, RuleId, Times};

const SECOND_NS: u64 = 1_000_000_000;

/// Rules over the shop, with its authenticator.
fn operations(rules: &str) -> (Authenticator, Operations) {
    let (settings, faults) = Beside::new().read(&format!("{SHOP_ISSUER}{SHOP}{rules}"));
    assert_eq!(faults, "");
    (Authenticator::new(&settings), Operations::new(&settings))
}

fn at(second: u64) -> Times {
    Times { monotonic_ns: (second + 1) * SECOND_NS, unix_s: NOW + second.cast_signed() }
}

fn user(shop: &Authenticator, changes: Json) -> Arc<Identity> {
    bearer(shop, &token(&with(customer(), changes)), NOW).expect("it is accepted")
}

const HOME: &str = "192.0.2.1";

/// How often whoever asks is let in, and what is said then.
fn tries(
    operations: &Operations,
    rules: &[RuleId],
    (identity, address): (&Identity, &str),
    times: Times,
) -> (u32, OperationRefusal) {
    let address: IpAddr = address.parse().expect("it is an address");
    for count in 0..1000 {
        if let Err(refusal) = operations.admit(rules, &Asker { identity, address }, times) {
            return (count, refusal);
        }
    }
    panic!("there is no limit");
}

fn rule(operations: &Operations, name: Option<&str>, root: &'static str, field: &str) -> RuleId {
    operations.rule(name, root, field).expect("there is one")
}

#[test]
fn the_most_exact_rule_counts() {
    let (_, operations) = operations(
        "[[operation]]\nmatch = \"*\"\n[[operation]]\nmatch = \"Query.*\"\n[[operation]]\nmatch = \"Query.orders\"\n[[operation]]\nname = \"Report\"\n",
    );
    let shown = |name, root, field| format!("{:?}", rule(&operations, name, root, field));
    assert_eq!(shown(None, "Mutation", "orders"), "RuleId(0)");
    assert_eq!(shown(None, "Query", "items"), "RuleId(1)");
    assert_eq!(shown(None, "Query", "orders"), "RuleId(2)");
    assert_eq!(shown(Some("Other"), "Query", "orders"), "RuleId(2)");
    assert_eq!(shown(Some("Report"), "Query", "orders"), "RuleId(3)");
    assert_eq!(shown(Some("Report"), "Mutation", "x"), "RuleId(3)");
    let (_, none) = self::operations("[[operation]]\nmatch = \"Query.orders\"\n");
    assert_eq!(none.rule(Some("orders"), "Query", "items"), None);
    assert_eq!(none.rule(None, "Mutation", "orders"), None);
}

#[test]
fn scopes_are_needed_before_anything_is_counted() {
    let (shop, operations) = operations(
        r#"
[[operation]]
match = "Query.orders"
scopes = ["orders:read"]
rate_limit = [{ by = "user", rate = "1/s" }]
[[operation]]
match = "Mutation.*"
scopes = [["orders:write", "audited"], ["admin"]]
"#,
    );
    let query = rule(&operations, None, "Query", "orders");
    let mutation = rule(&operations, None, "Mutation", "x");
    let address: IpAddr = HOME.parse().expect("it is an address");
    let may = |rules: &[RuleId], scope: &str| {
        let identity = user(&shop, json!({"scope": scope}));
        operations.admit(rules, &Asker { identity: &identity, address }, at(0))
    };
    for (rules, scope, is_let_in) in [
        (&[query][..], "", false),
        (&[query, mutation], "orders:read", false),
        (&[mutation], "orders:write", false),
        (&[mutation], "orders:write audited", true),
        (&[mutation], "admin", true),
        (&[query, mutation], "admin orders:read", true),
    ] {
        let found = may(rules, scope);
        assert_eq!(found.is_ok(), is_let_in, "{rules:?} {scope}: {found:?}");
        if let Err(refusal) = found {
            let OperationRefusal::Scope(refusal) = refusal else { panic!("{refusal}") };
            assert_eq!((refusal.kind, refusal.status().as_u16()), (RefusalKind::InsufficientScope, 403));
        }
    }
}

#[test]
fn limits_count_by_whoever_asks() {
    let of = |by: &str| {
        let rules = format!(
            "[[operation]]\nmatch = \"*\"\nrate_limit = [{{ by = \"{by}\", rate = \"1/s\", burst = 3 }}]\n"
        );
        let (shop, operations) = operations(&rules);
        let all = rule(&operations, None, "Query", "x");
        let [ann, bob] = ["ann", "bob"].map(|name| user(&shop, json!({"sub": name, "tenant": 1})));
        let clerk = user(&shop, json!({"sub": "ann", "shop": {"role": "clerk"}, "tenant": "1"}));
        let nobody = user(&shop, json!({"sub": null}));
        let asked = [
            (&ann, HOME),
            (&bob, HOME),
            (&ann, "192.0.2.2"),
            (&clerk, HOME),
            (&nobody, "2001:db8::1"),
            (&nobody, "2001:db8::2"),
        ];
        asked.map(|(identity, address)| {
            let all = [all];
            let mut count = 0;
            while count < 10
                && operations
                    .admit(
                        &all,
                        &Asker { identity, address: address.parse().expect("it is an address") },
                        at(0),
                    )
                    .is_ok()
            {
                count += 1;
            }
            count
        })
    };
    assert_eq!(of("user"), [3, 3, 0, 0, 3, 0]);
    assert_eq!(of("address"), [3, 0, 3, 0, 3, 0]);
    assert_eq!(of("role"), [3, 0, 0, 3, 0, 0]);
    assert_eq!(of("everybody"), [3, 0, 0, 0, 0, 0]);
    assert_eq!(of("key"), [10; 6]);
    assert_eq!(of("claim:/tenant"), [3, 0, 0, 3, 3, 0]);
}

#[test]
fn what_is_refused_is_not_counted_and_says_when_to_come_again() {
    let (shop, operations) = operations(
        r#"
[[operation]]
match = "Query.orders"
rate_limit = [{ by = "user", rate = "10/s", burst = 20 }, { by = "everybody", rate = "1/min", burst = 5 }]
quota = [{ by = "role", hour = 8, month = 1000 }]
[[operation]]
match = "Query.items"
rate_limit = [{ by = "user", rate = "100/s" }]
"#,
    );
    let (orders, items) =
        (rule(&operations, None, "Query", "orders"), rule(&operations, None, "Query", "items"));
    let ann = user(&shop, json!({}));
    let address: IpAddr = HOME.parse().expect("it is an address");
    let asker = Asker { identity: &ann, address };
    let state =
        operations.admit(&[items, orders], &asker, at(0)).expect("it is let in").expect("there is a limit");
    assert_eq!(
        (state.policy(), state.rate_limit()),
        (
            "\"Query.orders by everybody\";q=5;w=300".to_owned(),
            "\"Query.orders by everybody\";r=4;t=0".to_owned()
        )
    );
    // An operation is judged once for each of its root fields.
    let refused = operations.admit(&[orders; 5], &asker, at(0)).expect_err("it is too much");
    let OperationRefusal::Limit(state) = refused else { panic!("{refused}") };
    assert_eq!(
        (state.reset_s, state.rate_limit()),
        (60, "\"Query.orders by everybody\";r=0;t=60".to_owned())
    );
    assert_eq!(tries(&operations, &[orders], (&ann, HOME), at(0)).0, 4);
    // Minutes later the rate allows more, and the quota of the hour ends it.
    let (count, refusal) = tries(&operations, &[orders], (&ann, HOME), at(600));
    let OperationRefusal::Limit(state) = refusal else { panic!("{refusal}") };
    assert_eq!((count, &*state.name), (3, "Query.orders by role per hour"));
    assert_eq!((state.quota, state.window_s, state.reset_s), (8, Some(3_600), 3_000));
    // What the quota refused was given back to the rates: a new hour finds them full.
    assert_eq!(tries(&operations, &[orders], (&ann, HOME), at(3_600)).0, 5);
    // Counts of quotas go on after a restart.
    let written = operations.counts().quota_counts(NOW + 3_600);
    let (_, again) =
        self::operations("[[operation]]\nmatch = \"Query.orders\"\nquota = [{ by = \"role\", hour = 8 }]\n");
    again.counts().restore_quotas(&written, NOW + 3_601);
    assert_eq!(tries(&again, &[orders], (&ann, HOME), at(3_601)).0, 3);
    // The other rule was not touched by any of it.
    assert_eq!(tries(&operations, &[items], (&ann, HOME), at(3_601)).0, 100);
}

/// Whoever is refused by the limit of all is not at the end of their own.
#[test]
fn what_one_limit_refuses_is_given_back_to_the_others() {
    for (limits, step_s) in [
        ("rate_limit = [{ by = \"user\", rate = \"3/d\" }, { by = \"everybody\", rate = \"1/h\" }]", 3_600),
        ("quota = [{ by = \"user\", month = 3 }, { by = \"everybody\", hour = 1 }]", 3_600),
        (
            "rate_limit = [{ by = \"user\", rate = \"3/d\" }]\nquota = [{ by = \"everybody\", hour = 1 }]",
            3_600,
        ),
    ] {
        let (shop, operations) = operations(&format!("[[operation]]\nmatch = \"*\"\n{limits}\n"));
        let all = rule(&operations, None, "Query", "x");
        let ann = user(&shop, json!({}));
        for step in 0..3 {
            let (count, _) = tries(&operations, &[all], (&ann, HOME), at(step * step_s));
            assert_eq!(count, 1, "{limits}");
            for _ in 0..10 {
                assert_eq!(tries(&operations, &[all], (&ann, HOME), at(step * step_s)).0, 0, "{limits}");
            }
        }
        let (count, refusal) = tries(&operations, &[all], (&ann, HOME), at(3 * step_s));
        let OperationRefusal::Limit(state) = refusal else { panic!("{refusal}") };
        assert!(count == 0 && state.name.starts_with("* by user"), "{limits}: {count} {state}");
    }
}

/// A reload of the configuration gives nothing back that was used up, and takes nothing that is new.
#[test]
fn limits_that_stay_as_they_are_go_on_counting_in_another_configuration() {
    let rules = |first: &str, rate: &str, day: u32| {
        format!(
            "[[operation]]\nmatch = \"Query.{first}\"\nrate_limit = [{{ by = \"role\", rate = \"1/h\", burst = 9 }}]\n\
             [[operation]]\nmatch = \"Query.orders\"\nrate_limit = [{{ by = \"user\", rate = \"{rate}\", burst = 3 }}]\n\
             [[operation]]\nmatch = \"Mutation.*\"\nquota = [{{ by = \"role\", day = {day} }}]\n"
        )
    };
    let (shop, first) = operations(&rules("items", "1/h", 4));
    let ann = user(&shop, json!({}));
    let count = |operations: &Operations, root, field| {
        tries(operations, &[rule(operations, None, root, field)], (&ann, HOME), at(0)).0
    };
    let used = |operations: &Operations| {
        ["items", "orders"]
            .map(|field| count(operations, "Query", field))
            .into_iter()
            .chain([count(operations, "Mutation", "x")])
    };
    assert_eq!(used(&first).collect::<Vec<_>>(), [9, 3, 4]);
    let again = |text: &str, before: &Operations| {
        // Roles have other numbers here.
        let text = format!("{SHOP_ISSUER}[roles.abc]\n{SHOP}{text}");
        let (settings, faults) = Beside::new().read(&text);
        assert_eq!(faults, "");
        let role = settings.roles.iter().position(|role| *role.name == *"customer").unwrap_or_default();
        (Operations::with_counts(&settings, Arc::clone(before.counts())), crate::RoleId(role as u32))
    };
    let (same, role) = again(&rules("items", "1/h", 4), &first);
    assert_ne!(role, ann.role);
    let ann_now = Identity { role, ..(*ann).clone() };
    let left = |operations: &Operations, root, field| {
        tries(operations, &[rule(operations, None, root, field)], (&ann_now, HOME), at(0)).0
    };
    assert_eq!((left(&same, "Query", "items"), left(&same, "Query", "orders")), (0, 0));
    assert_eq!(left(&same, "Mutation", "x"), 0);
    // Another rate is another limit; another bound of a quota is not.
    let (other, _) = again(&rules("items", "2/h", 5), &same);
    assert_eq!((left(&other, "Query", "items"), left(&other, "Query", "orders")), (0, 3));
    assert_eq!(left(&other, "Mutation", "x"), 1);
}

/// A subject is unique at its issuer alone (RFC 7519, section 4.1.2).
#[test]
fn equal_subjects_of_two_issuers_are_two_users() {
    let rules = "[[operation]]\nmatch = \"*\"\nrate_limit = [{ by = \"user\", rate = \"1/h\", burst = 2 }]\n";
    let (shop, operations) = operations(rules);
    let ann = user(&shop, json!({"sub": "1"}));
    assert!(ann.issuer.is_some());
    let other = Identity { issuer: Some(Arc::from("https://other.example/")), ..(*ann).clone() };
    let all = [rule(&operations, None, "Query", "orders")];
    assert_eq!(tries(&operations, &all, (&ann, HOME), at(0)).0, 2);
    assert_eq!(tries(&operations, &all, (&other, HOME), at(0)).0, 2);
}

#[test]
fn two_quotas_of_one_window_count_an_operation_once_each() {
    let quotas = "[{ by = \"user\", day = 5 }, { by = \"user\", day = 4 }]";
    let (shop, operations) = operations(&format!("[[operation]]\nmatch = \"*\"\nquota = {quotas}\n"));
    let all = [rule(&operations, None, "Query", "orders")];
    assert_eq!(tries(&operations, &all, (&user(&shop, json!({})), HOME), at(0)).0, 4);
}

#[test]
fn places_are_asked_for_by_rule_and_by_whoever_asks() {
    let (shop, operations) = operations(
        r#"
[[operation]]
match = "Query.orders"
concurrency = { most = 8, each = 2, max_wait_ms = 1500 }
[[operation]]
match = "Query.items"
concurrency = { most = 3, by = "everybody" }
[[operation]]
match = "*"
"#,
    );
    let [orders, items, other] =
        ["orders", "items", "x"].map(|field| rule(&operations, None, "Query", field));
    let ann = user(&shop, json!({"sub": "ann"}));
    let asker = Asker { identity: &ann, address: HOME.parse().expect("it is an address") };
    let places = |rules: &[RuleId]| {
        let places = operations.places(rules, &asker);
        let shown = |place: &crate::PlaceRequest<'_>| {
            format!("{:?} {:?} {}", place.rule, String::from_utf8_lossy(&place.key), place.weight)
        };
        (operations.needs_place(rules), places.iter().map(shown).collect::<Vec<_>>().join(", "))
    };
    assert_eq!(places(&[other, other]), (false, String::new()));
    // The order is the same whatever the document's is, so that no two operations wait for each other.
    let both = "RuleId(0) \"\\0https://login.example/\\0ann\" 2, RuleId(1) \"\" 1";
    assert_eq!(places(&[items, orders, other, orders, orders]), (true, both.to_owned()));
    let refusal = operations.places(&[orders], &asker)[0].refusal();
    assert_eq!(
        (refusal.policy(), refusal.rate_limit()),
        (
            "\"Query.orders by user at a time\";q=2;qu=\"concurrent-requests\"".to_owned(),
            "\"Query.orders by user at a time\";r=0;t=2".to_owned()
        )
    );
}

#[test]
fn mistakes_of_operations_are_reported_at_once() {
    let rules = r#"
[[operation]]
match = "Query.orders"
scope = ["a"]
scopes = ["a", 1]
rate_limit = [{ by = "usr", rate = "5" }, { rate = "1/s" }, { by = "user" }, { by = "user", rate = "1/s", burst = 0 }, 7]
quota = [{ by = "claim:tenant", hours = 5 }, { by = "user", hour = 0 }]
[[operation]]
match = "Query.orders"
[[operation]]
match = "Qery.orders"
[[operation]]
match = "Query.*x"
name = "x"
[[operation]]
name = "a b"
[[operation]]
[[operation]]
match = "Query.x"
concurrency = { by = "usr", max_waiting = -1, subscriptions = 1 }
cache = { scope = "all" }
[[operation]]
match = "Query.y"
concurrency = { most = 0, at_most = 2 }
cache = { ttl = "5", scop = "user" }
"#;
    let (_, faults) = Beside::new().read(&format!("{SHOP_ISSUER}{SHOP}{rules}"));
    expect![[r#"
        prony.toml:18:1: `scope` is no option of [[operation]]; did you mean `scopes`?
        prony.toml:19:16: `scopes`: write a text in quotes, not a whole number
        prony.toml:20:22: `by`: write user, key, address, role, everybody, or a claim such as claim:/tenant
        prony.toml:20:36: `rate`: write a rate such as 50/s, 1000/min, 10/h or 5/d, of at most 1000000/s
        prony.toml:20:43: a rate limit needs `by`: user, key, address, role, everybody, or claim:/…
        prony.toml:20:61: a rate limit needs its `rate`, such as "50/s"
        prony.toml:20:115: `burst`: write a whole number from 1 to 31536000
        prony.toml:20:120: `rate_limit` is a table, not a whole number
        prony.toml:21:10: a quota needs `hour`, `day` or `month`: so many in it
        prony.toml:21:17: `by`: write user, key, address, role, everybody, or a claim such as claim:/tenant
        prony.toml:21:33: `hours` is no option of a quota; did you mean `hour`?
        prony.toml:21:46: a quota needs `hour`, `day` or `month`: so many in it
        prony.toml:21:68: `hour`: write a whole number from 1 to 9223372036854775807
        prony.toml:22:1: `Query.orders` stands twice
        prony.toml:25:9: `match`: write "Query.orders", "Mutation.*", "Subscription.*" or "*"
        prony.toml:26:1: [[operation]] has `match` or `name`, and not both
        prony.toml:30:8: `a b` is no name of an operation
        prony.toml:31:1: [[operation]] needs `match`, such as "Query.orders" or "Mutation.*", or `name` of an operation
        prony.toml:34:15: `concurrency` needs `most`: so many at a time, or `each`: so many of one user
        prony.toml:34:22: `by`: write user, key, address, role, everybody, or a claim such as claim:/tenant
        prony.toml:34:43: `max_waiting`: write a whole number from 0 to 1000000
        prony.toml:34:63: `subscriptions`: write true or false, not a whole number
        prony.toml:35:9: `cache` needs its `ttl`, such as "5s": for how long responses are kept
        prony.toml:35:19: `scope`: write "user" or "shared"
        prony.toml:38:15: `concurrency` needs `most`: so many at a time, or `each`: so many of one user
        prony.toml:38:24: `most`: write a whole number from 1 to 1000000
        prony.toml:38:27: `at_most` is no option of `concurrency`
        prony.toml:39:17: `ttl`: write a time such as 500ms, 5s, 10min, 2h or 1d, from 1 ms to 30 d
        prony.toml:39:22: `scop` is no option of `cache`; did you mean `scope`?"#]].assert_eq(&faults);
}

/// A call has the most exact rule for its method and path, GET's for HEAD, and that for everything where there is no other.
#[test]
fn calls_have_rules_by_method_and_path() {
    let (_, operations) = operations(
        "[[operation]]\nmatch = \"*\"\n[[operation]]\nmatch = \"GET /db/*\"\n[[operation]]\nmatch = \"* /db/{graph}/nodes\"\n[[operation]]\nmatch = \"Query.*\"\n",
    );
    let shown = |method, path| format!("{:?}", operations.call_rule(method, path));
    assert_eq!(shown("POST", "/db/rage/node/User/a"), "Some(RuleId(0))");
    assert_eq!(shown("GET", "/db/rage/node/User/a"), "Some(RuleId(1))");
    assert_eq!(shown("HEAD", "/db/rage/node/User/a"), "Some(RuleId(1))");
    assert_eq!(shown("POST", "/db/%6Fther/nodes"), "Some(RuleId(2))");
    let (_, faults) = Beside::new().read(
        "[[operation]]\nmatch = \"GET /db/{a}\"\n[[operation]]\nmatch = \"GET /db/{b}\"\n[[operation]]\nmatch = \"get /db\"\n[[operation]]\nmatch = \"GET /db/*\"\ncache = { ttl = \"5s\" }\n",
    );
    expect![[r#"
        prony.toml:3:1: `GET /db/{b}` stands twice
        prony.toml:6:9: `match`: `get` is no method; methods are in capitals, and `GET` is for HEAD, too
        prony.toml:7:1: `cache` and `deduplicate` are for queries of GraphQL, not for calls"#]]
    .assert_eq(&faults);
}
