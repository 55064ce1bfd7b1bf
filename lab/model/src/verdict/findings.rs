//! Whether a result can be believed: what limits, voids or shades it, each with its number, cause and remedy.

mod spans;
mod starts;
mod workers;

use crate::load::windows::WindowKind;
use crate::measurement::clock::ClockEventKind;
use crate::measurement::counts::Computing;
use crate::measurement::figures::{Figures, share};
use crate::measurement::histogram::SAMPLES_BEYOND_MIN;
use crate::measurement::record::OutcomeKind;
use crate::plan::Plan;
use crate::plan::wire::Connections;
use crate::result::{LabFigures, ResultFile, RunState, SecondRow};
use crate::subscription::figures::SubscriberGroup;
use crate::units::{Nanos, per_second};
use crate::verdict::finding::{Finding, FindingKind};

/// A thread busier than this cannot be trusted to send and to read on time.
const BUSY_SHARE_MAX: f64 = 0.80;
/// In less time much of what a thread does is to begin and to end.
const BUSY_LENGTH_MIN: Nanos = Nanos::from_secs(1);
/// Lateness of the lab beyond this share of the measured time distorts it.
const LATENESS_SHARE_MAX: f64 = 0.10;
/// Lateness below this is not told from noise of the system's timers.
const LATENESS_FLOOR: Nanos = Nanos::from_micros(500);
/// At this share of what think times allow, users and not the target set the rate.
const OFFERED_SHARE: f64 = 0.90;
const STEADY_LENGTH_MIN: Nanos = Nanos::from_secs(5);
/// With fewer the 99th percentile has under five samples beyond it.
const SAMPLES_MIN: u64 = (SAMPLES_BEYOND_MIN * 100.0) as u64;
const ERROR_SHARE_MAX: f64 = 0.05;
/// More connections opened anew than this share of requests is churn.
const CHURN_SHARE_MAX: f64 = 0.01;
/// Where less than this share of the asked rate was started, the result is not about that rate.
const REACHED_SHARE_MIN: f64 = 0.99;

/// Shorter stretches of computing are those of ordinary scripts.
const COMPUTING_MIN: Nanos = Nanos::from_millis(100);

/// Where the target's process runs, as far as it can be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetPlace {
    OtherMachine,
    /// On this machine; `process` where it could be found.
    SameProcessors {
        process: Option<String>,
        processors: u32,
    },
    OtherProcessors,
}

/// All findings on a result whose figures are complete; those that void the claim first.
pub fn judge(plan: &Plan, result: &ResultFile, place: &TargetPlace) -> Vec<Finding> {
    // Of subscribers alone there is no request to have too few of.
    let has_requests = plan.users() > 0;
    let candidates = [
        generator_bound(result)
            .map(|finding| if sets_its_load(plan) { finding.with_bounds() } else { finding }),
        ports_exhausted(result),
        errors_dominate(result),
        ramp_in_verdict(result),
        too_few_samples(result).filter(|_| has_requests),
        too_short(result),
        timeouts_censor(plan, result),
        target_shares_cpu(place),
        connection_churn(plan, &result.lab, result),
        offered_load_limited(plan, result),
        feeder_exhausted(result),
        starts::rate_not_reached(result),
        starts::starts_dropped(result),
        users_compute(result),
        subscribers_missing(result),
        subscribers_late(result),
        events_unmatched(plan, result),
        receipts_late(result),
        clock(result),
        workers::worker_lost(result),
        workers::workers_apart(result),
        workers::worker_late(result),
        workers::workers_differ(result),
    ];
    let mut findings: Vec<_> = candidates.into_iter().flatten().collect();
    // What a worker found of itself says whose it is.
    let own = workers::of_workers(result);
    findings.retain(|finding| own.iter().all(|found| found.kind != finding.kind));
    findings.extend(own);
    findings.sort_by_key(|finding| (!finding.voids_claim, finding.kind));
    findings
}

/// True where starts come when the plan says, however busy the lab is. Users without waits ask less of a busy lab.
fn sets_its_load(plan: &Plan) -> bool {
    plan.rate_cap().is_some() || plan.scenarios().iter().any(|scenario| scenario.load.is_open())
}

