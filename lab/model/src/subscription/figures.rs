//! The figures of subscribers, as results and reports hold them.

use super::tally::{EventCounts, LinkCounts, SubscriptionTally};
use super::{Subscription, SubscriptionProtocol};
use crate::load::windows::{Window, WindowKind, Windows};
use crate::measurement::figures::LatencyFigures;
use crate::measurement::histogram::Latencies;
use crate::plan::Plan;
use crate::result::series::table;
use crate::units::Nanos;
use crate::verdict::threshold::{Metric, Scope};
use serde::{Deserialize, Serialize};

/// All groups of subscribers; empty where a plan has none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Subscribers {
    pub groups: Vec<SubscriberGroup>,
    /// Over all groups, one row for each second; in files a list for each column.
    #[serde(with = "crate::result::series")]
    pub series: Vec<SubscriberRow>,
    /// For how long bytes can have waited for the lab before it read them, at most.
    pub read_lateness: LatencyFigures,
}

/// One of a plan's `[[subscriptions]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubscriberGroup {
    pub name: String,
    pub target: String,
    pub protocol: SubscriptionProtocol,
    pub clients: u32,
    pub per_client: u32,
    /// The request whose events are matched; absent where events are only counted.
    pub published_by: Option<String>,
    pub links: LinkCounts,
    pub connect_time: LatencyFigures,
    pub acknowledge_time: LatencyFigures,
    pub subscribe_time: LatencyFigures,
    /// The same windows as those of requests; the whole run last.
    pub windows: Vec<SubscriberWindow>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubscriberWindow {
    #[serde(flatten)]
    pub window: Window,
    pub events_per_s: f64,
    #[serde(flatten)]
    pub counts: EventCounts,
    /// From a mutation's sending to each receipt.
    pub fan_out_latency: LatencyFigures,
    /// From its acknowledgement.
    pub fan_out_latency_acknowledged: LatencyFigures,
    /// `HdrHistogram`'s V2 compressed form, base64, in microseconds.
    pub histogram: String,
    pub histogram_acknowledged: String,
}

/// A second of all groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SubscriberRow {
    pub second: u64,
    /// Subscriptions in force at its end.
    pub active: u64,
    pub events: u64,
    pub bytes: u64,
    /// Settled in it.
    pub missed: u64,
    pub p50_ns: Option<Nanos>,
    pub p99_ns: Option<Nanos>,
    pub max_ns: Option<Nanos>,
}

table! {
    SubscriberColumns of SubscriberRow {
        second: u64,
        active: u64,
        events: u64,
        bytes: u64,
        missed: u64,
        p50_ns: Option<Nanos>,
        p99_ns: Option<Nanos>,
        max_ns: Option<Nanos>,
    }
}

impl SubscriberRow {
    pub fn of(second: u64, tally: &SubscriptionTally) -> Self {
        let times = &tally.interval_from_send;
        Self {
            second,
            active: tally.active,
            events: tally.interval.events,
            bytes: tally.interval.bytes,
            missed: tally.interval.missed,
            p50_ns: times.percentile_of_few(50.0),
            p99_ns: times.percentile_of_few(99.0),
            max_ns: times.max(),
        }
    }

    /// A share of the second that comes later than the others. Percentiles stay those of what was there: runs that are shared out
    /// have none.
    pub fn add(&mut self, tally: &SubscriptionTally) {
        self.active += tally.active;
        self.events += tally.interval.events;
        self.bytes += tally.interval.bytes;
        self.missed += tally.interval.missed;
        self.max_ns = self.max_ns.max(tally.interval_from_send.max());
    }
}

