//! The same kind of API inside an axum server: who asks is known by a header, or by a WebSocket's `connection_init`.
//! `docs/resolvers.md` shows this file.
use std::{
    io::Write as _,
    sync::{Arc, Mutex},
};

use axum::{Router, routing::get};
use prony_server::{
    ConnectionInit, RequestParts, Service, outputs,
    resolvers::{Error, Events, Schema},
};
use serde::{Deserialize, Serialize};

const SDL: &str = "
    type Query { me: String! notes: [Note!]! }
    type Mutation { addNote(text: String!): Note! }
    type Subscription { onNote: Note! }
    type Note { text: String! by: String! }";

#[derive(Clone, Serialize)]
struct Note {
    text: String,
    by: String,
}

outputs!(Note);

#[derive(Deserialize)]
struct NewNote {
    text: String,
}

#[derive(Default)]
struct Board {
    notes: Mutex<Vec<Note>>,
    added: Events<(), Note>,
}

/// What functions get: made for each request, and once for all operations of a WebSocket.
struct Visitor {
    board: Arc<Board>,
    name: String,
}

fn visitor(board: &Arc<Board>, request: &RequestParts) -> Result<Visitor, Error> {
    let header = request.headers.get("authorization").and_then(|value| value.to_str().ok());
    let payload =
        request.extensions.get::<ConnectionInit>().and_then(|init| init.0["authorization"].as_str());
    let name = header.or(payload).and_then(|token| token.strip_prefix("Bearer "));
    let name =
        name.ok_or_else(|| Error::new("say who you are: `authorization: Bearer …`").code("UNAUTHENTICATED"))?;
    Ok(Visitor { board: Arc::clone(board), name: name.to_owned() })
}

fn add_note(visitor: &Visitor, NewNote { text }: NewNote) -> Note {
    let note = Note { text, by: visitor.name.clone() };
    visitor.board.notes.lock().expect("nobody panics with it").push(note.clone());
    visitor.board.added.publish(&(), note.clone());
    note
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let board = Arc::new(Board::default());
    let schema = Schema::per_request(SDL, move |request: &RequestParts| visitor(&board, request))
        .field("Query.me", |visitor: &Visitor, (): ()| visitor.name.clone())
        .field("Query.notes", |visitor: &Visitor, (): ()| {
            visitor.board.notes.lock().expect("nobody panics with it").clone()
        })
        .field("Mutation.addNote", add_note)
        .event_field("Subscription.onNote", |visitor: &Visitor, (): ()| visitor.board.added.subscribe(()))
        .build()?;
    let graphql = Service::new(schema)?;
    let app = Router::new()
        .route("/", get(|| async { "notes are at /graphql" }))
        .route_service("/graphql", graphql.clone())
        .route_service("/graphql/stream", graphql.clone());
    let listener =
        tokio::net::TcpListener::bind(std::env::args().nth(1).as_deref().unwrap_or("127.0.0.1:4000")).await?;
    writeln!(std::io::stdout(), "listening on http://{}", listener.local_addr()?)?;
    let stopping = async move {
        let _ = tokio::signal::ctrl_c().await;
        graphql.stop();
    };
    axum::serve(listener, app).with_graceful_shutdown(stopping).await?;
    Ok(())
}
