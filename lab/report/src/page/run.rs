//! One run as the page shows it.

use super::data::{
    ClaimData, FindingData, ObserversData, RunData, TableData, ThresholdData, VerdictData, WindowData,
};
use super::{annotations, distribution, over_time, series};
use crate::describe;
use crate::read::LabelledRun;
use crate::table::{bytes, decimal, grouped};
use crate::tables;
use prony_model::WindowKind;
use prony_model::measurement::observation::Observation;
use prony_model::result::{ResultFile, WindowResult};
use prony_model::units::percent;
use prony_model::verdict::Verdict;
use prony_model::verdict::conclusion::RunVerdict;
use prony_model::verdict::finding::Finding;
use prony_model::verdict::rule::Belief;

pub(super) fn run_data(run: &LabelledRun<'_>, points_max: usize, intervals_max: usize) -> RunData {
    let result = run.result;
    let headline = result.headline();
    let figures = (result.plan.users() > 0)
        .then(|| TableData { title: "Figures".to_owned(), ..tables::figures(result) });
    RunData {
        label: run.label.clone(),
        file: run.file.clone(),
        notice: describe::state_notice(result.state).map(str::to_owned),
        started_at_unix_ms: result.origin.started_at_unix_ms,
        facts: facts(result),
        findings: result.findings.iter().map(finding).collect(),
        verdict: describe::verdict(result).map(|text| VerdictData {
            conclusion: RunVerdict::of_kept(result).conclusion,
            text,
            exit_code: None,
        }),
        thresholds: result.thresholds.iter().map(threshold).collect(),
        claims: claims(result),
        tables: figures.into_iter().chain(tables::beneath(result)).collect(),
        windows: result.windows.iter().filter_map(window).collect(),
        plots: series::plots(result, points_max),
        over_time: over_time::data(result, intervals_max),
        annotations: annotations::annotations(result),
        objectives: annotations::objectives(result),
        spectra: [distribution::spectra(&headline.all), distribution::fan_out_spectra(&result.subscribers)]
            .concat(),
        histograms: distribution::histograms(&headline.all),
        observers: observers(&result.observers, points_max),
    }
}

fn facts(result: &ResultFile) -> Vec<(String, String)> {
    let (plan, lab, machine) = (&result.plan, &result.lab, &result.origin.machine);
    let mut facts =
        vec![("target", plan.targets.join(", ")), ("load", describe::scenario_lines(plan).join("; "))];
    facts.push(("protocol", describe::spoken(result).unwrap_or_default()));
    facts.push(("seed", plan.seed.to_string()));
    if !plan.tags.is_empty() {
        let tags: Vec<_> = plan.tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
        facts.push(("tags", tags.join(", ")));
    }
    let busy = lab.busiest_thread_share * 100.0;
    let mut said = format!(
        "{} threads, busiest {busy:.0} %, {} connections ({} again)",
        lab.threads,
        grouped(lab.connections.opened),
        grouped(lab.connections.reopened)
    );
    if let Some(late) = lab.lateness.percentile(99.0) {
        said = format!("{said}, sends late by p99 {late}");
    }
    if lab.unfinished > 0 {
        said = format!("{said}, {} requests unfinished", grouped(lab.unfinished));
    }
    facts.push(("lab", said));
    if plan.users() > 0 {
        facts.push(("longest silence", lab.longest_silence_ns.to_string()));
    }
    if !machine.processor.is_empty() {
        let memory = bytes(machine.memory_bytes);
        facts.push((
            "machine",
            format!(
                "{}: {} × {}, {memory}, {}",
                machine.host_name, machine.processors, machine.processor, machine.kernel
            ),
        ));
    }
    if !result.origin.command_line.is_empty() {
        facts.push(("command", result.origin.command_line.join(" ")));
    }
    facts.push(("version", result.origin.prony_version.clone()));
    let known = facts.into_iter().filter(|(_, what)| !what.is_empty());
    let counted = describe::counted(&result.counted);
    known.map(|(term, what)| (term.to_owned(), what)).chain(counted).collect()
}

