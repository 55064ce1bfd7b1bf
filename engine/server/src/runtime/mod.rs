//! Sockets, threads and stopping: listeners are bound before anything is served, one acceptor hands sockets to
//! the cores, each core owns its connections until they end.

mod accept;
mod admin;
mod connection;
mod connections;
mod core;
mod cpus;
mod crowd;
mod descriptors;
mod guard;
mod handshake;
mod heartbeat;
mod http2;
mod http2_body;
mod listen;
mod load;
mod refusal;
mod reload;
mod server;
mod simple;
mod stop;
mod stream;
mod transport;

pub(crate) use self::load::Load;
pub use self::{
    listen::{InheritedError, ListenError, bind},
    server::{Running, StartError, serve, start},
};
