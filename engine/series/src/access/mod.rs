//! What a role may see and write of series: conditions on entities, names of attributes, and what becomes of them for one request.

pub(crate) mod filter;
pub(crate) mod permissions;
pub(crate) mod role;
