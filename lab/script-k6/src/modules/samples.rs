//! What natives do with the samples and tags of the user that runs, groups foremost.

use crate::host::Host;
use prony_metrics::{Recorder, SystemTag, Tags};
use prony_model::units::Nanos;

/// A user's open groups, kept in [`crate::host::UserState::data`].
#[derive(Debug, Default)]
struct Groups(Vec<OpenGroup>);

#[derive(Debug)]
struct OpenGroup {
    /// The path outside of it.
    outer: String,
    began: Nanos,
}

/// Does something with the thread's recorder and the tags of the user that runs.
pub(crate) fn record<R>(host: &Host, work: impl FnOnce(&mut Recorder, Tags) -> R) -> R {
    let tags = host.user().tags;
    work(&mut host.recorder(), tags)
}

/// Sets one tag of the user that runs, or removes it.
pub(super) fn set_tag(host: &Host, name: &str, value: Option<&str>) {
    let set = record(host, |recorder, tags| match value {
        Some(value) => recorder.sets().with(tags.set, name, value),
        None => recorder.sets().without(tags.set, name),
    });
    host.user().tags.set = set;
}

/// Sets one entry of the metadata of the user that runs, or removes it.
pub(super) fn set_metadata(host: &Host, name: &str, value: Option<String>) {
    {
        let metadata = &mut host.user().metadata;
        match value {
            Some(value) => metadata.insert(name.to_owned(), value),
            None => metadata.remove(name),
        };
    }
    host.set_metadata();
}

/// The groups that an iteration left open when it was cut are closed without a sample.
pub(super) fn begin_iteration(host: &Host) {
    let groups = std::mem::take(host.user().data.get::<Groups>());
    if let Some(outermost) = groups.0.into_iter().next() {
        set_group(host, outermost.outer);
    }
}

pub(super) fn enter_group(host: &Host, name: &str) {
    let began = host.now();
    let outer = record(host, |recorder, tags| {
        recorder.sets().get(tags.set).get(SystemTag::Group.as_str()).unwrap_or_default().to_owned()
    });
    let path = format!("{outer}::{name}");
    host.user().data.get::<Groups>().0.push(OpenGroup { outer, began });
    set_group(host, path);
}

/// Records how long the innermost group took, with the tags within it.
pub(super) fn leave_group(host: &Host) {
    let group = host.user().data.get::<Groups>().0.pop();
    let Some(OpenGroup { outer, began }) = group else { return };
    let now = host.now();
    record(host, |recorder, tags| recorder.record_group(tags, now, now.since(began)));
    set_group(host, outer);
}

fn set_group(host: &Host, path: String) {
    let set = record(host, |recorder, tags| recorder.sets().with_system(tags.set, SystemTag::Group, &path));
    let mut user = host.user();
    user.tags.set = set;
    user.group = path;
}
