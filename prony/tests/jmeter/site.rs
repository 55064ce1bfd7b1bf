//! The site that compared plans visit, with JMeter and with Prony: responses depend on nothing but the request, so that rows of both can
//! be laid beside each other.

use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;
use tungstenite::handshake::derive_accept_key;

const JSON: &str = r#"{"list":{"ids":[7,8,9]},"name":"x","token":"t-42","flag":true,"nothing":null,"things":[{"name":"p","price":4.5},{"name":"q","price":12}]}"#;
const XML: &str = "<?xml version=\"1.0\"?>\n<list><item id=\"7\"><name>one</name><price>1</price></item><item id=\"8\"><name>two</name>\
    </item><item id=\"9\"><name>three</name></item><empty/><mixed>a<b>c</b>d</mixed></list>";
const ENVELOPE: &str =
    "<s:Envelope xmlns:s=\"urn:s\" xmlns:m=\"urn:m\"><s:Body><m:price>12</m:price></s:Body></s:Envelope>";
const PAGE: &str = "<html><body><h1 class=title>Hello</h1><img src=/a.png><script src=b.js></script><ul><li>1</li><li>2 <b>two</b>\
    </li></ul></body></html>";
const BROKEN_PAGE: &str = "<html><body><img src=/status/404><img src=/a.png></body></html>";
const LOGIN_PAGE: &str = "<html><form><input name=\"token\" value=\"t-42\"></form></html>";

/// Serves until the process ends.
pub(crate) struct Site {
    address: SocketAddr,
}

struct Request {
    method: String,
    path: String,
    query: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

struct Response {
    status: &'static str,
    headers: String,
    body: Vec<u8>,
}

impl Site {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of this machine");
        let address = listener.local_addr().expect("a bound socket has an address");
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                thread::spawn(move || serve(&socket));
            }
        });
        Self { address }
    }

    pub(crate) fn port(&self) -> String {
        self.address.port().to_string()
    }
}

impl Request {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }
}

