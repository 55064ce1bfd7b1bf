//! Subscriptions, and operations of any kind over connections that stay: the protocols of their messages.
#![expect(dead_code, reason = "connections come to it with the next part")]

mod protocol;
mod wrap;
