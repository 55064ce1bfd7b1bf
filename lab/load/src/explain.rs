//! What a plan would do, in words, without doing it: `prony run --explain`.

use crate::flow::example_texts;
use crate::subscriptions::values::SubscriberValues;
use prony_client::targets::DESCRIPTORS_SPARE;
use prony_model::data::variable::{Order, Share, Take, Values, Variable};
use prony_model::load::{ArrivalSchedule, IterationBudget, Level, Spacing};
use prony_model::plan::offer::Expected;
use prony_model::plan::scenario::{AfterFailure, Flow, Scenario};
use prony_model::plan::wire::{Connections, WireOptions};
use prony_model::{ExpectedStatus, LoadModel, Nanos, Pacing, Plan, ThinkTime, WindowKind};
use std::fmt::Write as _;

/// An example of a request is cut after this many bytes.
const EXAMPLE_BYTES_MAX: usize = 2_000;
/// Points of the time line of each scenario, at most.
const TIME_LINE_POINTS_MAX: usize = 24;

/// All of it, each line ended.
pub fn explain(plan: &Plan) -> String {
    let mut text = format!(
        "{}: {} in at most {}, seed {}\n",
        plan.name(),
        expected(plan.expected(), counted(plan.scenarios())),
        plan.duration(),
        plan.seed()
    );
    targets(plan, &mut text);
    for scenario in plan.scenarios().iter().filter(|scenario| scenario.load.users_max() > 0) {
        explain_scenario(plan, scenario, &mut text);
    }
    windows(plan, &mut text);
    requests(plan, &mut text);
    for index in 0..plan.subscriptions().len() {
        let (name, lines) = explain_group(plan, index);
        section(&format!("subscriptions {name}"), lines.into_iter(), &mut text);
    }
    variables(plan, &mut text);
    section("thresholds", plan.thresholds().iter().map(ToString::to_string), &mut text);
    section("observers", plan.observe().iter().cloned(), &mut text);
    section("tags", plan.tags().iter().map(|(key, value)| format!("{key}: {value}")), &mut text);
    needs(plan, &mut text);
    text
}

fn section(title: &str, lines: impl Iterator<Item = String>, text: &mut String) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        let _ = writeln!(text, "\n{title}");
    }
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
}

/// What is known beforehand to be started: how many requests an iteration of a script makes is not.
fn counted(scenarios: &[Scenario]) -> &'static str {
    if scenarios.iter().any(|scenario| matches!(scenario.flow, Flow::Script)) {
        "iteration"
    } else {
        "request"
    }
}

fn expected(expected: Expected, counted: &str) -> String {
    match expected {
        Expected::Exactly(1) => format!("1 {counted}"),
        Expected::Exactly(count) => format!("{count} {counted}s"),
        Expected::About(count) => format!("about {count} {counted}s"),
        Expected::AtMost(count) => format!("at most {count} {counted}s"),
        Expected::AsAnswered => format!("as many {counted}s as are answered"),
    }
}

fn targets(plan: &Plan, text: &mut String) {
    let lines = plan.targets().iter().map(|named| format!("{}: {}", named.name, named.target));
    section("targets", lines.chain([wire(plan.wire(), plan.timeout())]), text);
}

fn wire(wire: &WireOptions, timeout: Nanos) -> String {
    let mut line = wire.protocol.label().to_owned();
    line += match wire.connections {
        Connections::Kept => ", kept connections",
        Connections::Fresh => ", a fresh connection for each request",
    };
    if wire.streams > 1 {
        let _ = write!(line, ", {} streams on each", wire.streams);
    }
    if wire.pipeline > 1 {
        let _ = write!(line, ", {} requests in a pipeline", wire.pipeline);
    }
    if wire.tls.insecure {
        line += ", any certificate is taken";
    }
    let _ = write!(line, "; given up after {timeout}");
    line
}

