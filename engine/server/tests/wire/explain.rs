//! `POST /explain`: what operations become, of whom it may be asked, and that nothing is executed for it.

use prony_server::{config::Settings, graphql::DocumentSettings};
use rusqlite::Connection;
use serde_json::{Value as Json, json};

use crate::{
    graph::Graph,
    support::{Server, get, give_options, post, post_with, query},
};

/// Status and body of a request to `/explain`.
pub(crate) fn explain(server: &Server, headers: &str, request: &Json) -> (u16, Json) {
    let headers = format!("content-type: application/json\r\n{headers}");
    let request = post_with(&headers, &request.to_string()).replacen("/graphql", "/explain", 1);
    read(&server.ask(request))
}

fn read(response: &str) -> (u16, Json) {
    let status = response["HTTP/1.1 ".len()..][..3].parse().expect("there is a status");
    let body = response.trim_end().lines().last().unwrap_or_default();
    (status, serde_json::from_str(body).unwrap_or_default())
}

fn explained(server: &Server, text: &str, variables: &Json) -> Json {
    let (status, body) = explain(server, "", &json!({"query": text, "variables": variables}));
    assert_eq!(status, 200, "{body:#}");
    body
}

/// Of the statements of the first root field.
fn statements(operation: &Json) -> &Vec<Json> {
    operation["fields"][0]["statements"].as_array().expect("there are statements")
}

