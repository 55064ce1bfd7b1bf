//! Lists of nodes and relationships: all, those of a type, and those whose property fits, `limit` of them behind `skip`;
//! by virtual shard, then by type and index, as `RageDB` has them. A list is made in slices, so that one that visits
//! millions holds up nobody; `stream` sends them.

use std::sync::Arc;

use prony_graph_store::{Condition, Read, Ref, SHARDS, Side, Test, Value};
use prony_source::http_api::{ApiResponse, Progress, query};

use super::stream::{self, Deadline, LongBody, SLICE_VISITS, TooLong, is_full};
use crate::{
    databases::{
        Database,
        settle::{self, Untold},
    },
    execute::view::BYTES_PER_VISIT,
    http_api::{
        access::{CallView, PropertyAccess, RoleAccess, with_view},
        error::CallError,
        json::begin_ok,
        property::{self, JsonProperty},
    },
};

const LIMIT_DEFAULT: usize = 100;
/// An index names no more: where it would, the slots are walked.
const NAMED_MAX: usize = 65_536;

/// Which part of a list is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) limit: usize,
    pub(super) skip: usize,
}

impl Page {
    pub(super) fn read(query: Option<&str>) -> Result<Self, CallError> {
        let read = |name, otherwise| {
            let Some(query) = query else { return Ok(otherwise) };
            let wrong = || CallError::BadRequest(format!("Invalid {name} parameter").into());
            match query::parameter(query, name).map_err(|_| wrong())?.as_deref() {
                None | Some("") => Ok(otherwise),
                Some(text) if !text.bytes().all(|byte| byte.is_ascii_digit()) => Err(wrong()),
                Some(text) => text.parse::<u64>().map(|number| number as usize).map_err(|_| wrong()),
            }
        };
        Ok(Self { limit: read("limit", LIMIT_DEFAULT)?, skip: read("skip", 0)? })
    }

    /// Within the most items that a list of a role may have.
    fn within(self, highest: Option<u32>, query: Option<&str>) -> Result<Self, CallError> {
        let Some(highest) = highest.filter(|highest| self.limit > *highest as usize) else { return Ok(self) };
        let is_given = query.is_some_and(|query| matches!(query::parameter(query, "limit"), Ok(Some(_))));
        if is_given {
            let text = format!("Invalid limit parameter: the highest of your role is {highest}");
            return Err(CallError::BadRequest(text.into()));
        }
        Ok(Self { limit: highest as usize, ..self })
    }
}

/// Responds to a GET of a list.
pub(super) fn all(
    database: &Arc<Database>,
    view: &CallView<'_>,
    side: Side,
    of: Option<&str>,
    query: Option<&str>,
    response: &mut ApiResponse,
) -> Result<Progress, CallError> {
    let page = Page::read(query)?;
    let number = of.map(|name| view.type_number(side, name));
    if number == Some(None) {
        begin_ok(response).extend_from_slice(b"[]");
        return Ok(Progress::Done);
    }
    let page = page.within(view.limit(side, of), query)?;
    Ok(List::new(database, view.role(), side, number.flatten(), page).begin(view, response))
}

/// What is to be found: type, property and operation as the path has them.
#[derive(Debug, Clone, Copy)]
pub(in crate::http_api) struct FindRequest<'a> {
    pub(in crate::http_api) side: Side,
    pub(in crate::http_api) of: &'a str,
    pub(in crate::http_api) property: &'a str,
    pub(in crate::http_api) operation: &'a str,
}

/// Responds to a POST of a find, whose body is the value that is compared with.
pub(in crate::http_api) fn find(
    (database, read): (&Arc<Database>, &Read),
    role: Option<&RoleAccess>,
    find: FindRequest<'_>,
    body: &[u8],
    query: Option<&str>,
    response: &mut ApiResponse,
) -> Result<Progress, CallError> {
    let Some((test, not)) = Test::parse(find.operation) else {
        return Err(CallError::BadRequest("Invalid operation parameter".into()));
    };
    let value = match property::value(body) {
        // It asks for no value, whatever the body is.
        _ if test == Test::IsNull => None,
        Some(JsonProperty::Value(value)) => Some(value.into_owned()),
        // What has no such property equals it, and nothing is more or less than it.
        Some(JsonProperty::Null) => None,
        _ => return Err(CallError::BadRequest("Invalid JSON".into())),
    };
    let page = Page::read(query)?;
    with_view(read, role, |view| {
        let Some(number) = view.type_number(find.side, find.of) else {
            begin_ok(response).extend_from_slice(b"[]");
            return Ok(Progress::Done);
        };
        let page = page.within(view.limit(find.side, Some(find.of)), query)?;
        // As a value of the property would have been taken, which may be another number than was written.
        let of = read.schema().side(find.side).get(number);
        let declared = of.and_then(|of| of.properties.get(find.property));
        let value = value.map(|value| match declared {
            Some(declared) if declared.kind != value.kind() => {
                value.clone().fit(declared.kind).unwrap_or(value)
            }
            _ => value,
        });
        let is_absent = role.is_some_and(|role| {
            role.comparison(find.side, find.of, find.property) != PropertyAccess::Allowed
        });
        let condition = OwnedCondition { property: find.property.to_owned(), is_absent, test, not, value };
        let named = (!is_absent)
            .then(|| read.few_candidates(find.side, number, &[condition.borrowed()], SLICE_VISITS))
            .flatten();
        let mut list = List::new(database, role, find.side, Some(number), page);
        list.condition = Some(Arc::new(condition));
        list.naming = (named.is_none() && !is_absent).then_some(number);
        list.named = named.map(NamedSlots::new);
        Ok(list.begin(view, response))
    })
}

