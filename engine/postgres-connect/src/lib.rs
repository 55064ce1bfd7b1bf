//! The way to a PostgreSQL server: where it is, as libpq's parameters, variables and files say it; TLS; several hosts; one bound
//! on connections. What runs on a connection is its user's business: nothing of SQL, GraphQL or HTTP is known here.
//!
//! [`Address::resolve`] reads what was given, [`Connector::connect`] opens a connection, [`Connector::connect_patiently`] waits for a
//! server that is not up yet, and a [`Budget`] bounds how many connections there are.

mod address;
mod budget;
mod connector;
mod environment;
mod error;
mod given;
mod keyword_value;
mod parameters;
mod pass_file;
mod place;
mod service_file;
mod tls;
mod tls_files;
mod uri;
mod verifier;

pub use address::Address;
pub use budget::{Budget, Slot, Starving};
pub use connector::{Canceller, Connected, Connector, PgConnection};
pub use environment::Environment;
pub use error::{ConnectError, ConnectErrorKind, describe};
pub use tls::{Tls, TlsStream};
pub use uri::secrets;
