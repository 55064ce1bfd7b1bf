//! WebSocket samples: [`sample`] is one of them, [`socket`] the connection that goes on behind it, [`filter`] says which frames are
//! not seen.

mod filter;
mod sample;
mod socket;

pub(super) use sample::{Progress, SocketWire, WebSocketSample};
pub(super) use socket::UserSocket;
