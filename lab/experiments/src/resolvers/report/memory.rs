//! Table 5: resident memory before, while and after requests came, and whether it is flat.

use super::cell::NONE;
use crate::{
    markdown::{Table, thousands},
    resolvers::{
        memory::{GROWTH_MAX, Profile, ProfileKind},
        study::ResolversPace,
    },
};

pub(super) fn memory_parts(profiles: &[Profile], pace: &ResolversPace) -> Vec<String> {
    let fewer = if pace.memory_requests == ResolversPace::FULL.memory_requests {
        String::new()
    } else {
        format!(" (the study: {}, as `--full` does)", thousands(ResolversPace::FULL.memory_requests))
    };
    vec![
        "## 5. Memory".to_owned(),
        format!(
            "Resident memory of a new server: 15 users with {} requests each{fewer}, at most 30 ms apart; then many more on the same \
             server, as fast as they are answered. Warm is when a fifth of the requests have been answered; flat means never more than \
             {:.0} % above that. The study found no object that outlived a collection, and published no figure.",
            thousands(pace.memory_requests),
            GROWTH_MAX * 100.0
        ),
        memory_table(profiles).render(),
    ]
}

fn memory_table(profiles: &[Profile]) -> Table {
    let header = [
        "Requests",
        "Users",
        "Before",
        "Warm",
        "40 %",
        "60 %",
        "80 %",
        "After",
        "Highest once warm",
        "Growth",
        "Verdict",
    ];
    let mut table = Table::new(&header);
    let text = |bytes: Option<u64>| bytes.map_or(NONE.to_owned(), tenths);
    for profile in profiles {
        let label = match profile.kind {
            ProfileKind::Study => thousands(profile.requests),
            ProfileKind::Soak => format!("{} more", thousands(profile.requests)),
        };
        let verdict = match profile.is_flat() {
            Some(true) => "flat",
            Some(false) => "grows",
            None => "too short to say",
        };
        table.push(vec![
            label,
            profile.users.to_string(),
            tenths(profile.before_bytes),
            text(profile.warm().map(|sample| sample.resident_bytes)),
            text(profile.at(0.4)),
            text(profile.at(0.6)),
            text(profile.at(0.8)),
            tenths(profile.after_bytes),
            text(profile.highest_bytes()),
            profile.growth().map_or(NONE.to_owned(), |growth| format!("{:.1} %", growth * 100.0)),
            verdict.to_owned(),
        ]);
    }
    table
}

/// Five per cent of little memory are less than a megabyte.
fn tenths(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
