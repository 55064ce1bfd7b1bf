//! The samples of a request: k6's metrics with k6's tags.

use crate::host::Host;
use crate::http::call::facts::tls_version;
use crate::http::call::state::Wishes;
use prony_metrics::{Phases, RequestSample, RequestTags, SystemTag, TagSetId, TagSets, Tags};
use prony_model::program::call::Peer;
use prony_model::units::Nanos;

/// A request that is over.
#[derive(Debug)]
pub(super) struct Sampled<'a> {
    pub wishes: &'a Wishes,
    pub method: &'a str,
    /// Tags `name` and `url`, where the script gave no other.
    pub name: &'a str,
    /// 0 where there is no answer.
    pub status: u16,
    /// Empty where there is no answer.
    pub protocol: &'a str,
    pub peer: &'a Peer,
    pub error: Option<&'a str>,
    pub error_code: Option<u32>,
    pub is_expected: Option<bool>,
    pub ended: Nanos,
    pub phases: Phases,
}

pub(super) fn record(host: &Host, sampled: &Sampled<'_>) {
    let user = sampled.wishes.user;
    let mut recorder = host.recorder();
    let is_answered = sampled.status != 0;
    let tls = sampled.peer.tls.as_ref().filter(|_| is_answered);
    let has_address = recorder.sets().system().has(SystemTag::Ip);
    let address = sampled.peer.address.filter(|_| has_address).map(|address| address.ip().to_string());
    let tags = Tags { set: with_wishes(recorder.sets(), user.set, sampled.wishes), ..user };
    let request = RequestSample {
        tags: RequestTags {
            method: sampled.method,
            url: sampled.name,
            status: sampled.status,
            proto: is_answered.then_some(sampled.protocol),
            tls_version: tls.map(|tls| tls_version(tls.version)),
            ocsp_status: tls.map(|_| "unknown"),
            ip: address.as_deref(),
            error: sampled.error,
            error_code: sampled.error_code,
            is_expected: sampled.is_expected,
        },
        ended: sampled.ended,
        phases: sampled.phases,
    };
    recorder.record_request(tags, &request);
}

/// The user's tags with those of the call on top.
fn with_wishes(sets: &mut TagSets, base: TagSetId, wishes: &Wishes) -> TagSetId {
    if wishes.tags.is_empty() {
        return base;
    }
    let tags: Vec<(&str, &str)> =
        wishes.tags.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    sets.derive(base, &tags)
}
