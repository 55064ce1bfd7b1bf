//! Bytes in, bytes out: the server in this process, over real sockets, on a copy of the sample database.

mod access;
mod admin;
mod asking;

mod connections;
mod counters;
mod differential;
mod documents;
mod endpoints;
mod explain;
mod fast_path;
mod graph;
mod graphql;
mod hosted;
mod interceptors;
mod limits;
mod live;
mod paths;
mod readiness;
mod routes;
mod schema_changes;
mod sockets;
mod source_api;
mod stopping;
mod streams;
mod subscriptions;
mod support;
mod tls;
mod troubles;
mod violations;
