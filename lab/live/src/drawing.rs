//! From a result as it stands to the page of it.

use crate::state::{Drawn, Shared};
use prony_model::Nanos;
use prony_model::result::StandingResult;
use prony_report::{Document, LiveMoment, LivePage, NamedDocument};
use rustix::time::{ClockId, clock_gettime};

/// Draws it, and says so to all who look.
pub(crate) fn draw(shared: &Shared, standing: StandingResult) {
    let began = processor_time();
    let StandingResult { mut result, elapsed, duration, took } = standing;
    // What more time heals would stand on every page in its first seconds.
    result.findings.retain(|finding| !finding.kind.heals_with_time());
    result.judge();
    let document = NamedDocument { name: shared.label.clone(), document: Document::Run(Box::new(result)) };
    let moment =
        LiveMoment { title: shared.title.clone(), elapsed, duration, step: shared.step(), end: None };
    let page = LivePage::new(std::slice::from_ref(&document), &moment);
    shared.drawn.send_replace(Drawn::of(page, false));
    shared.keep_result(document);
    shared.drawn(took.plus(processor_time().since(began)));
}

/// Of this thread: a machine that is busy with the run makes everything take longer, and nothing cost more.
fn processor_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos::from_secs(time.tv_sec as u64).plus(Nanos(time.tv_nsec as u64))
}
