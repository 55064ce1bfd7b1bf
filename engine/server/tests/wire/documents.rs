//! Documents that requests name instead of sending them.

use std::{fs, path::Path};

use prony_server::graphql::DocumentSettings;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::{Server, get, post};

const NAMES: &str = "query Names { artists(limit: 1) { Name } }";
/// `printf '%s' "$NAMES" | sha256sum`.
const NAMES_SHA256: &str = "ac9b8c8bc7421266f7810d7c406de111d12f802bf7d70a09fc9a875de349b200";
const OTHER: &str = "{ __typename }";

fn server(path: &Path, only: bool) -> Server {
    Server::with(|settings| {
        settings.documents = DocumentSettings { path: path.to_owned(), only, ..DocumentSettings::default() };
    })
}

fn trusted(only: bool) -> (TempDir, Server) {
    let directory = tempfile::tempdir().expect("the directory is ours");
    fs::write(directory.path().join("names.graphql"), format!("{NAMES}\n")).expect("the directory is ours");
    fs::write(directory.path().join("README"), "no document").expect("it can be written");
    let server = server(directory.path(), only);
    (directory, server)
}

/// The answer's body is this JSON.
#[track_caller]
fn check(server: &Server, request: &Json, expected: &Json) {
    check_text(&server.ask(post(&request.to_string())), expected);
}

#[track_caller]
fn check_text(response: &str, expected: &Json) {
    let body = response.trim_end().lines().last().expect("it has a body");
    assert_eq!(&serde_json::from_str::<Json>(body).expect(response), expected);
}

fn answer() -> Json {
    json!({"data": {"artists": [{"Name": "AC/DC"}]}})
}

fn refused(message: &str, code: &str) -> Json {
    json!({"errors": [{"message": message, "extensions": {"code": code}}]})
}

fn automatic(checksum: &str) -> Json {
    json!({"persistedQuery": {"version": 1, "sha256Hash": checksum}})
}

#[test]
fn a_trusted_document_is_named_by_its_file_or_its_checksum() {
    let (_directory, server) = trusted(false);
    let with_prefix = format!("sha256:{NAMES_SHA256}");
    for id in ["names", NAMES_SHA256, &with_prefix] {
        check(&server, &json!({ "documentId": id }), &answer());
    }
    check(&server, &json!({"extensions": automatic(NAMES_SHA256)}), &answer());
    check_text(&server.ask(get("/graphql?documentId=names")), &answer());
    let unknown = refused(
        "no persisted document has the id `orders`; ask the server's operator to add it",
        "PERSISTED_QUERY_NOT_FOUND",
    );
    check(&server, &json!({"documentId": "orders"}), &unknown);
    check(&server, &json!({ "query": OTHER }), &json!({"data": {"__typename": "Query"}}));
}

#[test]
fn a_name_and_a_text_that_differ_are_refused() {
    let (_directory, server) = trusted(false);
    check(&server, &json!({"documentId": "names", "query": NAMES}), &answer());
    let other = refused("query is not the document that documentId names", "BAD_USER_INPUT");
    check(&server, &json!({"documentId": "names", "query": OTHER}), &other);
    let lie = refused("provided sha does not match query", "BAD_USER_INPUT");
    check(&server, &json!({"query": OTHER, "extensions": automatic(NAMES_SHA256)}), &lie);
}

#[test]
fn only_trusted_documents_are_answered_where_that_is_asked_for() {
    let (_directory, server) = trusted(true);
    let closed = refused(
        "this server answers persisted documents only; ask its operator to add this one",
        "PERSISTED_QUERY_NOT_FOUND",
    );
    check(&server, &json!({ "query": OTHER }), &closed);
    check(&server, &json!({ "query": NAMES }), &answer());
    check(&server, &json!({"documentId": "names"}), &answer());
    let unsupported = refused("PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED");
    check(&server, &json!({"extensions": automatic(&"0".repeat(64))}), &unsupported);
}

#[test]
fn clients_register_documents_by_their_checksum() {
    let server = Server::start();
    let named = json!({"extensions": automatic(NAMES_SHA256)});
    let not_found = refused("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND");
    check(&server, &named, &not_found);
    check(&server, &json!({"query": NAMES, "extensions": automatic(NAMES_SHA256)}), &answer());
    check(&server, &named, &answer());
    let text = named["extensions"].to_string().replace('"', "%22").replace('{', "%7B").replace('}', "%7D");
    check_text(&server.ask(get(&format!("/graphql?extensions={text}"))), &answer());
}

#[test]
fn what_is_registered_has_a_bound() {
    let server = Server::with(|settings| settings.documents.automatic_bytes = 0);
    let unsupported = refused("PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED");
    check(&server, &json!({"query": NAMES, "extensions": automatic(NAMES_SHA256)}), &answer());
    check(&server, &json!({"extensions": automatic(NAMES_SHA256)}), &unsupported);
}

