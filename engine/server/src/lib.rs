//! The server: takes settings, opens sources, and answers HTTP on one thread a core. It leaves reading
//! arguments, printing and exit codes to the binary, and what a field means to the sources.
//!
//! It is a library too: a GraphQL API is a schema in GraphQL's own language and one Rust function a field.
//!
//! # A whole server
//!
//! ```no_run
#![doc = include_str!("../examples/books.rs")]
//! ```
//!
//! It serves `/graphql`, GraphiQL at `/`, `/health`, `/live`, `/ready` and `/metrics`, with the plan cache and the limits of
//! `prony serve`.
//!
//! # Functions
//!
//! * [`field`](resolvers::Schema::field): `|context: &C, arguments: A|` for a field of `Query` or `Mutation`,
//!   `|context: &C, parent: &P, arguments: A|` for a field of another type. It is called in place, so it must not
//!   block.
//! * [`batch_field`](resolvers::Schema::batch_field): `|context: &C, parents: &[&P], arguments: A|`, which answers a
//!   list with one entry a parent.
//! * [`async_field`](resolvers::Schema::async_field) and
//!   [`async_batch_field`](resolvers::Schema::async_batch_field): the same for what waits, with `Arc<C>` and
//!   clones of the parents. Those of one level wait together, each for at most
//!   [`function_timeout`](resolvers::Schema::function_timeout).
//! * [`event_field`](resolvers::Schema::event_field): for fields of `Subscription`.
//! * [`directive`](resolvers::Schema::directive): `|value: T, arguments: A|` for a directive that changes values.
//!
//! Fields without a function come from the member of that name of what serde writes of the parent; only selected
//! members are serialized, straight into the response. Arguments are any type that serde reads.
//!
//! # Nulls and errors
//!
//! `Option` is null. [`Error::new`](resolvers::Error::new) is for clients, with a code and extensions; every other
//! error that `?` turns into one is masked, as is a panic: the log has its text under a reference that the client
//! sees. A value that does not fit the schema is such an error too. Where null may not stand, the nearest place
//! around it becomes null (GraphQL specification, section 6.4.4).
//!
//! # Faults at the start
//!
//! [`build`](resolvers::Schema::build) refuses a schema that functions and types do not fit, and says all that is
//! wrong at once:
//!
//! ```
//! # use prony_server::{outputs, resolvers::Schema};
//! # #[derive(Default, serde::Serialize)] struct Book { id: i32, titel: String }
//! # outputs!(Book);
//! let sdl = "type Query { book(id: Int!): Book, count: Int! } type Book { id: Int! title: String! }";
//! let faults = Schema::new(sdl, ())
//!     .field("Query.book", |(): &(), (): ()| Some(Book::default()))
//!     .build()
//!     .unwrap_err();
//! let places: Vec<&str> = faults.0.iter().map(|fault| &*fault.place).collect();
//! assert_eq!(places, ["Query.book", "Book.title", "Query.count"]);
//! assert!(faults.0[1].message.starts_with("it has neither a function nor a member"));
//! ```
//!
//! # Who asks
//!
//! With [`Schema::per_request`](resolvers::Schema::per_request), the context is made of each request's head, such as of an
//! authorization header:
//!
//! ```
//! use prony_server::{RequestParts, Service, resolvers::{Error, Schema}};
//!
//! struct Visitor { name: String }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = Schema::per_request("type Query { me: String! }", |request: &RequestParts| {
//!     let name = request.headers.get("x-user").ok_or_else(|| Error::new("who are you?").code("UNAUTHENTICATED"))?;
//!     Ok(Visitor { name: name.to_str()?.to_owned() })
//! })
//! .field("Query.me", |visitor: &Visitor, (): ()| visitor.name.clone())
//! .build()?;
//! # let service = Service::new(schema)?;
//! # let mut request = http::Request::new(()).into_parts().0;
//! # let ask = |request: &RequestParts| futures_util::FutureExt::now_or_never(service.execute_for(request, b"{\"query\":\"{ me }\"}"));
//! # assert!(String::from_utf8(ask(&request).unwrap())?.contains("UNAUTHENTICATED"));
//! # request.headers.insert("x-user", "Ann".parse()?);
//! # assert_eq!(ask(&request).unwrap(), b"{\"data\":{\"me\":\"Ann\"}}");
//! # Ok(())
//! # }
//! ```
//!
//! # Databases beside functions, or alone
//!
//! A program has the kinds of sources whose crates it names, and no others:
//!
//! ```no_run
//! use prony_server::{config::{self, CommandLine}, runtime};
//! use prony_sqlite::SqliteKind;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let line = CommandLine { sources: vec!["sqlite:shop.db".to_owned()], ..CommandLine::default() };
//! let settings = config::load(&[&SqliteKind], None, line, &|name| std::env::var(name).ok())?;
//! runtime::serve(settings)?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Server::with_settings`] serves functions beside them.
//!
//! # Inside another server
//!
//! [`Service`] is a `tower` service: `axum::Router::new().route_service("/graphql", Service::new(resolvers)?)`, with
//! subscriptions over WebSockets and server-sent events.
//!
//! # Inside
//!
//! `access` knows who asks; [`config`] turns what was typed into [`config::Settings`]; [`runtime`] owns sockets, threads and stopping;
//! [`http`] owns paths, limits and headers; [`graphql`] holds the pipeline of a request;
//! [`observe`] holds logs' references, metrics and process figures; [`resolvers`] are functions as a source, and
//! [`examples`] two servers of them.

mod access;
mod clock;
pub mod config;
pub mod examples;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod graphql;
pub mod http;
mod joins;
mod library;
mod memory;
mod networks;
pub mod observe;
mod offload;
mod pace;
pub mod permission_tests;
pub mod runtime;
mod service;
mod service_manager;
mod site;
mod subscriptions;
pub mod tls;

pub use ::http::request::Parts as RequestParts;
pub use prony_resolvers::{self as resolvers, outputs};
/// Traits to write a source of another kind with; [`Server::source`] serves it.
pub use prony_source as source;

pub use self::{
    http::{HAS_CONSOLE, Route},
    library::Server,
    service::{Service, ServiceBody},
    subscriptions::ConnectionInit,
};
