//! The Dummy Sampler of a plug-in: a sample that is what its element says, without a request.

use crate::plan::DummySampler;
use crate::run::context::Context;
use crate::run::result::SampleResult;
use crate::text::Text;
use compact_str::CompactString;
use prony_model::Nanos;

/// A longer time is taken for a mistake of units.
const TIME_MAX_MS: u64 = 86_400_000;

/// It begins now, and ends when its time is over.
pub(crate) fn sample(
    label: CompactString,
    sampler: &DummySampler,
    context: &mut Context<'_>,
) -> SampleResult {
    let start = context.shared.clock.now();
    let time = time_of(&sampler.time_ms, context);
    let body = sampler.response.value(context).into_bytes();
    let url = sampler.url.value(context);
    SampleResult {
        label,
        code: sampler.code.value(context).into(),
        message: sampler.message.value(context).into(),
        is_success: sampler.is_success.value(context).trim().eq_ignore_ascii_case("true"),
        start,
        end: start.plus(time),
        latency: time_of(&sampler.latency_ms, context),
        connect: time_of(&sampler.connect_ms, context),
        url: (!url.trim().is_empty()).then(|| url.trim().into()),
        own_data: sampler.request.value(context).into_bytes(),
        bytes: body.len() as u64,
        body,
        data_type: "text",
        ..SampleResult::default()
    }
}

/// What is no number is no time.
fn time_of(text: &Text, context: &mut Context<'_>) -> Nanos {
    let milliseconds = text.number(context).and_then(|time| u64::try_from(time).ok()).unwrap_or(0);
    Nanos::from_millis(milliseconds.min(TIME_MAX_MS))
}
