//! Table 4: how soon events came, and what became of them.

use super::cell::NONE;
use crate::{
    markdown::{Table, milliseconds, seconds, thousands},
    resolvers::{
        study::{Audience, CLIENTS, PER_CLIENT, ResolversPace, USERS_EACH, WIDE_PER_S},
        subscriptions::Heard,
    },
};

pub(super) fn subscriptions_parts(all: &[Heard], pace: &ResolversPace) -> Vec<String> {
    vec![
        "## 4. Subscriptions".to_owned(),
        format!(
            "{CLIENTS} clients with {PER_CLIENT} subscriptions each, over WebSockets (graphql-transport-ws), for {}. First each event \
             is for two of them, while {USERS_EACH} users change donuts with 0 to 75 ms between; then each is for half of them, and \
             {WIDE_PER_S} changes a second make about {} events. Times are from when a mutation was sent, and from when its answer \
             had come, to each receipt; an event may come before the answer. The study announced this table and has not published \
             it.",
            seconds(pace.subscriptions),
            thousands((WIDE_PER_S * f64::from(CLIENTS * PER_CLIENT / Audience::Half.donuts())) as u64)
        ),
        subscriptions_table(all).render(),
        "What became of the events, over the whole run:".to_owned(),
        events_table(all).render(),
    ]
}

fn subscriptions_table(all: &[Heard]) -> Table {
    let header = [
        "",
        "Mutations/s",
        "Events/s",
        "p50 from sending",
        "p99",
        "Max",
        "p50 from answer",
        "p99",
        "Max",
        "Engine processors",
    ];
    let mut table = Table::new(&header);
    for heard in all {
        let times = [heard.from_send, heard.from_acknowledgement];
        let mut row = vec![
            capitalised(heard.audience.label()),
            thousands(heard.mutations_per_second.round() as u64),
            thousands(heard.events_per_second.round() as u64),
        ];
        let ms = |ms: Option<f64>| ms.map_or(NONE.to_owned(), milliseconds);
        row.extend(times.iter().flat_map(|times| [times.p50, times.p99, times.max].map(ms)));
        row.push(heard.used.processors.map_or(NONE.to_owned(), |used| format!("{used:.2}")));
        table.push(row);
    }
    table
}

fn events_table(all: &[Heard]) -> Table {
    let header = [
        "",
        "Subscribed",
        "Mutations",
        "Events due",
        "Missed",
        "Cut off",
        "Doubled",
        "Out of order",
        "Unexpected",
        "Connections refused or lost",
    ];
    let mut table = Table::new(&header);
    for heard in all {
        let counts = &heard.counts;
        let mut row = vec![
            capitalised(heard.audience.label()),
            format!("{} of {}", thousands(heard.subscribed), thousands(heard.subscriptions)),
        ];
        let counts = [
            counts.acknowledged,
            counts.due,
            counts.missed,
            counts.cut_off,
            counts.duplicated,
            counts.out_of_order,
            counts.unexpected,
            heard.troubles,
        ];
        row.extend(counts.map(thousands));
        table.push(row);
    }
    table
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}
