//! `http.batch()`: calls in parallel, within a limit and a limit a host.

use crate::host::Host;
use crate::http::binding::arguments::{Refusal, misuse, text_of};
use crate::http::call::facts::CallFacts;
use crate::http::call::state::{HttpUser, options};
use crate::http::call::{CallArguments, Outcome, Ready, log};
use crate::modules::binding::go_type;
use crate::modules::log::Level;
use prony_model::program::call::AskId;
use rquickjs::{Ctx, Object, Value};
use std::collections::VecDeque;

/// One batch of a user that waits.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The keys of an object; none for an array.
    pub keys: Option<Vec<String>>,
    /// In the order of the entries; none until it is done.
    pub done: Vec<Option<Box<CallFacts>>>,
    waiting: VecDeque<(usize, Ready)>,
    /// Those that a place was given to, with their hosts; without a number while their host is busy.
    running: Vec<RunningRequest>,
    /// The first exception.
    pub thrown: Option<String>,
    limit: usize,
    limit_per_host: usize,
}

/// The batches of a user that wait, kept in [`crate::host::UserState::data`].
#[derive(Debug, Default)]
pub(crate) struct Batches {
    /// The iteration that they belong to.
    iteration: u64,
    waiting: Vec<(AskId, Batch)>,
}

impl Batches {
    /// Lets go of what an earlier iteration left.
    pub(crate) fn keep(&mut self, iteration: u64, id: AskId, batch: Batch) {
        if self.iteration != iteration {
            self.iteration = iteration;
            self.waiting.clear();
        }
        self.waiting.push((id, batch));
    }

    pub(crate) fn take(&mut self, id: AskId) -> Option<Batch> {
        let index = self.waiting.iter().position(|(known, _)| *known == id)?;
        Some(self.waiting.swap_remove(index).1)
    }
}

#[derive(Debug)]
struct RunningRequest {
    index: usize,
    host: String,
    state: RequestState,
}

#[derive(Debug)]
enum RequestState {
    Waits(Option<Ready>),
    Sent(AskId),
}

impl Batch {
    /// Reads all entries; none is sent where one is refused.
    pub(crate) fn read<'js>(
        ctx: &Ctx<'js>,
        host: &Host,
        requests: &Value<'js>,
    ) -> Result<Self, BatchRefusal> {
        let (keys, entries) = entries_of(requests)?;
        let mut waiting = VecDeque::new();
        for (index, entry) in entries.iter().enumerate() {
            let key = keys.as_ref().map_or_else(|| index.to_string(), |keys| keys[index].clone());
            let ready = arguments_of(ctx, &key, entry).and_then(|arguments| Ready::read(host, &arguments));
            match ready {
                Ok(ready) => waiting.push_back((index, ready)),
                Err(refusal) => return Err(BatchRefusal { refusal, index, keys, count: entries.len() }),
            }
        }
        let options = options(host);
        Ok(Self {
            keys,
            done: entries.iter().map(|_| None).collect(),
            waiting,
            running: Vec::new(),
            thrown: None,
            limit: (options.batch as usize).max(1),
            limit_per_host: match options.batch_per_host {
                0 => usize::MAX,
                limit => limit as usize,
            },
        })
    }

    /// Sends what the limits allow; true where there is something to wait for.
    pub(crate) fn advance(&mut self, host: &Host) -> bool {
        loop {
            while self.running.len() < self.limit {
                let Some((index, ready)) = self.waiting.pop_front() else { break };
                let name = ready.host_name().to_owned();
                self.running.push(RunningRequest {
                    index,
                    host: name,
                    state: RequestState::Waits(Some(ready)),
                });
            }
            let sendable = self.running.iter().position(|place| {
                matches!(place.state, RequestState::Waits(_))
                    && self.busy_with(&place.host) < self.limit_per_host
            });
            let Some(place) = sendable else { break };
            if let RequestState::Waits(ready) = &mut self.running[place].state
                && let Some(ready) = ready.take()
            {
                let outcome = ready.send(host);
                self.settle(place, outcome);
            }
        }
        let ids: Vec<AskId> = self.sent().map(|(_, id)| id).collect();
        let has_more = !ids.is_empty();
        host.user().waits.await_any(ids);
        has_more
    }

    fn busy_with(&self, host: &str) -> usize {
        self.running
            .iter()
            .filter(|place| matches!(place.state, RequestState::Sent(_)) && place.host == host)
            .count()
    }

    /// Takes everything that has come.
    pub(crate) fn hear(&mut self, host: &Host) {
        loop {
            let ids: Vec<AskId> = self.sent().map(|(_, id)| id).collect();
            let mut user = host.user();
            let Some((id, heard)) = user.waits.take_any(&ids) else { return };
            let pending = user.data.get::<HttpUser>().take(id);
            drop(user);
            let place = self.sent().find(|(_, sent)| *sent == id).map(|(place, _)| place);
            if let Some(place) = place
                && let Some(outcome) = pending.and_then(|pending| pending.go_on(host, Some(heard)))
            {
                self.settle(place, outcome);
            }
        }
    }

    fn sent(&self) -> impl Iterator<Item = (usize, AskId)> {
        self.running.iter().enumerate().filter_map(|(place, running)| match running.state {
            RequestState::Sent(id) => Some((place, id)),
            RequestState::Waits(_) => None,
        })
    }

    fn settle(&mut self, place: usize, outcome: Outcome) {
        match outcome {
            Outcome::Sent(id) => self.running[place].state = RequestState::Sent(id),
            Outcome::Done(facts) => {
                let index = self.running.swap_remove(place).index;
                self.done[index] = Some(facts);
            }
            Outcome::Thrown(message) => {
                self.running.swap_remove(place);
                self.thrown.get_or_insert(message);
            }
        }
    }
}

