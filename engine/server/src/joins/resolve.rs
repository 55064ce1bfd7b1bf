//! Fetches what joined fields join, for all parents of a level at once, and puts it where it belongs.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    rc::Rc,
};

use futures_util::future::{LocalBoxFuture, join_all};
use prony_graphql::{
    budget::ResponseMeter,
    error::{ErrorCode, GraphqlError, PathSegment},
    response::FieldResult,
    schema::SourceId,
    selection::Field,
    variables::Variables,
};
use prony_source::PreparedField;
use serde::de::Error as _;
use serde_json::{Value as Json, value::RawValue};

use super::{
    failures::{Concern, JoinFailure, placed, show_joined},
    keys::KeyText,
    plan::{ItemLimit, JoinNode, JoinStep},
    tree::Tree,
};

/// The root fields of all sources.
pub(crate) trait RootFields {
    fn root_field<'a>(
        &'a self,
        source: SourceId,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, FieldResult>;
}

/// Completes the result of a root field.
pub(crate) async fn resolve(
    sources: &impl RootFields,
    field: &Field,
    node: &JoinNode,
    variables: &Variables,
    result: &mut FieldResult,
) {
    for error in &mut result.errors {
        if let Some((_, below)) = error.path.split_first_mut() {
            show_joined(below, node);
        }
    }
    let Some(data) = result.data.take() else { return };
    let tree = serde_json::from_slice::<&RawValue>(&data).and_then(|text| Tree::of(text, node));
    let Ok(mut tree) = tree else {
        let error =
            GraphqlError::new(ErrorCode::SourceFailed, "what is joined to this field cannot be found");
        *result = FieldResult::failed(error.of_field(&field.response_key, field.position));
        return;
    };
    let mut errors = Vec::new();
    complete(sources, node, variables, &mut tree, &mut errors).await;
    if let Err(error) = find_room(&tree, data.len(), variables) {
        *result = FieldResult::failed(error.of_field(&field.response_key, field.position));
        return;
    }
    result.errors.extend(errors.into_iter().map(|error| error.of_field(&field.response_key, field.position)));
    let mut completed = Vec::with_capacity(data.len());
    tree.write(&mut completed);
    result.data = Some(completed);
}

/// Completes a value, which is of an object or a list of objects, with all that is joined at any depth of it. Paths of errors begin
/// below the value.
fn complete<'a, S: RootFields>(
    sources: &'a S,
    node: &'a JoinNode,
    variables: &'a Variables,
    tree: &'a mut Tree<'_>,
    errors: &'a mut Vec<GraphqlError>,
) -> LocalBoxFuture<'a, ()> {
    Box::pin(async move {
        let mut steps = Vec::new();
        collect_steps(node, &mut steps);
        let fetched = join_all(steps.iter().map(|step| {
            let mut keys = Keys::default();
            gather(tree, node, step, &mut keys);
            async move { fetch(sources, step, variables, keys).await }
        }));
        let mut found: HashMap<*const JoinStep, Found> = HashMap::new();
        for (step, (items, failures)) in steps.iter().zip(fetched.await) {
            errors.extend(placed(failures, step, tree, node));
            found.insert(std::ptr::from_ref(*step), items);
        }
        put(tree, node, &found);
    })
}

/// Charges what joins have added to the bytes that came: a value that is joined to many parents is written once for each.
fn find_room(tree: &Tree<'_>, came_bytes: usize, variables: &Variables) -> Result<(), GraphqlError> {
    let added_bytes = tree.written_bytes().saturating_sub(came_bytes);
    Ok(ResponseMeter::new(usize::MAX, variables.budget()).check(added_bytes)?)
}

/// What was found, by key.
#[derive(Default)]
struct Found {
    /// As JSON, which all parents with a key share: a list where many are wanted, otherwise the first.
    values: HashMap<String, Rc<[u8]>>,
    /// Keys of which it is not known whether there is something.
    unknown: HashSet<String>,
}

impl Found {
    /// Takes note of what has come, each with its key.
    fn add(&mut self, items: Vec<(String, Tree<'_>)>, many: bool) {
        let mut written: HashMap<String, Vec<u8>> = HashMap::new();
        for (key, item) in items {
            let text = written.entry(key).or_default();
            if many {
                text.push(if text.is_empty() { b'[' } else { b',' });
            } else if !text.is_empty() {
                continue;
            }
            item.write(text);
        }
        self.values.extend(written.into_iter().map(|(key, mut text)| {
            text.extend(many.then_some(b']'));
            (key, Rc::from(text))
        }));
    }

    /// What a field joins whose parent has this key.
    fn joined(&self, key: Option<&str>, many: bool) -> Rc<[u8]> {
        match key.and_then(|key| self.values.get(key)) {
            Some(value) => Rc::clone(value),
            None if many && !key.is_some_and(|key| self.unknown.contains(key)) => NOTHING.into(),
            None => NULL.into(),
        }
    }
}

const NULL: &[u8] = b"null";
const NOTHING: &[u8] = b"[]";

/// Keys in the order in which they were met, each once: as they are compared, and as they are given.
#[derive(Default)]
struct Keys {
    known: HashSet<String>,
    texts: Vec<String>,
    values: Vec<Json>,
}

impl Keys {
    fn add(&mut self, key: KeyText, step: &JoinStep) {
        let value = step.keys.value(&key);
        let text = step.comparison.normal(key);
        if self.known.insert(text.clone())
            && let Some(value) = value
        {
            self.texts.push(text);
            self.values.push(value);
        }
    }
}

fn collect_steps<'n>(node: &'n JoinNode, steps: &mut Vec<&'n JoinStep>) {
    steps.extend(&node.steps);
    node.below.iter().for_each(|(_, below)| collect_steps(below, steps));
}

