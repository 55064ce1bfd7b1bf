//! Joins: fields of one source's types whose values come from another source by keys, a request for all parents of a level. The
//! configuration names them ([`settings`]), [`schema`] holds them against what is served, [`plan`] takes them out of what their
//! parents' source is asked, [`resolve`] fetches what they join and puts it into the [`tree`] of a response.

mod failures;
mod given;
mod keys;
mod plan;
mod resolve;
mod schema;
mod settings;
mod tree;

pub use self::settings::JoinSettings;
pub(crate) use self::{
    plan::{JoinNode, JoinPlanner},
    resolve::{RootFields, resolve},
    schema::Joins,
};
