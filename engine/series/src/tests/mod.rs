//! The API as its clients see it: requests in, responses out, without a server.

mod deletes;
mod harness;
mod notify;
mod queries;
