//! The client of examples that are made to count a server's instructions: rounds of requests, whose making is theirs.

use std::{
    error::Error,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

/// Requests of one round, each over a connection of its own: they share the look for what has come, as under load.
const CONNECTIONS: usize = 16;

/// The header of requests that go the named way; hyper's is one that keeps them off the fast path.
pub(crate) fn way(name: Option<&str>) -> &'static str {
    if name == Some("hyper") { "Connection: any\r\n" } else { "" }
}

/// Sends requests, which are told their numbers, and waits for an answer to each.
pub(crate) fn ask(
    address: SocketAddr,
    requests: usize,
    request: impl Fn(usize) -> Result<String, String>,
) -> Result<(), Box<dyn Error>> {
    let mut connections: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
        .collect::<std::io::Result<_>>()?;
    let mut received = [0; 4096];
    for first in (0..requests).step_by(CONNECTIONS) {
        for (connection, number) in connections.iter_mut().zip(first..requests) {
            connection.write_all(request(number)?.as_bytes())?;
        }
        for (connection, _) in connections.iter_mut().zip(first..requests) {
            // Answers are short, and each goes out in one piece.
            let bytes = connection.read(&mut received)?;
            if !received[..bytes].starts_with(b"HTTP/1.1 20") {
                return Err(format!("not answered: {}", String::from_utf8_lossy(&received[..bytes])).into());
            }
        }
    }
    Ok(())
}
