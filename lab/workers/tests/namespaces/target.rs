//! A target that counts: each request is answered and counted, and the count stands in a file.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const PORT: u16 = 8077;
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// How often the file is written.
const WRITE_EVERY: Duration = Duration::from_millis(50);

/// Until the process is killed. The file is there once it listens.
pub(crate) fn serve(file: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it can be made");
    runtime.block_on(async {
        let listener =
            TcpListener::bind(("127.0.0.1", PORT)).await.expect("the port is free in its namespace");
        let count = Arc::new(AtomicU64::new(0));
        tokio::spawn(write(file.to_owned(), Arc::clone(&count)));
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(answer(socket, Arc::clone(&count)));
        }
    });
}

async fn answer(mut socket: TcpStream, count: Arc<AtomicU64>) {
    let (mut seen, mut bytes) = (0, [0; 4096]);
    while let Ok(length @ 1..) = socket.read(&mut bytes).await {
        for byte in &bytes[..length] {
            // The blank line that ends a head without a body.
            seen = match (seen, byte) {
                (0 | 2, b'\r') | (1 | 3, b'\n') => seen + 1,
                (_, b'\r') => 1,
                _ => 0,
            };
            if seen == 4 {
                seen = 0;
                count.fetch_add(1, Ordering::Relaxed);
                if socket.write_all(OK).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn write(file: std::path::PathBuf, count: Arc<AtomicU64>) {
    let beside = file.with_extension("new");
    loop {
        let text = count.load(Ordering::Relaxed).to_string();
        fs::write(&beside, text).and_then(|()| fs::rename(&beside, &file)).expect("the folder is there");
        tokio::time::sleep(WRITE_EVERY).await;
    }
}