fn generator_bound(result: &ResultFile) -> Option<Finding> {
    let cause = "the lab's threads could not keep up, so latencies are partly its own";
    let remedy = "give it more threads or processors (--threads), or a machine of its own";
    let whole = result.windows.last()?;
    if whole.all.requests == 0 && result.subscribers.is_empty() {
        // There are no figures that it could be in.
        return None;
    }
    let busy = result.lab.busiest_thread_share;
    if busy > BUSY_SHARE_MAX && whole.window.length() >= BUSY_LENGTH_MIN {
        let seen = format!("the busiest thread of the lab was busy for {:.0} % of the run", busy * 100.0);
        return Some(Finding::new(FindingKind::GeneratorBound, seen, cause, remedy));
    }
    let cause = "many users were due in the same instant, or other work on this machine had the processor";
    let remedy =
        "let think times vary, ramp users up; quieten the machine, pin lab and target apart (taskset)";
    let late = result.lab.lateness.percentile(99.0)?;
    let felt = result.headline().all.response_time.percentile(99.0)?;
    let lateness_share = late.0 as f64 / felt.0.max(1) as f64;
    (late > LATENESS_FLOOR && lateness_share > LATENESS_SHARE_MAX).then(|| {
        let percent = lateness_share * 100.0;
        let seen =
            format!("1 % of sends were late by {late} or more, {percent:.0} % of the p99 latency of {felt}");
        let span = spans::seconds(result, is_late);
        Finding::new(FindingKind::GeneratorBound, seen, cause, remedy).during(span)
    })
}

/// True of a second in which sends were so late that the lab distorts its latencies.
fn is_late(row: &SecondRow) -> bool {
    let felt = row.p99_ns.unwrap_or_default().0.max(1) as f64;
    row.late_p99_ns.is_some_and(|late| late > LATENESS_FLOOR && late.0 as f64 / felt > LATENESS_SHARE_MAX)
}

fn ports_exhausted(result: &ResultFile) -> Option<Finding> {
    let count = result.lab.connections.ports_exhausted;
    (count > 0).then(|| {
        let seen = format!("{count} connections could not be opened: no port of this machine was left");
        let cause =
            "closed connections keep their ports for a minute, and each source address has a limited range";
        let remedy = "keep connections, widen net.ipv4.ip_local_port_range, or use several machines";
        let span = spans::failures(result, OutcomeKind::Connect);
        Finding::new(FindingKind::PortsExhausted, seen, cause, remedy).during(span)
    })
}

fn errors_dominate(result: &ResultFile) -> Option<Finding> {
    let all = &result.headline().all;
    (all.error_share() > ERROR_SHARE_MAX).then(|| {
        let worst = all.worst_failure();
        let percent = all.error_share() * 100.0;
        let seen = format!("{percent:.1} % of {} requests failed, most of them: {worst}", all.requests);
        let cause = "failures are often faster than answers, so rate and latency are not those of the work";
        let remedy = remedy_of(all);
        let span = spans::seconds(result, |row| {
            let failed = row.failures + row.timeouts;
            share(failed, failed + row.successes) > ERROR_SHARE_MAX
        });
        Finding::new(FindingKind::ErrorsDominate, seen, cause, remedy).during(span)
    })
}

/// What to try about failures goes by what most of them are.
fn remedy_of(all: &Figures) -> &'static str {
    match (all.worst_kind(), all.worst_status()) {
        (Some(OutcomeKind::Status), Some(429)) => {
            "a limit of the target, or of a proxy before it, refuses so many requests of one client: raise it for the test, or give users \
             keys or tokens of their own"
        }
        (Some(OutcomeKind::Status), Some(401 | 403)) => {
            "the target wants to know who asks: give the requests a key or token that is valid, and may ask this"
        }
        (Some(OutcomeKind::Status), Some(404)) => {
            "look whether the path and the target are those that are meant; see the target's log"
        }
        (Some(OutcomeKind::Connect), _) => {
            "see that the target runs and the address is right; where it refuses under load alone, its queue of connections or its \
             descriptors are used up"
        }
        (Some(OutcomeKind::Tls), _) => {
            "see the certificate and which versions of TLS the target speaks: `curl -v` of the same address says what is wrong"
        }
        (Some(OutcomeKind::FailedCheck), _) => {
            "the responses came, and were not as the plan wants them: see one of them, and which check fails"
        }
        _ => "see the target's log for the first failures; lower the load",
    }
}

