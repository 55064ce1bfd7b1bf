//! A GraphQL server that responds at once with the same, and stands still for a part of each period. It has a thread for each
//! connection, so that nothing but the stall holds a response up.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

pub(crate) const SDL: &str = "type Query { one: Int }";
const BODY: &str = r#"{"data":{"one":1}}"#;
const STACK_BYTES: usize = 64 << 10;

/// Listens until this process ends.
pub(crate) fn start(period: Duration, stall: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    let begun = Instant::now();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serving = move || serve(&stream, begun, period, stall);
            let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(serving);
            thread.expect("there is room for a thread");
        }
    });
    address
}

/// Responds to requests until the connection ends.
fn serve(stream: &TcpStream, begun: Instant, period: Duration, stall: Duration) {
    let _ = stream.set_nodelay(true);
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("it is a number");
            }
            if line == "\r\n" {
                break;
            }
        }
        if reader.read_exact(&mut vec![0; length]).is_err() {
            return;
        }
        // The stall is the end of each period.
        let now = begun.elapsed();
        let into = Duration::from_nanos((now.as_nanos() % period.as_nanos()) as u64);
        if into >= period.saturating_sub(stall) {
            thread::sleep(period.saturating_sub(into));
        }
        if writer.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}
