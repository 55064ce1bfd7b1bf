//! Fetches what joined fields join, for all parents of a level at once, and puts it where it belongs.

use std::collections::{HashMap, HashSet};

use futures_util::future::{LocalBoxFuture, join_all};
use prony_graphql::{
    error::{ErrorCode, GraphqlError, PathSegment},
    response::FieldResult,
    schema::SourceId,
    selection::Field,
    variables::Variables,
};
use prony_source::PreparedField;
use serde_json::{Map, Value as Json};

use super::{
    plan::{JoinNode, JoinStep},
    schema::KeyForm,
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
    let Some(data) = &result.data else { return };
    let Ok(mut value) = serde_json::from_slice::<Json>(data) else {
        let error =
            GraphqlError::new(ErrorCode::SourceFailed, "what is joined to this field cannot be found");
        *result = FieldResult::failed(error.of_field(&field.response_key, field.position));
        return;
    };
    let mut errors = Vec::new();
    complete(sources, node, variables, &mut value, &mut errors).await;
    for error in errors {
        let path = vec![PathSegment::Key(field.response_key.as_str().into())];
        result.errors.push(error.at(field.position).with_path(path));
    }
    result.data = Some(value.to_string().into_bytes());
}

/// Completes a value, which is of an object or a list of objects, with all that is joined at any depth of it.
fn complete<'a, S: RootFields>(
    sources: &'a S,
    node: &'a JoinNode,
    variables: &'a Variables,
    value: &'a mut Json,
    errors: &'a mut Vec<GraphqlError>,
) -> LocalBoxFuture<'a, ()> {
    Box::pin(async move {
        let mut steps = Vec::new();
        collect_steps(node, &mut steps);
        let fetched = join_all(steps.iter().map(|step| {
            let mut keys = Keys::default();
            gather(value, node, step, &mut keys);
            async move { fetch(sources, step, variables, keys).await }
        }));
        let mut found: HashMap<*const JoinStep, Found> = HashMap::new();
        for (step, (items, failures)) in steps.iter().zip(fetched.await) {
            errors.extend(failures);
            found.insert(std::ptr::from_ref(*step), items);
        }
        put(value, node, &found);
    })
}

/// What was found, by key.
type Found = HashMap<String, Vec<Json>>;

/// Keys in the order in which they were met, each once.
#[derive(Default)]
struct Keys {
    known: HashSet<String>,
    values: Vec<Json>,
}

fn collect_steps<'n>(node: &'n JoinNode, steps: &mut Vec<&'n JoinStep>) {
    steps.extend(&node.steps);
    node.below.iter().for_each(|(_, below)| collect_steps(below, steps));
}

fn gather(value: &Json, node: &JoinNode, step: &JoinStep, keys: &mut Keys) {
    match value {
        Json::Array(items) => items.iter().for_each(|item| gather(item, node, step, keys)),
        Json::Object(members) => {
            if node.steps.iter().any(|known| std::ptr::eq(known, step))
                && let Some(key) = members.get(step.key.as_str())
                && let Some(text) = text_of(key)
                && keys.known.insert(text)
            {
                keys.values.push(formed(key, step.keys));
            }
            for (name, below) in &node.below {
                if let Some(value) = members.get(name.as_str()) {
                    gather(value, below, step, keys);
                }
            }
        }
        _ => {}
    }
}

/// As keys are compared: a number and the same number as a text are one.
fn text_of(key: &Json) -> Option<String> {
    match key {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

fn formed(key: &Json, form: KeyForm) -> Json {
    match (form, key) {
        (KeyForm::Numbers, Json::String(text)) => {
            serde_json::from_str(text).ok().filter(Json::is_number).unwrap_or_else(|| key.clone())
        }
        (KeyForm::Texts, Json::Number(number)) => Json::String(number.to_string()),
        _ => key.clone(),
    }
}

async fn fetch(
    sources: &impl RootFields,
    step: &JoinStep,
    variables: &Variables,
    keys: Keys,
) -> (Found, Vec<GraphqlError>) {
    let batches = join_all(keys.values.chunks(step.batch).map(|keys| {
        let variables = variables.with_another(Json::Array(keys.to_vec()));
        async move { sources.root_field(step.source, &step.root, &variables).await }
    }));
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    for FieldResult { data, errors: failures } in batches.await {
        errors.extend(failures);
        match data.map(|data| serde_json::from_slice(&data)) {
            Some(Ok(Json::Array(found))) => items.extend(found),
            Some(Err(error)) => {
                let failure = GraphqlError::new(ErrorCode::SourceFailed, "what is joined cannot be read");
                errors.push(failure.with_detail(error.to_string()));
            }
            Some(Ok(_)) | None => {}
        }
    }
    let mut items = Json::Array(items);
    // The keys are needed until what is joined is in its place.
    let texts: Vec<Option<String>> = match &items {
        Json::Array(items) => {
            items.iter().map(|item| item.get(step.matched.as_str()).and_then(text_of)).collect()
        }
        _ => Vec::new(),
    };
    complete(sources, &step.node, variables, &mut items, &mut errors).await;
    let mut found = Found::new();
    if let Json::Array(items) = items {
        for (text, item) in texts.into_iter().zip(items) {
            if let Some(text) = text {
                found.entry(text).or_default().push(item);
            }
        }
    }
    (found, errors)
}

fn put(value: &mut Json, node: &JoinNode, found: &HashMap<*const JoinStep, Found>) {
    match value {
        Json::Array(items) => items.iter_mut().for_each(|item| put(item, node, found)),
        Json::Object(members) => {
            for (name, below) in &node.below {
                if let Some(value) = members.get_mut(name.as_str()) {
                    put(value, below, found);
                }
            }
            for step in &node.steps {
                // Objects of other types have no key.
                let Some(key) = members.get(step.key.as_str()) else { continue };
                let items = text_of(key).and_then(|text| found.get(&std::ptr::from_ref(step))?.get(&text));
                let joined = match (items, step.many) {
                    (Some(items), true) => Json::Array(items.clone()),
                    (None, true) => Json::Array(Vec::new()),
                    (Some(items), false) => items.first().cloned().unwrap_or_default(),
                    (None, false) => Json::Null,
                };
                members.insert(step.response_key.to_string(), joined);
            }
            for key in &node.hidden {
                members.shift_remove(key.as_str());
            }
            if !node.steps.is_empty() {
                sort(members, node);
            }
        }
        _ => {}
    }
}

/// Into the order in which they were asked for.
fn sort(members: &mut Map<String, Json>, node: &JoinNode) {
    let mut sorted = Map::with_capacity(members.len());
    for key in &node.order {
        if let Some((key, value)) = members.remove_entry(key.as_str()) {
            sorted.insert(key, value);
        }
    }
    *members = sorted;
}
