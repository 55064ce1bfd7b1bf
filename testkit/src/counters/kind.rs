//! Counters as a kind of source, with an option and a table of its own in the configuration.

use std::sync::Arc;

use futures_util::future::ready;
use prony_source::{
    Source,
    config::{
        AddressForm, ConfigOption, Faults, FileEntry, Opening, OptionOf, SourceEntry, SourceKind,
        SourceOpener, ValueKind, all,
    },
};

use super::{Counters, CountersSettings};

/// Sources at `counters:`. `[source.counters.NAME]` says at which number a counter starts.
#[derive(Debug)]
pub struct CountersKind;

static OPTIONS: &[OptionOf<CountersSettings>] = &[OptionOf::new(
    "highest",
    Some("highest"),
    ValueKind::Number(1, i64::MAX as u64),
    "9223372036854775807",
    "The highest number that a counter can hold",
    |settings, value| {
        settings.highest = i64::try_from(value.number()).unwrap_or(i64::MAX);
        Ok(())
    },
)];

const SECTION: &str = "counters";
const COUNTER_KEYS: [&str; 1] = ["start"];

impl SourceKind for CountersKind {
    fn address(&self) -> AddressForm {
        AddressForm { prefixes: &["counters:"], short: "counters:", whole: "counters:" }
    }

    fn options(&self) -> Vec<&'static dyn ConfigOption> {
        all(OPTIONS)
    }

    fn sections(&self) -> &'static [&'static str] {
        &[SECTION]
    }

    fn configure(&self, entry: &SourceEntry<'_>, faults: &mut Faults) -> Option<Arc<dyn SourceOpener>> {
        let mut settings = CountersSettings::default();
        entry.apply(OPTIONS, &mut settings);
        let counters = entry.section(SECTION).map(|section| section.table(faults)).unwrap_or_default();
        for counter in counters {
            let start = read_start(counter, faults);
            settings.starts.insert(counter.name().to_owned(), start.unwrap_or_default());
        }
        Some(Arc::new(CountersOpener(settings)))
    }
}

fn read_start(counter: FileEntry<'_, '_>, faults: &mut Faults) -> Option<i64> {
    let mut start = None;
    for entry in counter.table(faults) {
        match entry.name() {
            "start" => start = entry.read(faults),
            _ => entry.unknown("a counter", COUNTER_KEYS, faults),
        }
    }
    start
}

#[derive(Debug)]
struct CountersOpener(CountersSettings);

impl SourceOpener for CountersOpener {
    fn open(&self) -> Opening<'_> {
        let source: Arc<dyn Source> = Arc::new(Counters::new(self.0.clone()));
        Box::pin(ready(Ok(source)))
    }
}
