//! HTTP/1.1 for few requests, each over a connection and on a thread of its own.

use super::RestApi;
use super::resources::{self, Response};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Of a request's line and headers.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// Of a request's body.
const MAX_BODY_BYTES: usize = 1 << 20;
const MAX_HEADERS: usize = 64;
/// A client that is silent for so long is let go.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Requests at a time; `setup` and `teardown` may take long. Others get 503.
const MAX_REQUESTS: usize = 16;

/// A request that was read whole.
struct Request {
    method: String,
    path: String,
    body: Vec<u8>,
}

/// Never returns.
pub(super) fn run(listener: &TcpListener, api: &Arc<RestApi>) {
    let requests = Arc::new(());
    for stream in listener.incoming() {
        let (api, request) = (Arc::clone(api), Arc::clone(&requests));
        let is_allowed = Arc::strong_count(&requests) <= MAX_REQUESTS + 1;
        // Whoever gets no response can ask again.
        let _ = stream.and_then(|stream| {
            thread::Builder::new().name("rest-request".to_owned()).spawn(move || {
                let served = serve(stream, &api, is_allowed);
                drop(request);
                served
            })
        });
    }
}

fn serve(mut stream: TcpStream, api: &RestApi, is_allowed: bool) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let response = match read(&mut stream)? {
        Some(_) if !is_allowed => Response::plain(503, "503 Service Unavailable"),
        Some(request) => resources::respond(api, &request.method, &request.path, &request.body),
        None => Response::plain(400, "400 Bad Request"),
    };
    let Response { status, content_type, body } = response;
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        reason(status),
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}

/// None where it is none.
fn read(stream: &mut TcpStream) -> io::Result<Option<Request>> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece)?;
        bytes.extend_from_slice(&piece[..count]);
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let Ok(parsed) = request.parse(&bytes) else { return Ok(None) };
        let httparse::Status::Complete(head) = parsed else {
            if count == 0 || bytes.len() > MAX_HEAD_BYTES {
                return Ok(None);
            }
            continue;
        };
        let field = |name: &str| request.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        let length = field("content-length").map_or(Some(0), |field| {
            std::str::from_utf8(field.value).ok().and_then(|text| text.parse::<usize>().ok())
        });
        let is_whole = field("transfer-encoding").is_none();
        let (Some(length), true) = (length.filter(|length| *length <= MAX_BODY_BYTES), is_whole) else {
            return Ok(None);
        };
        let (method, path) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
        let path = path.split('?').next().unwrap_or_default();
        let (method, path) = (method.to_owned(), path.to_owned());
        let mut body = bytes.split_off(head);
        let rest = length.saturating_sub(body.len());
        stream.take(rest as u64).read_to_end(&mut body)?;
        if body.len() < length {
            // Whoever left in the middle has not said what it wants.
            return Ok(None);
        }
        body.truncate(length);
        return Ok(Some(Request { method, path, body }));
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
