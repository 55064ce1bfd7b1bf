//! Which requests of a recording a plan repeats: those for data, of one host unless others are named.

use std::collections::HashMap;

use url::Url;

use super::log::Entry;

/// What is taken of a recording.
#[derive(Debug, Default)]
pub struct HarOptions {
    /// Hosts, with their ports where those are unusual; by default the one that was asked most.
    pub hosts: Vec<String>,
    /// Also images, styles, scripts and the like.
    pub assets: bool,
}

/// What a page loads to look like something, by the beginning of its media type.
const ASSETS: [&str; 14] = [
    "image/",
    "font/",
    "audio/",
    "video/",
    "text/css",
    "text/javascript",
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/font",
    "application/x-font",
    "application/vnd.ms-fontobject",
    "application/wasm",
    "application/manifest+json",
];
const ASSET_KINDS: [&str; 8] =
    ["image", "font", "stylesheet", "script", "media", "manifest", "texttrack", "ping"];

/// One that is kept.
#[derive(Debug)]
pub(super) struct Kept<'l> {
    pub(super) entry: &'l Entry,
    pub(super) url: Url,
}

/// What is left out, in numbers.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    assets: usize,
    preflights: usize,
    sockets: usize,
    unanswered: usize,
    others: usize,
    hosts: HashMap<String, usize>,
}

pub(super) fn select<'l>(entries: &'l [Entry], options: &HarOptions) -> (Vec<Kept<'l>>, LeftOut) {
    let mut left_out = LeftOut::default();
    let mut kept: Vec<Kept<'l>> =
        entries.iter().filter_map(|entry| left_out.look_at(entry, options)).collect();
    let hosts = if options.hosts.is_empty() { most_asked(&kept) } else { options.hosts.clone() };
    kept.retain(|kept| {
        let host = host_of(&kept.url);
        let is_wanted =
            hosts.iter().any(|wanted| *wanted == host || Some(wanted.as_str()) == kept.url.host_str());
        if !is_wanted {
            *left_out.hosts.entry(host).or_default() += 1;
        }
        is_wanted
    });
    (kept, left_out)
}

/// With its port where that is not the scheme's.
pub(super) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn most_asked(kept: &[Kept<'_>]) -> Vec<String> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for each in kept {
        let host = host_of(&each.url);
        match counts.iter_mut().find(|(known, _)| *known == host) {
            Some((_, count)) => *count += 1,
            None => counts.push((host, 1)),
        }
    }
    // Of as many, the first that was asked.
    let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    most.map(|(host, _)| host).into_iter().collect()
}

impl LeftOut {
    fn look_at<'l>(&mut self, entry: &'l Entry, options: &HarOptions) -> Option<Kept<'l>> {
        let Ok(url) = Url::parse(&entry.request.url) else {
            self.others += 1;
            return None;
        };
        let has = |name: &str| entry.request.headers.iter().any(|pair| pair.name.eq_ignore_ascii_case(name));
        let count = if ["ws", "wss"].contains(&url.scheme()) || entry.response.status == 101 {
            &mut self.sockets
        } else if !["http", "https"].contains(&url.scheme()) || entry.request.method == "CONNECT" {
            &mut self.others
        } else if entry.request.method == "OPTIONS" && has("access-control-request-method") {
            &mut self.preflights
        } else if !(200..600).contains(&entry.response.status) {
            &mut self.unanswered
        } else if !options.assets && is_asset(entry) {
            &mut self.assets
        } else {
            return Some(Kept { entry, url });
        };
        *count += 1;
        None
    }

    /// A line for each kind.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |count: usize, what: &str| {
            if count > 0 {
                notes.push(format!("Left out: {count} {what}."));
            }
        };
        note(self.assets, "for images, styles, scripts and the like (--assets keeps them)");
        note(self.preflights, "by which the browser asked whether it may ask (CORS preflights)");
        note(self.sockets, "for WebSockets; docs/subscriptions-load.md says how plans subscribe over them");
        note(self.unanswered, "that had no response");
        note(self.others, "of other schemes than http and https");
        let mut hosts: Vec<_> = self.hosts.iter().collect();
        hosts.sort_by(|one, other| other.1.cmp(one.1).then_with(|| one.0.cmp(other.0)));
        for (host, count) in hosts {
            note(*count, &format!("to {host} (--host {host} keeps them)"));
        }
        notes
    }
}

fn is_asset(entry: &Entry) -> bool {
    let media_type = entry.response.content.mime_type.to_ascii_lowercase();
    ASSET_KINDS.contains(&entry.resource_type.as_str())
        || ASSETS.iter().any(|asset| media_type.starts_with(asset))
}
