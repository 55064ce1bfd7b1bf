//! A server of gRPC for tests, on the h2 crate alone: calls and streams of all four kinds, reflection, health, TLS.

use bytes::{Buf as _, Bytes, BytesMut};
use h2::RecvStream;
use h2::server::SendResponse;
use http::{HeaderMap, Request, Response};
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, Value};
use prost_types::FileDescriptorSet;
use rustls::ServerConfig;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

pub(crate) const SHOP: &str = r#"
syntax = "proto3";
package shop.v1;
import "shared.proto";
import "google/protobuf/timestamp.proto";

service Shop {
  rpc Get(Key) returns (Item);
  rpc Watch(Key) returns (stream Item);
  rpc Sum(stream Key) returns (Total);
  rpc Echo(stream Key) returns (stream Item);
}
message Key { int64 id = 1; string note = 2; double weight = 3; }
message Item {
  int64 id = 1;
  string name = 2;
  shared.Color color = 3;
  repeated string labels = 4;
  map<string, shared.Size> sizes = 5;
  shared.Size size = 6;
  oneof price { int32 cents = 7; string text = 8; }
  optional bool sold = 9;
  float weight = 10;
  bytes raw = 11;
  google.protobuf.Timestamp made = 12;
}
message Total { int64 sum = 1; int32 count = 2; }
message Why { string reason = 1; }
"#;
pub(crate) const SHARED: &str = r#"
syntax = "proto3";
package shared;
enum Color { NONE = 0; RED = 1; }
message Size { int32 width = 1; int32 height = 2; }
"#;

/// How the server is, where it is not as usual.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) tls: Option<ServerConfig>,
    /// The service that answers reflection.
    pub(crate) reflection: Option<&'static str>,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicU32>,
}

struct Shared {
    pool: DescriptorPool,
    set: FileDescriptorSet,
    reflection: Option<&'static str>,
}

/// `google.rpc.Status`, reflection and health as they are on the wire.
mod wire {
    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct Status {
        #[prost(int32, tag = "1")]
        pub(super) code: i32,
        #[prost(string, tag = "2")]
        pub(super) message: String,
        #[prost(message, repeated, tag = "3")]
        pub(super) details: Vec<prost_types::Any>,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct Question {
        #[prost(string, tag = "3")]
        pub(super) file: String,
        #[prost(string, tag = "4")]
        pub(super) symbol: String,
        #[prost(string, tag = "7")]
        pub(super) list: String,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct Answer {
        #[prost(message, optional, tag = "4")]
        pub(super) files: Option<Texts>,
        #[prost(message, optional, tag = "6")]
        pub(super) services: Option<Services>,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct Texts {
        #[prost(bytes = "vec", repeated, tag = "1")]
        pub(super) all: Vec<Vec<u8>>,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct Services {
        #[prost(message, repeated, tag = "1")]
        pub(super) all: Vec<Text>,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct Text {
        #[prost(string, tag = "1")]
        pub(super) text: String,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct Number {
        #[prost(int32, tag = "1")]
        pub(super) number: i32,
    }
}

/// The files of the service, for scripts that load them.
pub(crate) fn write_protos(folder: &Path) {
    std::fs::create_dir_all(folder.join("protos")).unwrap();
    std::fs::write(folder.join("protos/shop.proto"), SHOP).unwrap();
    std::fs::write(folder.join("protos/shared.proto"), SHARED).unwrap();
    let set = prost::Message::encode_to_vec(&compile(folder));
    std::fs::write(folder.join("shop.protoset"), set).unwrap();
}

fn compile(folder: &Path) -> FileDescriptorSet {
    protox::compile(["shop.proto"], [folder.join("protos")]).unwrap()
}

impl Server {
    pub(crate) fn start(folder: &Path, settings: Settings) -> Self {
        let set = compile(folder);
        let pool = DescriptorPool::from_file_descriptor_set(set.clone()).unwrap();
        let shared = Arc::new(Shared { pool, set, reflection: settings.reflection });
        let connections = Arc::<AtomicU32>::default();
        let count = Arc::clone(&connections);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let local = tokio::task::LocalSet::new();
            local.block_on(&runtime, serve(listener, settings.tls, shared, count));
        });
        Self { address, connections }
    }

    pub(crate) fn connections(&self) -> u32 {
        self.connections.load(Ordering::Relaxed)
    }
}

async fn serve(
    listener: std::net::TcpListener,
    tls: Option<ServerConfig>,
    shared: Arc<Shared>,
    count: Arc<AtomicU32>,
) {
    let listener = TcpListener::from_std(listener).unwrap();
    let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
    while let Ok((socket, _)) = listener.accept().await {
        count.fetch_add(1, Ordering::Relaxed);
        let (shared, acceptor) = (Arc::clone(&shared), acceptor.clone());
        tokio::task::spawn_local(async move {
            match acceptor {
                None => serve_connection(socket, shared).await,
                Some(acceptor) => {
                    if let Ok(socket) = acceptor.accept(socket).await {
                        serve_connection(socket, shared).await;
                    }
                }
            }
        });
    }
}

async fn serve_connection(socket: impl AsyncRead + AsyncWrite + Unpin, shared: Arc<Shared>) {
    let Ok(mut connection) = h2::server::handshake(socket).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let shared = Arc::clone(&shared);
        tokio::task::spawn_local(async move {
            Call::new(request, respond, shared).run().await;
        });
    }
}

struct Call {
    path: String,
    metadata: HeaderMap,
    body: RecvStream,
    received: BytesMut,
    respond: SendResponse<Bytes>,
    stream: Option<h2::SendStream<Bytes>>,
    shared: Arc<Shared>,
}

impl Call {
    fn new(request: Request<RecvStream>, respond: SendResponse<Bytes>, shared: Arc<Shared>) -> Self {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        Self { path, metadata: parts.headers, body, received: BytesMut::new(), respond, stream: None, shared }
    }

    async fn run(mut self) {
        match self.path.as_str() {
            "/shop.v1.Shop/Get" => self.get().await,
            "/shop.v1.Shop/Watch" => self.watch().await,
            "/shop.v1.Shop/Sum" => self.sum().await,
            "/shop.v1.Shop/Echo" => self.echo().await,
            "/grpc.health.v1.Health/Check" => self.health().await,
            "/html" => self.html(),
            path => {
                let reflection = self.shared.reflection.map(|name| format!("/{name}/ServerReflectionInfo"));
                if reflection.as_deref() == Some(path) {
                    self.reflect().await;
                } else {
                    let message = format!(
                        "unknown service {}",
                        path.trim_start_matches('/').replace("/ServerReflectionInfo", "")
                    );
                    self.refuse(12, &message);
                }
            }
        }
    }

    // ---- messages

    /// The next message; none at the body's end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.received.len() >= 5 {
                let length = u32::from_be_bytes(self.received[1..5].try_into().unwrap()) as usize;
                if self.received.len() >= 5 + length {
                    self.received.advance(5);
                    return Some(self.received.split_to(length).freeze());
                }
            }
            let bytes = self.body.data().await?.ok()?;
            self.body.flow_control().release_capacity(bytes.len()).unwrap();
            self.received.extend_from_slice(&bytes);
        }
    }

