//! What operations are estimated to cost, how they are counted by name, and what is written down of them.

use prony_graphql::document::weights::{FieldWeight, FieldWeights};
use serde_json::Value as Json;

use super::{ACCESS, access, ask, bearer, body, token};
use crate::support::{Server, get};

const LIMITS: &str = r#"
[roles.reader]
inherits = ["visitor"]
max_depth = 1
max_complexity = 14
[[operation]]
name = "Busy"
rate_limit = [{ by = "user", rate = "1/h", burst = 1 }]
"#;

fn serve(change: impl FnOnce(&mut prony_server::config::Settings)) -> Server {
    let access = access(&format!("{ACCESS}{LIMITS}"));
    Server::with(|settings| {
        settings.access = access;
        change(settings);
    })
}

#[test]
fn a_role_has_limits_of_its_own_and_fields_have_weights() {
    let weights = [
        ("Query", "albums", FieldWeight { weight: Some(7), items: Some(3) }),
        ("Album", "Title", FieldWeight { weight: Some(4), items: None }),
    ];
    let weights = weights.map(|(parent, field, weight)| (parent.to_owned(), field.to_owned(), weight));
    let server = serve(|settings| settings.limits.weights = FieldWeights::new(weights));
    let (reader, customer) = (bearer(&token("reader", 2)), bearer(&token("customer", 2)));
    let cost = |headers: &str, query: &str| {
        let response = ask(&server, &format!("{headers}x-prony-cost: 1\r\n"), query);
        let cost = response.lines().find_map(|line| line.strip_prefix("x-prony-cost: "));
        (cost.map(str::to_owned), response.contains("LIMIT_EXCEEDED"))
    };
    assert_eq!(cost(&reader, "{ albums(limit: 1) { Title } }"), (Some("11".to_owned()), false));
    assert_eq!(cost(&reader, "{ albums(limit: 2) { Title } }"), (Some("15".to_owned()), true));
    assert_eq!(cost(&customer, "{ albums(limit: 2) { Title } }"), (Some("15".to_owned()), false));
    assert_eq!(cost(&customer, "{ albums { Title } }"), (Some("19".to_owned()), false));
    assert_eq!(cost(&customer, "{ nothing }"), (None, false));
    assert!(!ask(&server, &customer, "{ albums { Title } }").contains("x-prony-cost"));
}

#[test]
fn operations_are_counted_by_their_names() {
    let server = serve(|settings| settings.operation_limits.operation_labels = 2);
    let customer = bearer(&token("customer", 2));
    for name in ["First", "Second", "Third", "Fourth", "First"] {
        assert!(
            body(&server, &customer, &format!("query {name} {{ albums {{ Title }} }}")).contains("Title")
        );
    }
    body(&server, &customer, "{ albums { Title } }");
    for _ in 0..3 {
        ask(&server, &customer, "query Busy { albums { Title } }");
    }
    let metrics = server.ask(get("/metrics"));
    let value = |line: &str| {
        let found = metrics.lines().find_map(|known| known.strip_prefix(line));
        found.and_then(|value| value.trim().parse::<f64>().ok())
    };
    // Of those that are refused there is no time.
    for (name, requests, executed) in
        [("First", 2.0, 2.0), ("Second", 1.0, 1.0), ("(other)", 2.0, 2.0), ("", 1.0, 1.0), ("Busy", 3.0, 1.0)]
    {
        let line = format!("prony_operation_requests_total{{operation=\"{name}\"}}");
        assert_eq!(value(&line), Some(requests), "{name}: {metrics}");
        let line = format!("prony_operation_seconds_count{{operation=\"{name}\"}}");
        assert_eq!(value(&line), Some(executed), "{name}: {metrics}");
        let line = format!("prony_operation_seconds_bucket{{le=\"+Inf\",operation=\"{name}\"}}");
        assert_eq!(value(&line), Some(executed), "{name}: {metrics}");
    }
    let refused = "prony_operation_refusals_total{operation=\"Busy\",reason=\"limit\"}";
    assert_eq!(value(refused), Some(2.0));
    assert!(!metrics.contains("Third"));
    assert_eq!(value("prony_operation_cost_total{operation=\"First\"}"), Some(22.0));
}

#[test]
fn mutations_and_refusals_are_written_down() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let lines = |with_values: bool| -> Vec<Json> {
        let path = folder.path().join(format!("{with_values}.jsonl"));
        let server = serve(|settings| {
            settings.operation_limits.audit_log = path.clone();
            settings.operation_limits.audit_values = with_values;
        });
        let admin = bearer(&token("admin", 2));
        body(&server, &admin, "mutation Add { createGenre(GenreId: 77, Name: \"secret\") { GenreId } }");
        body(&server, &admin, "mutation { createGenre(GenreId: 77, Name: \"secret\") { GenreId } }");
        body(&server, &admin, "{ genres { Name } }");
        for _ in 0..2 {
            body(&server, &admin, "query Busy { genres { Name } }");
        }
        body(&server, "authorization: Bearer x.y.z\r\n", "{ genres { Name } }");
        for mutation in [
            "mutation { updateGenre(pk_columns: {GenreId: 77}, Name: \"secret\") { done: result } }",
            "mutation { updateGenre(pk_columns: {GenreId: 7777}, Name: \"secret\") { done: result } }",
            "mutation { deleteGenre(pk_columns: {GenreId: 7777}) { result __typename } }",
            "mutation { deleteGenre(pk_columns: {GenreId: 77}) { __typename } }",
        ] {
            body(&server, &admin, mutation);
        }
        server.running.stop();
        let text = std::fs::read_to_string(path).expect("it is there");
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    };
    let found = lines(false);
    let outcomes: Vec<_> = found.iter().map(|line| line["outcome"].as_str().unwrap_or_default()).collect();
    assert_eq!(outcomes[..4], ["executed", "failed", "refused", "refused"], "{found:?}");
    assert_eq!(outcomes[4..], ["executed"; 4], "{found:?}");
    // What nobody has asked for is not known.
    let rows: Vec<_> = found[4..].iter().map(|line| line["fields"][0]["rows"].as_u64()).collect();
    assert_eq!(rows, [Some(1), Some(0), Some(0), None], "{found:?}");
    assert_eq!(found[3]["address"], "127.0.0.1");
    let first = &found[0];
    assert_eq!((&first["role"], &first["operation"]), (&"admin".into(), &"Add".into()));
    assert_eq!(first["fields"], serde_json::json!([{"field": "createGenre", "rows": 1}]));
    assert!(
        first["time"].as_str().is_some_and(|time| time.ends_with('Z')) && first["address"] == "127.0.0.1"
    );
    assert_eq!(found[1]["fields"][0]["rows"], 0);
    assert!(
        found[2]["reason"].as_str().is_some_and(|reason| reason.contains("operation Busy by user")),
        "{found:?}"
    );
    assert!(found.iter().all(|line| !line.to_string().contains("secret")));
    assert_eq!(lines(true)[0]["fields"][0]["arguments"]["Name"], "secret");
}