/// A condition that outlives its request.
#[derive(Debug)]
struct OwnedCondition {
    property: String,
    /// Whether the property is as one that nothing has.
    is_absent: bool,
    test: Test,
    not: bool,
    value: Option<Value<'static>>,
}

impl OwnedCondition {
    fn borrowed(&self) -> Condition<'_> {
        Condition { property: &self.property, test: self.test, not: self.not, value: self.value.clone() }
    }
}

/// What an index names, and how much of it is written. Cheap to clone.
#[derive(Debug, Clone)]
struct NamedSlots {
    slots: Arc<[Ref]>,
    written: usize,
}

impl NamedSlots {
    fn new(slots: Vec<Ref>) -> Self {
        Self { slots: slots.into(), written: 0 }
    }

    fn take_next(&mut self) -> Option<Ref> {
        let next = self.slots.get(self.written).copied();
        self.written += usize::from(next.is_some());
        next
    }
}

/// A list that is being written. Cheap to clone: a slice is written by a clone, which counts once what it has seen does.
#[derive(Debug, Clone)]
pub(super) struct List {
    database: Arc<Database>,
    /// Of whom the list is, where that is not somebody who may see everything.
    role: Option<RoleAccess>,
    side: Side,
    /// Of one type, or of all.
    number: Option<u16>,
    condition: Option<Arc<OwnedCondition>>,
    /// The type of which an index is to be asked beside the core, where it names more than are looked at in one go.
    naming: Option<u16>,
    /// What is left of what an index names; with none, slots are walked from `next` on.
    named: Option<NamedSlots>,
    next: Ref,
    left: Page,
    /// Of texts and lists that the condition was held against, since they were counted last.
    searched_bytes: usize,
    is_opened: bool,
    has_members: bool,
}

impl LongBody for List {
    async fn write_slice(
        &mut self,
        out: &mut Vec<u8>,
        untold: &mut Untold,
        deadline: Deadline,
    ) -> Result<bool, TooLong> {
        if let Some(naming) = self.naming.take() {
            self.named = self.few_named(naming, untold, deadline).await?;
        }
        let begin = out.len();
        let ((next, has_more), fence) = settle::look(&self.database, |read| {
            out.truncate(begin);
            let mut next = self.clone();
            let has_more = with_view(read, self.role.as_ref(), |view| next.write_found(view, out));
            (next, has_more)
        });
        untold.add(fence);
        *self = next;
        Ok(has_more)
    }

    fn database(&self) -> Option<&Arc<Database>> {
        Some(&self.database)
    }

    fn has_content(&self) -> bool {
        self.has_members
    }
}

impl List {
    fn new(
        database: &Arc<Database>,
        role: Option<&RoleAccess>,
        side: Side,
        number: Option<u16>,
        page: Page,
    ) -> Self {
        Self {
            database: Arc::clone(database),
            role: role.cloned(),
            side,
            number,
            condition: None,
            naming: None,
            named: None,
            next: Ref::new(0, 0, 0),
            left: page,
            searched_bytes: 0,
            is_opened: false,
            has_members: false,
        }
    }

    /// Writes the first slice, which is all of most lists.
    fn begin(mut self, view: &CallView<'_>, response: &mut ApiResponse) -> Progress {
        let has_more = self.write_found(view, begin_ok(response));
        let limit = self.database.time_limit;
        if has_more { stream::go_on(self, response, limit) } else { Progress::Done }
    }

