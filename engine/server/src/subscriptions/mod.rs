//! Subscriptions, and operations of any kind over connections that stay: WebSockets ([`socket`]) in two sub-protocols
//! ([`protocol`]), and server-sent events ([`stream`]). What operations mean is the pipeline's; what connections cost before
//! they come here is `runtime`'s and `http`'s.
//!
//! An event travels: source → one of the [`feeds`] of the core's [`hub`], which writes it once for all who asked the same → each client's [`outbox`], which is
//! bounded → its socket or stream, which puts the client's own words around it ([`wrap`]).

mod feeds;
mod handshake;
mod hub;
mod live;
mod operations;
mod outbox;
mod payload;
mod protocol;
mod reservations;
mod settings;
mod socket;
mod stream;
mod traces;
mod wrap;

pub(crate) use self::{
    handshake::{Upgrade, answer as open_socket, is_wanted as wants_socket},
    hub::Hub,
    reservations::{OrderFault, ReservationFault, Reservations},
    socket::serve as serve_socket,
    stream::EventStream,
};
pub use self::{settings::SubscriptionSettings, socket::ConnectionInit};
