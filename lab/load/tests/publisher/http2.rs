//! The publisher over HTTP/2: mutations and subscriptions are streams of any connection.

use super::{ANSWER, Fault, Listener, State, event_of};
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::{Request, Response, StatusCode};
use serde_json::Value;
use std::collections::HashMap;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};

pub(super) fn serve(listener: TcpListener, fault: Fault, state: &Arc<Mutex<State>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    listener.set_nonblocking(true).unwrap();
    LocalSet::new().block_on(&runtime, async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            spawn_local(serve_connection(stream, fault, Arc::clone(state)));
        }
    });
}

async fn serve_connection(stream: tokio::net::TcpStream, fault: Fault, state: Arc<Mutex<State>>) {
    let stream = stream.into_std().unwrap();
    let handle = Arc::new(stream.try_clone().unwrap());
    let stream = tokio::net::TcpStream::from_std(stream).unwrap();
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(if fault == Fault::OneStream { 1 } else { 100 });
    let Ok(mut connection) = builder.handshake(stream).await else { return };
    while let Some(Ok((request, reply))) = connection.accept().await {
        spawn_local(serve_stream(request, reply, Arc::clone(&handle), fault, Arc::clone(&state)));
    }
}

async fn serve_stream(
    request: Request<RecvStream>,
    mut reply: SendResponse<Bytes>,
    handle: Arc<TcpStream>,
    fault: Fault,
    state: Arc<Mutex<State>>,
) {
    let is_subscription = request.headers().get("accept").is_some_and(|kind| kind == "text/event-stream");
    let body = read(request.into_body()).await;
    let respond = |reply: &mut SendResponse<Bytes>, status: u16, kind: &'static str, is_end| {
        let response = Response::builder().status(StatusCode::from_u16(status).unwrap());
        reply.send_response(response.header("content-type", kind).body(()).unwrap(), is_end)
    };
    if !is_subscription {
        let (id, name) = (body["variables"]["id"].to_string(), body["variables"]["name"].as_str().unwrap());
        state.lock().unwrap().publish(&id, name, fault);
        // Who has gone is told nothing.
        let Ok(mut stream) = respond(&mut reply, 200, "application/json", false) else { return };
        let _ = stream.send_data(ANSWER.into(), true);
        return;
    }
    if let Fault::Status(status) = fault {
        let _ = respond(&mut reply, status, "text/plain", true);
        return;
    }
    let (sender, mut events) = mpsc::unbounded_channel();
    let send = Box::new(move |token: &str| {
        sender.send(format!("event: next\ndata: {}\n\n", event_of(token))).is_ok()
    });
    let Ok(mut stream) = respond(&mut reply, 200, "text/event-stream", false) else { return };
    let key = body["variables"]["id"].to_string();
    let cut = handle.try_clone().unwrap();
    let listener = Listener { key, send, stream: cut, events: 0, held: HashMap::new() };
    state.lock().unwrap().listeners.push(listener);
    while let Some(text) = events.recv().await {
        if fault == Fault::ResetsStreams {
            stream.send_reset(h2::Reason::INTERNAL_ERROR);
            return;
        }
        if stream.send_data(text.into(), false).is_err() {
            return;
        }
    }
}

async fn read(mut body: RecvStream) -> Value {
    let mut bytes = Vec::new();
    while let Some(Ok(piece)) = body.data().await {
        let _ = body.flow_control().release_capacity(piece.len());
        bytes.extend_from_slice(&piece);
    }
    serde_json::from_slice(&bytes).unwrap()
}