    /// What an index names of those that are not written yet; none where it names too many, or there is none.
    async fn few_named(
        &self,
        number: u16,
        untold: &mut Untold,
        deadline: Deadline,
    ) -> Result<Option<NamedSlots>, TooLong> {
        let Some(condition) = self.condition.clone() else { return Ok(None) };
        let (database, side) = (Arc::clone(&self.database), self.side);
        let naming = tokio::task::spawn_blocking(move || {
            let name = |read: &Read| read.few_candidates(side, number, &[condition.borrowed()], NAMED_MAX);
            settle::look_for_long(&database, name, || deadline.check().is_ok())
        });
        // Where it is not known what it names, the slots are walked.
        let Ok(Ok((named, fence))) = deadline.within(naming).await? else { return Ok(None) };
        untold.add(fence);
        let place = |at: &Ref| (at.shard(), at.index());
        Ok(named.map(|mut named| {
            named.drain(..named.partition_point(|at| place(at) < place(&self.next)));
            NamedSlots::new(named)
        }))
    }

    /// Writes what one slice finds; true where there may be more.
    fn write_found(&mut self, view: &CallView<'_>, out: &mut Vec<u8>) -> bool {
        if !std::mem::replace(&mut self.is_opened, true) {
            out.push(b'[');
        }
        let has_more = self.left.limit > 0 && self.write_members(view, out);
        if !has_more {
            out.push(b']');
        }
        has_more
    }

    fn write_members(&mut self, view: &CallView<'_>, out: &mut Vec<u8>) -> bool {
        let owned = self.condition.clone();
        let condition = owned.as_deref().map(|condition| (condition.borrowed(), condition.is_absent));
        let mut visits = 0;
        if let Some(mut named) = self.named.take() {
            while visits < SLICE_VISITS && !is_full(out) {
                let Some(at) = named.take_next() else { return false };
                if !self.write_one(view, at, condition.as_ref(), out) {
                    return false;
                }
                visits += 1 + self.take_searched_visits(view);
            }
            self.named = Some(named);
            return true;
        }
        for shard in self.next.shard()..SHARDS as u8 {
            for number in self.numbers(view, shard) {
                let is_here = (shard, number) == (self.next.shard(), self.next.type_number());
                let from = if is_here { self.next.index() } else { 0 };
                for at in view.read.slots_from(self.side, number, shard, from) {
                    if visits >= SLICE_VISITS || is_full(out) {
                        self.next = at;
                        return true;
                    }
                    if !self.write_one(view, at, condition.as_ref(), out) {
                        return false;
                    }
                    visits += 1 + self.take_searched_visits(view);
                }
            }
        }
        false
    }

    /// Visits that are worth what was compared since this was asked last.
    fn take_searched_visits(&mut self, view: &CallView<'_>) -> usize {
        view.take_searched_visits() + std::mem::take(&mut self.searched_bytes) / BYTES_PER_VISIT
    }

    /// Types whose slots on a shard are not all walked yet.
    fn numbers(&self, view: &CallView<'_>, shard: u8) -> Vec<u16> {
        let first = if shard == self.next.shard() { self.next.type_number() } else { 0 };
        let numbers = view.read.schema().side(self.side).all().map(|(number, _)| number);
        numbers.filter(|number| *number >= first && self.number.is_none_or(|only| only == *number)).collect()
    }

    /// Writes what is there and fits; false where it was the last.
    fn write_one(
        &mut self,
        view: &CallView<'_>,
        at: Ref,
        condition: Option<&(Condition<'_>, bool)>,
        out: &mut Vec<u8>,
    ) -> bool {
        let (node, relationship) = match self.side {
            Side::Nodes => (view.read.node(at), None),
            Side::Relationships => (None, view.read.relationship(at)),
        };
        let property = |name: &str| match (&node, &relationship) {
            (Some(node), _) => node.property(name),
            (_, Some(relationship)) => relationship.property(name),
            _ => None,
        };
        let searched_bytes = &mut self.searched_bytes;
        let mut fits = |(condition, is_absent): &(Condition<'_>, bool)| {
            let value = if *is_absent { None } else { property(condition.property) };
            let cost = value.as_ref().map_or(0, |value| condition.cost(value));
            *searched_bytes = searched_bytes.saturating_add(cost);
            condition.holds(value.as_ref())
        };
        let is_there = match (&node, &relationship) {
            (Some(node), _) => condition.is_none_or(&mut fits) && view.shows_node(node),
            (_, Some(link)) => condition.is_none_or(&mut fits) && view.shows_relationship(link),
            _ => false,
        };
        if !is_there {
            return true;
        }
        if self.left.skip > 0 {
            self.left.skip -= 1;
            return true;
        }
        if std::mem::replace(&mut self.has_members, true) {
            out.extend_from_slice(b", ");
        }
        if let Some(node) = &node {
            view.write_node(out, node);
        } else if let Some(relationship) = &relationship {
            view.write_relationship(out, relationship);
        }
        self.left.limit -= 1;
        self.left.limit > 0
    }
}
