//! What subscribers saw, in the words that terminal and page share.

use crate::describe::window_name;
use crate::page::data::TableData;
use crate::table::{bytes, decimal, grouped, time};
use prony_model::measurement::figures::LatencyFigures;
use prony_model::result::ResultFile;
use prony_model::subscription::figures::{SubscriberGroup, SubscriberWindow};
use prony_model::subscription::tally::EventCounts;

/// One column for each group; only where the plan has any.
pub(crate) fn tables(result: &ResultFile) -> Vec<TableData> {
    let groups = &result.subscribers.groups;
    if groups.is_empty() {
        return Vec::new();
    }
    [Some(connections(groups)), Some(events(groups)), deliveries(groups), reasons(groups)]
        .into_iter()
        .flatten()
        .collect()
}

fn connections(groups: &[SubscriberGroup]) -> TableData {
    let row = |name: &str, cell: &dyn Fn(&SubscriberGroup) -> String| row_of(name, groups, cell);
    let three = |times: &LatencyFigures| {
        format!(
            "{} / {} / {}",
            time(times.percentile(50.0)),
            time(times.percentile(99.0)),
            time(times.max_ns)
        )
    };
    table(
        "subscribers",
        "subscribers (whole run)",
        groups,
        vec![
            row("clients, subscriptions of each", &|group| {
                format!("{} × {}", grouped(group.clients.into()), group.per_client)
            }),
            row("protocol", &|group| group.protocol.name().to_owned()),
            row("connections made", &|group| {
                let rate = group.links.made_per_s().map_or(String::new(), |rate| format!(", {rate:.0}/s"));
                format!("{} of {}{rate}", grouped(group.links.made), grouped(group.links.attempted))
            }),
            row("refused, lost", &|group| {
                format!("{}, {}", grouped(group.links.refused_count()), grouped(group.links.lost_count()))
            }),
            row("subscriptions in force", &|group| {
                format!("{} of {}", grouped(group.links.subscribed), grouped(group.subscriptions()))
            }),
            row("to connect, p50 / p99 / max", &|group| three(&group.connect_time)),
            row("to the acknowledgement", &|group| three(&group.acknowledge_time)),
            row("to a subscription", &|group| three(&group.subscribe_time)),
        ],
    )
}

/// Rates and times of the window that counts.
fn events(groups: &[SubscriberGroup]) -> TableData {
    let window = |name: &str, cell: &dyn Fn(&SubscriberWindow) -> String| {
        row_of(name, groups, &|group| group.headline().map(cell).unwrap_or_default())
    };
    let has = |has: &dyn Fn(&SubscriberWindow) -> bool| {
        groups.iter().filter_map(SubscriberGroup::headline).any(has)
    };
    let mut rows = vec![
        window("events a second", &|window| decimal(window.events_per_s)),
        window("events", &|window| grouped(window.counts.events)),
        window("received", &|window| bytes(window.counts.bytes)),
    ];
    if has(&|window| window.counts.events_with_errors > 0) {
        rows.push(window("events with errors", &|window| grouped(window.counts.events_with_errors)));
    }
    for percentile in [50.0, 95.0, 99.0, 99.9] {
        if has(&|window| window.fan_out_latency.percentile(percentile).is_some()) {
            rows.push(window(&format!("fan-out latency p{percentile}"), &|window| {
                time(window.fan_out_latency.percentile(percentile))
            }));
        }
    }
    if has(&|window| window.fan_out_latency.count > 0) {
        rows.push(window("fan-out latency max", &|window| time(window.fan_out_latency.max_ns)));
        for percentile in [50.0, 99.0] {
            rows.push(window(&format!("from the acknowledgement, p{percentile}"), &|window| {
                time(window.fan_out_latency_acknowledged.percentile(percentile))
            }));
        }
    }
    let kind = groups[0].headline().map_or("", |window| window_name(window.window.kind));
    table("events", &format!("events ({kind})"), groups, rows)
}

/// Of the whole run: what was owed and what came. Only where events are matched with mutations.
fn deliveries(groups: &[SubscriberGroup]) -> Option<TableData> {
    groups.iter().any(|group| group.published_by.is_some()).then(|| {
        let count = |name: &str, of: Count| {
            row_of(name, groups, &|group| match (&group.published_by, group.whole()) {
                (Some(_), Some(whole)) => grouped(of(&whole.counts)),
                _ => String::new(),
            })
        };
        let occurs =
            |of: Count| groups.iter().filter_map(SubscriberGroup::whole).any(|window| of(&window.counts) > 0);
        let always: [(&str, Count); 5] = [
            ("mutations acknowledged", |counts| counts.acknowledged),
            ("deliveries due", |counts| counts.due),
            ("missed", |counts| counts.missed),
            ("duplicated", |counts| counts.duplicated),
            ("out of order", |counts| counts.out_of_order),
        ];
        let seldom: [(&str, Count); 5] = [
            ("cut off by the target", |counts| counts.cut_off),
            ("late, after it was missed", |counts| counts.late),
            ("unexpected", |counts| counts.unexpected),
            ("made by others", |counts| counts.without_token),
            ("not due yet", |counts| counts.not_due),
        ];
        let seldom = seldom.into_iter().filter(|(_, of)| occurs(*of));
        let rows = always.into_iter().chain(seldom).map(|(name, of)| count(name, of));
        table("deliveries", "deliveries (whole run)", groups, rows.collect())
    })
}

pub(crate) type Count = fn(&EventCounts) -> u64;

/// Why connections and operations came to nothing.
fn reasons(groups: &[SubscriberGroup]) -> Option<TableData> {
    let rows: Vec<_> = groups
        .iter()
        .flat_map(|group| {
            let links = &group.links;
            let parts = [("refused", &links.refused), ("lost", &links.lost), ("rejected", &links.rejected)];
            parts.into_iter().flat_map(move |(what, reasons)| {
                reasons.iter().map(move |(reason, count)| {
                    vec![format!("{}: {what}: {reason}", group.name), grouped(*count)]
                })
            })
        })
        .collect();
    (!rows.is_empty()).then(|| TableData {
        id: "subscriber-failures",
        title: "subscribers, what went wrong (whole run)".to_owned(),
        note: String::new(),
        head: ["", "times"].map(str::to_owned).to_vec(),
        rows,
    })
}

fn row_of(name: &str, groups: &[SubscriberGroup], cell: &dyn Fn(&SubscriberGroup) -> String) -> Vec<String> {
    [name.to_owned()].into_iter().chain(groups.iter().map(cell)).collect()
}

fn table(id: &'static str, title: &str, groups: &[SubscriberGroup], rows: Vec<Vec<String>>) -> TableData {
    let names = groups.iter().map(|group| group.name.clone());
    TableData {
        id,
        title: title.to_owned(),
        note: String::new(),
        head: [String::new()].into_iter().chain(names).collect(),
        rows,
    }
}