/// A batch that is not made, and where its refused entry stands.
#[derive(Debug)]
pub(crate) struct BatchRefusal {
    pub refusal: Refusal,
    pub index: usize,
    pub keys: Option<Vec<String>>,
    pub count: usize,
}

impl From<Refusal> for BatchRefusal {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, index: 0, keys: None, count: 0 }
    }
}

impl From<rquickjs::Error> for BatchRefusal {
    fn from(error: rquickjs::Error) -> Self {
        Refusal::Js(error).into()
    }
}

pub(crate) fn warn_of_refusal(host: &Host, message: &str) {
    log(host, Level::Warning, "A batch request failed", &[("error", message)]);
}

type Entries<'js> = (Option<Vec<String>>, Vec<Value<'js>>);

fn entries_of<'js>(requests: &Value<'js>) -> Result<Entries<'js>, BatchRefusal> {
    if let Some(items) = requests.as_array() {
        return Ok((None, items.iter().collect::<rquickjs::Result<_>>()?));
    }
    let Some(object) = requests.as_object().filter(|_| !requests.is_function()) else {
        let message = format!("invalid http.batch() argument type {}", go_type(requests));
        return Err(misuse(message).into());
    };
    let properties = object.props::<String, Value<'_>>().collect::<rquickjs::Result<Vec<_>>>()?;
    let (keys, values) = properties.into_iter().unzip();
    Ok((Some(keys), values))
}

/// `url`, `[method, url, body, params]` or `{method, url, body, params}`.
fn arguments_of<'js>(ctx: &Ctx<'js>, key: &str, entry: &Value<'js>) -> Result<CallArguments<'js>, Refusal> {
    let undefined = Value::new_undefined(ctx.clone());
    let get = rquickjs::String::from_str(ctx.clone(), "GET")?.into_value();
    if let Some(items) = entry.as_array() {
        if items.len() < 2 {
            return Err(misuse(format!("invalid batch request '{key}': it needs a method and a URL")));
        }
        let item = |index| if index < items.len() { items.get(index) } else { Ok(undefined.clone()) };
        let method: Value<'js> = item(0)?;
        if !method.is_string() {
            return Err(misuse(format!("invalid method type '{}'", text_of(&method)?)));
        }
        return Ok(CallArguments { method, url: item(1)?, body: item(2)?, params: item(3)? });
    }
    let is_url = crate::http::binding::handle::Handle::of(entry).is_some();
    match entry.as_object().filter(|_| !is_url) {
        Some(object) => arguments_of_object(ctx, key, object, get),
        None => {
            Ok(CallArguments { method: get, url: entry.clone(), body: undefined.clone(), params: undefined })
        }
    }
}

fn arguments_of_object<'js>(
    ctx: &Ctx<'js>,
    key: &str,
    object: &Object<'js>,
    get: Value<'js>,
) -> Result<CallArguments<'js>, Refusal> {
    if !object.contains_key("url")? {
        return Err(misuse(format!("batch request {key} doesn't have a url key")));
    }
    let given: Value<'js> = object.get("method")?;
    let mut body: Value<'js> = object.get("body")?;
    let method = if given.is_undefined() {
        get
    } else if let Some(name) = given.as_string() {
        let name = name.to_string()?.to_uppercase();
        if matches!(name.as_str(), "GET" | "HEAD") {
            body = Value::new_undefined(ctx.clone());
        }
        rquickjs::String::from_str(ctx.clone(), &name)?.into_value()
    } else {
        return Err(misuse(format!("invalid method type '{}'", text_of(&given)?)));
    };
    Ok(CallArguments { method, url: object.get("url")?, body, params: object.get("params")? })
}
