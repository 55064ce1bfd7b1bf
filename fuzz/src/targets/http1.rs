//! What comes over connections: requests, which the server's fast way must read as hyper reads them, and responses, which the lab must
//! read the same however they are cut.

use std::{convert::Infallible, sync::Arc, sync::Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::texts;
use crate::Target;

pub(super) const REQUEST: Target = Target { name: "http-request", seeds: requests, run: request };
pub(super) const RESPONSE: Target = Target { name: "http-response", seeds: responses, run: response };

fn requests() -> Vec<Vec<u8>> {
    texts(&[
        "GET /graphql?query=%7Ba%7D HTTP/1.1\r\nHost: a.test:8080\r\nAccept: */*\r\nOrigin: http://b\r\n\r\n",
        "POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{\"query\":\"a\"}GET / HTTP/1.1\r\n\r\n",
        "PUT /db/n/Node/1 HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nContent-Length: 2\r\nAccept-Encoding: gzip\r\n\r\n{}",
        "DELETE /db/n/Node/1/ HTTP/1.1\nHost: a\nx-prony-timing: 1\n\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ])
}

/// What is simple is to hyper the same request.
fn request(bytes: &[u8]) {
    let Some((simple, whole)) = prony_server::fuzzing::simple_request(bytes) else { return };
    let read = hyper_reads(&bytes[..whole]);
    match (simple, read) {
        (Some(simple), Some(read)) => {
            assert_eq!(simple.method(), read.method());
            assert_eq!(simple.uri(), read.uri());
            assert_eq!(simple.headers(), read.headers());
            assert_eq!(simple.body(), read.body());
        }
        (None, None) => {}
        (simple, read) => panic!("the fast way reads {simple:?}, hyper {read:?}"),
    }
}

/// The first request that hyper's server hands to its service.
fn hyper_reads(bytes: &[u8]) -> Option<Request<Bytes>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let (mut client, server) = tokio::io::duplex(bytes.len() + (1 << 16));
        let seen: Arc<Mutex<Option<Request<Bytes>>>> = Arc::default();
        let first = Arc::clone(&seen);
        let service = service_fn(move |request: Request<Incoming>| {
            let first = Arc::clone(&first);
            async move {
                let (head, body) = request.into_parts();
                if let Ok(body) = body.collect().await {
                    let whole = Request::from_parts(head, body.to_bytes());
                    first.lock().expect("nobody panics with it").get_or_insert(whole);
                }
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
            }
        });
        client.write_all(bytes).await.expect("there is room");
        client.shutdown().await.expect("the pipe is open");
        // How it ends says nothing that the request does not.
        let _ = http1::Builder::new().half_close(true).serve_connection(TokioIo::new(server), service).await;
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer).await;
        seen.lock().expect("nobody panics with it").take()
    })
}

/// The first byte says how the rest is cut.
fn responses() -> Vec<Vec<u8>> {
    texts(&[
        "\u{1}HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{\"data\":null}HTTP/1.1 200 OK\r\n\r\n",
        "\u{3}HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;a=b\r\n{\"err\r\n8\r\nors\":[1]\r\n1\r\n}\r\n0\r\nx: y\r\n\r\n",
        "\u{7}HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 204 No\r\nConnection: keep-alive\r\n\r\n",
        "\u{40}HTTP/1.1 500 No\r\nconnection: close\r\n\r\n{\"errors\": [{\"message\": \"a\\\"b\"}]}",
    ])
}

fn response(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let is_head_request = cut & 0x80 != 0;
    let pieces: Vec<&[u8]> = bytes.chunks(usize::from(cut & 0x7f).max(1)).collect();
    let whole = prony_client::fuzzing::scan(&[bytes], is_head_request);
    let cut = prony_client::fuzzing::scan(&pieces, is_head_request);
    assert_eq!(cut, whole);
}
