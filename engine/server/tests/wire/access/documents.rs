//! A role that is answered persisted documents alone.

use std::fs;

use expect_test::expect;
use prony_server::graphql::DocumentSettings;
use serde_json::{Value as Json, json};

use super::{ACCESS, access, bearer, token};
use crate::{
    sockets::{Socket, subscribe},
    support::{Server, post_with},
};

const TITLES: &str = "query Titles { albums { Title } }";
/// `printf '%s' '{ albums { AlbumId } }' | sha256sum`.
const OWN_SHA256: &str = "ed48f6baed4fa39225ab4ba5cc369546e725944f1285d76a42ddfb1313eb399d";
const OWN: &str = "{ albums { AlbumId } }";

fn ask(server: &Server, headers: &str, request: &Json) -> String {
    let headers = format!("content-type: application/json\r\n{headers}");
    let response = server.ask(post_with(&headers, &request.to_string()));
    response.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_role_may_be_answered_persisted_documents_alone() {
    let documents = tempfile::tempdir().expect("the directory is ours");
    fs::write(documents.path().join("titles.graphql"), format!("{TITLES}\n")).expect("the directory is ours");
    let visitor = "[roles.visitor]\nonly_persisted_documents = true\n[roles.visitor.sources";
    let access = access(&ACCESS.replacen("[roles.visitor.sources", visitor, 1));
    let server = Server::with(|settings| {
        settings.access = access;
        settings.documents =
            DocumentSettings { path: documents.path().into(), ..DocumentSettings::default() };
    });
    let customer = bearer(&token("customer", 2));
    let automatic = json!({"persistedQuery": {"version": 1, "sha256Hash": OWN_SHA256}});
    let requests = [
        json!({"documentId": "titles"}),
        json!({"query": TITLES}),
        json!({"query": OWN}),
        json!({"query": OWN, "extensions": automatic}),
        json!({"extensions": automatic}),
        // One that is parsed beside the core.
        json!({"query": format!("{OWN} # {}", "x".repeat(4096))}),
    ];
    let told =
        |headers: &str| requests.each_ref().map(|request| ask(&server, headers, request) + "\n").concat();
    expect![[r#"
        {"data":{"albums":[{"Title":"For Those About To Rock We Salute You"},{"Title":"Balls to the Wall"}]}}
        {"data":{"albums":[{"Title":"For Those About To Rock We Salute You"},{"Title":"Balls to the Wall"}]}}
        {"errors":[{"message":"your role is answered persisted documents only; ask the server's operator to add this one","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}
        {"errors":[{"message":"your role is answered persisted documents only; ask the server's operator to add this one","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}
        {"errors":[{"message":"PersistedQueryNotSupported","extensions":{"code":"PERSISTED_QUERY_NOT_SUPPORTED"}}]}
        {"errors":[{"message":"your role is answered persisted documents only; ask the server's operator to add this one","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}
    "#]]
    .assert_eq(&told(""));
    // It is not inherited, and what one role has registered is no document of the other.
    expect![[r#"
        {"data":{"albums":[{"Title":"For Those About To Rock We Salute You"},{"Title":"Balls to the Wall"}]}}
        {"data":{"albums":[{"Title":"For Those About To Rock We Salute You"},{"Title":"Balls to the Wall"}]}}
        {"data":{"albums":[{"AlbumId":1},{"AlbumId":2}]}}
        {"data":{"albums":[{"AlbumId":1},{"AlbumId":2}]}}
        {"data":{"albums":[{"AlbumId":1},{"AlbumId":2}]}}
        {"data":{"albums":[{"AlbumId":1},{"AlbumId":2}]}}
    "#]]
    .assert_eq(&told(&customer));
    expect![[r#"{"errors":[{"message":"PersistedQueryNotSupported","extensions":{"code":"PERSISTED_QUERY_NOT_SUPPORTED"}}]}"#]].assert_eq(&ask(&server, "", &requests[4]));
    let mut socket = Socket::ready(&server);
    socket.send(&subscribe("1", OWN));
    expect![[r#"{"id":"1","type":"error","payload":[{"message":"your role is answered persisted documents only; ask the server's operator to add this one","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}"#]].assert_eq(&socket.next());
}
