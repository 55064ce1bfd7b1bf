//! The table of all modules that scripts find without a file, one line a folder; `vm/builtin.rs` says how one is made.

use super::vm::{Builtins, natives, plain_http};

pub fn builtins() -> Builtins {
    Builtins::default()
        .with(natives::MODULES, natives::NATIVES)
        .with(plain_http::MODULES, plain_http::NATIVES)
}
