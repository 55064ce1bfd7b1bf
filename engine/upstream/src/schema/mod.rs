//! What is served of an upstream: its own schema ([`introspection`], or a file), read once into a [`model`] under the names of the
//! configuration ([`names`]), of which roles see a part ([`restrict`]), and fields want to know who asks ([`guards`]).

mod guards;
mod introspection;
mod model;
mod names;
mod restrict;

pub(crate) use self::{
    guards::Guards,
    introspection::{Edition, introspection_query, sdl_of},
    model::{ModelError, UpstreamModel},
    names::root_name,
};
