//! A subscription's events out of its source's changes: one for each row that the subscription asks for, in the order in
//! which they were made.

use std::{pin::Pin, rc::Rc, sync::Arc};

use futures_util::{
    Stream, StreamExt,
    future::{LocalBoxFuture, ready},
    stream,
};
use prony_graphql::{
    error::{ErrorCode, GraphqlError, PathSegment},
    json::{self, ObjectText},
    response::FieldResult,
    variables::Variables,
};
use prony_source::Events;
use serde_json::Value as Json;

use crate::changes::{
    Lost, Operation, Reader, RowChange, RowValues, Transaction,
    columns::ColumnPlaces,
    plan::{ChangeKind, ChangeOutput, ChangesPlan},
};
use crate::{
    catalog::ColumnKind,
    model::{Column, ColumnId, Model, Table},
    plan::{Output, OutputKind},
};

/// Changes whose statements are at the database at once, of one transaction or of several that wait.
const AT_ONCE: usize = 16;

/// Runs a statement of the plan.
pub type Ask<P> = Box<dyn Fn(&P, Variables) -> LocalBoxFuture<'static, FieldResult>>;

/// One subscription on one core.
pub struct Watch<P> {
    pub model: Arc<Model>,
    pub plan: Arc<ChangesPlan<P>>,
    pub variables: Variables,
    pub ask: Ask<P>,
}

/// What a subscriber is told.
enum Told {
    Event(FieldResult),
    /// After which nothing comes.
    End(FieldResult),
}

/// What is not told: the filter does not let it pass.
struct FilteredOut;

impl<P> std::fmt::Debug for Watch<P> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Watch").field("table", &self.plan.table).finish_non_exhaustive()
    }
}

impl<P: 'static> Watch<P> {
    /// Ends with whoever reads it, or where what it needs is gone.
    pub fn events(self, reader: Reader) -> Events {
        let feed = Arc::clone(reader.feed());
        let heard = stream::unfold(reader, async |mut reader| Some((reader.next().await, reader)));
        let watch = Rc::new(self);
        let events = heard.flat_map(each_change).map(move |heard| {
            let (watch, feed) = (Rc::clone(&watch), Arc::clone(&feed));
            async move {
                match heard {
                    Ok((transaction, index)) => {
                        watch.change(&transaction.model, &transaction.changes[index]).await
                    }
                    Err(Lost::Renewed) => {
                        watch.places(&*feed.model()?).err().map(|missing| watch.ended(&missing))
                    }
                    Err(lost) => Some(Told::Event(watch.failed(ErrorCode::EventsLost, lost.to_string()))),
                }
            }
        });
        let events: Pin<Box<dyn Stream<Item = Told>>> = Box::pin(events.buffered(AT_ONCE).filter_map(ready));
        Box::pin(stream::unfold(Some(events), async |events| {
            let mut events = events?;
            match events.next().await? {
                Told::Event(event) => Some((event, Some(events))),
                Told::End(error) => Some((error, None)),
            }
        }))
    }

    /// Where what its events need is in a model of now, or why it cannot go on with that.
    fn places(&self, now: &Model) -> Result<ColumnPlaces, String> {
        ColumnPlaces::find(&self.model, now, self.plan.table, &self.plan.needed)
    }

    fn ended(&self, missing: &str) -> Told {
        let message = format!("{missing}; subscribe again, by the schema of now");
        Told::End(self.failed(ErrorCode::SubscriptionEnded, message))
    }

    /// A change with the values of a model's columns.
    async fn change(&self, model: &Arc<Model>, change: &RowChange) -> Option<Told> {
        if Arc::ptr_eq(model, &self.model) || change.table != self.plan.table {
            return self.event(change).await.map(Told::Event);
        }
        match self.places(model) {
            Ok(places) => self.event(&places.translate(change)).await.map(Told::Event),
            Err(missing) => Some(self.ended(&missing)),
        }
    }

    fn failed(&self, code: ErrorCode, message: String) -> FieldResult {
        let mut error = GraphqlError::new(code, message).at(self.plan.position);
        error.path.push(PathSegment::Key(self.plan.response_key.clone()));
        FieldResult::failed(error)
    }

    /// `None` for a change that the subscription does not ask for.
    async fn event(&self, change: &RowChange) -> Option<FieldResult> {
        if change.table != self.plan.table || !self.plan.wants(change.operation) {
            return None;
        }
        let table = self.model.table(change.table);
        let unusable = |what: &str| {
            let message = format!("a changed row of `{}` holds {what}", table.list_name);
            Some(self.failed(ErrorCode::ValueOutOfRange, message))
        };
        let Some(row) = &change.row else { return unusable("a value that its type does not take") };
        let given = if self.plan.statements().next().is_some() {
            match given(table, row) {
                Some(given) => self.variables.with_given(given),
                None => {
                    return unusable(
                        "JSON of too many levels to be asked for; select columns without `where`",
                    );
                }
            }
        } else {
            Variables::default()
        };
        if let Some(filter) = &self.plan.filter {
            let passed = (self.ask)(filter, given.clone()).await;
            match only_row(passed.data.as_deref()) {
                Some(row) if !row.is_empty() => {}
                Some(_) => return None,
                None => return Some(FieldResult { data: None, errors: passed.errors }),
            }
        }
        if let (Some(visible), Some(before)) = (&self.plan.visible, &change.previous) {
            let before = self.variables.with_given(self::given(table, before)?);
            let seen = (self.ask)(visible, before).await;
            if only_row(seen.data.as_deref()).is_none_or(<[u8]>::is_empty) {
                return None;
            }
        }
        let mut result = FieldResult::data(b"{".to_vec());
        for (index, output) in self.plan.outputs.iter().enumerate() {
            let asked = match &output.kind {
                ChangeKind::Asked(statement) => Some((self.ask)(statement, given.clone()).await),
                _ => None,
            };
            let written =
                EventWriter { table, change, row, result: &mut result, root: &self.plan.response_key }
                    .member(index, output, asked);
            if let Err(FilteredOut) = written {
                return None;
            }
        }
        result.data.as_mut()?.extend_from_slice(b"}");
        Some(result)
    }
}

