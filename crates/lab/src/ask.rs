//! One request and its answer, outside of all load: for looks at what the engine serves.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

const PATIENCE: Duration = Duration::from_secs(30);
/// Far above what any of the studies' requests answers.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Sends a request on a connection of its own and gives the whole answer, head and body as they came. A body is JSON.
pub(crate) fn ask(address: &str, method: &str, path: &str, body: Option<&str>) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let content = body.map_or(String::new(), |body| {
        format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len())
    });
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\naccept: application/json\r\n{content}connection: close\r\n\r\n{}",
        body.unwrap_or_default()
    )?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}
