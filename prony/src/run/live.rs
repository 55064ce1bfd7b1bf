//! `--live`: the page of a run while it goes.

use super::place::{ResultPlace, farewell};
use crate::terminal::tell;
use prony_live::{Address, Live, LiveSteps, looks_like_address};
use prony_load::{RunOptions, StopFlag};
use prony_model::ResultFile;
use prony_model::result::ResultWatcher;
use prony_report::{Document, NamedDocument};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LiveFlags {
    /// Serve the report's page while it goes on, at 127.0.0.1:5665, or another free port where that is taken, or at this address, with
    /// a button that stops the run. docs/live.md describes it.
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    live: Option<String>,
}

/// A page that is served, where the flags ask for one.
#[derive(Debug)]
pub(crate) struct LivePages(Option<Live>);

impl LiveFlags {
    /// Begins to serve, and says where.
    pub(crate) fn open(&self, title: &str, label: &str, stop: &StopFlag) -> anyhow::Result<LivePages> {
        let Some(text) = &self.live else { return Ok(LivePages(None)) };
        let address = if text.is_empty() { Address::default() } else { Address::parse(text)? };
        let live = Live::open(&address, title, label, stop.clone())?;
        // Whoever asked for it needs the address, also where all else is quiet.
        tell(&format!("live: {}", live.url()));
        Ok(LivePages(Some(live)))
    }
}

impl LivePages {
    pub(crate) fn watcher(&self) -> Option<Arc<dyn ResultWatcher>> {
        self.0.as_ref().map(Live::watcher)
    }

    /// Which of many runs it shows.
    pub(crate) fn steps(&self) -> Option<LiveSteps> {
        self.0.as_ref().map(Live::steps)
    }

    /// The options of a run that is shown.
    pub(crate) fn watch(&self, options: RunOptions) -> RunOptions {
        RunOptions { watcher: self.watcher(), ..options }
    }

    /// The run is over. Waits until open pages have its result, some seconds at most.
    pub(crate) fn finish(self, result: &ResultFile, place: &ResultPlace) {
        let document =
            || vec![NamedDocument { name: place.label(), document: Document::Run(Box::new(result.clone())) }];
        self.finish_all(&place.farewell(), document);
    }

    /// The same of many runs with a file of their own.
    pub(crate) fn finish_with(self, path: &Path, document: impl FnOnce() -> Document) {
        let name = path.display().to_string();
        self.finish_all(&farewell(path), || vec![NamedDocument { name, document: document() }]);
    }

    pub(crate) fn finish_all(self, said: &str, documents: impl FnOnce() -> Vec<NamedDocument>) {
        if let Some(live) = self.0 {
            live.finish(&documents(), said);
        }
    }
}

/// The command line with `--live ADDRESS` as `--live=ADDRESS`: what follows `--live` may also be the next argument.
pub(crate) fn joined(line: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(line.len());
    let mut is_over = false;
    for argument in line {
        is_over |= argument == "--";
        match (joined.last_mut(), argument.to_str()) {
            (Some(last), Some(text)) if !is_over && last == "--live" && looks_like_address(text) => {
                last.push("=");
                last.push(text);
            }
            _ => joined.push(argument),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_stand_behind_a_space() {
        let read = |line: &str| {
            let joined = joined(line.split(' ').map(OsString::from).collect());
            joined
                .iter()
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(read("run --live 127.0.0.1:0 plan.toml"), "run --live=127.0.0.1:0 plan.toml");
        assert_eq!(read("run plan.toml --live :80"), "run plan.toml --live=:80");
        assert_eq!(read("run --live plan.toml"), "run --live plan.toml");
        assert_eq!(read("run --live http://a:80 -c 1"), "run --live http://a:80 -c 1");
        assert_eq!(read("run http://a x.lua -- --live 80"), "run http://a x.lua -- --live 80");
    }
}
