//! The HTTP client of the lab: HTTP/1.1, HTTP/2 and WebSockets over TCP, Unix-domain sockets and TLS, on one thread's event
//! loop, without a runtime.
//!
//! Knows no users, no tallies and no scripts. Of `prony-model` it takes the words that programs and plans use for targets,
//! requests and failures.

mod client;
mod clock;
mod connection;
mod error;
mod event;
mod fault;
mod http1;
mod http2;
mod ids;
mod poller;
mod pool;
mod request;
mod requests;
pub mod targets;
pub mod timers;
mod transport;
mod websocket;

pub use client::{Client, ClientSettings, SendError};
pub use clock::VirtualTime;
pub use error::ClientError;
pub use event::{ClientEvent, ConnectionCounts, Ended, EventKind, Failure, FailureScope};
#[doc(hidden)]
#[cfg(feature = "fuzzing")]
pub use http1::fuzzing;
pub use http1::sink::Sink;
pub use ids::RequestId;
pub use pool::{PoolId, Pooling};
pub use request::{Part, Request, RequestOptions, Route};
pub use websocket::new_key as new_websocket_key;
