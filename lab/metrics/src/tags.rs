//! Tag sets, each kept once a thread under a small number, which also knows the submetrics that it belongs to.
//!
//! A set that a user holds on to is made with [`TagSets::with`] and stays. A set of one request or check is made with
//! [`TagSets::derive`] and may be forgotten at the next hand-over, so that URLs that never repeat take no memory for
//! long.

use crate::metric::MetricId;
use crate::registry::Registry;
use crate::system_tag::{SystemTag, SystemTags};
use crate::tag_set::TagSet;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// With more derived sets than this a thread forgets them at the next hand-over. Each takes about half a kilobyte.
pub(crate) const DERIVED_SETS_MAX: usize = 20_000;

/// A tag set of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TagSetId(pub u32);

/// What a user wrote beside the tags into every sample (`iter`, `vu`, `exec.vu.metrics.metadata`): one slot a user,
/// whose content [`crate::Recorder::set_metadata`] replaces. Outputs see it, thresholds do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MetadataId(pub u32);

impl MetadataId {
    /// The slot that stays empty.
    pub const NONE: Self = Self(0);
}

/// With what a sample is recorded: small enough to be passed by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tags {
    pub set: TagSetId,
    pub metadata: MetadataId,
}

/// What the tool knows of a request; which of it becomes a tag is decided by option `systemTags`.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestTags<'a> {
    pub method: &'a str,
    /// Without user name and password. Also the name, unless the user's tags have one, which then is the `url` too.
    pub url: &'a str,
    /// 0 where there was no answer.
    pub status: u16,
    /// `HTTP/1.1`; only where there was an answer.
    pub proto: Option<&'a str>,
    /// `tls1.3`
    pub tls_version: Option<&'a str>,
    pub ocsp_status: Option<&'a str>,
    /// The address without port.
    pub ip: Option<&'a str>,
    pub error: Option<&'a str>,
    pub error_code: Option<u32>,
    /// What the response callback said; nothing without one, and then `http_req_failed` is not recorded either.
    pub is_expected: Option<bool>,
}

/// The tag sets of one thread.
#[derive(Debug)]
pub struct TagSets {
    system: SystemTags,
    /// Parent, submetric and its tags.
    parts: Vec<(MetricId, MetricId, Arc<TagSet>)>,
    slots: Vec<Slot>,
    free: Vec<TagSetId>,
    derivations: HashTable<Derivation>,
    removals: HashMap<(TagSetId, String), TagSetId>,
    derived_count: usize,
    /// Made since they were last taken.
    fresh: Vec<TagSetId>,
}

#[derive(Debug)]
struct Slot {
    set: Arc<TagSet>,
    /// Parent and submetric, for each submetric that samples with this set belong to.
    parts: Box<[(MetricId, MetricId)]>,
    is_kept: bool,
    /// Where its check is counted; filled by the recorder.
    check: Option<u32>,
    is_group_known: bool,
}

#[derive(Debug)]
struct Derivation {
    hash: u64,
    base: TagSetId,
    added: Box<[(Box<str>, Box<str>)]>,
    result: TagSetId,
}

impl Derivation {
    fn is(&self, base: TagSetId, added: &[(&str, &str)]) -> bool {
        let mut pairs = self.added.iter().zip(added);
        let is_same =
            |own: &(Box<str>, Box<str>), other: &(&str, &str)| *own.0 == *other.0 && *own.1 == *other.1;
        self.base == base && self.added.len() == added.len() && pairs.all(|(own, other)| is_same(own, other))
    }
}

impl TagSets {
    /// The set with nothing but the run's tags.
    pub const ROOT: TagSetId = TagSetId(0);

