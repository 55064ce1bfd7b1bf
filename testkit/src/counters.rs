//! Counters by name as a source, written against the public seam alone: what a new kind of source takes. They live in
//! memory; queries and mutations never wait, a subscription has an event of each change, `/health` and `/metrics` show them. How
//! they are configured is in `kind`, their HTTP API in `api`, whose counts `journal` can make durable.

mod api;
mod journal;
mod kind;

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::Path,
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::{
    StreamExt as _,
    future::{LocalBoxFuture, join_all, ready},
    stream,
};
use prony_graphql::{
    Name,
    compiler::name,
    error::{ErrorCode, GraphqlError, PathSegment, Position},
    json,
    response::FieldResult,
    schema::{
        Contribution,
        build::{field_with_arguments, input, named, non_null, non_null_list, object},
    },
    selection::{Field, OperationKind, Value},
    variables::Variables,
};
use prony_source::{
    Events, FieldPlan, FieldRequest, Metric, PreparedField, ReservedNames, Sample, Source, SourceSchema,
    SourceSession, dialect, http_api::HttpApi,
};
use tokio::sync::broadcast::{self, error::RecvError};

use self::journal::Journal;
pub use self::kind::CountersKind;

/// Changes that a subscriber may be behind; of more it hears only the last ones.
const CHANGES_KEPT: usize = 64;

/// Counters; clones share them.
#[derive(Debug, Clone)]
pub struct Counters(Arc<CountersState>);

#[derive(Debug)]
struct CountersState {
    values: Mutex<BTreeMap<String, i64>>,
    highest: i64,
    /// Of counts over HTTP.
    journal: Option<Journal>,
    changes: broadcast::Sender<Counter>,
    /// Why they cannot be asked, where they cannot.
    outage: Mutex<Option<String>>,
}

#[derive(Debug, Clone)]
struct Counter {
    name: String,
    value: i64,
}

/// How counters begin.
#[derive(Debug, Clone)]
pub struct CountersSettings {
    /// The highest number that a counter can hold.
    pub highest: i64,
    /// Counters that are there from the start, with their numbers.
    pub starts: BTreeMap<String, i64>,
}

impl Default for CountersSettings {
    fn default() -> Self {
        Self { highest: i64::MAX, starts: BTreeMap::new() }
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self::new(CountersSettings::default())
    }
}

impl Counters {
    pub fn new(settings: CountersSettings) -> Self {
        Self::with(settings, None)
    }

    /// Counters whose counts over HTTP are kept in a file, which is made where there is none.
    ///
    /// # Errors
    /// The file cannot be used, or holds something else.
    pub fn durable(path: &Path) -> io::Result<Self> {
        let mut settings = CountersSettings::default();
        let journal = Journal::open(path, |name, by| {
            *settings.starts.entry(name.to_owned()).or_default() += by;
        })?;
        Ok(Self::with(settings, Some(journal)))
    }

    fn with(settings: CountersSettings, journal: Option<Journal>) -> Self {
        Self(Arc::new(CountersState {
            values: Mutex::new(settings.starts),
            highest: settings.highest,
            journal,
            changes: broadcast::Sender::new(CHANGES_KEPT),
            outage: Mutex::default(),
        }))
    }

    /// What `/health` says from now on.
    pub fn set_outage(&self, reason: Option<&str>) {
        *lock(&self.0.outage) = reason.map(str::to_owned);
    }

    /// Has no count written to the disk as long as it is held.
    pub fn hold_journal(&self) -> Option<MutexGuard<'_, ()>> {
        self.0.journal.as_ref().map(Journal::hold)
    }

    fn add(&self, name: &str, by: i64) -> Option<Counter> {
        let mut values = lock(&self.0.values);
        let value = values.get(name).copied().unwrap_or_default().checked_add(by)?;
        if value > self.0.highest {
            return None;
        }
        values.insert(name.to_owned(), value);
        let counter = Counter { name: name.to_owned(), value };
        // Nobody may be listening.
        let _ = self.0.changes.send(counter.clone());
        Some(counter)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Source for Counters {
    fn product(&self) -> &'static str {
        "counters"
    }

    fn schema(&self, _reserved: &ReservedNames) -> Arc<dyn SourceSchema> {
        Arc::new(self.clone())
    }

    fn attach(&self) -> Rc<dyn SourceSession> {
        Rc::new(self.clone())
    }

    fn http_api(&self) -> Option<Arc<dyn HttpApi>> {
        Some(Arc::new(self.clone()))
    }

    fn metrics(&self, name: &str) -> Vec<Metric> {
        let count = lock(&self.0.values).len() as f64;
        let samples = vec![Sample::labelled("source", name, count)];
        vec![Metric::gauge("counters_known", "Counters that have been counted on", samples)]
    }
}

/// A root field, with the members that are selected of each counter.
#[derive(Debug)]
struct CounterPlan {
    root: Root,
    response_key: String,
    position: Position,
    members: Vec<(Name, Member)>,
}

#[derive(Debug)]
enum Root {
    All,
    Count {
        name: Value,
        by: Value,
    },
    /// Of all counters, or of one.
    Counted {
        name: Option<Value>,
    },
}

#[derive(Debug, Clone, Copy)]
enum Member {
    Name,
    Value,
    Typename,
}

impl FieldPlan for CounterPlan {
    fn weight_bytes(&self) -> usize {
        size_of::<Self>() + self.response_key.len() + size_of_val(&*self.members)
    }

    fn waits(&self) -> bool {
        false
    }
}

