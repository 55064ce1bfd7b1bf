//! `k6/experimental/streams`: readable streams, which need nothing but JavaScript.

use crate::vm::Builtin;

pub(super) const MODULE: Builtin =
    Builtin { specifier: "k6/experimental/streams", text: include_str!("streams.js") };
