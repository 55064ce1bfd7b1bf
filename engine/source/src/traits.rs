//! The traits of a source.
//!
//! A [`Source`] stays as long as the server. What it offers may change while it is served: a [`SourceSchema`] is what it
//! offers at one moment, from which the schema is made and root fields are planned. A [`SourceSession`] is one core's part
//! of a source; it runs what any of its schemas has planned, also after another schema has come.

use std::{any::Any, fmt::Debug, path::PathBuf, pin::Pin, rc::Rc, sync::Arc};

use futures_util::{
    Stream,
    future::{BoxFuture, LocalBoxFuture, join_all},
};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    schema::Contribution,
    selection::{Field, OperationKind},
    variables::Variables,
};
use serde_json::Value;

use crate::{
    AcceptedCodings, Explanation, Metric, NotReady, OperationRequest, OperationResult, PreparedField,
    ReservedNames,
    http_api::{ApiConnection, ApiLimits, HttpApi},
    interceptors::{RowAccess, RowQuery},
    permissions::{PermissionFault, Permissions},
};

/// What a subscription's root field answers, one item an event, on the thread of its core. Each is whole: the source has
/// executed the selection on the event (GraphQL specification, section 6.2.3.2). The end of the stream completes the
/// subscription; dropping it ends the source's work for it.
pub type Events = Pin<Box<dyn Stream<Item = FieldResult>>>;

/// An open source, shared by all cores.
pub trait Source: Debug + Send + Sync {
    /// What keeps the data, for people. Host, user and path are not for clients.
    fn product(&self) -> &'static str;

    /// Whether names that others have are given up. The names of other sources are their owner's, whom a collision is told
    /// at the start.
    fn yields_names(&self) -> bool {
        false
    }

    /// What it offers now, beside names that others have; only a source that [`yields`](Self::yields_names) is given any.
    fn schema(&self, reserved: &ReservedNames) -> Arc<dyn SourceSchema>;

    /// What it offers now to a role, which has nothing else of it.
    ///
    /// # Errors
    /// Permissions that do not fit what it has, all of them.
    fn schema_for(
        &self,
        reserved: &ReservedNames,
        permissions: &Permissions,
    ) -> Result<Arc<dyn SourceSchema>, Vec<PermissionFault>> {
        let _ = reserved;
        let message =
            || "sources of this kind know no permissions; only a role that is `unrestricted` has them";
        let faults = permissions.tables.keys().map(String::as_str).chain(permissions.fields.names());
        Err(faults
            .map(|name| PermissionFault { name: name.to_owned(), message: message().to_owned() })
            .collect())
    }

    /// Returns when it may offer something else than when [`schema`](Self::schema) was last called.
    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Asks again what it offers, because who runs the server wants that; what has changed is told by
    /// [`changed`](Self::changed).
    fn reload(&self) {}

    /// What it would offer by what a configuration says of it now, where that is something else; only settings that can change while it
    /// is served are looked at. They are those of [its opener](crate::config::SourceOpener::settings).
    ///
    /// # Errors
    /// Settings that do not fit what it has, or that a restart alone changes; in words.
    fn reconfigured<'a>(&'a self, settings: Option<&'a dyn Any>) -> Reconfiguring<'a> {
        let _ = settings;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Why what it has by now cannot be offered, where that is so; what it offered before is offered on, and it tries again.
    fn schema_fault(&self) -> Option<String> {
        None
    }

    /// Names of request headers, in lower case, that its sessions want to know of each request.
    fn wanted_headers(&self) -> &[String] {
        &[]
    }

    /// Whether its fields may want to know what is granted to who asks
    /// ([`Variables::authority`](prony_graphql::variables::Variables::authority)).
    fn wants_authority(&self) -> bool {
        false
    }

    /// Opens one core's part of it; called on the core's thread, inside its `LocalSet`.
    fn attach(&self) -> Rc<dyn SourceSession>;

    /// What `/health` tells of it beside the source's own line: a key of the answer, and its value.
    fn health_details(&self) -> Option<(&'static str, Value)> {
        None
    }

    /// A word for what an operator should look at, though all that is asked is responded to; for `/ready`.
    fn warning(&self) -> Option<&'static str> {
        None
    }

    /// The directory of the files that it writes; none where it writes none, or its data are kept elsewhere.
    fn written_directory(&self) -> Option<PathBuf> {
        None
    }