fn finding(finding: &Finding) -> FindingData {
    FindingData {
        kind: finding.kind.name().to_owned(),
        voids: finding.voids_claim,
        weight: finding.weight(),
        seen: finding.seen.clone(),
        cause: finding.cause.clone(),
        try_next: finding.try_next.clone(),
        span_s: finding.span.map(annotations::span_s),
    }
}

fn threshold(verdict: &Verdict) -> ThresholdData {
    let measured = verdict.measured.clone().unwrap_or_else(|| "too few samples".to_owned());
    ThresholdData { text: verdict.threshold.clone(), judgement: verdict.judgement, measured }
}

/// Rate, errors and three percentiles; none where a finding says that they are not about the target.
fn claims(result: &ResultFile) -> Vec<ClaimData> {
    let all = &result.headline().all;
    let is_believed = matches!(result.belief(), Belief::Whole | Belief::UpperBounds);
    // Of subscribers alone no request succeeds.
    if !is_believed || result.plan.users() > 0 && all.successes == 0 {
        return Vec::new();
    }
    let claim = |term: &str, shown: &str| {
        let (value, unit) = shown.rsplit_once(' ').unwrap_or((shown, ""));
        ClaimData { term: term.to_owned(), value: value.to_owned(), unit: unit.to_owned() }
    };
    let rate = format!("{} /s", decimal(all.rate_per_s));
    let times = [50.0, 95.0, 99.0].into_iter().filter_map(|percentile| {
        let term = format!("p{percentile} response time");
        match all.response_time.percentile(percentile) {
            Some(time) => Some(claim(&term, &time.to_string())),
            // That it is not known is to be seen where it would stand.
            None => (result.plan.users() > 0).then(|| ClaimData {
                term,
                value: "–".to_owned(),
                unit: "too few samples".to_owned(),
            }),
        }
    });
    let errors = percent(all.error_share());
    let requests = [claim("successes", &rate), claim("errors", &errors)];
    let requests = requests.into_iter().filter(|_| result.plan.users() > 0);
    let alone = result.subscribers.groups.iter().filter(|_| result.plan.users() == 0);
    let in_force = alone.map(|group| ClaimData {
        term: format!("in force, {}", group.name),
        value: grouped(group.links.subscribed),
        unit: format!("of {}", grouped(group.subscriptions())),
    });
    let groups = result.subscribers.groups.iter().filter_map(|group| {
        let time = group.headline()?.fan_out_latency.percentile(99.0)?;
        Some(claim(&format!("p99 fan-out latency, {}", group.name), &time.to_string()))
    });
    requests.chain(in_force).chain(times).chain(groups).collect()
}

fn window(result: &WindowResult) -> Option<WindowData> {
    let window = &result.window;
    let kind = match window.kind {
        WindowKind::Ramp => "ramp",
        WindowKind::WarmUp => "warm_up",
        WindowKind::Steady => "steady",
        WindowKind::After => "after",
        WindowKind::Whole => return None,
    };
    let (from_s, to_s) = (window.from_ns.as_secs_f64(), window.to_ns.as_secs_f64());
    Some(WindowData { kind, name: describe::window_name(window.kind), from_s, to_s })
}

fn observers(observers: &[Observation], points_max: usize) -> ObserversData {
    let rows = observers.iter().flat_map(|observer| {
        let figures = observer.summary.iter();
        figures.map(|figure| {
            vec![observer.name.clone(), figure.name.clone(), describe::observed(figure.value, figure.unit)]
        })
    });
    let rows: Vec<_> = rows.collect();
    let figures = (!rows.is_empty()).then(|| TableData {
        id: "observed",
        title: "Over the whole run".to_owned(),
        note: String::new(),
        head: ["observed", "figure", "value"].map(str::to_owned).to_vec(),
        rows,
    });
    let faults = observers.iter().flat_map(|observer| {
        let faults = observer.faults.iter();
        faults.map(|(time, fault)| format!("{}, after {time}: {fault}", observer.name))
    });
    ObserversData { figures, faults: faults.collect(), plots: series::observed_plots(observers, points_max) }
}