/// The changes of a transaction by their places in it, or what was lost.
fn each_change(
    heard: Result<Arc<Transaction>, Lost>,
) -> impl Stream<Item = Result<(Arc<Transaction>, usize), Lost>> {
    match heard {
        Ok(transaction) => {
            let places = 0..transaction.changes.len();
            stream::iter(places).map(move |place| Ok((Arc::clone(&transaction), place))).left_stream()
        }
        Err(lost) => stream::once(ready(Err(lost))).right_stream(),
    }
}

/// Writes the members of one event.
struct EventWriter<'a> {
    table: &'a Table,
    change: &'a RowChange,
    row: &'a RowValues,
    result: &'a mut FieldResult,
    root: &'a str,
}

impl EventWriter<'_> {
    fn member<P>(
        &mut self,
        index: usize,
        output: &ChangeOutput<P>,
        asked: Option<FieldResult>,
    ) -> Result<(), FilteredOut> {
        let mut out = self.result.data.take().unwrap_or_default();
        if index > 0 {
            out.push(b',');
        }
        json::write_string(&mut out, &output.response_key);
        out.push(b':');
        match &output.kind {
            ChangeKind::Typename(name) => json::write_string(&mut out, name),
            ChangeKind::Operation => out.extend_from_slice(match self.change.operation {
                Operation::Insert => b"\"INSERT\"",
                Operation::Update => b"\"UPDATE\"",
                Operation::Delete => b"\"DELETE\"",
            }),
            ChangeKind::Key(outputs) => {
                let row = self.row;
                write_object(&mut out, outputs, |column| &row.0[usize::from(column.0)]);
            }
            ChangeKind::PreviousKey(outputs) => match &self.change.previous_key {
                Some(key) => write_previous_key(&mut out, self.table, outputs, key),
                None => out.extend_from_slice(b"null"),
            },
            ChangeKind::Row(outputs) => self.own_row(&mut out, outputs, &output.response_key),
            ChangeKind::Asked(_) => self.asked_row(&mut out, asked.unwrap_or_default())?,
        }
        self.result.data = Some(out);
        Ok(())
    }

    /// Null, with an error, where a column is null against what the schema says.
    fn own_row(&mut self, out: &mut Vec<u8>, outputs: &[Output], response_key: &str) {
        let row = self.row;
        let is_wrong = |output: &&Output| match output.kind {
            OutputKind::Column(id) => !self.table.column(id).nullable && &*row.0[usize::from(id.0)] == "null",
            _ => false,
        };
        let Some(wrong) = outputs.iter().find(is_wrong) else {
            write_object(out, outputs, |column| &row.0[usize::from(column.0)]);
            return;
        };
        let message = "the value is null although the schema says that it never is";
        let mut error = GraphqlError::new(ErrorCode::ValueOutOfRange, message).at(wrong.position);
        error.path =
            [self.root, response_key, &wrong.response_key].map(|key| PathSegment::Key(key.into())).into();
        self.result.errors.push(error);
        out.extend_from_slice(b"null");
    }

    fn asked_row(&mut self, out: &mut Vec<u8>, asked: FieldResult) -> Result<(), FilteredOut> {
        match only_row(asked.data.as_deref()) {
            Some(row) if !row.is_empty() => out.extend_from_slice(row),
            Some(_) => return Err(FilteredOut),
            None => out.extend_from_slice(b"null"),
        }
        self.result.errors.extend(asked.errors.into_iter().map(|mut error| {
            // The statement answers with a list of one row, of which the event shows the row alone.
            if error.path.len() > 1 {
                error.path.remove(1);
            }
            error.path.insert(0, PathSegment::Key(self.root.into()));
            error
        }));
        Ok(())
    }
}

/// The row of a list of at most one, empty where it has none; `None` where there is no list.
fn only_row(data: Option<&[u8]>) -> Option<&[u8]> {
    data?.strip_prefix(b"[")?.strip_suffix(b"]")
}

fn write_object<'v>(out: &mut Vec<u8>, outputs: &[Output], value: impl Fn(ColumnId) -> &'v str) {
    let mut object = ObjectText::after(std::mem::take(out));
    for output in outputs {
        object.key(&output.response_key);
        match &output.kind {
            OutputKind::Column(id) => object.json(value(*id).as_bytes()),
            OutputKind::Typename(name) => object.string(name),
            // Keys have columns only, and rows with relations are asked for.
            OutputKind::Related(..) => object.json(b"null"),
        }
    }
    *out = object.end();
}

fn write_previous_key(out: &mut Vec<u8>, table: &Table, outputs: &[Output], key: &RowValues) {
    write_object(out, outputs, |column| {
        let place = table.primary_key.iter().position(|known| *known == column);
        place.and_then(|place| key.0.get(place)).map_or("null", |text| text)
    });
}

/// The row as values of variables. Numbers whose digits matter go as text. `None` where one is nested too deeply.
fn given(table: &Table, row: &RowValues) -> Option<Vec<Json>> {
    table.columns.iter().zip(&row.0).map(|(column, text)| given_value(column, text)).collect()
}

fn given_value(column: &Column, text: &str) -> Option<Json> {
    let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    if is_number && matches!(column.kind, ColumnKind::Numeric | ColumnKind::Decimal) {
        return Some(Json::String(text.to_owned()));
    }
    serde_json::from_str(text).ok()
}