    /// The HTTP API that it brings beside GraphQL. Clients are served by the one that is made at the start; later calls only ask whether
    /// there is one.
    fn http_api(&self) -> Option<Arc<dyn HttpApi>> {
        None
    }

    /// Work of its own that belongs to no request, as long as the server runs; started once, on the control thread.
    fn run(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// For `/metrics`; `name` is the source's name in the configuration.
    fn metrics(&self, name: &str) -> Vec<Metric> {
        let _ = name;
        Vec::new()
    }
}

/// What a source would offer by other settings; where it is dropped the source goes on as it was.
pub trait Reconfigured: Debug + Send {
    fn schema(&self) -> Arc<dyn SourceSchema>;

    /// Has the source offer it from now on.
    fn take(self: Box<Self>);
}

/// A source that is looked at by other settings.
pub type Reconfiguring<'a> = BoxFuture<'a, Result<Option<Box<dyn Reconfigured>>, String>>;

/// One root field to be planned.
#[derive(Debug, Clone, Copy)]
pub struct FieldRequest<'a> {
    pub kind: OperationKind,
    pub field: &'a Field,
}

/// What a source offers at one moment.
pub trait SourceSchema: Debug + Send + Sync {
    /// Types and root fields.
    fn contribution(&self) -> Contribution;

    /// The same for a role, which has nothing else of it; none where only [`Source::schema_for`] knows.
    ///
    /// # Errors
    /// Permissions that do not fit it, all of them.
    fn restricted(
        &self,
        permissions: &Permissions,
    ) -> Option<Result<Arc<dyn SourceSchema>, Vec<PermissionFault>>> {
        let _ = permissions;
        None
    }

    /// Whether it must fit roles, interceptors and joins when it comes to be served in place of another one, which is served on
    /// where it does not. It is [`restricted`](Self::restricted) by itself then.
    fn may_be_refused(&self) -> bool {
        false
    }

    /// For the log: what was left out, what is served in another form.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// What has given way to names of other sources.
    fn collisions(&self) -> &[String] {
        &[]
    }

    /// How much there is, for people: `11 tables`.
    fn contents(&self) -> String;

    /// Root fields to name in the log, in the order of the schema: those that return lists, where there are such.
    fn list_fields(&self) -> Vec<&str>;

    /// Tables, or types, as a configuration names them: those whose rows can be read. None where it names none.
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// A query that works and shows what can be asked.
    fn example(&self) -> Option<String> {
        None
    }

    /// Whether it does not know yet what it offers, and may come to know it later: nothing else is missing then where no
    /// source has a field.
    fn is_pending(&self) -> bool {
        false
    }

    /// Plans an operation that the source executes as a whole; none where it does so field by field.
    fn plan_operation(&self, request: &OperationRequest<'_>) -> Option<PreparedField> {
        let _ = request;
        None
    }

    /// The name of the table or type that a configuration calls so.
    ///
    /// # Errors
    /// There is none; in words, with a name that is like it.
    fn table_name(&self, configured: &str) -> Result<Box<str>, String> {
        let _ = configured;
        Err("sources of this kind have no tables".to_owned())
    }

    /// What a field of an object type, or of the operation's root type, does with the rows of one table or type; none where it
    /// reads and writes none, or those of several.
    fn row_access(&self, kind: OperationKind, field: &Field) -> Option<RowAccess> {
        let _ = (kind, field);
        None
    }

    /// A query for the row that a root field of a mutation changes or deletes, with everything that can be asked of it; none where
    /// it changes no single row.
    fn row_query(&self, field: &Field, variables: &Variables) -> Option<RowQuery> {
        let _ = (field, variables);
        None
    }

    /// A connection to the source's HTTP API of the role that the schema is for, whose session's values are among the
    /// variables; what the role may not ask is [refused](Progress::Refused) by it. None where the role may ask nothing.
    ///
    /// [`Progress::Refused`]: crate::http_api::Progress::Refused
    fn api_connection(&self, variables: Variables, limits: ApiLimits) -> Option<Box<dyn ApiConnection>> {
        let _ = (variables, limits);
        None
    }

    /// The highest `limit` of a root field of queries that gives a list, for whom the schema is; none of other fields, and where the
    /// source does not know.
    fn highest_limit(&self, root_field: &str) -> Option<u32> {
        let _ = root_field;
        None
    }