    /// `registry` must have all submetrics already: a set learns of them once, when it is made.
    pub fn new<'a>(
        registry: &Registry,
        system: SystemTags,
        run_tags: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let parts = registry.definitions().into_iter().enumerate().filter_map(|(index, definition)| {
            definition.part_of.map(|part| (part.parent, MetricId(index as u32), part.tags))
        });
        let mut sets = Self {
            system,
            parts: parts.collect(),
            slots: Vec::new(),
            free: Vec::new(),
            derivations: HashTable::new(),
            removals: HashMap::new(),
            derived_count: 0,
            fresh: Vec::new(),
        };
        sets.insert(TagSet::from_pairs(run_tags), true);
        sets
    }

    pub const fn system(&self) -> SystemTags {
        self.system
    }

    pub fn get(&self, id: TagSetId) -> &Arc<TagSet> {
        &self.slots[id.0 as usize].set
    }

    /// `base` with a tag more, or another value of it. The set stays as long as the thread.
    pub fn with(&mut self, base: TagSetId, name: &str, value: &str) -> TagSetId {
        let id = self.derive(base, &[(name, value)]);
        let slot = &mut self.slots[id.0 as usize];
        if !slot.is_kept {
            slot.is_kept = true;
            self.derived_count -= 1;
        }
        id
    }

    /// As [`Self::with`], where option `systemTags` has the tag; else `base` itself.
    pub fn with_system(&mut self, base: TagSetId, tag: SystemTag, value: &str) -> TagSetId {
        debug_assert!(!tag.is_metadata(), "{tag:?} belongs to the metadata");
        if self.system.has(tag) { self.with(base, tag.as_str(), value) } else { base }
    }

    /// `base`, a set that stays, less one tag. The set stays as long as the thread.
    pub fn without(&mut self, base: TagSetId, name: &str) -> TagSetId {
        if self.get(base).get(name).is_none() {
            return base;
        }
        if let Some(known) = self.removals.get(&(base, name.to_owned())) {
            return *known;
        }
        let rest = self.get(base).without(name);
        let result = self.insert(rest, true);
        self.removals.insert((base, name.to_owned()), result);
        result
    }

    /// `base` with some tags more. Good until the next hand-over.
    pub fn derive(&mut self, base: TagSetId, added: &[(&str, &str)]) -> TagSetId {
        if added.is_empty() {
            return base;
        }
        let hash = hash_of(base, added);
        if let Some(known) = self.derivations.find(hash, |entry| entry.is(base, added)) {
            return known.result;
        }
        let set = self.get(base).changed(added);
        let result = self.insert(set, false);
        let added = added.iter().map(|&(name, value)| (name.into(), value.into())).collect();
        let entry = Derivation { hash, base, added, result };
        self.derivations.insert_unique(hash, entry, |entry| entry.hash);
        result
    }

    /// The tags of a request. Good until the next hand-over.
    pub fn request(&mut self, base: TagSetId, request: &RequestTags<'_>) -> TagSetId {
        let base_set = Arc::clone(self.get(base));
        let (mut status, mut code) = (itoa::Buffer::new(), itoa::Buffer::new());
        let given_name = base_set.get(SystemTag::Name.as_str());
        let name = given_name.is_none().then_some(request.url);
        let candidates = [
            (SystemTag::Name, name),
            (SystemTag::Url, Some(given_name.unwrap_or(request.url))),
            (SystemTag::Method, Some(request.method)),
            (SystemTag::Status, Some(status.format(request.status))),
            (SystemTag::Proto, request.proto),
            (SystemTag::TlsVersion, request.tls_version),
            (SystemTag::OcspStatus, request.ocsp_status),
            (SystemTag::Ip, request.ip),
            (SystemTag::Error, request.error),
            (SystemTag::ErrorCode, request.error_code.map(|number| code.format(number))),
            (SystemTag::ExpectedResponse, request.is_expected.map(|yes| if yes { "true" } else { "false" })),
        ];
        let mut added = [("", ""); 11];
        let mut count = 0;
        for (tag, value) in candidates {
            if let Some(value) = value.filter(|_| self.system.has(tag)) {
                added[count] = (tag.as_str(), value);
                count += 1;
            }
        }
        self.derive(base, &added[..count])
    }

    /// The submetrics of `metric` that samples with this set belong to.
    pub(super) fn parts_of(&self, set: TagSetId, metric: MetricId) -> impl Iterator<Item = MetricId> {
        let parts = self.slots[set.0 as usize].parts.iter();
        parts.filter(move |(parent, _)| *parent == metric).map(|&(_, part)| part)
    }

    pub(super) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    pub(super) fn check_slot(&mut self, set: TagSetId) -> &mut Option<u32> {
        &mut self.slots[set.0 as usize].check
    }

    /// True the first time it is asked of a set.
    pub(super) fn is_group_new(&mut self, set: TagSetId) -> bool {
        !std::mem::replace(&mut self.slots[set.0 as usize].is_group_known, true)
    }

    /// Sets that were made since this was last asked, into `taken`.
    pub(super) fn take_fresh(&mut self, taken: &mut Vec<(TagSetId, Arc<TagSet>)>) {
        let slots = &self.slots;
        taken.extend(self.fresh.drain(..).map(|id| (id, Arc::clone(&slots[id.0 as usize].set))));
    }

    pub(super) fn fresh_count(&self) -> u64 {
        self.fresh.len() as u64
    }

    pub(super) fn forget_fresh(&mut self) {
        self.fresh.clear();
    }

    /// Forgets the derived sets where there are many.
    pub(super) fn forget_many(&mut self) {
        if self.derived_count <= DERIVED_SETS_MAX {
            return;
        }
        let slots = &self.slots;
        let is_kept = |id: TagSetId| slots[id.0 as usize].is_kept;
        let mut freed = Vec::new();
        self.derivations.retain(|entry| {
            if !is_kept(entry.result) {
                freed.push(entry.result);
            }
            is_kept(entry.result) && is_kept(entry.base)
        });
        self.free.append(&mut freed);
        self.derived_count = 0;
    }

    fn insert(&mut self, set: TagSet, is_kept: bool) -> TagSetId {
        let belongs = self.parts.iter().filter(|(_, _, tags)| set.contains(tags));
        let parts = belongs.map(|&(parent, part, _)| (parent, part)).collect();
        let slot = Slot { set: Arc::new(set), parts, is_kept, check: None, is_group_known: false };
        self.derived_count += usize::from(!is_kept);
        let id = if let Some(id) = self.free.pop() {
            self.slots[id.0 as usize] = slot;
            id
        } else {
            self.slots.push(slot);
            TagSetId(u32::try_from(self.slots.len() - 1).expect("forgetting keeps the number of sets low"))
        };
        self.fresh.push(id);
        id
    }
}