fn explain_scenario(plan: &Plan, scenario: &Scenario, text: &mut String) {
    let mut lines = vec![load(&scenario.load)];
    lines.extend(time_line(scenario));
    lines.push(flow(plan, scenario));
    lines.extend(rhythm(scenario));
    if let (Flow::Sequence(_), AfterFailure::Continue) = (&scenario.flow, scenario.after_failure) {
        lines.push("goes on after a step that failed".to_owned());
    }
    let offered = match scenario.offered_per_s() {
        Some(rate) if scenario.load.rate_max().is_some() => {
            format!("asks for {} at its highest", per_second(rate))
        }
        Some(rate) => format!("asks for {} at most, were every answer immediate", per_second(rate)),
        None => "asks as fast as it is answered".to_owned(),
    };
    lines.push(format!(
        "{offered}; {}",
        expected(scenario.expected(), counted(std::slice::from_ref(scenario)))
    ));
    lines.extend(scenario.tags.iter().map(|(key, value)| format!("tag {key}: {value}")));
    section(&format!("scenario {}", scenario.name), lines.into_iter(), text);
}

fn load(load: &LoadModel) -> String {
    let users = load.users_max();
    let (users, duration) = (users_of(users), load.duration());
    if let Some(ArrivalSchedule { spacing, wait_max, .. }) = &load.arrivals {
        let spacing = match spacing {
            Spacing::Even => "at even distances",
            Spacing::Poisson => "independent of one another (Poisson)",
        };
        return format!(
            "open: iterations start {spacing} for {duration}, served by {users}; one that finds none free for {wait_max} is dropped"
        );
    }
    match load.budget {
        IterationBudget::Unlimited => format!("closed: up to {users}, for {duration}"),
        IterationBudget::EachUser(iterations) => {
            format!("closed: {users}, {iterations} iterations each, in {duration} at most")
        }
        IterationBudget::Shared(iterations) => {
            format!("closed: {users} share {iterations} iterations, in {duration} at most")
        }
    }
}

fn users_of(count: u32) -> String {
    if count == 1 { "1 user".to_owned() } else { format!("{count} users") }
}

/// The load at the bounds of its stages, from the start of the run.
fn time_line(scenario: &Scenario) -> Vec<String> {
    let levels: Vec<Level> =
        scenario.load.levels().into_iter().filter(|level| level.from < level.to).collect();
    let amount = |value: f64| match scenario.load.rate_max() {
        Some(_) => per_second(value),
        None => users_of(value.round() as u32),
    };
    let place = |level: &Level| {
        let (from, to) = (scenario.start.plus(level.from), scenario.start.plus(level.to));
        let what = if (level.first - level.last).abs() < f64::EPSILON {
            amount(level.last)
        } else {
            format!("{} to {}", amount(level.first), amount(level.last))
        };
        format!("  {from} – {to}: {what}")
    };
    let mut lines: Vec<_> = levels.iter().take(TIME_LINE_POINTS_MAX).map(place).collect();
    if levels.len() > TIME_LINE_POINTS_MAX {
        lines.push(format!("  and {} stages more", levels.len() - TIME_LINE_POINTS_MAX));
    }
    lines
}

fn flow(plan: &Plan, scenario: &Scenario) -> String {
    let name = |request: usize| plan.requests()[request].name.as_str();
    match &scenario.flow {
        Flow::Script => "each iteration: as the script says".to_owned(),
        Flow::Mix { weights, .. } if weights.len() == 1 => format!("each iteration: {}", name(weights[0].0)),
        Flow::Mix { weights, sum } => {
            let share = |(request, weight): &(usize, u32)| {
                format!("{} {:.1} %", name(*request), f64::from(*weight) / f64::from(*sum) * 100.0)
            };
            let shares: Vec<_> = weights.iter().filter(|(_, weight)| *weight > 0).map(share).collect();
            format!("each iteration one of: {}", shares.join(", "))
        }
        Flow::Sequence(steps) => {
            let last = steps.len() - 1;
            let step = |(index, step): (usize, &prony_model::plan::scenario::FlowStep)| match step.think_time
            {
                ThinkTime::None => name(step.request).to_owned(),
                _ if index == last => name(step.request).to_owned(),
                time => format!("{} (then waits {})", name(step.request), think_time(time)),
            };
            let steps: Vec<_> = steps.iter().enumerate().map(step).collect();
            format!("each iteration: {}", steps.join(", "))
        }
    }
}

