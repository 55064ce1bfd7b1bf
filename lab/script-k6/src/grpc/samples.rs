//! Samples of calls, with the calls' tags, and waking those who wait for one.

use super::call::Calls;
use crate::host::{Host, UserState};
use crate::vm::Heard;
use prony_metrics::{MetricId, SystemTag, Tags};
use prony_model::program::call::AskId;

/// Wakes whoever waits for a call that is over without its stream.
pub(super) fn announce(user: &mut UserState, id: AskId) {
    user.waits.push(id, Heard::Due);
}

pub(super) fn count(host: &Host, id: AskId, metric: MetricId) {
    sample(host, id, metric, 1.0);
}

/// One sample with the tags of a call.
pub(super) fn sample(host: &Host, id: AskId, metric: MetricId, value: f64) {
    let mut user = host.user();
    let Some(call) = user.data.get::<Calls>().0.get(&id) else { return };
    let mut recorder = host.recorder();
    let has_ip = recorder.sets().system().has(SystemTag::Ip);
    let own = call.own_tags.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let pairs: Vec<_> = own.filter(|(name, _)| has_ip || *name != SystemTag::Ip.as_str()).collect();
    let set = recorder.sets().derive(call.tags.set, &pairs);
    recorder.record(metric, Tags { set, ..call.tags }, value);
}
