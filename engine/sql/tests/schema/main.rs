//! From a database to its schema: golden SDL of whole schemas, and the rules one by one.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its strings so")]

#[cfg(test)]
mod names;
#[cfg(test)]
mod postgres;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod scale;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod sqlite;
#[cfg(test)]
mod support;
