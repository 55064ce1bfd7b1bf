//! A last word to a client that is not served.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// How long a refused client may take to read why.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// Has a client that is not served read why, within a moment.
pub(super) async fn respond_and_close(mut socket: TcpStream, response: &[u8]) {
    let respond = async {
        socket.write_all(response).await?;
        socket.shutdown().await?;
        // Closing with unread bytes would reset the connection before the client has read the response.
        let mut rest = [0; 4096];
        while socket.read(&mut rest).await? > 0 {}
        Ok::<(), io::Error>(())
    };
    let _ = tokio::time::timeout(REFUSAL_TIME, respond).await;
}