fn gather(tree: &Tree<'_>, node: &JoinNode, step: &JoinStep, keys: &mut Keys) {
    match tree {
        Tree::List(items) => items.iter().for_each(|item| gather(item, node, step, keys)),
        Tree::Object(_) => {
            if node.steps.iter().any(|known| std::ptr::eq(known, step))
                && let Some(key) = tree.member(&step.key).and_then(Tree::key)
            {
                keys.add(key, step);
            }
            for (name, below) in &node.below {
                if let Some(value) = tree.member(name) {
                    gather(value, below, step, keys);
                }
            }
        }
        Tree::Text(_) | Tree::Joined(_) => {}
    }
}

async fn fetch(
    sources: &impl RootFields,
    step: &JoinStep,
    variables: &Variables,
    keys: Keys,
) -> (Found, Vec<JoinFailure>) {
    let results = join_all(keys.values.chunks(step.batch).map(|keys| {
        let variables = variables.with_another(Json::Array(keys.to_vec()));
        async move { sources.root_field(step.source, &step.root, &variables).await }
    }));
    let results = results.await;
    let (mut received, mut found) = (Received::default(), Found::default());
    for (result, keys) in results.iter().zip(keys.texts.chunks(step.batch)) {
        if !received.add(step, keys, result) {
            found.unknown.extend(keys.iter().cloned());
        }
    }
    let Received { items, mut errors, mut failures } = received;
    // The keys are needed until what is joined is in its place.
    let matched: Vec<_> = items.iter().map(|item| item.matched_key(step)).collect();
    let mut items = Tree::List(items);
    complete(sources, &step.node, variables, &mut items, &mut errors).await;
    let came_bytes: usize = results.iter().filter_map(|result| result.data.as_ref()).map(Vec::len).sum();
    if let Err(error) = find_room(&items, came_bytes, variables) {
        found.unknown.extend(keys.texts.iter().cloned());
        let concerns = Concern::Keys(keys.texts);
        return (found, vec![JoinFailure { error: of_join(error, step), concerns }]);
    }
    let numbers = if errors.is_empty() { Vec::new() } else { repetitions(&matched) };
    failures.extend(errors.into_iter().filter_map(|error| of_item(error, &matched, &numbers, step)));
    if let Tree::List(items) = items {
        let with_keys = matched.into_iter().zip(items).filter_map(|(key, item)| Some((key?, item)));
        found.add(with_keys.collect(), step.many);
    }
    (found, failures)
}

/// What the requests of a step have brought.
#[derive(Default)]
struct Received<'b> {
    items: Vec<Tree<'b>>,
    /// Of items: their paths begin with the index of one.
    errors: Vec<GraphqlError>,
    /// Of no item.
    failures: Vec<JoinFailure>,
}

impl<'b> Received<'b> {
    /// Whether it is known of each key that was asked for what there is.
    fn add(&mut self, step: &JoinStep, keys: &[String], result: &'b FieldResult) -> bool {
        let mut faults = Vec::new();
        let came = result.data.as_deref().map_or(Ok(Vec::new()), |data| items_of(data, step));
        let mut came = came.unwrap_or_else(|error| {
            let fault = GraphqlError::new(ErrorCode::SourceFailed, "what is joined cannot be read");
            faults.push(fault.with_detail(error.to_string()));
            Vec::new()
        });
        if let Some(fault) = shortened(step, keys, &came) {
            faults.push(fault);
            if step.many {
                // Nobody knows whose list is whole.
                came.clear();
            }
        }
        for error in &result.errors {
            let mut error = of_join(error.clone(), step);
            // The root field is not in the client's response.
            let mut path = std::mem::take(&mut error.path);
            let item = match path.get(1) {
                Some(&PathSegment::Index(index)) => {
                    came.get(index).and_then(|item| item.matched_key(step)).map(|_| index)
                }
                _ => None,
            };
            match item {
                Some(index) => {
                    let mut path = path.split_off(1);
                    show_joined(&mut path[1..], &step.node);
                    path[0] = PathSegment::Index(self.items.len() + index);
                    self.errors.push(error.with_path(path));
                }
                None => faults.push(error),
            }
        }
        let is_known = result.data.is_some() && result.errors.is_empty() && faults.is_empty();
        if !faults.is_empty() {
            let keys = without_items(step, keys, &came);
            self.failures.extend(
                faults.into_iter().map(|error| JoinFailure { error, concerns: Concern::Keys(keys.clone()) }),
            );
        }
        self.items.append(&mut came);
        is_known
    }
}