#[test]
fn a_checksum_of_another_form_is_explained() {
    let server = Server::start();
    let message = "extensions.persistedQuery must have version 1 and sha256Hash, 64 hexadecimal digits";
    for named in [
        json!({"version": 2, "sha256Hash": NAMES_SHA256}),
        json!({"version": 1, "sha256Hash": "abc"}),
        json!({"version": 1, "sha256Hash": "é".repeat(64)}),
        json!({"version": 1}),
        json!(null),
    ] {
        let request = json!({"query": NAMES, "extensions": {"persistedQuery": named}});
        check(&server, &request, &refused(message, "BAD_USER_INPUT"));
    }
}

#[test]
fn manifests_are_read_in_both_forms() {
    let directory = tempfile::tempdir().expect("the directory is ours");
    let file = directory.path().join("documents.json");
    let operation = json!({"id": "7", "name": "Names", "type": "query", "body": NAMES});
    let apollo =
        json!({"format": "apollo-persisted-query-manifest", "version": 1, "operations": [operation]});
    for manifest in [apollo, json!({ "7": NAMES })] {
        fs::write(&file, manifest.to_string()).expect("the directory is ours");
        check(&server(&file, true), &json!({"documentId": "7"}), &answer());
    }
}

/// The log names them at the start; they are refused as anybody's text would be.
#[test]
fn trusted_documents_that_the_schema_refuses_leave_the_others_served() {
    let directory = tempfile::tempdir().expect("the directory is ours");
    for (name, text) in
        [("names", NAMES), ("old", "{ nothing }"), ("empty", ""), ("two", "query A { __typename }")]
    {
        fs::write(directory.path().join(name).with_extension("graphql"), text)
            .expect("the directory is ours");
    }
    let server = server(directory.path(), true);
    check(&server, &json!({"documentId": "names"}), &answer());
    for id in ["old", "empty"] {
        let answer = server.ask(post(&json!({ "documentId": id }).to_string()));
        assert!(
            answer.contains("does not have a field `nothing`") || answer.contains("end of the document"),
            "{answer}"
        );
    }
    // What is trusted is read once.
    fs::write(directory.path().join("late.graphql"), OTHER).expect("the directory is ours");
    let late = server.ask(post(&json!({"documentId": "late"}).to_string()));
    assert!(late.contains("no persisted document has the id `late`"), "{late}");
}

#[test]
fn what_cannot_be_trusted_stops_the_start() {
    let directory = tempfile::tempdir().expect("the directory is ours");
    let path = |name: &str| directory.path().join(name);
    fs::write(path("list.json"), "[1]").expect("the directory is ours");
    fs::create_dir(path("empty")).expect("the directory is ours");
    fs::create_dir(path("bytes")).expect("the directory is ours");
    fs::write(path("bytes/a.graphql"), b"{ \xff }").expect("the directory is ours");
    fs::create_dir_all(path("nested/a.graphql")).expect("the directory is ours");
    fs::create_dir(path("endings")).expect("the directory is ours");
    fs::write(path("endings/a.graphql"), OTHER).expect("the directory is ours");
    fs::write(path("endings/a.gql"), NAMES).expect("the directory is ours");
    fs::write(path("half.json"), "{\"a\": ").expect("the directory is ours");
    fs::write(path("twice.json"), json!({"a": OTHER, "b": NAMES, NAMES_SHA256: OTHER}).to_string())
        .expect("the directory is ours");
    fs::write(path("again.json"), format!("{{\"a\": \"{OTHER}\", \"a\": \"{NAMES}\"}}"))
        .expect("the directory is ours");
    let fault = |path: &Path, only| {
        let database = prony_testkit::chinook::sqlite_copy();
        let settings = crate::support::settings(&database.path(), |settings| {
            settings.documents =
                DocumentSettings { path: path.to_owned(), only, ..DocumentSettings::default() };
        });
        prony_server::runtime::start(settings).expect_err("it must not start").to_string()
    };
    for (name, part) in [
        ("list.json", "are neither an object of ids and texts nor a manifest"),
        ("empty", "a directory needs files that end in .graphql"),
        ("missing", "cannot be read: No such file"),
        ("twice.json", "two documents have the id"),
        ("again.json", "two documents have the id `a`"),
        ("bytes", "bytes/a.graphql cannot be read: stream did not contain valid UTF-8"),
        ("nested", "nested/a.graphql cannot be read: Is a directory"),
        ("endings", "two documents have the id `a`"),
        ("half.json", "half.json are neither"),
    ] {
        let told = fault(&path(name), false);
        assert!(told.contains(part), "{name}: {told}");
    }
    assert!(fault(Path::new(""), true).contains("needs persisted_documents"));
}
