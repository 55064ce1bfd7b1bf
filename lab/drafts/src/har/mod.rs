//! A plan of what a browser recorded: HAR 1.2 (HTTP Archive), as the network panels of browsers save it.

mod correlate;
mod log;
mod requests;
mod select;
mod sources;

use std::{fs, path::Path};

use jiff::Timestamp;

pub use self::select::HarOptions;
use self::{
    log::Har,
    select::{Kept, host_of, select},
};
use crate::{
    DraftError,
    draft::{Draft, Request, Step, credential_headers},
    names::Names,
};

/// Shorter pauses are the browser's own.
const SHORTEST_PAUSE_MS: i64 = 100;
/// Longer ones are no think time.
const LONGEST_PAUSE_MS: i64 = 60_000;
/// Drafts a plan: one user's iteration is the recording, in its order and with its pauses.
pub fn from_har(path: &Path, options: &HarOptions) -> Result<Draft, DraftError> {
    let what = path.display().to_string();
    let bytes = fs::read(path).map_err(|source| DraftError::Unreadable { path: path.to_owned(), source })?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let har: Har = serde_json::from_slice(bytes).map_err(|error| {
        DraftError::malformed(
            &what,
            format!("{error}; a recording is JSON with `log.entries`, as a browser's network panel saves it"),
        )
    })?;
    let (kept, left_out) = select(&har.log.entries, options);
    let mut draft = Draft::default();
    let (mut requests, mut sources) = (Vec::new(), Vec::new());
    let mut without_text = 0;
    for each in kept {
        let target = draft.target(&each.url.origin().ascii_serialization());
        match requests::request(&each, target) {
            Some(request) => {
                requests.push(request);
                sources.push(each);
            }
            None => without_text += 1,
        }
    }
    if requests.is_empty() {
        let why = if har.log.entries.is_empty() {
            "it has no entries".to_owned()
        } else {
            format!("it has {} entries. {}", har.log.entries.len(), left_out.notes().join(" "))
        };
        return Err(DraftError::Nothing { what, why });
    }
    let responses: Vec<_> = sources.iter().map(|kept| &kept.entry.response).collect();
    let taken = correlate::correlate(&mut requests, &responses);
    draft.notes = left_out.notes();
    if without_text > 0 {
        draft
            .notes
            .push(format!("Left out: {without_text} whose bodies are no text; send them by a k6 script."));
    }
    if !taken.is_empty() {
        draft.notes.push(format!(
            "Taken from responses, because later requests sent it back: {}.",
            taken.join(", ")
        ));
    }
    draft.notes.extend(secrets(&requests));
    draft.headers = common_headers(&mut requests);
    draft.name = host_of(&sources[0].url);
    add_steps(&mut draft, requests, &sources);
    Ok(draft)
}

/// Each request once, and the steps by which they follow each other.
fn add_steps(draft: &mut Draft, requests: Vec<Request>, sources: &[Kept<'_>]) {
    let mut names = Names::default();
    let mut steps: Vec<Step> = Vec::new();
    let mut known: Vec<Request> = Vec::new();
    for (index, request) in requests.into_iter().enumerate() {
        let think_time_ms = sources.get(index + 1).map_or(0, |next| pause_ms(&sources[index], next));
        let same = known.iter().position(|known| *known == request);
        let place = same.unwrap_or_else(|| {
            let plain = request.path.split('?').next().unwrap_or_default();
            let name = names.request(&format!("{} {}", request.method, plain.replace("${", "{")));
            draft.requests.push(Request { name, ..request.clone() });
            known.push(request);
            known.len() - 1
        });
        steps.push(Step { request: place, think_time_ms });
    }
    draft.steps = steps;
}

/// Between the end of one and the beginning of the next.
fn pause_ms(one: &Kept<'_>, next: &Kept<'_>) -> u64 {
    let begin = |kept: &Kept<'_>| kept.entry.started_date_time.parse::<Timestamp>().ok();
    let (Some(from), Some(to)) = (begin(one), begin(next)) else { return 0 };
    let pause = to.as_millisecond() - from.as_millisecond() - one.entry.time.max(0.0) as i64;
    if pause < SHORTEST_PAUSE_MS { 0 } else { pause.min(LONGEST_PAUSE_MS).unsigned_abs() / 100 * 100 }
}

/// Takes the headers that all requests have out of them.
fn common_headers(requests: &mut [Request]) -> Vec<(String, String)> {
    let Some((first, rest)) = requests.split_first() else { return Vec::new() };
    // A plan's header is sent before anything was captured.
    let is_common = |header: &&(String, String)| {
        !header.1.contains("${") && rest.iter().all(|request| request.headers.contains(header))
    };
    if rest.is_empty() {
        return Vec::new();
    }
    let common: Vec<(String, String)> = first.headers.iter().filter(is_common).cloned().collect();
    for request in requests {
        request.headers.retain(|header| !common.contains(header));
    }
    common
}

fn secrets(requests: &[Request]) -> Option<String> {
    let names = credential_headers(requests);
    (!names.is_empty()).then(|| {
        format!(
            "Recorded credentials are in it ({}): they end, and who reads this file has them.",
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests;
