//! HTTP/2 over TLS: chosen by ALPN, many requests at a time, with the same checks as over HTTP/1.1.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::join_all;
use h2::client::SendRequest;
use http::{Method, Request, Response, StatusCode};
use rustls::{pki_types::ServerName, version::TLS13};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{DONUT, Secure, config_of};
use crate::support::{PATIENCE, Server};

/// A connection, served by a task of the runtime.
async fn connect(secure: &Secure) -> SendRequest<Bytes> {
    let config = config_of(&secure.authority, None, &[&TLS13], &["h2", "http/1.1"]);
    let socket = TcpStream::connect(secure.server.address()).await.expect("the server listens");
    let name = ServerName::try_from("localhost").expect("it is a name");
    let stream = TlsConnector::from(config).connect(name, socket).await.expect("the handshake succeeds");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (send, connection) = h2::client::handshake(stream).await.expect("the server speaks it");
    tokio::spawn(async move {
        let _ = connection.await;
    });
    send
}

async fn ask(send: &SendRequest<Bytes>, request: Request<()>, body: String) -> Response<String> {
    let mut send = send.clone().ready().await.expect("the connection is open");
    let (response, mut stream) = send.send_request(request, body.is_empty()).expect("the request is right");
    if !body.is_empty() {
        stream.send_data(body.into(), true).expect("the server reads");
    }
    let (head, mut stream) = response.await.expect("the server responds").into_parts();
    let mut bytes = Vec::new();
    while let Some(piece) = stream.data().await {
        let piece = piece.expect("the server responds");
        let _ = stream.flow_control().release_capacity(piece.len());
        bytes.extend_from_slice(&piece);
    }
    Response::from_parts(head, String::from_utf8(bytes).expect("bodies are text"))
}

fn post() -> http::request::Builder {
    Request::post("https://localhost/graphql").header("content-type", "application/json")
}

fn with<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .expect("a runtime can be made")
        .block_on(async { tokio::time::timeout(PATIENCE, test).await.expect("it does not take so long") })
}

#[test]
fn requests_are_responded_to_beside_each_other() {
    let secure = Secure::donuts(|_| {});
    with(async {
        let send = connect(&secure).await;
        let body = serde_json::json!({ "query": DONUT }).to_string();
        let one = |_| ask(&send, post().body(()).expect("it is right"), body.clone());
        // With the first response the client knows how many it may send at a time.
        assert_eq!(one(0).await.status(), StatusCode::OK);
        for response in join_all((0..200).map(one)).await {
            assert_eq!(response.status(), StatusCode::OK);
            assert!(response.body().contains("CHOCOLATE"), "{}", response.body());
        }
        let get =
            |path: &str| Request::get(format!("https://localhost{path}")).body(()).expect("it is right");
        let response = ask(&send, get("/health"), String::new()).await;
        assert_eq!(response.status(), StatusCode::OK);
        let response = ask(&send, get("/nowhere"), String::new()).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
    });
}

