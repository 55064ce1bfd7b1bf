//! The temporal interface of NGSI-LD (ETSI GS CIM 009): what is asked of entities' attributes over time, which entities and instances that
//! is, how they are written, and how temporal entities become rows. An instance of an attribute is a value of a row. Knows no HTTP but
//! statuses.

mod aggregate;
pub(crate) mod condition;
mod duration;
pub(crate) mod entity;
pub(crate) mod evolution;
mod find;
mod holds;
mod instances;
mod metadata;
mod method;
pub(crate) mod parameters;
pub(crate) mod problem;
mod write;
