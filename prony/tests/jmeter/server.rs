//! What the plans of the tests visit: a server whose responses depend on nothing but the request.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Serves until the process ends.
pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Method and target.
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// The number of its connection.
    pub(crate) connection: usize,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<Seen>>>::default());
        let all = Arc::clone(&seen);
        thread::spawn(move || {
            for (connection, socket) in listener.incoming().enumerate() {
                let (socket, seen) = (socket.unwrap(), Arc::clone(&all));
                thread::spawn(move || serve(&socket, connection, &seen));
            }
        });
        Self { address, seen }
    }

    pub(crate) fn port(&self) -> String {
        self.address.port().to_string()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The lines of all requests, in their order.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.line).collect()
    }
}

fn serve(socket: &TcpStream, connection: usize, seen: &Mutex<Vec<Seen>>) {
    socket.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(socket);
    while let Some(request) = read(&mut reader, connection) {
        let response = respond(&request);
        let closes =
            request.headers.iter().any(|(name, value)| name == "connection" && value.as_str() == "close");
        seen.lock().unwrap().push(request);
        if (&*socket).write_all(&response).is_err() || closes {
            return;
        }
    }
}

fn read(reader: &mut BufReader<&TcpStream>, connection: usize) -> Option<Seen> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut seen = Seen { line, headers, body: String::new(), connection };
    let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    seen.body = String::from_utf8_lossy(&body).into_owned();
    Some(seen)
}

fn respond(request: &Seen) -> Vec<u8> {
    let path = request.line.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let (status, headers, body) = match path {
        "/redirect" => ("302 Found", "Location: /ok?from=redirect\r\n", ""),
        "/moved" => ("307 Temporary Redirect", "Location: /ok?moved\r\n", ""),
        "/permanent" => ("308 Permanent Redirect", "Location: /ok?moved\r\n", ""),
        "/missing" => ("404 Not Found", "", "{}"),
        "/login" => ("200 OK", "Set-Cookie: session=s1; Path=/\r\nContent-Type: text/plain\r\n", "in"),
        "/page" => (
            "200 OK",
            "Content-Type: text/html\r\n",
            "<html><h1 class=title>Hello</h1><img src=/a.png><script src=b.js></script></html>",
        ),
        _ => (
            "200 OK",
            "Content-Type: application/json\r\n",
            r#"{"list":{"ids":[7,8,9]},"name":"x","token":"t-42"}"#,
        ),
    };
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
