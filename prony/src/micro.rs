//! The engine's micro-benchmarks, as `prony lab resolvers` asks for them: functions in this process, from the bytes of a
//! request to those of its answer.

use std::{
    pin::pin,
    process::ExitCode,
    task::{Context, Poll, Waker},
};

use anyhow::{Context as _, bail};
use prony_experiments::resolvers::{Executions, MicroRow};
use prony_server::{
    Service,
    examples::{
        micro::{CASES, Case, Figures, Subject},
        music,
    },
    observe::allocations::allocations,
};

#[derive(Debug, clap::Args)]
pub(crate) struct MicroArguments {
    /// How often each request is executed; a tenth of it without the plan cache.
    #[arg(value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
    executions: u32,
}

pub(crate) fn execute(arguments: &MicroArguments) -> anyhow::Result<ExitCode> {
    let service = Service::new(music::functions())?;
    let ask =
        |request: &[u8]| match pin!(service.execute(request)).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => answer,
            Poll::Pending => unreachable!("no function of the example waits"),
        };
    let subject = Subject { ask: &ask, allocations };
    let mut rows = Vec::new();
    for case in &CASES {
        check(case, &ask(&case.request(None)))?;
        let (warm, cold) = (arguments.executions, arguments.executions / 10);
        rows.push(MicroRow {
            name: case.name.to_owned(),
            warm: row(warm, subject.warm(case, warm as usize)),
            cold: row(cold, subject.cold(case, cold as usize)),
        });
    }
    crate::print(&serde_json::to_string(&rows)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Figures of wrong answers would be worth nothing.
fn check(case: &Case, answer: &[u8]) -> anyhow::Result<()> {
    let answer: serde_json::Value = serde_json::from_slice(answer).context("an answer is no JSON")?;
    if answer.get("errors").is_some() {
        bail!("request `{}` was answered with {answer}", case.name);
    }
    Ok(())
}

fn row(count: u32, figures: Figures) -> Executions {
    let Figures { median_ns, p99_ns, allocations } = figures;
    Executions { count, median_ns, p99_ns, allocations }
}