fn ramp_in_verdict(result: &ResultFile) -> Option<Finding> {
    result.window(WindowKind::Steady).is_none().then(|| {
        let length = result.headline().window.length();
        if let Some(warm_up) = result.window(WindowKind::WarmUp) {
            let held = warm_up.window.length();
            let seen =
                format!("the warm-up took all {held} at the highest load: the figures mix all of {length}");
            let cause = "the load is not held for longer than the warm-up, or the run was stopped before";
            let remedy = "hold the load for longer, or warm up for less time";
            return Finding::new(FindingKind::RampInVerdict, seen, cause, remedy);
        }
        let seen = format!("the load never stayed at its highest: the figures mix all loads over {length}");
        let cause = "no stage holds the highest number of users, or the run was stopped before it";
        Finding::new(FindingKind::RampInVerdict, seen, cause, "add a stage with the same number of users")
    })
}

fn too_few_samples(result: &ResultFile) -> Option<Finding> {
    let count = result.headline().all.response_time.count;
    (count < SAMPLES_MIN).then(|| {
        let seen = format!("{count} successes, under {SAMPLES_MIN}: high percentiles are left out");
        let cause = "a percentile needs at least five samples beyond it";
        Finding::new(FindingKind::TooFewSamples, seen, cause, "run longer or with more users")
    })
}

fn too_short(result: &ResultFile) -> Option<Finding> {
    let length = result.headline().window.length();
    (length < STEADY_LENGTH_MIN).then(|| {
        let seen = format!("the window that counts lasted {length}, under {STEADY_LENGTH_MIN}");
        let cause = "pauses of collectors, checkpoints and caches come at intervals of seconds";
        Finding::new(FindingKind::TooShort, seen, cause, "hold the load for 30 s or more")
    })
}

fn timeouts_censor(plan: &Plan, result: &ResultFile) -> Option<Finding> {
    let all = &result.headline().all;
    let timeouts = all.outcomes.get(&OutcomeKind::Timeout).copied().unwrap_or(0);
    (timeouts > 0).then(|| {
        // Latencies hold neither other failures nor these, so that only the successes stand before them.
        let known = 100.0 * (1.0 - share(timeouts, all.successes + timeouts));
        let seen = format!(
            "{timeouts} requests timed out: percentiles above {known:.3} are at least {}",
            plan.timeout()
        );
        let cause = "how long they would have taken is unknown; latencies hold successes only";
        let remedy = "raise `timeout`, or read no percentile above that one";
        let span = spans::seconds(result, |row| row.timeouts > 0);
        Finding::new(FindingKind::TimeoutsCensor, seen, cause, remedy).during(span)
    })
}

fn target_shares_cpu(place: &TargetPlace) -> Option<Finding> {
    let TargetPlace::SameProcessors { process, processors } = place else { return None };
    let process = process.as_deref().unwrap_or("the target (its process could not be found)");
    let seen = format!("{process} runs on this machine and may use {processors} of the lab's processors");
    let cause = "the lab takes time from the target, so the target looks slower than it is";
    let remedy = "pin both apart (taskset), or drive it from another machine";
    Some(Finding::new(FindingKind::TargetSharesCpu, seen, cause, remedy))
}

fn connection_churn(plan: &Plan, lab: &LabFigures, result: &ResultFile) -> Option<Finding> {
    let requests = result.windows.last().map_or(0, |whole| whole.all.requests);
    let reopened = lab.connections.reopened;
    let churns = plan.connections() == Connections::Kept && share(reopened, requests) > CHURN_SHARE_MAX;
    churns.then(|| {
        let seen = format!("{reopened} connections were opened anew in {requests} requests");
        let cause =
            "the target closes connections, or failures lose them, so opening them is part of the latency";
        let remedy = "raise the target's keep-alive time and requests a connection, above the think time";
        Finding::new(FindingKind::ConnectionChurn, seen, cause, remedy)
    })
}