/// A bug of the first version: its body was sent, which clients take for a fault of the connection.
#[test]
fn head_is_get_without_the_body() {
    let secure = Secure::donuts(|_| {});
    with(async {
        let send = connect(&secure).await;
        for (path, expected) in [("/live", StatusCode::OK), ("/nowhere", StatusCode::NOT_FOUND)] {
            let request = |method: Method| {
                let request = Request::builder().method(method).uri(format!("https://localhost{path}"));
                request.body(()).expect("it is right")
            };
            let get = ask(&send, request(Method::GET), String::new()).await;
            let head = ask(&send, request(Method::HEAD), String::new()).await;
            assert_eq!((get.status(), head.status()), (expected, expected));
            assert_eq!(head.headers()["content-length"], get.body().len().to_string());
            assert_eq!(head.body(), "");
        }
        let mut many = Request::head("https://localhost/live");
        for number in 0..150 {
            many = many.header(format!("x-{number}"), "1");
        }
        let response = ask(&send, many.body(()).expect("it is right"), String::new()).await;
        assert_eq!(response.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        assert_eq!(response.body(), "");
    });
}

/// No write waits for a client that gives no window: the server has all in its hands.
#[test]
fn a_client_that_gives_no_window_loses_its_connection() {
    let secure = Secure::new(
        |_| {},
        |tls| {
            Server::donuts(|settings| {
                tls(settings);
                settings.write_timeout = Duration::from_millis(200);
                settings.limits.max_root_fields = 1000;
            })
        },
    );
    with(async {
        let send = connect(&secure).await;
        let fields = (0..900)
            .fold(String::new(), |text, index| format!("{text}{}{index}: __typename ", "a".repeat(110)));
        let body = serde_json::json!({ "query": format!("{{ {fields} }}") }).to_string();
        let mut ready = send.clone().ready().await.expect("the connection is open");
        let request = post().body(()).expect("it is right");
        let (response, mut stream) = ready.send_request(request, false).expect("the request is right");
        stream.send_data(body.into(), true).expect("the server reads");
        let response = response.await.expect("the server responds");
        assert_eq!(response.status(), StatusCode::OK);
        let mut events = response.into_body();
        let mut bytes = 0;
        let ended = loop {
            match events.data().await {
                Some(Ok(piece)) => bytes += piece.len(),
                ended => break ended,
            }
        };
        assert!(matches!(ended, Some(Err(_))), "all {bytes} bytes came");
    });
}

#[test]
fn the_authority_is_checked_as_the_host_is() {
    let secure = Secure::donuts(|_| {});
    with(async {
        let send = connect(&secure).await;
        let request = Request::get("https://evil.test/health").body(()).expect("it is right");
        let response = ask(&send, request, String::new()).await;
        assert_eq!(response.status(), StatusCode::MISDIRECTED_REQUEST);
        let headers = (0..150).map(|number| format!("x-{number}"));
        let request = headers.fold(post(), |request, name| request.header(name, "1"));
        let response = ask(&send, request.body(()).expect("it is right"), "{}".to_owned()).await;
        assert_eq!(response.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        let response = ask(&send, post().body(()).expect("it is right"), "x".repeat(2 << 20)).await;
        assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    });
}

#[test]
fn events_come_as_they_happen_and_a_stop_ends_them() {
    let secure = Secure::donuts(|_| {});
    with(async {
        let send = connect(&secure).await;
        let subscribe =
            serde_json::json!({ "query": "subscription { onDonutUpdated(id: \"1\") { id flavor } }" });
        let request = post().header("accept", "text/event-stream").body(()).expect("it is right");
        let mut ready = send.clone().ready().await.expect("the connection is open");
        let (response, mut stream) = ready.send_request(request, false).expect("the request is right");
        stream.send_data(subscribe.to_string().into(), true).expect("the server reads");
        let mut events = response.await.expect("the server responds").into_body();
        let mut text = Vec::new();
        let mutation =
            r#"mutation { addOrUpdateDonut(donut: {id: "1", name: "d", flavor: VANILLA}) { id } }"#;
        let mutation = serde_json::json!({ "query": mutation }).to_string();
        let is_there = |text: &[u8]| String::from_utf8_lossy(text).contains("onDonutUpdated");
        while !is_there(&text) {
            let response = ask(&send, post().body(()).expect("it is right"), mutation.clone()).await;
            assert_eq!(response.status(), StatusCode::OK);
            let piece = tokio::time::timeout(Duration::from_millis(200), events.data()).await;
            if let Ok(Some(Ok(piece))) = piece {
                text.extend_from_slice(&piece);
            }
        }
        let address = secure.server.address();
        let stopped = tokio::task::spawn_blocking(move || drop(secure));
        while let Some(Ok(_)) = events.data().await {}
        stopped.await.expect("the server stops");
        assert!(TcpStream::connect(address).await.is_err());
    });
}

#[test]
fn connections_that_say_nothing_are_closed() {
    let secure = Secure::new(
        |_| {},
        |change| {
            Server::donuts(|settings| {
                settings.header_timeout = Duration::from_millis(400);
                change(settings);
            })
        },
    );
    with(async {
        let config = config_of(&secure.authority, None, &[&TLS13], &["h2"]);
        let socket = TcpStream::connect(secure.server.address()).await.expect("the server listens");
        let name = ServerName::try_from("localhost").expect("it is a name");
        let stream = TlsConnector::from(Arc::clone(&config)).connect(name, socket).await;
        let (_send, connection): (SendRequest<Bytes>, _) =
            h2::client::handshake(stream.expect("the handshake succeeds")).await.expect("it speaks it");
        let _ = connection.await;
    });
}

/// A bug of the first version: the server's own pings, which clients respond to by themselves, counted as responses.
#[test]
fn connections_on_which_nothing_is_asked_are_closed_though_they_are_pinged() {
    let secure = Secure::new(
        |_| {},
        |change| {
            Server::donuts(|settings| {
                settings.header_timeout = Duration::from_millis(800);
                settings.subscriptions.ping_interval = Duration::from_millis(50);
                change(settings);
            })
        },
    );
    with(async {
        let send = connect(&secure).await;
        let body = serde_json::json!({ "query": DONUT }).to_string();
        let response = ask(&send, post().body(()).expect("it is right"), body).await;
        assert_eq!(response.status(), StatusCode::OK);
        while send.clone().ready().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}
