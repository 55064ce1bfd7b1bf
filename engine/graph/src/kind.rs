//! Graphs as a kind of source.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use prony_graph_store::durability;
use prony_source::{
    Source,
    config::{
        AddressForm, ConfigOption, DURABILITY, Faults, Opening, OptionOf, RECOVER, SLOW_STATEMENT_MS,
        ServerDefault, SourceEntry, SourceKind, SourceOpener, ValueKind, all,
    },
};

use crate::{
    GraphSource,
    databases::Databases,
    settings::{GraphSettings, Reads, graph_index},
};

/// Sources at `graph:DIRECTORY`.
#[derive(Debug)]
pub struct GraphKind;

/// A directory of databases, and how they are opened.
#[derive(Debug)]
struct GraphOpener {
    directory: PathBuf,
    settings: GraphSettings,
    /// Nothing is served: what is there is read, and left as it is.
    only_looks: bool,
}

const PREFIX: &str = "graph:";

#[rustfmt::skip]
static OPTIONS: &[OptionOf<GraphSettings>] = &[
    OptionOf::DEFAULT_LIMIT,
    OptionOf::MAX_LIMIT,
    OptionOf::STATEMENT_TIMEOUT_MS,
    OptionOf::MAX_RESPONSE_BYTES,
    OptionOf::SUBSCRIPTIONS,
    OptionOf::READ_ONLY,
    OptionOf::new("graph_http", Some("graph-http"), ValueKind::Boolean, "true", "Whether there are a graph's calls over HTTP (/db/…, /dbs) beside GraphQL", |graph, value| { graph.http = value.boolean(); Ok(()) }),
    OptionOf::new("graph_lua", Some("graph-lua"), ValueKind::Boolean, "false", "Whether POST /db/{graph}/lua runs scripts, in a sandbox and as whoever sends them", |graph, value| { graph.lua = value.boolean(); Ok(()) }),
    OptionOf::new("graph_lua_max_memory_bytes", None, ValueKind::BYTES, "67108864", "Bytes of memory that one script may have", |graph, value| { graph.lua_max_memory_bytes = value.size(); Ok(()) }),
    OptionOf::with(DURABILITY, |graph, value| { graph.durability = durability(&value.text())?; Ok(()) }),
    OptionOf::new("reads", Some("reads"), ValueKind::Word(Reads::WORDS), "\"durable\"", "What readers of a graph are told: durable (what they see is sent once it is as durable as durability says), latest (at once, also what may still be taken back)", |graph, value| { graph.reads = Reads::of(&value.text()); Ok(()) }),
    OptionOf::with(RECOVER, |graph, value| { graph.recover = value.boolean(); Ok(()) }),
    OptionOf::with(SLOW_STATEMENT_MS, |graph, value| { graph.slow_statement_ms = value.number() as u32; Ok(()) }),
    OptionOf::new("snapshot_at_log_bytes", None, ValueKind::Number(4096, 1 << 40), "268435456", "Bytes of a graph's log after which a snapshot is taken; at least twice the last snapshot", |graph, value| { graph.snapshot_at_log_bytes = value.number(); Ok(()) }),
    OptionOf::new("scrub_every_s", None, ValueKind::Number(0, 31_536_000), "604800", "Seconds after which a graph's files are read again to find damage on the disk, 20 MiB a second at most; 0: never", |graph, value| { graph.scrub_every_s = value.number(); Ok(()) }),
    OptionOf::new("indexes", None, ValueKind::List, "[]", "Indexes of a graph, as \"nodes/User/age/integer\" or \"relationships/KNOWS/since/integer\": made at the start, with type and property, where they are absent", |graph, value| { graph.indexes = value.list().iter().map(|text| graph_index(text)).collect::<Result<_, _>>()?; Ok(()) }),
];

/// Where it listens when nothing else is served: its clients' port. Keys of nodes stand in paths, so that these may have
/// the most bytes that HTTP's types hold, in a head that has room for them.
const SERVER_DEFAULTS: &[ServerDefault] = &[
    ServerDefault {
        key: "listen",
        value: "127.0.0.1:7243",
        only_alone: true,
        help: "port 7243 where only a graph is served",
    },
    ServerDefault {
        key: "max_header_bytes",
        value: "98304",
        only_alone: false,
        help: "98304 where a graph is served",
    },
    ServerDefault {
        key: "max_uri_bytes",
        value: "65534",
        only_alone: false,
        help: "65534 where a graph is served",
    },
];

impl SourceKind for GraphKind {
    fn address(&self) -> AddressForm {
        AddressForm { prefixes: &[PREFIX], short: "graph:DIRECTORY", whole: "graph:DIRECTORY" }
    }

    /// Each database of a graph has a directory of its own in it.
    fn address_of(&self, path: &Path) -> Option<String> {
        let databases = fs::read_dir(path).ok()?;
        let is_graph = databases.flatten().any(|database| prony_graph_store::is_store(&database.path()));
        is_graph.then(|| format!("{PREFIX}{}", path.display()))
    }

    fn options(&self) -> Vec<&'static dyn ConfigOption> {
        all(OPTIONS)
    }

    fn server_defaults(&self) -> &'static [ServerDefault] {
        SERVER_DEFAULTS
    }

    fn only_one(&self) -> Option<&'static str> {
        Some("there can be one graph: its directory holds as many databases as /dbs makes")
    }

    fn configure(&self, entry: &SourceEntry<'_>, faults: &mut Faults) -> Option<Arc<dyn SourceOpener>> {
        let directory = entry.url.0.strip_prefix(PREFIX)?;
        if directory.is_empty() {
            faults.push(entry.url_origin.clone(), "`graph:` lacks its directory; write graph:DIRECTORY");
            return None;
        }
        let mut settings = GraphSettings::default();
        entry.apply(OPTIONS, &mut settings);
        settings.common.check(entry, faults);
        Some(Arc::new(GraphOpener { directory: directory.into(), settings, only_looks: false }))
    }
}

impl SourceOpener for GraphOpener {
    /// GraphQL serves the default database.
    fn open(&self) -> Opening<'_> {
        Box::pin(async {
            let open = if self.only_looks { Databases::look } else { Databases::open };
            let databases = Arc::new(open(&self.directory, &self.settings)?);
            let source = GraphSource::new(databases, self.settings.common);
            let source = if self.settings.http { source } else { source.without_http() };
            let source = if self.settings.lua {
                source.with_scripts(self.settings.lua_max_memory_bytes)
            } else {
                source
            };
            Ok(Arc::new(source) as Arc<dyn Source>)
        })
    }

    fn only_looking(&self) -> Option<Arc<dyn SourceOpener>> {
        let (directory, settings) = (self.directory.clone(), self.settings.clone());
        Some(Arc::new(Self { directory, settings, only_looks: true }))
    }
}