    async fn key(&mut self) -> Option<(i64, String)> {
        let bytes = self.next().await?;
        let descriptor = self.shared.pool.get_message_by_name("shop.v1.Key").unwrap();
        let key = DynamicMessage::decode(descriptor, bytes).unwrap();
        let id = key.get_field_by_name("id").unwrap().as_i64().unwrap();
        let note = key.get_field_by_name("note").unwrap().as_str().unwrap().to_owned();
        Some((id, note))
    }

    fn item(&self, id: i64, name: String) -> Vec<u8> {
        let descriptor = self.shared.pool.get_message_by_name("shop.v1.Item").unwrap();
        let mut item = DynamicMessage::new(descriptor);
        item.set_field_by_name("id", Value::I64(id));
        item.set_field_by_name("name", Value::String(name));
        if id % 2 == 1 {
            item.set_field_by_name("color", Value::EnumNumber(1));
            item.set_field_by_name("weight", Value::F32(0.1));
            item.set_field_by_name("text", Value::String("cheap".to_owned()));
        }
        item.encode_to_vec()
    }

    fn head(&mut self) -> Response<()> {
        let mut head = Response::builder().status(200).header("content-type", "application/grpc");
        for (name, value) in &self.metadata {
            if name.as_str().starts_with("x-") {
                head = head.header(format!("seen-{name}"), value);
            }
        }
        head.body(()).unwrap()
    }

    fn send(&mut self, message: &[u8]) {
        if self.stream.is_none() {
            let head = self.head();
            self.stream = Some(self.respond.send_response(head, false).unwrap());
        }
        let mut framed = vec![0];
        framed.extend_from_slice(&(message.len() as u32).to_be_bytes());
        framed.extend_from_slice(message);
        let _ = self.stream.as_mut().unwrap().send_data(framed.into(), false);
    }

    fn end(&mut self, code: u32, message: &str) {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", code.to_string().parse().unwrap());
        trailers.insert("x-trailer", "at the end".parse().unwrap());
        if !message.is_empty() {
            trailers
                .insert("grpc-message", message.replace('%', "%25").replace('ä', "%C3%A4").parse().unwrap());
        }
        if let Some(mut stream) = self.stream.take() {
            let _ = stream.send_trailers(trailers);
            return;
        }
        let head = self.head();
        let mut stream = self.respond.send_response(head, false).unwrap();
        let _ = stream.send_trailers(trailers);
    }