fn rhythm(scenario: &Scenario) -> Option<String> {
    if scenario.load.rate_max().is_some() {
        return None;
    }
    Some(match scenario.pacing {
        Pacing::ThinkTime(ThinkTime::None) => "no wait between iterations".to_owned(),
        Pacing::ThinkTime(time) => format!("waits {} between iterations", think_time(time)),
        Pacing::Fixed { interval_ns } => format!("begins an iteration every {interval_ns}"),
    })
}

fn think_time(time: ThinkTime) -> String {
    match time {
        ThinkTime::None => "not at all".to_owned(),
        ThinkTime::Constant { time_ns } => time_ns.to_string(),
        ThinkTime::Uniform { min_ns, max_ns } => format!("{min_ns} to {max_ns}"),
        ThinkTime::Exponential { mean_ns } => format!("{mean_ns} in the mean (exponential)"),
        ThinkTime::Normal { mean_ns, deviation_ns } => {
            format!("{mean_ns} in the mean (normal, deviation {deviation_ns})")
        }
        ThinkTime::LogNormal { mean_ns, deviation_ns } => {
            format!("{mean_ns} in the mean (lognormal, deviation {deviation_ns})")
        }
    }
}

fn windows(plan: &Plan, text: &mut String) {
    let windows = plan.windows();
    let name = |kind| match kind {
        WindowKind::Ramp => "ramp",
        WindowKind::WarmUp => "warm-up",
        WindowKind::Steady => "steady state, which counts for the thresholds",
        WindowKind::After => "after",
        WindowKind::Whole => "whole run",
    };
    let lines = windows
        .all()
        .iter()
        .map(|window| format!("{} – {}: {}", window.from_ns, window.to_ns, name(window.kind)));
    section("windows", lines, text);
}

fn requests(plan: &Plan, text: &mut String) {
    let examples = example_texts(plan);
    for (index, (request, example)) in plan.requests().iter().zip(examples).enumerate() {
        let sending = plan.scenarios().iter().filter(|scenario| scenario.flow.sends(index));
        let senders: Vec<_> = sending.map(|scenario| scenario.name.as_str()).collect();
        let mut lines = Vec::new();
        if senders.is_empty() {
            lines.push("no scenario sends it".to_owned());
        } else if plan.scenarios().len() > 1 {
            lines.push(format!("sent by {}", senders.join(", ")));
        }
        if plan.targets().len() > 1 {
            lines.push(format!("target {}", plan.targets()[plan.target_of(index)].name));
        }
        lines.push(format!("expects {}", expected_status(&request.expect)));
        lines.extend(request.checks.iter().map(|check| format!("check: {}", check.name)));
        lines.extend(request.captures.iter().map(|capture| {
            let default = if capture.draft.default.is_some() { ", or its default" } else { "" };
            format!("captures {}{default}", capture.draft)
        }));
        lines.extend(request.group.iter().map(|group| format!("group {group}")));
        lines.extend(plan.tags_of(index).iter().map(|(key, value)| format!("tag {key}: {value}")));
        lines.push("for example:".to_owned());
        lines.extend(quoted(&example));
        section(&format!("request {}", request.name), lines.into_iter(), text);
    }
}

fn expected_status(expect: &ExpectedStatus) -> String {
    match expect {
        ExpectedStatus::Success => "a status from 200 to 299".to_owned(),
        ExpectedStatus::OneOf(list) => {
            let list: Vec<_> = list.iter().map(ToString::to_string).collect();
            format!("status {}", list.join(" or "))
        }
    }
}

fn quoted(example: &[u8]) -> Vec<String> {
    let shown = &example[..example.len().min(EXAMPLE_BYTES_MAX)];
    let text = String::from_utf8_lossy(shown);
    let safe = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
    let mut lines: Vec<_> =
        text.lines().map(|line| format!("  | {}", safe(line)).trim_end().to_owned()).collect();
    if shown.len() < example.len() {
        lines.push(format!("  … and {} bytes more", example.len() - shown.len()));
    }
    lines
}

fn variables(plan: &Plan, text: &mut String) {
    section("variables", plan.variables().iter().map(variable), text);
}

