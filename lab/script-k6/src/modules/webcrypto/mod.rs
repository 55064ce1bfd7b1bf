//! The global `crypto`: random values, and `subtle` with what k6 has of Web Cryptography.
//!
//! All of it is native and shared by the users of a thread: a script that does not use it pays nothing.

mod arguments;
pub(crate) mod ciphers;
pub(crate) mod fault;
pub(crate) mod jwk;
pub(crate) mod keys;
mod random;
mod rsa;
mod rsa_operations;
mod subtle;

use crate::vm::{Builtin, Native};
use rquickjs::{Ctx, Object};

pub(super) const GLOBAL_MODULE: Builtin = Builtin {
    specifier: "prony/webcrypto",
    text: "import native from 'prony:webcrypto';\nexport const crypto = native;\n",
};
pub(super) const NATIVE: Native = Native { name: "prony:webcrypto", install };

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    random::install(ctx, exports)?;
    let subtle = Object::new(ctx.clone())?;
    subtle::install(ctx, &subtle)?;
    exports.set("subtle", subtle)
}

#[cfg(test)]
mod tests;