    /// Plans one root field.
    ///
    /// # Errors
    /// What the document asks and the source cannot do; nothing has been executed.
    fn plan(&self, request: &FieldRequest<'_>) -> Result<PreparedField, GraphqlError>;

    /// What is not served any more, or under other names, of what the root field of a subscription asks for, in words; none where
    /// all is served as it is asked for. Another schema of the same source has planned the field.
    fn withdrawn(&self, field: &PreparedField) -> Option<String> {
        let _ = field;
        None
    }
}

/// Tells when the answer of a live query may have become another.
pub trait ChangeSignal: Debug {
    /// Returns when something has changed that the answer depends on, or when that is not known. Dropping the future loses
    /// nothing.
    fn changed(&mut self) -> LocalBoxFuture<'_, ()>;

    /// Takes note of all changes up to now: an answer that is asked for after this holds them.
    fn mark_seen(&mut self);
}

/// What the answer of a query depends on, as a number; shared by all cores.
pub trait DataVersion: Debug + Send + Sync {
    /// Another number than before once any of it has changed, or may have. A mutation by this server counts before its client
    /// has its response; what others change counts once the source hears of it.
    fn current(&self) -> u64;
}

/// One core's part of a source. Fields that it is given were planned by a schema of the same source.
pub trait SourceSession: Debug {
    /// Answers a root field of a query or a live query. Dropping the future stops the work.
    fn query<'a>(
        &'a self,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, FieldResult>;

    /// Answers root fields of one query: from one snapshot where the source has such a thing, else at the same time.
    fn query_all<'a>(
        &'a self,
        fields: &'a [&'a PreparedField],
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Vec<FieldResult>> {
        Box::pin(join_all(fields.iter().map(|field| self.query(field, variables))))
    }

    /// Runs root fields of a mutation in order: all or nothing where the source can do that, else one after the other.
    fn mutate<'a>(
        &'a self,
        fields: &'a [&'a PreparedField],
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Vec<FieldResult>>;

    /// Answers a root field of a query or of a mutation that does not [wait](PreparedField::waits); none where it does.
    fn try_answer(&self, field: &PreparedField, variables: &Variables) -> Option<FieldResult> {
        let _ = (field, variables);
        None
    }

    /// Executes an operation that was [planned](SourceSchema::plan_operation) as a whole, for a client who takes these codings.
    /// Dropping the future stops the work.
    fn execute<'a>(
        &'a self,
        operation: &'a PreparedField,
        variables: &'a Variables,
        accepted: AcceptedCodings,
    ) -> LocalBoxFuture<'a, OperationResult> {
        let _ = (operation, variables, accepted);
        unreachable!("only sources that plan operations are given any")
    }

    /// Begins to deliver events of the root field of a subscription: all that are raised after this returns. One stream a
    /// core serves all clients that ask the same, so nothing in it may depend on who asked.
    ///
    /// # Errors
    /// Values of variables that the source cannot take.
    fn subscribe(&self, field: &PreparedField, variables: &Variables) -> Result<Events, GraphqlError> {
        let _ = (field, variables);
        Err(GraphqlError::new(ErrorCode::ValidationFailed, "the field has no events"))
    }

    /// Of the root field of a subscription that is a live query, answered by [`Self::query`] again and again: signals when
    /// that is due, from now on. None where the field has events.
    fn change_signal(&self, field: &PreparedField) -> Option<Box<dyn ChangeSignal>> {
        let _ = field;
        None
    }

    /// Of a root field of a query: the version of what its answer depends on. While it is kept the source takes note of changes.
    /// None where the source does not know what an answer depends on.
    fn data_version(&self, field: &PreparedField) -> Option<Arc<dyn DataVersion>> {
        let _ = field;
        None
    }

    /// What a root field becomes, for people who look for what is slow. Nothing is read or changed for it; the database may be
    /// asked for its plans.
    fn explain<'a>(
        &'a self,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Explanation> {
        let _ = (field, variables);
        Box::pin(std::future::ready(Explanation::default()))
    }

    /// Whether it can be asked now; the text is for people who run the server.
    fn health(&self) -> LocalBoxFuture<'_, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Whether requests should be sent to it now. It is not asked of a source whether it has much to do.
    fn readiness(&self) -> LocalBoxFuture<'_, Result<(), NotReady>> {
        Box::pin(async { self.health().await.map_err(|_| NotReady::Unreachable) })
    }
}