fn feeder_exhausted(result: &ResultFile) -> Option<Finding> {
    let feeder = result.counted.feeders.iter().max_by_key(|feeder| feeder.count.users_stopped)?;
    let stopped = feeder.count.users_stopped;
    (stopped > 0).then(|| {
        let (name, origin, rows) = (&feeder.name, &feeder.origin, feeder.rows);
        let seen = format!(
            "{stopped} users stopped because none of the {rows} rows of `{name}` ({origin}) was left"
        );
        let cause = "its rows are given out once each, and the load asked for more than there are";
        let remedy = "add rows, shorten the run, or write `order = \"sequential\"`";
        Finding::new(FindingKind::FeederExhausted, seen, cause, remedy)
    })
}

fn users_compute(result: &ResultFile) -> Option<Finding> {
    let Computing { total_ns, longest_ns, place } = &result.counted.computing;
    (*longest_ns >= COMPUTING_MIN).then(|| {
        let percent = total_ns.0 as f64 / result.lab.processor_time_ns.0.max(1) as f64 * 100.0;
        let seen = format!(
            "a user computed for {longest_ns} without a wait, at {place}; such users took {:.0} % of the lab's processor time",
            percent.min(100.0)
        );
        let cause = "users of a thread have the processor in turns: those that wait beside one that computes go on a millisecond or more late, and so do their requests";
        let remedy = "compute less: once in the init code or in setup(), or in a SharedArray; or more threads and processors (--threads)";
        Finding::new(FindingKind::UsersCompute, seen, cause, remedy)
    })
}

fn offered_load_limited(plan: &Plan, result: &ResultFile) -> Option<Finding> {
    let (cap, rate) = (plan.rate_cap()?, result.headline().all.rate_per_s);
    (rate >= cap * OFFERED_SHARE).then(|| {
        let users = plan.users();
        let waits = match plan.scenarios() {
            [one] => format!("a wait of {}", one.pacing.interval_min()),
            several => format!("the waits of {} scenarios", several.len()),
        };
        let seen = format!(
            "{} of the {} that {users} users with {waits} can ask for",
            per_second(rate),
            per_second(cap)
        );
        let cause = "users set the rate, not the target: this is no measure of what it can carry";
        Finding::new(FindingKind::OfferedLoadLimited, seen, cause, "more users, to find the target's limit")
    })
}

/// Subscriptions that never came into force, or were ended by the target.
fn subscribers_missing(result: &ResultFile) -> Option<Finding> {
    if result.state == RunState::Running {
        return None;
    }
    let missing = |group: &&SubscriberGroup| {
        let links = &group.links;
        links.subscribed < group.subscriptions()
            || links.lost_count() + links.completed + links.rejected_count() > 0
    };
    let group = result.subscribers.groups.iter().find(missing)?;
    let links = &group.links;
    let reasons = links.refused.iter().chain(&links.lost).chain(&links.rejected);
    let worst = reasons.max_by_key(|(_, count)| **count);
    let worst = worst.map_or(String::new(), |(reason, count)| format!("; most often ({count}): {reason}"));
    let parts = [
        (links.refused_count(), "connections were refused"),
        (links.lost_count(), "connections were lost"),
        (links.rejected_count(), "operations were rejected"),
        (links.completed, "operations were completed by the target"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, what)| format!(", {count} {what}")).collect();
    let parts = parts.concat();
    let (all, name, subscribed) = (group.subscriptions(), &group.name, links.subscribed);
    let seen = format!("of {all} subscriptions of `{name}` {subscribed} came into force{parts}{worst}");
    let (cause, remedy) = if subscribed == 0 && links.rejected_count() > 0 {
        (
            "the target rejects the operation itself: nothing was measured of subscribers",
            "read the reason; correct `query`, `variables` or `path`",
        )
    } else {
        (
            "the target, or a limit of either machine, did not carry all of them: the figures are those of fewer",
            "read the reasons; raise the target's limits, connect more slowly (`rate`), or ask for fewer clients",
        )
    };
    let is_lost = links.lost_count() + links.completed > 0;
    let span = is_lost.then(|| spans::lost_subscriptions(result)).flatten();
    Some(Finding::new(FindingKind::SubscribersMissing, seen, cause, remedy).during(span))
}

