//! Other GraphQL servers as a source. Their schema becomes a part of ours; what is asked of it is forwarded, whole where
//! nothing else is asked, and their responses are spliced unparsed. Who may ask, and how much, is decided before that by others.
//!
//! [`schema`] says what is served of a server, [`plan`] what it is asked, [`client`] brings that there and [`balance`] says where
//! and whether, [`exchange`] has tokens of clients become others, [`response`] reads what comes, [`source`] and [`session`] are the seam to the engine.

mod address;
mod balance;
mod client;
mod counters;
mod exchange;
mod exchange_error;
mod exchange_settings;
mod kind;
mod plan;
mod refresh;
mod response;
mod schema;
mod sender;
mod served;
mod session;
mod settings;
mod source;
mod spans;
mod subscribe;
mod upstream;

pub use self::kind::UpstreamKind;