impl SourceSchema for Counters {
    fn contribution(&self) -> Contribution {
        let (counter, text, whole) = (name!("Counter"), name!("String"), name!("Int"));
        let field = |name: &Name, arguments, ty| field_with_arguments(name, arguments, ty);
        let name = name!("name");
        let members =
            [field(&name, Vec::new(), non_null(&text)), field(&name!("value"), Vec::new(), non_null(&whole))];
        let of_which = vec![input(&name, non_null(&text)), input(&name!("by"), named(&whole))];
        let of_one = vec![input(&name, named(&text))];
        Contribution {
            types: vec![object(&counter, Some("A number with a name.".into()), members)],
            query: vec![field(&name!("counters"), Vec::new(), non_null_list(&counter))],
            mutation: vec![field(&name!("count"), of_which, non_null(&counter))],
            subscription: vec![field(&name!("counted"), of_one, non_null(&counter))],
            ..Contribution::default()
        }
    }

    fn contents(&self) -> String {
        format!("{} counters", lock(&self.0.values).len())
    }

    fn list_fields(&self) -> Vec<&str> {
        vec!["counters"]
    }

    fn example(&self) -> Option<String> {
        Some("{ counters { name value } }".to_owned())
    }

    fn plan(&self, &FieldRequest { kind, field }: &FieldRequest<'_>) -> Result<PreparedField, GraphqlError> {
        let argument = |name| field.argument(name).cloned();
        let root = match kind {
            OperationKind::Query => Root::All,
            OperationKind::Mutation => Root::Count {
                name: argument("name").unwrap_or(Value::Null),
                by: argument("by").unwrap_or(Value::Null),
            },
            OperationKind::Subscription => Root::Counted { name: argument("name") },
        };
        Ok(PreparedField::new(CounterPlan {
            root,
            response_key: field.response_key.to_string(),
            position: field.position,
            members: field.selections.iter().map(member).collect(),
        }))
    }
}

fn member(field: &Field) -> (Name, Member) {
    let member = match field.name.as_str() {
        "name" => Member::Name,
        "value" => Member::Value,
        _ => Member::Typename,
    };
    (field.response_key.clone(), member)
}

impl CounterPlan {
    fn write(&self, out: &mut Vec<u8>, counter: &Counter) {
        for (index, (key, member)) in self.members.iter().enumerate() {
            out.push(if index == 0 { b'{' } else { b',' });
            out.extend_from_slice(&json::member_prefix(key));
            match member {
                Member::Name => json::write_string(out, &counter.name),
                Member::Value => write!(out, "{}", counter.value).expect("memory takes it"),
                Member::Typename => json::write_string(out, "Counter"),
            }
        }
        out.push(b'}');
    }

    fn one(&self, counter: &Counter) -> FieldResult {
        let mut out = Vec::new();
        self.write(&mut out, counter);
        FieldResult::data(out)
    }

    fn failed(&self, message: &str) -> FieldResult {
        let error = GraphqlError::new(ErrorCode::BadUserInput, message).at(self.position);
        FieldResult::failed(error.with_path(vec![PathSegment::Key(self.response_key.as_str().into())]))
    }

    fn answer(&self, counters: &Counters, variables: &Variables) -> FieldResult {
        match &self.root {
            Root::All => {
                let mut out = vec![b'['];
                for (name, &value) in &*lock(&counters.0.values) {
                    if out.len() > 1 {
                        out.push(b',');
                    }
                    self.write(&mut out, &Counter { name: name.clone(), value });
                }
                out.push(b']');
                FieldResult::data(out)
            }
            Root::Count { name, by } => {
                let (name, by) = (dialect::json(name, variables), dialect::json(by, variables));
                match counters.add(name.as_str().unwrap_or_default(), by.as_i64().unwrap_or(1)) {
                    Some(counter) => self.one(&counter),
                    None => self.failed("the counter cannot hold so much"),
                }
            }
            Root::Counted { .. } => self.failed("the field has events, and no single answer"),
        }
    }
}

impl SourceSession for Counters {
    fn query<'a>(
        &'a self,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, FieldResult> {
        Box::pin(ready(field.plan::<CounterPlan>().answer(self, variables)))
    }

    fn mutate<'a>(
        &'a self,
        fields: &'a [&'a PreparedField],
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Vec<FieldResult>> {
        Box::pin(join_all(fields.iter().map(|field| self.query(field, variables))))
    }

    fn try_answer(&self, field: &PreparedField, variables: &Variables) -> Option<FieldResult> {
        Some(field.plan::<CounterPlan>().answer(self, variables))
    }

    fn subscribe(&self, field: &PreparedField, variables: &Variables) -> Result<Events, GraphqlError> {
        let plan = field.shared::<CounterPlan>();
        let Root::Counted { name } = &plan.root else {
            return Err(GraphqlError::new(ErrorCode::ValidationFailed, "the field has no events"));
        };
        let wanted =
            name.as_ref().and_then(|name| dialect::json(name, variables).as_str().map(str::to_owned));
        let changes = stream::unfold(self.0.changes.subscribe(), |mut changes| async {
            loop {
                match changes.recv().await {
                    Ok(counter) => return Some((counter, changes)),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                }
            }
        });
        Ok(Box::pin(changes.filter_map(move |counter| {
            let is_wanted = wanted.as_ref().is_none_or(|wanted| *wanted == counter.name);
            ready(is_wanted.then(|| plan.one(&counter)))
        })))
    }

    fn health(&self) -> LocalBoxFuture<'_, Result<(), String>> {
        Box::pin(ready(lock(&self.0.outage).clone().map_or(Ok(()), Err)))
    }
}
