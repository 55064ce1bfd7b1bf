//! A client of `graphql-transport-ws` that does one thing after the other.

use std::net::TcpStream;

use tungstenite::{Message, WebSocket, client::IntoClientRequest as _, protocol::WebSocketConfig};

pub(crate) struct Socket(WebSocket<TcpStream>);

impl Socket {
    /// Connects, and is acknowledged.
    pub(crate) fn open(url: &str) -> Self {
        let address = url.trim_start_matches("http://");
        let stream = TcpStream::connect(address).expect("the server listens and has descriptors left");
        stream.set_nodelay(true).expect("TCP has it");
        let mut request =
            format!("ws://{address}/graphql").into_client_request().expect("the address is one");
        let protocol = "graphql-transport-ws".parse().expect("a name is a value of a header");
        request.headers_mut().insert("sec-websocket-protocol", protocol);
        // Thousands of clients are in this process.
        let config = WebSocketConfig::default().read_buffer_size(1 << 10).write_buffer_size(0);
        let opened = tungstenite::client::client_with_config(request, stream, Some(config));
        let (socket, _) = opened.unwrap_or_else(|error| panic!("the server opens a WebSocket: {error}"));
        let mut socket = Self(socket);
        socket.send("{\"type\":\"connection_init\"}");
        socket.wait_for("connection_ack");
        socket
    }

    /// Asks for the events of a donut, under an id of the client's.
    pub(crate) fn subscribe(&mut self, id: usize, donut: &str) {
        const QUERY: &str =
            "subscription Updates($id: String!) { onDonutUpdated(id: $id) { id name flavor } }";
        self.send(&format!(
            r#"{{"type":"subscribe","id":"{id}","payload":{{"query":"{QUERY}","variables":{{"id":"{donut}"}}}}}}"#
        ));
    }

    pub(crate) fn complete(&mut self, id: usize) {
        self.send(&format!("{{\"type\":\"complete\",\"id\":\"{id}\"}}"));
    }

    /// Returns when the server has done what was said before.
    pub(crate) fn settle(&mut self) {
        self.send("{\"type\":\"ping\"}");
        self.wait_for("pong");
    }

    /// The next text.
    pub(crate) fn read(&mut self) -> String {
        loop {
            match self.0.read().unwrap_or_else(|error| panic!("the server keeps the connection: {error}")) {
                Message::Text(text) => return text.to_string(),
                Message::Close(frame) => panic!("the server closes: {frame:?}"),
                _ => {}
            }
        }
    }

    fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).unwrap_or_else(|error| panic!("the server reads: {error}"));
    }

    fn wait_for(&mut self, kind: &str) {
        let text = self.read();
        assert!(text.contains(&format!("\"type\":\"{kind}\"")), "{kind} was to come, not {text}");
    }
}