/// Mutations came before all subscriptions were in force.
fn subscribers_late(result: &ResultFile) -> Option<Finding> {
    let not_due = |group: &SubscriberGroup| group.whole().map_or(0, |whole| whole.counts.not_due);
    let group = result.subscribers.groups.iter().max_by_key(|group| not_due(group))?;
    let count = not_due(group);
    (count > 0).then(|| {
        let when = group.links.last_subscribed_ns.map_or("never".to_owned(), |at| format!("at {at}"));
        let seen = format!(
            "{count} events of mutations were owed to nobody: not all of `{}` were in force, the last came so {when}",
            group.name
        );
        let cause = "users began to mutate while subscribers were still connecting; nobody can say whether those events were due";
        let remedy = "begin the scenarios later (`start`), or connect faster (`rate`)";
        let links = &group.links;
        let span = links.last_subscribed_ns.and_then(|last| {
            spans::part(result, links.first_attempt_ns.unwrap_or_default(), last)
        });
        Finding::new(FindingKind::SubscribersLate, seen, cause, remedy).during(span)
    })
}

/// Events came, and not one of them could be one of this run's mutations.
fn events_unmatched(plan: &Plan, result: &ResultFile) -> Option<Finding> {
    if result.state == RunState::Running {
        return None;
    }
    let groups = plan.subscriptions().iter().zip(&result.subscribers.groups);
    groups.into_iter().find_map(|(planned, group)| {
        let (fan_out, counts) = (planned.fan_out.as_ref()?, &group.whole()?.counts);
        let is_unmatched =
            counts.acknowledged > 0 && counts.events > 0 && counts.without_token == counts.events;
        is_unmatched.then(|| {
            let place = fan_out.token.as_ref().map_or("anywhere".to_owned(), |token| format!("at `{token}`"));
            let (events, name, sent) = (counts.events, &group.name, counts.acknowledged);
            let seen = format!(
                "none of the {events} events of `{name}` has a token of this run {place}, and {sent} mutations were acknowledged"
            );
            let cause = "the subscription does not select the field in which the mutation keeps its token, or `token` of \
                         `fan_out` points elsewhere: nothing can be matched, so everything counts as missed";
            let remedy = "compare an event with `token`, a JSON pointer into the result such as /data/onChange/name";
            Finding::new(FindingKind::EventsUnmatched, seen, cause, remedy)
        })
    })
}

/// Bytes may have waited for the lab, by a share of the latency that matters.
fn receipts_late(result: &ResultFile) -> Option<Finding> {
    let late = result.subscribers.read_lateness.percentile(99.0)?;
    let windows = result.subscribers.groups.iter().filter_map(SubscriberGroup::headline);
    let felt = windows.filter_map(|window| window.fan_out_latency.percentile(99.0)).min()?;
    let lateness_share = late.0 as f64 / felt.0.max(1) as f64;
    (late > LATENESS_FLOOR && lateness_share > LATENESS_SHARE_MAX).then(|| {
        let percent = lateness_share * 100.0;
        let seen = format!(
            "1 % of reads came up to {late} or more after their bytes, {percent:.0} % of the p99 fan-out latency of {felt}"
        );
        let cause = "the lab's thread was busy with other events: fan-out latencies are too long by up to that much, never too short";
        let remedy = "give the lab more processors or a machine of its own; fewer events a second";
        Finding::new(FindingKind::ReceiptsLate, seen, cause, remedy)
    })
}

fn clock(result: &ResultFile) -> Option<Finding> {
    let events = &result.lab.clock;
    let is_sleep = |kind| kind == ClockEventKind::Suspension;
    let largest = events.iter().max_by_key(|event| (is_sleep(event.kind), event.by_ns.unsigned_abs()))?;
    let (by, at) = (Nanos(largest.by_ns.unsigned_abs()), largest.at_ns);
    let further = match events.len() {
        1 => String::new(),
        count => format!("; {} further events of the clocks", count - 1),
    };
    let (seen, cause, remedy) = if is_sleep(largest.kind) {
        (
            format!("the machine slept for {by} until {at} after the start{further}"),
            "latencies of requests that were open then leave the sleep out, peers may have given them up, \
             and the load stood still",
            "measure again, with sleep switched off",
        )
    } else {
        let way = if largest.by_ns < 0 { "back" } else { "forward" };
        (
            format!("the wall clock was set {way} by {by} at {at} after the start{further}"),
            "times from logs are off from there on; latencies are measured on the monotonic clock and stay right",
            "let the time service settle before a run; put logs and result together by hand",
        )
    };
    Some(Finding::new(FindingKind::Clock, seen, cause, remedy).during(Some(spans::moment(at))))
}
