//! The HTTP client of the lab: HTTP/1.1, HTTP/2 and WebSockets over TCP, Unix-domain sockets and TLS, on one thread's event
//! loop, without a runtime.
//!
//! Knows no users, no tallies and no scripts. Of `prony-model` it takes the words that programs and plans use for targets,
//! requests and failures.

mod client;
mod connection;
mod error;
pub mod event;
pub mod fault;
pub mod http1;
pub mod http2;
mod ids;
pub mod poller;
mod pool;
mod request;
pub mod targets;
pub mod timers;
pub mod transport;
pub mod websocket;

pub use client::{Client, ClientSettings, SendError};
pub use error::ClientError;
pub use event::{ClientEvent, Ended, EventKind, Failure};
pub use ids::RequestId;
pub use pool::{PoolId, Pooling};
pub use request::{Part, Request, RequestOptions, Route};
