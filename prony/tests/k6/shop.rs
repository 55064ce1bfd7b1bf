//! The shop that the scripts of `scripts/` visit: HTTP/1.1 and WebSockets, plain and over TLS, a thread a connection.
//! Its answers depend on nothing but the request, so that two tools that visit it must count the same.

use prony_testkit::certificates::{Certificates, Validity};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Map, Value, json};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

/// A request that takes longer to arrive is none of a test's.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Shop {
    plain: Door,
    secure: Door,
    _certificates: Certificates,
}

/// A listener with its thread.
struct Door {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Request {
    method: String,
    path: String,
    query: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Shop {
    pub(crate) fn open() -> Self {
        let certificates = Certificates::new();
        let identity = certificates.server(&["localhost", "127.0.0.1"], Validity::Now);
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![identity.certificate], identity.key)
            .unwrap();
        let tls = Arc::new(tls);
        let secure = Door::open(move |socket| {
            let session = ServerConnection::new(Arc::clone(&tls)).unwrap();
            drop(serve(StreamOwned::new(session, socket)));
        });
        Self { plain: Door::open(|socket| drop(serve(socket))), secure, _certificates: certificates }
    }

    /// Host and port of plain HTTP.
    pub(crate) fn host(&self) -> String {
        self.plain.address.to_string()
    }