fn hash_of(base: TagSetId, added: &[(&str, &str)]) -> u64 {
    let mut hasher = FxHasher::default();
    base.hash(&mut hasher);
    added.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    fn text(sets: &TagSets, id: TagSetId) -> String {
        let pairs: Vec<String> = sets.get(id).iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join(" ")
    }

    fn sets(system: SystemTags, run_tags: &[(&str, &str)]) -> TagSets {
        TagSets::new(&Registry::new(), system, run_tags.iter().copied())
    }

    #[test]
    fn a_set_is_made_once_whatever_the_way() {
        let mut sets = sets(SystemTags::default(), &[("team", "a")]);
        let scenario = sets.with_system(TagSets::ROOT, SystemTag::Scenario, "default");
        assert_eq!(text(&sets, scenario), "scenario=default team=a");
        assert_eq!(sets.with(TagSets::ROOT, "scenario", "default"), scenario);
        let changed = sets.with(scenario, "team", "b");
        assert_eq!(text(&sets, changed), "scenario=default team=b");
        let less = sets.without(changed, "team");
        assert_eq!(text(&sets, less), "scenario=default");
        assert_eq!(sets.without(changed, "team"), less);
        assert_eq!(sets.without(less, "team"), less);
    }

    #[test]
    fn the_name_of_a_request_is_its_url_unless_the_user_gave_one() {
        let check = |base_tags: &[(&str, &str)], request: RequestTags<'_>, expected: &str| {
            let mut sets = sets(SystemTags::default(), &[]);
            let base = sets.derive(TagSets::ROOT, base_tags);
            let id = sets.request(base, &request);
            assert_eq!(text(&sets, id), expected);
            assert_eq!(sets.request(base, &request), id);
        };
        let answered = RequestTags {
            method: "GET",
            url: "http://a/1",
            status: 200,
            proto: Some("HTTP/1.1"),
            is_expected: Some(true),
            ..RequestTags::default()
        };
        check(
            &[("group", "")],
            answered,
            "expected_response=true group= method=GET name=http://a/1 proto=HTTP/1.1 status=200 url=http://a/1",
        );
        let failed = RequestTags {
            method: "GET",
            url: "http://a/1",
            error: Some("dial: connection refused"),
            error_code: Some(1212),
            ip: Some("127.0.0.1"),
            ..RequestTags::default()
        };
        check(
            &[("name", "item")],
            failed,
            "error=dial: connection refused error_code=1212 method=GET name=item status=0 url=item",
        );
    }

    #[test]
    fn a_set_knows_the_submetrics_it_belongs_to() {
        let registry = Registry::new();
        let ok = TagSet::from_pairs([("status", "200")]);
        let both = TagSet::from_pairs([("status", "200"), ("team", "a")]);
        let by_status = registry.define_part(builtin::HTTP_REQS, "status:200", ok);
        let by_both = registry.define_part(builtin::HTTP_REQS, "status:200,team:a", both);
        let mut sets = TagSets::new(&registry, SystemTags::default(), []);
        let mut check = |tags: &[(&str, &str)], expected: &[MetricId]| {
            let id = sets.derive(TagSets::ROOT, tags);
            assert_eq!(sets.parts_of(id, builtin::HTTP_REQS).collect::<Vec<_>>(), expected, "{tags:?}");
            assert_eq!(sets.parts_of(id, builtin::CHECKS).count(), 0);
        };
        check(&[("status", "200")], &[by_status]);
        check(&[("team", "a"), ("status", "200")], &[by_status, by_both]);
        check(&[("status", "404"), ("team", "a")], &[]);
    }

    #[test]
    fn derived_sets_are_forgotten_when_there_are_many_and_kept_ones_are_not() {
        let mut sets = sets(SystemTags::default(), &[]);
        let kept = sets.with(TagSets::ROOT, "scenario", "kept");
        for number in 0..=DERIVED_SETS_MAX {
            sets.derive(kept, &[("url", &number.to_string())]);
        }
        let before = sets.slots.len();
        sets.forget_many();
        assert_eq!(sets.with(TagSets::ROOT, "scenario", "kept"), kept);
        for number in 0..=DERIVED_SETS_MAX {
            let id = sets.derive(kept, &[("url", &number.to_string())]);
            assert_eq!(sets.get(id).get("url"), Some(&*number.to_string()));
        }
        assert_eq!(sets.slots.len(), before);
    }
}
