//! Listeners of operators: what they have, what others have not, and that they answer where there is no room for others.

use crate::support::{Server, Wire, get, query};

fn start(max_connections: usize) -> Server {
    Server::with(|settings| {
        settings.admin_listen = vec!["127.0.0.1:0".parse().expect("it is an address")];
        settings.max_connections = max_connections;
    })
}

/// One request over a connection of its own.
fn ask(server: &Server, request: impl AsRef<[u8]>) -> String {
    let mut wire = Wire::to(server.running.admin_addresses()[0]);
    wire.send(request);
    wire.response()
}

#[test]
fn they_have_metrics_and_health_and_nothing_else() {
    let server = start(100);
    assert!(ask(&server, get("/metrics")).contains("\n# EOF"), "{}", ask(&server, get("/metrics")));
    for path in ["/health", "/ready", "/live"] {
        assert!(ask(&server, get(path)).starts_with("HTTP/1.1 200"), "{path}");
        assert!(
            server.ask(get(path)).starts_with("HTTP/1.1 200"),
            "{path}: load balancers ask where requests go"
        );
    }
    for path in ["/graphql?query=%7B__typename%7D", "/", "/graphql/stream"] {
        let refused = ask(&server, get(path));
        assert!(
            refused.starts_with("HTTP/1.1 404") && refused.contains("there are /metrics, /health"),
            "{refused}"
        );
    }
    let post = "POST /ready HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
    assert!(ask(&server, post).starts_with("HTTP/1.1 405"));
    let foreign = "GET /metrics HTTP/1.1\r\nhost: evil.example\r\n\r\n";
    assert!(ask(&server, foreign).starts_with("HTTP/1.1 421"), "no page may have a name of its own for it");
    let public = server.ask(get("/metrics"));
    assert!(public.starts_with("HTTP/1.1 404") && public.contains("/live and /ready\""), "{public}");
}

#[test]
fn they_answer_where_there_is_no_room_for_others() {
    let server = start(1);
    let mut only = server.connect();
    only.send(query("{ __typename }"));
    assert!(only.response().contains("\"data\""));
    assert!(server.ask(query("{ __typename }")).starts_with("HTTP/1.1 503"));
    // Connections that are kept: each is one of the operators', and more are closed.
    let mut kept: Vec<Wire> = (0..64).map(|_| Wire::to(server.running.admin_addresses()[0])).collect();
    for wire in &mut kept {
        wire.send(get("/live"));
        assert!(wire.response().starts_with("HTTP/1.1 200"));
    }
    kept[0].send(get("/metrics"));
    let metrics = kept[0].response();
    assert!(metrics.contains("\nprony_connections{} 1.0\n"), "the operators' are not counted: {metrics}");
    let mut more = Wire::to(server.running.admin_addresses()[0]);
    assert_eq!(more.rest(), "", "there are 64 at a time");
    drop(kept);
    only.send(query("{ __typename }"));
    assert!(only.response().contains("\"data\""), "the others go on");
}