    /// Host and port of HTTP over TLS, with a certificate that nobody trusts.
    pub(crate) fn secure_host(&self) -> String {
        self.secure.address.to_string()
    }
}

impl Door {
    fn open(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let serve = Arc::new(serve);
        let thread = thread::spawn(move || {
            for socket in listener.incoming() {
                let Ok(socket) = socket else { return };
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let serve = Arc::clone(&serve);
                socket.set_nodelay(true).unwrap();
                socket.set_read_timeout(Some(PATIENCE)).unwrap();
                // A client that goes away ends its connection, and its thread with it.
                thread::spawn(move || serve(socket));
            }
        });
        Self { address, is_over, thread: Some(thread) }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the acceptor; where that fails there is none left to wake.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers a connection's requests until the client leaves.
fn serve(mut stream: impl Read + Write) -> io::Result<()> {
    let mut pending = Vec::new();
    while let Some(request) = Request::read(&mut stream, &mut pending)? {
        if let Some(key) = request.header("sec-websocket-key") {
            return talk(stream, &request, key);
        }
        let answer = request.answer();
        let mut text = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
        for (name, value) in &answer.headers {
            text.extend([&**name, ": ", &**value, "\r\n"]);
        }
        text.extend(["Content-Length: ", &answer.body.len().to_string(), "\r\n\r\n"]);
        if request.method != "HEAD" {
            text.push_str(&answer.body);
        }
        stream.write_all(text.as_bytes())?;
        stream.flush()?;
    }
    Ok(())
}

/// `/ws` echoes; `/ws/count` counts to three first; `/ws/bye` closes with 1000; `/ws/cookies` says the cookies it got.
fn talk(mut stream: impl Read + Write, request: &Request, key: &str) -> io::Result<()> {
    if request.path == "/ws/forbidden" {
        return stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    }
    let mut head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
        derive_accept_key(key.as_bytes())
    );
    if let Some(protocols) = request.header("sec-websocket-protocol") {
        let first = protocols.split(',').next().unwrap_or_default().trim();
        head.extend(["Sec-WebSocket-Protocol: ", first, "\r\n"]);
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
    // What goes wrong from here on is a client that left.
    let _ = converse(&mut socket, request);
    Ok(())
}

fn converse<S: Read + Write>(socket: &mut WebSocket<S>, request: &Request) -> tungstenite::Result<()> {
    match request.path.as_str() {
        "/ws/count" => {
            for number in 1..=3 {
                socket.send(Message::text(number.to_string()))?;
            }
        }
        "/ws/bye" => socket.close(None)?,
        "/ws/cookies" => socket.send(Message::text(request.header("cookie").unwrap_or_default()))?,
        _ => {}
    }
    loop {
        match socket.read()? {
            message @ (Message::Text(_) | Message::Binary(_)) => socket.send(message)?,
            _ => socket.flush()?,
        }
    }
}

impl Request {
    fn read(stream: &mut impl Read, pending: &mut Vec<u8>) -> io::Result<Option<Self>> {
        let end = loop {
            if let Some(end) = pending.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            if !fill(stream, pending)? {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(&pending[..end]).into_owned();
        let mut lines = head.lines();
        let mut first = lines.next().unwrap_or_default().split(' ');
        let method = first.next().unwrap_or_default().to_owned();
        let (path, query) =
            first.next().map_or(("", ""), |target| target.split_once('?').unwrap_or((target, "")));
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let (path, query) = (path.to_owned(), query.to_owned());
        let mut request = Self { method, path, query, headers, body: Vec::new() };
        let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while pending.len() < end + 4 + length {
            if !fill(stream, pending)? {
                return Ok(None);
            }
        }
        request.body = pending[end + 4..end + 4 + length].to_vec();
        pending.drain(..end + 4 + length);
        Ok(Some(request))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn fields(text: &str) -> Vec<(String, String)> {
        // What the scripts send, and no more.
        let escapes = [("+", " "), ("%40", "@"), ("%2C", ",")];
        let decoded =
            |text: &str| escapes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| (decoded(name), decoded(value)))
            .collect()
    }

    fn cookies(&self) -> Vec<(String, String)> {
        let pairs =
            self.header("cookie").unwrap_or_default().split(';').filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
    }

    fn answer(&self) -> Answer {
        let parts: Vec<&str> = self.path.split('/').skip(1).collect();
        match (self.method.as_str(), &parts[..]) {
            (_, ["" | "index.html"]) => Answer::html(HOME),
            (_, ["json"]) => Answer::json(&catalogue()),
            (_, ["items", id]) => Answer::json(&json!({ "id": id, "name": format!("item {id}") })),
            (_, ["status", status]) => {
                Answer::new(status.parse().unwrap_or(500), "text/plain", "as you wish")
            }
            (_, ["delay", milliseconds]) => {
                thread::sleep(Duration::from_millis(milliseconds.parse().unwrap_or(0)));
                Answer::new(200, "text/plain", "late")
            }
            (_, ["bytes", count]) => Answer::new(200, "text/plain", &"x".repeat(count.parse().unwrap_or(0))),
            (_, ["redirect", "0"]) => Answer::to("/json"),
            (_, ["redirect", count]) => Answer::to(&format!("/redirect/{}", count.parse().unwrap_or(1) - 1)),
            (_, ["moved", status]) => {
                let mut answer = Answer::to("/echo");
                answer.status = status.parse().unwrap_or(302);
                answer
            }
            (_, ["cookies"]) => Answer::json(&json!({ "cookies": object(&self.cookies()) })),
            (_, ["cookies", "set"]) => {
                let mut answer = Answer::to("/cookies");
                let cookies = Self::fields(&self.query);
                answer.headers.extend(
                    cookies.iter().map(|(name, value)| ("Set-Cookie", format!("{name}={value}; Path=/"))),
                );
                answer
            }
            ("POST", ["login"]) => self.log_in(),
            (_, ["my", "messages"]) => {
                let is_known =
                    self.cookies().iter().any(|(name, value)| name == "session" && value == "admin");
                let who = if is_known { "Welcome, admin!" } else { "Unauthorized" };
                Answer::html(&format!("<html><body><h2>{who}</h2></body></html>"))
            }
            (_, ["basic-auth"]) => self.guarded("Basic YWRtaW46MTIz"),
            (_, ["token-auth"]) => self.guarded("Bearer abc"),
            ("POST", ["graphql"]) => self.graphql(),
            (_, ["echo"]) => Answer::json(&self.echo()),
            _ => Answer::new(404, "text/plain", "no such page"),
        }
    }

    fn log_in(&self) -> Answer {
        let fields = Self::fields(&String::from_utf8_lossy(&self.body));
        let is_admin = fields.iter().any(|(name, value)| name == "login" && value == "admin");
        let mut answer = Answer::to("/my/messages");
        if is_admin {
            answer.headers.push(("Set-Cookie", "session=admin; Path=/; HttpOnly".to_owned()));
        }
        answer
    }

    fn guarded(&self, authorization: &str) -> Answer {
        if self.header("authorization") == Some(authorization) {
            return Answer::json(&json!({ "authenticated": true }));
        }
        let mut answer = Answer::new(401, "text/plain", "who are you?");
        answer.headers.push(("WWW-Authenticate", "Basic realm=\"shop\"".to_owned()));
        answer
    }

    fn graphql(&self) -> Answer {
        let request: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let first = request["variables"]["first"].as_u64().unwrap_or(0);
        let albums: Vec<Value> =
            (1..=first).map(|id| json!({ "id": id, "title": format!("album {id}") })).collect();
        Answer::json(&json!({ "data": { "albums": albums } }))
    }

    fn echo(&self) -> Value {
        let body = String::from_utf8_lossy(&self.body);
        let kind = self.header("content-type").unwrap_or_default();
        let form = if kind == "application/x-www-form-urlencoded" { Self::fields(&body) } else { Vec::new() };
        let is_multipart = kind.starts_with("multipart/form-data");
        let parts = if is_multipart { body.matches("Content-Disposition: form-data").count() } else { 0 };
        json!({
            "method": self.method,
            "query": object(&Self::fields(&self.query)),
            "headers": object(&self.headers),
            "length": self.body.len(),
            "body": if is_multipart { Value::Null } else { body.into() },
            "form": object(&form),
            "parts": parts,
        })
    }
}

fn fill(stream: &mut impl Read, pending: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 16 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(count) => {
                pending.extend_from_slice(&buffer[..count]);
                return Ok(count > 0);
            }
            // A process that was stopped goes on, signal(7).
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn object(pairs: &[(String, String)]) -> Value {
    pairs
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect::<Map<_, _>>()
        .into()
}

fn catalogue() -> Value {
    json!({
        "items": [
            { "id": 1, "name": "hammer", "price": 12.5, "tags": ["tool", "iron"] },
            { "id": 2, "name": "anvil", "price": 99, "tags": ["iron"] },
            { "id": 3, "name": "paper", "price": 0.5, "tags": [] },
        ],
        "total": 3,
        "next": null,
    })
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        302 => "Found",
        401 => "Unauthorized",
        404 => "Not Found",
        500 => "Internal Server Error",
        _ => "Whatever",
    }
}

impl Answer {
    fn new(status: u16, kind: &str, body: &str) -> Self {
        Self { status, headers: vec![("Content-Type", kind.to_owned())], body: body.to_owned() }
    }

    fn json(value: &Value) -> Self {
        Self::new(200, "application/json", &value.to_string())
    }

    fn html(body: &str) -> Self {
        Self::new(200, "text/html; charset=utf-8", body)
    }

    fn to(location: &str) -> Self {
        let mut answer = Self::new(302, "text/plain", "");
        answer.headers.push(("Location", location.to_owned()));
        answer
    }
}

const HOME: &str = r#"<!DOCTYPE html>
<html lang="en">
  <head><title>The shop</title></head>
  <body>
    <h1 id="top" class="big bold">Welcome to the shop</h1>
    <p class="lead">Tools for <em>everyone</em>.</p>
    <ul id="links">
      <li><a href="/json">catalogue</a></li>
      <li><a href="/status/404" data-kind="broken">lost</a></li>
      <li><a href="https://elsewhere.invalid/">elsewhere</a></li>
    </ul>
    <form id="login" action="/login" method="post">
      <input type="hidden" name="redir" value="1">
      <input type="text" name="login" value="">
      <input type="password" name="password">
      <select name="role"><option value="a">A</option><option value="b" selected>B</option></select>
      <input type="checkbox" name="stay" value="yes" checked>
      <textarea name="note">hello</textarea>
      <input type="submit" value="Go">
    </form>
  </body>
</html>
"#;