fn variable(variable: &Variable) -> String {
    let name = &variable.name;
    let feeder = match &variable.values {
        Values::Range { min, max } => return format!("{name}: whole numbers from {min} to {max}, at random"),
        Values::Captured => return format!("{name}: captured from answers"),
        Values::Token { prefix } => return format!("{name}: a text of its own for each request, {prefix}…"),
        Values::Rows(feeder) => feeder,
    };
    let rows = feeder.rows.len();
    let columns = match feeder.rows.columns() {
        [] => String::new(),
        columns => format!(", columns {}", columns.join(", ")),
    };
    let order = match (feeder.order, feeder.share) {
        (Order::Random, _) => "at random",
        (Order::Sequential, Share::AllUsers) => "in order over all users, from the start again at the end",
        (Order::Sequential, Share::EachUser) => "in order by each user, from the start again at the end",
        (Order::Unique, Share::AllUsers) => "each once over all users, who stop when none is left",
        (Order::Unique, Share::EachUser) => "each once by each user, who stops when none is left",
    };
    let take = match feeder.take {
        Take::EachIteration => "one for each iteration",
        Take::Once => "one for each user",
    };
    let from = match feeder.origin.as_str() {
        "list" => format!("{rows} values"),
        file => format!("{rows} rows of {file}{columns}"),
    };
    format!("{name}: {from}, {} bytes in memory; {order}; {take}", feeder.rows.bytes())
}

fn needs(plan: &Plan, text: &mut String) {
    let users = plan.users();
    let targets_used = |scenario: &Scenario| {
        let sent = (0..plan.requests().len()).filter(|request| scenario.flow.sends(*request));
        let mut targets: Vec<_> = sent.map(|request| plan.target_of(request)).collect();
        targets.sort_unstable();
        targets.dedup();
        targets.len() as u64
    };
    let per_scenario =
        plan.scenarios().iter().map(|scenario| u64::from(scenario.load.users_max()) * targets_used(scenario));
    let connections = per_scenario.sum::<u64>().div_ceil(u64::from(plan.wire().streams.max(1)));
    let offered: Option<f64> = plan.scenarios().iter().map(Scenario::offered_per_s).sum();
    let offered = offered.map_or_else(
        || "offered load: as fast as answers come".to_owned(),
        |rate| format!("offered load: {} at most", per_second(rate)),
    );
    let lines = [
        offered,
        format!("{}, {connections} connections{}", users_of(users), subscribers_need(plan)),
        format!("{} descriptors", connections + plan.subscriber_connections() + DESCRIPTORS_SPARE),
    ];
    section("needs", lines.into_iter(), text);
}

fn subscribers_need(plan: &Plan) -> String {
    match plan.subscriber_connections() {
        0 => String::new(),
        count => format!(", and {count} of subscribers"),
    }
}

/// The name of a group of subscribers, and what it does.
fn explain_group(plan: &Plan, index: usize) -> (String, Vec<String>) {
    let group = &plan.subscriptions()[index];
    let draft = &group.draft;
    let (first, last) = (draft.due(0), draft.due(draft.connections().saturating_sub(1)));
    let mut lines = vec![
        format!(
            "{} clients with {} subscriptions each, over {}",
            draft.clients,
            draft.per_client,
            draft.protocol.name()
        ),
        format!("connect from {first} to {last}, {}", per_second(draft.rate_per_s)),
        format!(
            "in force from {} after their operation was sent, the last at about {}",
            draft.settle,
            draft.ready()
        ),
    ];
    match &group.fan_out {
        None => lines.push("events are counted, and matched with nothing".to_owned()),
        Some(fan_out) => {
            let request = &plan.requests()[fan_out.request].name;
            let whose = if draft.fan_out.as_ref().is_some_and(|fan_out| fan_out.key.is_some()) {
                "each subscription with its key"
            } else {
                "every subscription"
            };
            lines.push(format!(
                "each `{request}` owes {whose} one event, at most {} after its acknowledgement",
                fan_out.wait_max
            ));
        }
    }
    let values = SubscriberValues::new(plan, index, group, 0);
    lines.push("for example:".to_owned());
    lines.extend(quoted(&values.render(&group.operation)));
    (draft.name.clone(), lines)
}

fn per_second(rate: f64) -> String {
    let digits = usize::from(rate < 100.0 && rate.fract() != 0.0);
    format!("{rate:.digits$}/s")
}