/// Keys for which nothing has come, or all where something has come for each.
fn without_items(step: &JoinStep, keys: &[String], came: &[Tree<'_>]) -> Vec<String> {
    let has_come: HashSet<String> = came.iter().filter_map(|item| item.matched_key(step)).collect();
    let without: Vec<String> = keys.iter().filter(|key| !has_come.contains(*key)).cloned().collect();
    if without.is_empty() { keys.to_vec() } else { without }
}

/// Of each key, how many before it are the same.
fn repetitions(keys: &[Option<String>]) -> Vec<usize> {
    let mut met: HashMap<&str, usize> = HashMap::new();
    let mut numbers = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(key) = key.as_deref() else {
            numbers.push(0);
            continue;
        };
        let count = met.entry(key).or_default();
        numbers.push(*count);
        *count += 1;
    }
    numbers
}

/// An error whose path begins with the index of an item; none where the item is not in the response.
fn of_item(
    mut error: GraphqlError,
    keys: &[Option<String>],
    numbers: &[usize],
    step: &JoinStep,
) -> Option<JoinFailure> {
    let mut path = std::mem::take(&mut error.path).into_iter();
    let Some(PathSegment::Index(index)) = path.next() else { return None };
    let key = keys.get(index)?.clone()?;
    let number = *numbers.get(index)?;
    if !step.many && number > 0 {
        return None;
    }
    Some(JoinFailure { error, concerns: Concern::Item { key, number, below: path.collect() } })
}

/// The log names the source of the parent, and the detail what is joined to it.
fn of_join(error: GraphqlError, step: &JoinStep) -> GraphqlError {
    let Some(detail) = &error.detail else { return error };
    let detail = format!("what is joined as `{}`: {detail}", step.response_key);
    error.with_detail(detail)
}

fn items_of<'b>(data: &'b [u8], step: &JoinStep) -> serde_json::Result<Vec<Tree<'b>>> {
    let text: &RawValue = serde_json::from_slice(data)?;
    match Tree::of(text, &step.node)? {
        Tree::List(items) => Ok(items),
        Tree::Text(text) if text.get() == "null" => Ok(Vec::new()),
        _ => Err(serde_json::Error::custom("it is no list")),
    }
}

/// What is wrong where an answer has as many items as it may have, so that others may be missing. Where each key finds one item and
/// all have found it, none is.
fn shortened(step: &JoinStep, keys: &[String], came: &[Tree<'_>]) -> Option<GraphqlError> {
    let limit = step.limit.as_ref().filter(|limit| came.len() >= limit.items)?;
    if !step.many {
        let has_come: HashSet<String> = came.iter().filter_map(|item| item.matched_key(step)).collect();
        if keys.iter().all(|key| has_come.contains(key)) {
            return None;
        }
    }
    let ItemLimit { items, of, join } = limit;
    let smaller = if keys.len() > 1 { ", or lower `batch` of the join" } else { "" };
    let message = format!(
        "what {join} joins may not be whole: {of} gave {items} items for {} keys, as many as its `limit`; \
         raise that{smaller}",
        keys.len()
    );
    Some(GraphqlError::new(ErrorCode::LimitExceeded, message))
}

fn put(tree: &mut Tree<'_>, node: &JoinNode, found: &HashMap<*const JoinStep, Found>) {
    match tree {
        Tree::List(items) => items.iter_mut().for_each(|item| put(item, node, found)),
        Tree::Object(members) => {
            for (name, below) in &node.below {
                if let Some((_, value)) = members.iter_mut().find(|(key, _)| *key == **name) {
                    put(value, below, found);
                }
            }
            let mut is_joined = false;
            for step in &node.steps {
                // Objects of other types have no key.
                let Some((_, key)) = members.iter().find(|(key, _)| *key == *step.key) else { continue };
                let Some(found) = found.get(&std::ptr::from_ref(step)) else { continue };
                let key = key.key().map(|key| step.comparison.normal(key));
                let joined = Tree::Joined(found.joined(key.as_deref(), step.many));
                members.push((Cow::Owned(step.response_key.to_string()), joined));
                is_joined = true;
            }
            members.retain(|(key, _)| !node.hidden.iter().any(|hidden| *key == **hidden));
            if is_joined {
                // Into the order in which they were asked for.
                let place = |key: &str| node.order.iter().position(|name| **name == *key);
                members.sort_by_key(|(key, _)| place(key).unwrap_or(usize::MAX));
            }
        }
        Tree::Text(_) | Tree::Joined(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_with_the_same_key_are_numbered() {
        let keys = ["a", "b", "", "a", "", "a", "b"].map(|key| (!key.is_empty()).then(|| key.to_owned()));
        assert_eq!(repetitions(&keys), [0, 0, 0, 1, 0, 2, 1]);
    }
}