#[test]
fn nested_lists_filters_and_aggregates_are_statements_with_plans() {
    let server = Server::start();
    let text = "query Q($name: String) {
        artists(where: {Name: {eq: $name}}, limit: 3) { Name albums { Title tracks_aggregate { count } } }
        tracks_aggregate(where: {Composer: {in: [\"a\", \"b\"]}}) { count }
    }";
    let operation = explained(&server, text, &json!({"name": "secret"}));
    assert_eq!((&operation["kind"], &operation["name"]), (&json!("query"), &json!("Q")));
    assert!(!operation.to_string().contains("secret"), "values are not told: {operation:#}");
    let field = &operation["fields"][0];
    assert_eq!(
        (&field["path"], &field["source"], &field["database"]),
        (&json!(["artists"]), &json!("chinook"), &json!("SQLite"))
    );
    let nested = statements(&operation);
    let runs: Vec<&Json> = nested.iter().map(|statement| &statement["runs"]).collect();
    assert_eq!(runs, ["once", "for_each_row", "for_each_row"]);
    let sql = nested[0]["sql"].as_str().expect("it is a text");
    assert!(sql.starts_with("SELECT") && sql.contains("t0.\"Name\" = ?1"), "{sql}");
    let value = &nested[0]["values"][0];
    assert_eq!((&value["of"], &value["length"]), (&json!("Artist.Name"), &json!(6)), "{value}");
    assert_eq!(nested[0]["values"][1]["of"], "limit");
    assert_eq!(nested[1]["values"][0]["of"], "row above");
    assert_eq!(nested[0]["plan"], json!(["SCAN t0"]));
    assert_eq!(nested[0]["hints"][0]["table"], "Artist");
    assert_eq!(nested[0]["hints"][0]["columns"], json!(["Name"]));
    assert!(
        nested[1]["plan"][0].as_str().is_some_and(|line| line.starts_with("SEARCH t0 USING")),
        "{}",
        nested[1]
    );
    assert!(nested[1].get("hints").is_none(), "its index is there: {}", nested[1]);
    let aggregate = &operation["fields"][1];
    assert_eq!(aggregate["path"], json!(["tracks_aggregate"]));
    assert_eq!(aggregate["statements"][0]["values"][0]["items"], 2);
}

/// A relation without an index is what makes nested lists slow.
#[test]
fn a_table_that_is_read_whole_for_each_row_is_named() {
    let server = Server::with(|settings| {
        let path = settings.sources[0].url.0.trim_start_matches("sqlite:").to_owned();
        let connection = Connection::open(path).expect("it is a database");
        connection
            .execute_batch(
                "CREATE TABLE shops (id INTEGER PRIMARY KEY, town TEXT NOT NULL);
                 CREATE TABLE sales (id INTEGER PRIMARY KEY, shop_id INTEGER NOT NULL REFERENCES shops (id),
                                     price INTEGER NOT NULL);",
            )
            .expect("it is SQL");
    });
    let operation = explained(&server, "{ shops { town sales { id } } }", &json!({}));
    let hints = &statements(&operation)[1]["hints"];
    assert_eq!(
        hints[0]["message"],
        "the plan reads all of sales to find rows by shop_id: an index on sales(shop_id) would help"
    );
    assert!(statements(&operation)[0].get("hints").is_none(), "a list of everything reads everything");
    for (filter, expected) in [
        ("{town: {eq: \"a\"}}", "shops(town)"),
        ("{or: [{town: {eq: \"a\"}}, {town: {eq: \"b\"}}]}", "shops(town)"),
        ("{or: [{town: {eq: \"a\"}}, {id: {eq: 1}}]}", ""),
        ("{not: {town: {eq: \"a\"}}}", ""),
        ("{town: {ne: \"a\"}}", ""),
        ("{town: {gt: \"a\"}, sales: {price: {lte: 3}}}", "shops(town), sales(shop_id, price)"),
    ] {
        let text = format!("{{ shops(where: {filter}) {{ town }} }}");
        let operation = explained(&server, &text, &json!({}));
        let hints = statements(&operation)[0]["hints"].as_array().cloned().unwrap_or_default();
        let columns = |hint: &Json| {
            let names = hint["columns"].as_array().expect("they are listed");
            names.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(", ")
        };
        let told = hints.iter().map(|hint| format!("{}({})", hint["table"].as_str().unwrap(), columns(hint)));
        assert_eq!(told.collect::<Vec<_>>().join(", "), expected, "{filter}: {operation:#}");
    }
}

#[test]
fn all_resolver_models_are_explained() {
    for (model, runs) in
        [("per-nest", "once_a_level"), ("bucket", "once_a_level"), ("subquery", "for_each_row")]
    {
        let server = Server::with(|settings| give_options(settings, &format!("resolver = {model:?}")));
        let operation = explained(&server, "{ artists { albums { Title } } }", &json!({}));
        let nested = &statements(&operation)[1];
        assert_eq!(nested["runs"], runs, "{model}");
        assert!(nested["plan"].as_array().is_some_and(|plan| !plan.is_empty()), "{model}: {nested:#}");
    }
}

#[test]
fn mutations_and_subscriptions_are_told_and_not_executed() {
    let server = Server::start();
    let operation = explained(
        &server,
        "mutation { createGenre(GenreId: 900, Name: \"secret\") { GenreId } }",
        &json!({}),
    );
    let statement = &statements(&operation)[0];
    assert_eq!(operation["kind"], "mutation");
    assert!(statement["sql"].as_str().is_some_and(|sql| sql.starts_with("INSERT INTO")), "{statement:#}");
    assert!(statement.get("plan").is_none() && statement.get("plan_fault").is_none(), "{statement:#}");
    assert!(!operation.to_string().contains("secret"), "{operation:#}");
    let found = server.ask(query("{ genres(where: {GenreId: {eq: 900}}) { Name } }"));
    assert!(found.contains("\"genres\":[]"), "{found}");
    let live = explained(&server, "subscription { genres(limit: 1) { Name } }", &json!({}));
    assert!(statements(&live)[0]["plan"].is_array(), "{live:#}");
    let changes = explained(
        &server,
        "subscription { onArtistChanged { operation artist { Name albums { Title } } } }",
        &json!({}),
    );
    assert!(
        statements(&changes).iter().all(|statement| statement["runs"] == "for_each_event"),
        "{changes:#}"
    );
}

#[test]
fn what_graphql_refuses_is_refused_alike() {
    let server = Server::with(|settings| settings.limits.max_depth = 2);
    for (request, status, told) in [
        (json!({"query": "{ nothing }"}), 400, "does not have a field"),
        (json!({"query": "{ artists { albums { tracks { Name } } } }"}), 400, "max_depth"),
        (json!({"query": "query ($a: Int!) { artists(limit: $a) { Name } }"}), 400, "$a"),
        (json!([]), 400, "batches"),
        (json!({"documentId": "unknown"}), 400, "unknown"),
    ] {
        let (found, body) = explain(&server, "", &request);
        assert_eq!(found, status, "{request}: {body}");
        assert!(body["errors"].to_string().contains(told), "{request}: {body}");
    }
    assert!(server.ask(get("/explain")).starts_with("HTTP/1.1 405"));
    let form = post_with("content-type: text/plain\r\n", "{}").replacen("/graphql", "/explain", 1);
    assert!(server.ask(form).starts_with("HTTP/1.1 415"), "no page of another origin can ask as a form does");
    let directory = tempfile::tempdir().expect("a directory can be made");
    std::fs::write(directory.path().join("names.graphql"), "{ artists { Name } }")
        .expect("it can be written");
    let path = directory.path().to_owned();
    let only = Server::with(|settings| {
        settings.documents = DocumentSettings { path, only: true, ..DocumentSettings::default() };
    });
    for (request, expected) in
        [(json!({"query": "{ __typename }"}), 400), (json!({"documentId": "names"}), 200)]
    {
        let (status, body) = explain(&only, "", &request);
        assert_eq!(status, expected, "{request}: {body}");
    }
    let read_only = Server::with(|settings| give_options(settings, "read_only = true"));
    let (status, body) =
        explain(&read_only, "", &json!({"query": "mutation { createGenre(GenreId: 1) { Name } }"}));
    assert_eq!(status, 400, "{body}");
}

#[test]
fn it_is_on_where_only_this_machine_is_let_in_and_off_where_that_is_said() {
    let is_there = |change: fn(&mut Settings)| {
        let server = Server::with(change);
        let description = server.ask(get("/console.json"));
        let (status, _) = explain(&server, "", &json!({"query": "{ __typename }"}));
        assert_eq!(description.contains("\"explain\":true"), status == 200, "{description}");
        status
    };
    assert_eq!(is_there(|_| {}), 200);
    assert_eq!(is_there(|settings| settings.explain = Some(false)), 404);
    assert_eq!(is_there(|settings| settings.open = true), 404);
    assert_eq!(
        is_there(|settings| {
            settings.open = true;
            settings.explain = Some(true);
        }),
        200
    );
}

/// What is not known is not told.
#[test]
fn sources_without_statements_are_named() {
    let graph = Graph::with(|_| {});
    let mut wire = crate::support::Wire::to(graph.address());
    wire.send(post(&json!({"query": "{ __typename }"}).to_string()).replacen("/graphql", "/explain", 1));
    let (status, body) = read(&wire.response());
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["fields"], json!([{"path": ["__typename"], "source": null}]));
}
