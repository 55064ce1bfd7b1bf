//! The Debug sampler: what a user knows, as a sample.

use crate::run::context::Context;
use crate::run::result::SampleResult;
use compact_str::CompactString;
use prony_model::Nanos;
use std::fmt::Write as _;

/// Variables and properties in lines, as JMeter shows them.
pub(crate) fn sample(
    label: CompactString,
    variables: bool,
    properties: bool,
    now: Nanos,
    context: &Context<'_>,
) -> SampleResult {
    let mut text = String::new();
    if variables {
        text.push_str("\nJMeterVariables:\n");
        for (name, value) in context.vars.sorted() {
            let _ = writeln!(text, "{name}={value}");
        }
    }
    if properties {
        text.push_str("\nJMeterProperties:\n");
        for (name, value) in context.shared.properties.sorted() {
            let _ = writeln!(text, "{name}={value}");
        }
    }
    SampleResult {
        label,
        code: "200".into(),
        message: "OK".into(),
        is_success: true,
        start: now,
        end: now,
        bytes: text.len() as u64,
        body: text.into_bytes(),
        data_type: "text",
        ..SampleResult::default()
    }
}
