//! Sockets, threads and stopping: listeners are bound before anything is served, one acceptor hands sockets to
//! the cores, each core owns its connections until they end.

mod accept;
mod connection;
mod core;
mod cpus;
mod descriptors;
mod heap;
mod listen;
mod server;
mod simple;
mod stop;
mod stream;

pub(crate) use self::core::Load;
pub use self::{
    listen::{ListenError, bind},
    server::{Running, StartError, serve, start},
};
