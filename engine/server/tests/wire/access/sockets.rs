//! Subscriptions: who asks is known by the payload of `connection_init` or by the opening's headers, and each hears of what it
//! may see.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::{ACCESS, access, bearer, body, serve, token, token_for};
use crate::{
    sockets::{LEGACY, Socket, TRANSPORT, subscribe},
    support::{Rewritten, Server},
};

fn init(server: &Server, payload: &serde_json::Value) -> Socket {
    let mut socket = Socket::open(server, TRANSPORT);
    socket.send(&json!({"type": "connection_init", "payload": payload}).to_string());
    socket
}

fn opened(server: &Server, token: &str) -> Socket {
    let mut socket = init(server, &json!({"Authorization": format!("Bearer {token}")}));
    assert_eq!(socket.next(), r#"{"type":"connection_ack"}"#);
    socket
}

/// The code and the reason of the close that comes next.
fn close(socket: &mut Socket) -> (u16, String) {
    loop {
        match socket.0.read().expect("the server closes in order") {
            Message::Close(Some(frame)) => return (frame.code.into(), frame.reason.to_string()),
            Message::Close(None) => panic!("the close has no code"),
            _ => {}
        }
    }
}

#[test]
fn who_is_refused_is_told_by_the_close() {
    let server = serve(ACCESS);
    let mut wrong = init(&server, &json!({"authorization": "Bearer x.y.z"}));
    assert_eq!(close(&mut wrong), (4401, "Unauthorized: the credentials are not valid".to_owned()));
    let payload = json!({"headers": {"authorization": format!("Bearer {}", token("customer", 2)), "X-Prony-Role": "admin"}});
    let mut other_role = init(&server, &payload);
    assert_eq!(close(&mut other_role), (4403, "Forbidden: the role is not allowed".to_owned()));
    let closed = serve(&ACCESS.replace("anonymous = \"visitor\"", ""));
    let mut nobody = init(&closed, &json!(null));
    assert_eq!(close(&mut nobody), (4401, "Unauthorized: credentials are needed".to_owned()));
}

#[test]
fn events_are_told_to_those_who_may_see_their_row() {
    let server = serve(ACCESS);
    let subscription = "subscription { onInvoiceChanged { operation key { InvoiceId } invoice { Total } } }";
    let mut sockets = [2, 4, 2].map(|customer| {
        let mut socket = opened(&server, &token("customer", customer));
        socket.send(&subscribe("s", subscription));
        // A query behind it is answered when the subscription has begun.
        socket.send(&subscribe("q", "{ __typename }"));
        assert!(socket.next().contains("__typename"));
        assert!(socket.next().contains("complete"));
        socket
    });
    for (customer, id) in [(4, 9004), (2, 9002)] {
        let create = format!(
            "mutation {{ createInvoice(InvoiceId: {id}, InvoiceDate: \"2026-01-01\", Total: {customer}) {{ InvoiceId }} }}"
        );
        assert!(body(&server, &bearer(&token("customer", customer)), &create).contains("InvoiceId"));
    }
    let event = |id: u32, total: u32| {
        format!(
            r#"{{"id":"s","type":"next","payload":{{"data":{{"onInvoiceChanged":{{"operation":"INSERT","key":{{"InvoiceId":{id}}},"invoice":{{"Total":{total}}}}}}}}}}}"#
        )
    };
    assert_eq!(sockets[0].next(), event(9002, 2));
    assert_eq!(sockets[1].next(), event(9004, 4));
    assert_eq!(sockets[2].next(), event(9002, 2));
}

#[test]
fn live_queries_answer_each_with_its_own_rows() {
    let server = serve(ACCESS);
    let query = "subscription { invoices_aggregate { count } }";
    let mut sockets = [2, 4].map(|customer| {
        let mut socket = opened(&server, &token("customer", customer));
        socket.send(&subscribe("s", query));
        assert!(socket.next().contains(r#""count":7"#));
        socket
    });
    let create =
        "mutation { createInvoice(InvoiceId: 9001, InvoiceDate: \"2026-01-01\", Total: 1) { InvoiceId } }";
    assert!(body(&server, &bearer(&token("customer", 4)), create).contains("9001"));
    assert!(sockets[1].next().contains(r#""count":8"#));
    sockets[0].send(&subscribe("t", query));
    assert!(sockets[0].next().contains(r#""count":7"#));
}

#[test]
fn what_is_open_ends_with_its_token() {
    let server = serve(ACCESS);
    let short = token_for("customer", &json!(2), 2);
    let mut socket = opened(&server, &short);
    socket.send(&subscribe("s", "subscription { onInvoiceChanged { operation } }"));
    let mut stream = server.connect();
    let query = "query=subscription%7BonInvoiceChanged%7Boperation%7D%7D";
    stream.send(format!(
        "GET /graphql?{query} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{}\r\n",
        bearer(&short)
    ));
    assert_eq!(close(&mut socket), (4403, "Forbidden: the credentials have expired".to_owned()));
    let told = stream.until("event: complete\ndata:\n\n");
    let expired =
        r#"{"errors":[{"message":"the credentials have expired","extensions":{"code":"UNAUTHENTICATED"}}]}"#;
    assert!(told.contains(expired), "{told}");
}

/// The first token that expired ended all operations of the stream, also those that had come with others.
#[test]
fn operations_of_one_stream_end_with_their_own_tokens() {
    let server = serve(ACCESS);
    let (long, short) = (token("customer", 2), token_for("customer", &json!(2), 3));
    let on_stream = |method: &str, headers: &str, content: &str| {
        let length = content.len();
        format!(
            "{method} /graphql/stream HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{content}"
        )
    };
    let response = server.ask(on_stream("PUT", &bearer(&long), ""));
    let reserved = response.lines().last().expect("the token is the body");
    let reservation = format!("x-graphql-event-stream-token: {reserved}\r\n");
    let mut socket = server.connect();
    socket.send(on_stream("GET", &format!("accept: text/event-stream\r\n{reservation}"), ""));
    for (id, token) in [("long", &long), ("short", &short)] {
        let operation = json!({
            "query": "subscription { onInvoiceChanged { key { InvoiceId } } }",
            "extensions": {"operationId": id},
        });
        let headers = format!("{reservation}{}content-type: application/json\r\n", bearer(token));
        let response = server.ask(on_stream("POST", &headers, &operation.to_string()));
        assert!(response.starts_with("HTTP/1.1 202"), "{response}");
    }
    let told = socket.until("event: complete\ndata: {\"id\":\"short\"}\n\n");
    assert!(told.contains("the credentials have expired") && !told.contains("\"long\""), "{told}");
    let create =
        "mutation { createInvoice(InvoiceId: 9201, InvoiceDate: \"2026-01-01\", Total: 1) { InvoiceId } }";
    assert!(body(&server, &bearer(&long), create).contains("9201"));
    let event = socket.until("9201");
    assert!(event.contains("\"id\":\"long\""), "{event}");
}

/// They went on with the rights that they had been given, and began what they liked with them, for as long as they stayed.
#[test]
fn who_stays_connected_is_looked_at_when_the_configuration_changes() {
    let key = prony_access::new_key(&[7; prony_access::KEY_RANDOM_BYTES]);
    let record = key.record("robot", "visitor", None).replace("[[api_key]]", "[[auth.api_key]]");
    let file = Rewritten::new(&format!("{ACCESS}{record}"));
    let first = access(&file.text());
    let reload = file.reload(|text| Ok(access(text)));
    let server = Server::with(|settings| {
        settings.access = first;
        settings.reload = Some(reload);
    });
    let [mut customer, mut admin] =
        [("customer", 2), ("admin", 1)].map(|(role, number)| opened(&server, &token(role, number)));
    let mut robot = init(&server, &json!({"X-Api-Key": key.printed}));
    assert_eq!(robot.next(), r#"{"type":"connection_ack"}"#);
    let albums = "subscription { albums(limit: 2) { AlbumId } }";
    for socket in [&mut customer, &mut admin, &mut robot] {
        socket.send(&subscribe("s", albums));
        assert!(socket.next().contains(r#"[{"AlbumId":1},{"AlbumId":2}]"#));
    }
    let mut stream = server.connect();
    let query = "query=subscription%7Balbums%7BAlbumId%7D%7D";
    stream.send(format!(
        "GET /graphql?{query} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nx-api-key: {}\r\n\r\n",
        key.printed
    ));
    assert!(stream.until("\n\n").starts_with("HTTP/1.1 200"));

    file.write(ACCESS);
    let gone = "the credentials are not accepted any more";
    assert_eq!(close(&mut robot), (4403, format!("Forbidden: {gone}")));
    let told = stream.until("event: complete\ndata:\n\n");
    let refused =
        format!(r#"{{"errors":[{{"message":"{gone}","extensions":{{"code":"UNAUTHENTICATED"}}}}]}}"#);
    assert!(told.contains(&refused), "{told}");
    customer.send(&subscribe("q", "{ albums { AlbumId } }"));
    assert!(customer.next().contains(r#"[{"AlbumId":1},{"AlbumId":2}]"#), "its rights are as they were");
    assert!(customer.next().contains("complete"));

    // Roles are numbered anew, and that of the customer sees less.
    let fewer = ACCESS
        .replace("limit = 2", "limit = 1")
        .replace("[roles.visitor.", "[roles.another]\nunrestricted = true\n[roles.visitor.");
    file.write(&fewer);
    assert_eq!(close(&mut customer), (1012, "who may do what has changed: connect again".to_owned()));
    admin.send(&subscribe("q", "{ albums(limit: 2) { AlbumId } genres(limit: 1) { GenreId } }"));
    assert!(admin.next().contains(r#""genres":[{"GenreId":1}]"#), "it may do everything, as before");
}

/// New credentials of the same user prolong what is open; those of anybody else end it.
#[test]
fn what_is_open_goes_on_with_new_credentials() {
    let server = serve(ACCESS);
    let renewal = |token: &str| json!({"headers": {"AUTHORIZATION": format!("Bearer {token}")}});
    let subscription = "subscription { onInvoiceChanged { key { InvoiceId } } }";
    for (protocol, kind, reply, start) in [
        (TRANSPORT, "ping", r#"{"type":"pong"}"#, "subscribe"),
        (LEGACY, "connection_init", r#"{"type":"connection_ack"}"#, "start"),
    ] {
        let mut socket = Socket::open(&server, protocol);
        let payload = json!({"Authorization": format!("Bearer {}", token_for("customer", &json!(2), 3))});
        socket.send(&json!({"type": "connection_init", "payload": payload}).to_string());
        while socket.next() != r#"{"type":"connection_ack"}"# {}
        socket.send(&json!({"id": "s", "type": start, "payload": {"query": subscription}}).to_string());
        // It is prolonged twice: by less than the first token, and by more.
        for seconds in [2, 600] {
            let renewal = renewal(&token_for("customer", &json!(2), seconds));
            socket.send(&json!({"type": kind, "payload": renewal}).to_string());
            while socket.next() != reply {}
        }
        std::thread::sleep(std::time::Duration::from_millis(3500));
        let id = if protocol == TRANSPORT { 9101 } else { 9102 };
        let create = format!(
            "mutation {{ createInvoice(InvoiceId: {id}, InvoiceDate: \"2026-01-01\", Total: 1) {{ InvoiceId }} }}"
        );
        assert!(body(&server, &bearer(&token("customer", 2)), &create).contains("InvoiceId"));
        let mut event = socket.next();
        while event.contains("\"ka\"") {
            event = socket.next();
        }
        assert!(event.contains(&id.to_string()), "{event}");
        // Another operation is asked for by the new token as well.
        socket.send(
            &json!({"id": "q", "type": start, "payload": {"query": "{ invoices_aggregate { count } }"}})
                .to_string(),
        );
        assert!(socket.next().contains(r#""count":"#));
    }
    let short = || opened(&server, &token_for("customer", &json!(2), 60));
    for (token, code, reason) in [
        (token("customer", 4), 4403, "Forbidden: the new credentials are of somebody else"),
        (token("visitor", 2), 4403, "Forbidden: the new credentials are of somebody else"),
        ("x.y.z".to_owned(), 4401, "Unauthorized: the credentials are not valid"),
    ] {
        let mut socket = short();
        socket.send(&json!({"type": "ping", "payload": renewal(&token)}).to_string());
        assert_eq!(close(&mut socket), (code, reason.to_owned()));
    }
    // Other pings say nothing of credentials.
    let mut socket = short();
    socket.send(r#"{"type":"ping","payload":{"n":1}}"#);
    assert_eq!(socket.next(), r#"{"type":"pong","payload":{"n":1}}"#);
    // A shorter token shortens.
    let renewal = renewal(&token_for("customer", &json!(2), 1));
    socket.send(&json!({"type": "ping", "payload": renewal}).to_string());
    assert_eq!(close(&mut socket), (4403, "Forbidden: the credentials have expired".to_owned()));
}