fn serve(socket: &TcpStream) {
    let _ = socket.set_nodelay(true);
    let mut reader = BufReader::new(socket);
    while let Some(request) = read(&mut reader) {
        if request.path == "/ws" {
            talk(&request, &mut reader, socket);
            return;
        }
        let response = respond(&request);
        let length = match response.status {
            "204 No Content" | "304 Not Modified" => String::new(),
            _ => format!("Content-Length: {}\r\n", response.body.len()),
        };
        let mut bytes =
            format!("HTTP/1.1 {}\r\n{}{length}\r\n", response.status, response.headers).into_bytes();
        if request.method != "HEAD" {
            bytes.extend_from_slice(&response.body);
        }
        let mut writer = socket;
        if writer.write_all(&bytes).is_err() || request.header("connection") == "close" {
            return;
        }
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, path, query, headers, body: Vec::new() };
    request.body = vec![0; request.header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

fn found(status: &'static str, headers: &str, body: impl Into<Vec<u8>>) -> Response {
    Response { status, headers: headers.to_owned(), body: body.into() }
}

fn typed(content_type: &str, body: impl Into<Vec<u8>>) -> Response {
    found("200 OK", &format!("Content-Type: {content_type}\r\n"), body)
}

fn moved(status: &'static str, location: &str) -> Response {
    found(status, &format!("Location: {location}\r\n"), "")
}

fn respond(request: &Request) -> Response {
    let cookie = request.header("cookie");
    match request.path.as_str() {
        "/json" => typed("application/json", JSON),
        "/xml" => typed("text/xml", XML),
        "/soap" => typed("text/xml", ENVELOPE),
        "/page" => typed("text/html", PAGE),
        "/broken-page" => typed("text/html; charset=utf-8", BROKEN_PAGE),
        "/login" => typed("text/html", LOGIN_PAGE),
        "/a.png" => typed("image/png", [0x89, b'P', b'N', b'G']),
        "/b.js" => typed("text/javascript", "1"),
        "/plain" => {
            found("200 OK", "Content-Type: text/plain\r\nX-Kind: plain\r\n", "plain text\ntoken: t-42\nend\n")
        }
        "/slow" => {
            thread::sleep(Duration::from_millis(60));
            typed("text/plain", "slow")
        }
        "/tab" => typed("text/plain", [request.body.as_slice(), b"\t"].concat()),
        "/form" => typed("text/plain", form(request)),
        "/session" => session(request),
        "/account" if cookie.is_empty() => found("403 Forbidden", "", "log in first"),
        "/account" => typed("text/plain", cookie),
        "/logout" => found("200 OK", "Set-Cookie: session=; Path=/; Max-Age=0\r\n", "bye"),
        "/visit" => visit(cookie),
        "/basic" | "/digest" => protected(request),
        "/fresh" | "/etag" | "/modified" | "/no-store" => cached(request),
        path if path.starts_with("/status/") => status(&path["/status/".len()..]),
        path if path.starts_with("/nth/") => {
            if path.ends_with("/3") {
                status("500")
            } else {
                typed("text/plain", path)
            }
        }
        path => redirect(path).unwrap_or_else(|| echo(request)),
    }
}

/// What was sent, as text.
fn echo(request: &Request) -> Response {
    let head =
        format!("{} {} {}|{}\n", request.method, request.path, request.query, request.header("content-type"));
    typed("text/plain;charset=utf-8", [head.as_bytes(), request.body.as_slice()].concat())
}

fn redirect(path: &str) -> Option<Response> {
    let left = path.strip_prefix("/hop/").and_then(|left| left.parse::<u32>().ok());
    Some(match (path, left) {
        (_, Some(0)) => typed("text/plain", "echo of the last"),
        (_, Some(left)) => moved("302 Found", &format!("/hop/{}", left - 1)),
        ("/see-other", _) => moved("303 See Other", "/echo?seen"),
        ("/temporary", _) => moved("307 Temporary Redirect", "/echo?temporary"),
        ("/permanent", _) => moved("308 Permanent Redirect", "/echo?permanent"),
        ("/deep/relative", _) => moved("301 Moved Permanently", "other?x=1"),
        ("/around", _) => moved("302 Found", "/around"),
        ("/set-and-go", _) => found("302 Found", "Set-Cookie: went=1; Path=/\r\nLocation: /account\r\n", ""),
        ("/no-location", _) => found("302 Found", "", "nowhere to go"),
        _ => return None,
    })
}

fn status(code: &str) -> Response {
    match code {
        "204" => found("204 No Content", "", ""),
        "404" => found("404 Not Found", "Content-Type: text/plain\r\n", "not here"),
        "503" => found("503 Service Unavailable", "", "later"),
        _ => found("500 Internal Server Error", "Content-Type: text/plain\r\n", "broken"),
    }
}

fn session(request: &Request) -> Response {
    let body = String::from_utf8_lossy(&request.body);
    if body == "user=Ada+L.&token=t-42" {
        let cookie = "Set-Cookie: session=s1; Path=/\r\nContent-Type: text/plain\r\n";
        return found("200 OK", cookie, "welcome Ada L.");
    }
    found("401 Unauthorized", "", format!("no: {body}"))
}

fn visit(cookie: &str) -> Response {
    let last = cookie.strip_prefix("visit=").and_then(|count| count.parse::<u32>().ok()).unwrap_or(0);
    let cookie =
        format!("Set-Cookie: visit={}; Path=/\r\nX-Visit: {}\r\n", last + 1, "x".repeat(last as usize));
    found("200 OK", &cookie, "x".repeat(last as usize))
}

fn protected(request: &Request) -> Response {
    let given = request.header("authorization");
    let is_basic = request.path == "/basic";
    let is_good = if is_basic {
        given == "Basic dXNlcjpwYXNz"
    } else {
        given.starts_with("Digest ") && given.contains("username=\"user\"") && given.contains("nonce=\"n-1\"")
    };
    if is_good {
        return typed("text/plain", "come in");
    }
    let challenge = if is_basic {
        "WWW-Authenticate: Basic realm=\"site\"\r\n"
    } else {
        "WWW-Authenticate: Digest realm=\"site\", qop=\"auth\", nonce=\"n-1\", opaque=\"o-1\"\r\n"
    };
    found("401 Unauthorized", challenge, "who are you")
}

fn cached(request: &Request) -> Response {
    let date = "Mon, 01 Jan 2024 00:00:00 GMT";
    let is_known = request.header("if-none-match") == "\"e1\"" || request.header("if-modified-since") == date;
    let headers = match request.path.as_str() {
        "/fresh" => "Cache-Control: max-age=3600\r\n".to_owned(),
        "/etag" => "ETag: \"e1\"\r\n".to_owned(),
        "/modified" => format!("Last-Modified: {date}\r\n"),
        _ => "Cache-Control: no-store\r\nETag: \"e1\"\r\n".to_owned(),
    };
    if is_known { found("304 Not Modified", &headers, "") } else { found("200 OK", &headers, "kept") }
}

/// The parts of a multipart body, without the boundary that its client has drawn.
fn form(request: &Request) -> String {
    let text = String::from_utf8_lossy(&request.body);
    let boundary = request.header("content-type").split("boundary=").nth(1).unwrap_or_default();
    let boundary = boundary.split(';').next().unwrap_or_default();
    text.replace(boundary, "BOUNDARY")
}

// ---- WebSocket

fn talk(request: &Request, reader: &mut BufReader<&TcpStream>, socket: &TcpStream) {
    let accept = derive_accept_key(request.header("sec-websocket-key").as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    let mut writer = socket;
    if writer.write_all(head.as_bytes()).is_err() {
        return;
    }
    while let Some((opcode, payload)) = read_frame(reader) {
        let goes_on = match (opcode, payload.as_slice()) {
            (8, payload) => {
                send(socket, 8, payload);
                false
            }
            (9, payload) => send(socket, 10, payload),
            (10, _) | (1, b"silent") => true,
            (1, b"news") => {
                let frames: [(u8, &[u8]); 5] =
                    [(1, b"news 1"), (9, b"hi"), (2, b"\0\x01"), (1, b"news 2"), (1, b"done")];
                frames.iter().all(|(opcode, payload)| send(socket, *opcode, payload))
            }
            (1, b"bye") => send(socket, 8, b"\x03\xe9going"),
            (1, b"cut") => false,
            (1, b"binary") => send(socket, 2, b"\0\xff\x01"),
            (1, b"headers") => {
                let shown = format!("{} {}", request.header("x-token"), request.header("cookie"));
                send(socket, 1, shown.as_bytes())
            }
            (opcode, payload) => send(socket, opcode, payload),
        };
        if !goes_on {
            return;
        }
    }
}

fn read_frame(reader: &mut BufReader<&TcpStream>) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    reader.read_exact(&mut head).ok()?;
    let mut length = usize::from(head[1] & 0x7f);
    if length == 126 {
        let mut long = [0; 2];
        reader.read_exact(&mut long).ok()?;
        length = usize::from(u16::from_be_bytes(long));
    }
    let mut mask = [0; 4];
    reader.read_exact(&mut mask).ok()?;
    let mut payload = vec![0; length];
    reader.read_exact(&mut payload).ok()?;
    payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    Some((head[0] & 0x0f, payload))
}

fn send(mut socket: &TcpStream, opcode: u8, payload: &[u8]) -> bool {
    let mut frame = vec![0x80 | opcode];
    match u8::try_from(payload.len()) {
        Ok(length) if length < 126 => frame.push(length),
        _ => {
            frame.push(126);
            frame.extend_from_slice(&(payload.len() as u16).to_be_bytes());
        }
    }
    frame.extend_from_slice(payload);
    socket.write_all(&frame).is_ok()
}
