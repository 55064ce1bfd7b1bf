//! Series as a kind of source.

use std::{path::PathBuf, sync::Arc, time::Instant};

use prony_series_store::{Engine as _, OnDuplicate, Store};
use prony_source::{
    Source,
    config::{
        AddressForm, ConfigOption, DURABILITY, Faults, Opening, OptionOf, RECOVER, ServerDefault,
        SourceEntry, SourceKind, SourceOpener, ValueKind, all,
    },
};

use crate::{
    series::Series,
    settings::{SeriesSettings, retention},
    source::{ROWS, SeriesSource},
};

/// Sources at `series:DIRECTORY`.
#[derive(Debug)]
pub struct SeriesKind;

/// A directory of series, and how they are opened.
#[derive(Debug)]
struct SeriesOpener {
    directory: PathBuf,
    settings: SeriesSettings,
}

const PREFIX: &str = "series:";

#[rustfmt::skip]
static OPTIONS: &[OptionOf<SeriesSettings>] = &[
    OptionOf::DEFAULT_LIMIT,
    OptionOf::MAX_LIMIT,
    OptionOf::STATEMENT_TIMEOUT_MS,
    OptionOf::MAX_RESPONSE_BYTES,
    OptionOf::SUBSCRIPTIONS,
    OptionOf::READ_ONLY,
    OptionOf::with(DURABILITY, |series, value| { series.durability = prony_series_store::durability(&value.text())?; Ok(()) }),
    OptionOf::with(RECOVER, |series, value| { series.recover = value.boolean(); Ok(()) }),
    OptionOf::new("seal_at_log_bytes", None, ValueKind::Number(4096, 1 << 40), "67108864", "Bytes of the log of series after which rows go into a segment", |series, value| { series.seal_at_log_bytes = value.number(); Ok(()) }),
    OptionOf::new("on_duplicate", None, ValueKind::Word(&["append", "keep", "replace"]), "\"append\"", "What becomes of a row that an entity has at the same time already: append (there are two), keep (the earlier one keeps its values, and is given what it had not), replace (the later one's values take their place)", |series, value| { series.on_duplicate = on_duplicate(&value.text()); Ok(()) }),
    OptionOf::new("retention", None, ValueKind::List, "[]", "How long rows of entity types are kept, as \"Room=30d\", with \"*=365d\" for all other types; s, m, h and d are units", |series, value| { series.retention = value.list().iter().map(|text| retention(text)).collect::<Result<_, _>>()?; Ok(()) }),
    OptionOf::new("version", None, ValueKind::Text, "\"1.0.1-dev\"", "What series say at /version, for clients that ask", |series, value| { series.version = value.text(); Ok(()) }),
];

/// Where it listens when nothing else is served: its clients' port. A notification may have many entities.
const SERVER_DEFAULTS: &[ServerDefault] = &[ServerDefault {
    key: "listen",
    value: "127.0.0.1:8668",
    only_alone: true,
    help: "port 8668 where only series are served",
}];

fn on_duplicate(word: &str) -> OnDuplicate {
    match word {
        "keep" => OnDuplicate::Keep,
        "replace" => OnDuplicate::Replace,
        _ => OnDuplicate::Append,
    }
}

impl SourceKind for SeriesKind {
    fn address(&self) -> AddressForm {
        AddressForm { prefixes: &[PREFIX], short: "series:DIRECTORY", whole: "series:DIRECTORY" }
    }

    fn options(&self) -> Vec<&'static dyn ConfigOption> {
        all(OPTIONS)
    }

    fn server_defaults(&self) -> &'static [ServerDefault] {
        SERVER_DEFAULTS
    }

    fn only_one(&self) -> Option<&'static str> {
        Some(
            "there can be one source of series: its directory holds as many tenants and types as are notified",
        )
    }

    fn configure(&self, entry: &SourceEntry<'_>, faults: &mut Faults) -> Option<Arc<dyn SourceOpener>> {
        let directory = entry.url.0.strip_prefix(PREFIX)?;
        if directory.is_empty() {
            faults.push(entry.url_origin.clone(), "`series:` lacks its directory; write series:DIRECTORY");
            return None;
        }
        let mut settings = SeriesSettings::default();
        entry.apply(OPTIONS, &mut settings);
        settings.common.check(entry, faults);
        Some(Arc::new(SeriesOpener { directory: directory.into(), settings }))
    }
}

impl SourceOpener for SeriesOpener {
    fn open(&self) -> Opening<'_> {
        Box::pin(async {
            let started = Instant::now();
            let store = Store::open(&self.directory, self.settings.options())?;
            log_opened(&store, started);
            let series = Arc::new(Series::new(Arc::new(store), self.settings.clone()));
            Ok(Arc::new(SeriesSource::new(series)) as Arc<dyn Source>)
        })
    }
}

/// Says what is there, and what the last end has cost.
fn log_opened(store: &Store, started: Instant) {
    let recovery = store.recovery();
    let rows = store.figures().iter().find(|figure| figure.name == ROWS).map_or(0, |figure| figure.value);
    let entities = store.read().with_catalog(prony_series_store::Catalog::series_count);
    let durability = prony_series_store::durability_text(store.options().durability);
    let milliseconds = started.elapsed().as_millis() as u64;
    tracing::info!(rows, entities, durability, milliseconds, "opened series");
    if recovery.torn_bytes > 0 {
        let (bytes, frames) = (recovery.torn_bytes, recovery.torn_frames);
        tracing::warn!(
            bytes,
            frames,
            "cut off the end of the log, which was being written when the last process or the machine died; with durability \
             `sync` no write in it had been acknowledged"
        );
    }
    for loss in &recovery.lost {
        let (path, offset, bytes) = (loss.path.display(), loss.offset, loss.bytes);
        tracing::error!(%path, offset, bytes, why = loss.why, "lost a part of the series");
    }
}