impl Subscribers {
    /// As it stands at `elapsed`.
    pub fn of(
        plan: &Plan,
        windows: &Windows,
        tally: &SubscriptionTally,
        series: &[SubscriberRow],
        elapsed: Nanos,
    ) -> Self {
        let groups = plan.subscriptions().iter().enumerate();
        Self {
            groups: groups
                .map(|(index, group)| group_of(plan, windows, tally, elapsed, index, group))
                .collect(),
            series: series.to_vec(),
            read_lateness: LatencyFigures::of(&tally.read_lateness),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// A threshold's figure: counts of the whole run, times and rates of the window that counts. Of several groups times
    /// are those of all deliveries. Absent where there was nothing to judge by.
    pub fn metric(&self, metric: Metric, scope: &Scope) -> Option<f64> {
        let groups = self.groups.iter().filter(|group| match scope {
            Scope::Request(name) => group.name == *name,
            _ => true,
        });
        let groups: Vec<_> = groups.collect();
        let count = |of: fn(&EventCounts) -> u64| {
            let known = groups.iter().filter(|group| group.published_by.is_some());
            let counts: Vec<_> = known.filter_map(|group| Some(&group.whole()?.counts)).collect();
            let sum: u64 = counts.iter().map(|counts| of(counts)).sum();
            // Where nothing was due, it is not shown that nothing is missed.
            (sum > 0 || counts.iter().any(|counts| counts.due > 0)).then_some(sum as f64)
        };
        let links = |of: fn(&LinkCounts) -> u64| {
            Some(groups.iter().map(|group| of(&group.links)).sum::<u64>() as f64)
        };
        match metric {
            Metric::FanOut(figure) => {
                let mut all = Latencies::default();
                for window in groups.iter().filter_map(|group| group.headline()) {
                    all.merge(&Latencies::from_base64(&window.histogram).ok()?);
                }
                figure.of(&all).map(|time| time.0 as f64)
            }
            Metric::Missed => count(|counts| counts.missed),
            Metric::Duplicated => count(|counts| counts.duplicated),
            Metric::OutOfOrder => count(|counts| counts.out_of_order),
            Metric::Events => {
                Some(groups.iter().filter_map(|group| group.headline()).map(|w| w.events_per_s).sum())
            }
            Metric::Refused => links(LinkCounts::refused_count),
            Metric::Lost => links(LinkCounts::lost_count),
            _ => None,
        }
    }
}

impl SubscriberGroup {
    pub fn window(&self, kind: WindowKind) -> Option<&SubscriberWindow> {
        self.windows.iter().find(|window| window.window.kind == kind)
    }

    pub fn whole(&self) -> Option<&SubscriberWindow> {
        self.window(WindowKind::Whole)
    }

    /// The steady state where there is one, else the whole run.
    pub fn headline(&self) -> Option<&SubscriberWindow> {
        self.window(WindowKind::Steady).or_else(|| self.whole())
    }

    pub fn subscriptions(&self) -> u64 {
        u64::from(self.clients) * u64::from(self.per_client)
    }
}

fn group_of(
    plan: &Plan,
    windows: &Windows,
    tally: &SubscriptionTally,
    elapsed: Nanos,
    index: usize,
    group: &Subscription,
) -> SubscriberGroup {
    let links = &tally.links[index];
    let window = |window: &Window, indices: &[usize]| {
        let window = Window { to_ns: window.to_ns.min(elapsed), ..*window };
        let cell = tally.sum(index, indices);
        let seconds = window.length().as_secs_f64();
        SubscriberWindow {
            window,
            events_per_s: if seconds > 0.0 { cell.counts.events as f64 / seconds } else { 0.0 },
            counts: cell.counts,
            fan_out_latency: LatencyFigures::of(&cell.from_send),
            fan_out_latency_acknowledged: LatencyFigures::of(&cell.from_acknowledgement),
            histogram: cell.from_send.to_base64(),
            histogram_acknowledged: cell.from_acknowledgement.to_base64(),
        }
    };
    let begun = windows.all().iter().enumerate().filter(|(_, window)| window.from_ns < elapsed);
    let mut shown: Vec<_> = begun.map(|(at, part)| window(part, &[at])).collect();
    let all: Vec<_> = (0..windows.all().len()).collect();
    shown.push(window(&windows.whole(), &all));
    SubscriberGroup {
        name: group.name().to_owned(),
        target: plan.targets().get(group.target).map(|named| named.target.to_string()).unwrap_or_default(),
        protocol: group.draft.protocol,
        clients: group.draft.clients,
        per_client: group.draft.per_client,
        published_by: group.fan_out.as_ref().map(|fan_out| plan.requests()[fan_out.request].name.clone()),
        links: links.counts.clone(),
        connect_time: LatencyFigures::of(&links.connect),
        acknowledge_time: LatencyFigures::of(&links.acknowledge),
        subscribe_time: LatencyFigures::of(&links.subscribe),
        windows: shown,
    }
}