    /// With trailers alone.
    fn refuse(&mut self, code: u32, message: &str) {
        let head = Response::builder()
            .status(200)
            .header("content-type", "application/grpc")
            .header("grpc-status", code.to_string())
            .header("grpc-message", message);
        let _ = self.respond.send_response(head.body(()).unwrap(), true);
    }

    // ---- methods

    async fn get(&mut self) {
        let Some((id, note)) = self.key().await else { return };
        match note.as_str() {
            "missing" => self.refuse_with_details(id),
            "slow" => {
                tokio::time::sleep(Duration::from_secs(20)).await;
                self.end(0, "");
            }
            "reset" => self.respond.send_reset(h2::Reason::ENHANCE_YOUR_CALM),
            "empty" => self.end(0, ""),
            "big" => {
                let message = self.item(id, "x".repeat(5 * 1024 * 1024));
                self.send(&message);
                self.end(0, "");
            }
            _ => {
                let name = if note.len() > 1000 { note.len().to_string() } else { format!("item {note}") };
                let message = self.item(id, name);
                self.send(&message);
                self.end(0, "");
            }
        }
    }

    fn refuse_with_details(&mut self, id: i64) {
        let descriptor = self.shared.pool.get_message_by_name("shop.v1.Why").unwrap();
        let mut why = DynamicMessage::new(descriptor);
        why.set_field_by_name("reason", Value::String("sold out".to_owned()));
        let any = |type_url: &str, value| prost_types::Any { type_url: type_url.to_owned(), value };
        let status = wire::Status {
            code: 5,
            message: "no such item".to_owned(),
            details: vec![any("type.googleapis.com/shop.v1.Why", why.encode_to_vec())],
        };
        let mut trailers = HeaderMap::new();
        let details = base64(&status.encode_to_vec());
        trailers.insert("grpc-status", "5".parse().unwrap());
        trailers.insert("grpc-message", format!("no item {id}").parse().unwrap());
        trailers.insert("grpc-status-details-bin", details.parse().unwrap());
        let head = self.head();
        let mut stream = self.respond.send_response(head, false).unwrap();
        let _ = stream.send_trailers(trailers);
    }

    async fn watch(&mut self) {
        let Some((id, note)) = self.key().await else { return };
        for number in 0..id {
            let message = self.item(number, format!("watched {number}"));
            self.send(&message);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if note == "forever" {
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
        let code = match note.as_str() {
            "fails" => 9,
            "cancels" => 1,
            _ => 0,
        };
        self.end(code, if code == 0 { "" } else { "it is over, ä" });
    }

    async fn sum(&mut self) {
        let (mut sum, mut count) = (0, 0);
        while let Some((id, _)) = self.key().await {
            (sum, count) = (sum + id, count + 1);
        }
        let descriptor = self.shared.pool.get_message_by_name("shop.v1.Total").unwrap();
        let mut total = DynamicMessage::new(descriptor);
        total.set_field_by_name("sum", Value::I64(sum));
        total.set_field_by_name("count", Value::I32(count));
        let message = total.encode_to_vec();
        self.send(&message);
        self.end(0, "");
    }

    async fn echo(&mut self) {
        while let Some((id, note)) = self.key().await {
            let message = self.item(id, note);
            self.send(&message);
        }
        self.end(0, "");
    }

    async fn health(&mut self) {
        let Some(bytes) = self.next().await else { return };
        let service = wire::Text::decode(bytes).unwrap().text;
        if service == "unknown" {
            return self.refuse(5, "unknown service");
        }
        let message = wire::Number { number: if service == "down" { 2 } else { 1 } }.encode_to_vec();
        self.send(&message);
        self.end(0, "");
    }

    async fn reflect(&mut self) {
        while let Some(bytes) = self.next().await {
            let question = wire::Question::decode(bytes).unwrap();
            let mut answer = wire::Answer::default();
            if question.list.is_empty() {
                let name = if question.symbol.is_empty() { question.file.as_str() } else { "shop.proto" };
                let files = self.shared.set.file.iter().filter(|file| file.name() == name);
                let all = files.map(prost::Message::encode_to_vec).collect();
                answer.files = Some(wire::Texts { all });
            } else {
                let all = vec![wire::Text { text: "shop.v1.Shop".to_owned() }];
                answer.services = Some(wire::Services { all });
            }
            let message = answer.encode_to_vec();
            self.send(&message);
        }
        self.end(0, "");
    }

    /// No gRPC at all.
    fn html(&mut self) {
        let head = Response::builder().status(502).header("content-type", "text/html").body(()).unwrap();
        let mut stream = self.respond.send_response(head, false).unwrap();
        let _ = stream.send_data("<h1>no".into(), true);
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            text.push(LETTERS[(number >> (18 - 6 * place) & 63) as usize] as char);
        }
    }
    text
}
