//! Requests of GraphQL to a harness.

use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _};
use prony_graphql::{
    document::{Operation, limits::Limits},
    error::GraphqlError,
    response::{Detail, assemble, refuse},
    schema::{Schema, SourceId},
    selection::{Field, Selection},
    variables::Variables,
};
use prony_source::{
    Events, FieldRequest, PreparedField, ReservedNames, Source as _, SourceSchema, permissions::Permissions,
};
use serde_json::Value as Json;

use crate::tests::harness::Harness;

/// The schema of one moment.
pub(super) struct Offered {
    pub(super) schema: Schema,
    pub(super) source: Arc<dyn SourceSchema>,
    /// Variables of the session.
    session: Arc<[Json]>,
}

/// An operation that was planned.
pub(super) struct Planned {
    pub(super) selection: Selection,
    pub(super) roots: Vec<PreparedField>,
    pub(super) variables: Variables,
}

/// An open subscription.
pub(super) struct Subscribed {
    events: Events,
    fields: Vec<Field>,
}

impl Offered {
    fn new(source: Arc<dyn SourceSchema>, session: &[Json]) -> Self {
        let schema = Schema::merge(vec![(SourceId(0), source.contribution())]).unwrap();
        Self { schema, source, session: session.into() }
    }

    pub(super) fn plan(&self, text: &str, variables: &str) -> Result<Planned, Vec<GraphqlError>> {
        let operation = Operation::parse(&self.schema, text, None, &Limits::default())?;
        let given = serde_json::from_str(variables).unwrap();
        let (variables, _) = operation.coerce(&self.schema, given)?;
        let variables = variables.with_session(Arc::clone(&self.session));
        let selection = operation.select(&self.schema, &variables)?;
        let plan = |field| self.source.plan(&FieldRequest { kind: selection.kind, field });
        let roots = selection.fields.iter().map(plan).collect::<Result<_, _>>();
        let roots = roots.map_err(|error| vec![error])?;
        Ok(Planned { selection, roots, variables })
    }
}

pub(super) fn refusal(errors: &[GraphqlError]) -> String {
    String::from_utf8(refuse(errors, Detail::Shown)).unwrap()
}

impl Harness {
    pub(super) fn offered(&self) -> Offered {
        Offered::new(self.source.schema(&ReservedNames::default()), &[])
    }

    /// The schema of a role, for a session.
    pub(super) fn offered_to(&self, permissions: &Permissions, session: &[Json]) -> Offered {
        Offered::new(self.source.schema_for(&ReservedNames::default(), permissions).unwrap(), session)
    }

    pub(in crate::tests) fn ask(&self, text: &str) -> String {
        self.ask_by(&self.offered(), text, "{}")
    }

    /// By a schema that may be a role's, or older than the series.
    pub(super) fn ask_by(&self, offered: &Offered, text: &str, variables: &str) -> String {
        match offered.plan(text, variables) {
            Ok(planned) => self.run(&planned),
            Err(errors) => refusal(&errors),
        }
    }

    pub(super) fn run(&self, planned: &Planned) -> String {
        let handle = self.source.attach();
        let fields: Vec<&PreparedField> = planned.roots.iter().collect();
        let results = self.tasks.block_on(&self.runtime, handle.query_all(&fields, &planned.variables));
        String::from_utf8(assemble(&planned.selection.fields, &results, Detail::Shown)).unwrap()
    }

    pub(super) fn subscribe(&self, offered: &Offered, text: &str) -> Subscribed {
        let planned = offered.plan(text, "{}").unwrap_or_else(|errors| panic!("{}", refusal(&errors)));
        let events = self.source.attach().subscribe(&planned.roots[0], &planned.variables);
        Subscribed { events: events.unwrap(), fields: planned.selection.fields }
    }
}

impl Subscribed {
    /// What has come: whoever waits for a write goes on after those who listen have it.
    pub(super) fn so_far(&mut self, harness: &Harness) -> String {
        let mut came = String::new();
        while let Some(event) = harness.runtime.block_on(async { self.events.next().now_or_never() }) {
            let Some(result) = event else { return came + "(end)\n" };
            came += std::str::from_utf8(&assemble(&self.fields, &[result], Detail::Shown)).unwrap();
            came.push('\n');
        }
        came
    }
}
