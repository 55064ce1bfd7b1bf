//! What a machine says of itself before a run, and names for workers and runs.

use crate::message::{Joined, PROTOCOL};
use rustix::process::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Eight digits of chance, in hexadecimal, that no other worker or run has.
pub(crate) fn fresh_id() -> String {
    let mut bytes = [0; 8];
    // Without chance the number of the process tells workers of one machine apart.
    if getrandom::fill(&mut bytes).is_err() {
        bytes[..4].copy_from_slice(&std::process::id().to_be_bytes());
    }
    hexadecimal(&bytes)
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Infallible: a text takes everything.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// This machine as a worker.
pub(crate) fn joined(name: &str, labels: &BTreeMap<String, String>, threads: u32) -> Joined {
    Joined {
        protocol: PROTOCOL,
        prony_version: env!("CARGO_PKG_VERSION").to_owned(),
        name: name.to_owned(),
        labels: labels.clone(),
        machine: prony_load::describe_machine(),
        threads,
        descriptors_max: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
    }
}
