//! One core's part of an upstream: root fields and whole operations forwarded, responses taken apart.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use prony_graphql::{
    budget::ResponseMeter,
    error::{ErrorCode, GraphqlError, PathSegment, Position},
    response::FieldResult,
    selection::OperationKind,
    variables::Variables,
};
use prony_source::{
    AcceptedCodings, ContentCoding, Events, Explanation, NotReady, OperationResult, PreparedField,
    SourceSession,
};
use serde_json::Value as Json;

use crate::{
    client::{IncomingResponse, SendError, SendErrorKind, decode},
    counters::add,
    plan::{UpstreamField, UpstreamOperation},
    response::{self, WholeResponse, request_text},
    sender::Sender,
    subscribe,
    upstream::Upstream,
};

#[derive(Debug)]
pub(crate) struct UpstreamSession {
    upstream: Arc<Upstream>,
    sender: Sender,
}

impl UpstreamSession {
    pub(crate) fn new(upstream: Arc<Upstream>) -> Self {
        Self { sender: Sender::new(Arc::clone(&upstream)), upstream }
    }

    /// Forwards those of the root fields, which are of one kind, that who asks may have.
    async fn forward_allowed(&self, fields: &[&UpstreamField], variables: &Variables) -> Vec<FieldResult> {
        if fields.iter().all(|field| field.refusal(variables).is_none()) {
            return self.forward(fields, variables).await;
        }
        let refusals: Vec<_> = fields.iter().map(|field| field.refusal(variables)).collect();
        let allowed = fields.iter().zip(&refusals).filter(|(_, refusal)| refusal.is_none());
        let allowed: Vec<&UpstreamField> = allowed.map(|(field, _)| *field).collect();
        let forwarded = if allowed.is_empty() { Vec::new() } else { self.forward(&allowed, variables).await };
        let mut forwarded = forwarded.into_iter();
        let result = |(field, refusal): (&&UpstreamField, Option<GraphqlError>)| match refusal {
            Some(error) => FieldResult::failed(error.of_field(&field.response_key, field.position)),
            None => forwarded.next().expect("each field has a result"),
        };
        fields.iter().zip(refusals).map(result).collect()
    }

    /// Forwards root fields, which are of one kind, as one request.
    async fn forward(&self, fields: &[&UpstreamField], variables: &Variables) -> Vec<FieldResult> {
        add(&self.upstream.counters.parts);
        let (key, position) = (fields[0].response_key.as_str(), fields[0].position);
        let is_query = fields[0].kind == OperationKind::Query;
        let body = UpstreamField::request(fields, variables);
        let results = match self.send(is_query, variables, body, AcceptedCodings::default()).await {
            Ok(response) => {
                let read = response::fields(&response.body, fields, self.upstream.shown());
                read.map_err(|fault| unreadable(response.status, is_query, &fault.to_string()))
            }
            Err(error) => Err(error),
        };
        results.unwrap_or_else(|error| {
            let error = error.with_path(vec![PathSegment::Key(key.into())]);
            response::failed(&error, position, fields.len())
        })
    }

    async fn forward_whole(
        &self,
        operation: &UpstreamOperation,
        variables: &Variables,
        accepted: AcceptedCodings,
    ) -> OperationResult {
        add(&self.upstream.counters.whole);
        let is_query = operation.kind == OperationKind::Query;
        let sent = self.send(is_query, variables, operation.request(variables), accepted).await;
        let read = match sent {
            Ok(response) => self.read_whole(operation, response).await,
            Err(error) => Err(error),
        };
        read.unwrap_or_else(|error| {
            let first = operation.fields.first();
            let position = first.map_or(Position::default(), |field| field.position);
            let path = first.map(|field| PathSegment::Key(field.response_key.as_str().into()));
            let error = error.with_path(path.into_iter().collect());
            OperationResult::Fields(response::failed(&error, position, operation.fields.len()))
        })
    }

    /// What becomes of a response to a whole operation. One in a coding stays in it where nothing of it has to be hidden; otherwise it
    /// is decoded to see that.
    async fn read_whole(
        &self,
        operation: &UpstreamOperation,
        response: IncomingResponse,
    ) -> Result<OperationResult, GraphqlError> {
        let (coding, shown) = (response.coding, self.upstream.shown());
        let is_coded = coding != ContentCoding::Identity;
        if is_coded && response.status == 200 && shown.errors && shown.extensions {
            return Ok(OperationResult::Body { bytes: response.body, coding, has_errors: false });
        }
        let max_bytes = self.upstream.settings.common.max_response_bytes;
        let is_query = operation.kind == OperationKind::Query;
        let decoded = if is_coded {
            let decoded = decode(coding, response.body.clone(), max_bytes).await;
            Some(decoded.map_err(|kind| failure(&SendError::sent(kind, true), is_query))?)
        } else {
            None
        };
        match response::whole(decoded.as_ref().unwrap_or(&response.body), &operation.fields, shown) {
            Ok(WholeResponse::AsItIs { has_errors }) => {
                Ok(OperationResult::Body { bytes: response.body, coding, has_errors })
            }
            Ok(WholeResponse::Body { bytes, has_errors }) => {
                let bytes = bytes.into();
                Ok(OperationResult::Body { bytes, coding: ContentCoding::Identity, has_errors })
            }
            Ok(WholeResponse::Fields(results)) => Ok(OperationResult::Fields(results)),
            Err(fault) => Err(unreadable(response.status, is_query, &fault.to_string())),
        }
    }

    /// A response that claims to be JSON and is within what the operation may have.
    async fn send(
        &self,
        is_query: bool,
        variables: &Variables,
        body: Vec<u8>,
        accepted: AcceptedCodings,
    ) -> Result<IncomingResponse, GraphqlError> {
        let response = self.sender.send_for(is_query, variables.headers(), body, accepted).await;
        let response = response.map_err(|error| failure(&error, is_query))?;
        if !response.is_json {
            return Err(unreadable(response.status, is_query, "it is no JSON"));
        }
        let max_bytes = self.upstream.settings.common.max_response_bytes;
        ResponseMeter::new(max_bytes, variables.budget()).check(response.body.len())?;
        Ok(response)
    }
}

const UNREADABLE: &str = "the service behind this field did not respond as a GraphQL server does";

/// A response that is none of GraphQL, as clients see it. A server that fails, or one in front of it that waits no longer, says
/// nothing of what has become of a mutation; one that is too busy has not begun.
fn unreadable(status: u16, is_query: bool, detail: &str) -> GraphqlError {
    let (code, message) = match status {
        ..500 => (ErrorCode::SourceFailed, UNREADABLE),
        _ if is_query || status == 503 => (ErrorCode::SourceUnavailable, UNREADABLE),
        _ => (
            ErrorCode::OutcomeUnknown,
            "the service behind this field did not respond as a GraphQL server does: whether the change was made is unknown; \
             look before you repeat it",
        ),
    };
    GraphqlError::new(code, message).with_detail(format!("status {status}: {detail}"))
}

/// As clients see it. A mutation that the upstream may have got is told apart: whoever repeats it may make it twice.
fn failure(error: &SendError, is_query: bool) -> GraphqlError {
    let (code, message) = match &error.kind {
        SendErrorKind::QueueFull { .. } | SendErrorKind::QueueTimeout { .. } => {
            (ErrorCode::Overloaded, "the service behind this field is asked for too much; try again later")
        }
        SendErrorKind::Timeout { .. } => (ErrorCode::Timeout, "the service behind this field took too long"),
        SendErrorKind::TooLarge { .. } => (
            ErrorCode::LimitExceeded,
            "the response of the service behind this field is too large; ask for less",
        ),
        SendErrorKind::Protocol(_) | SendErrorKind::NoEvents { .. } => (ErrorCode::SourceFailed, UNREADABLE),
        SendErrorKind::Exchange(error) => (error.code(), error.message()),
        SendErrorKind::Connect(_)
        | SendErrorKind::Closed
        | SendErrorKind::Broken(_)
        | SendErrorKind::BreakerOpen { .. } => {
            (ErrorCode::SourceUnavailable, "the service behind this field cannot be reached; try again later")
        }
    };
    let (code, message) = match code {
        ErrorCode::SourceUnavailable if error.may_have_arrived && !is_query => (
            ErrorCode::OutcomeUnknown,
            "the service behind this field was asked, and has gone without a response: whether the change was made is \
             unknown; look before you repeat it",
        ),
        ErrorCode::Timeout if error.may_have_arrived && !is_query => (
            code,
            "the service behind this field took too long: whether the change was made is unknown; look before you repeat it",
        ),
        ErrorCode::SourceUnavailable if error.may_have_arrived => {
            (code, "the service behind this field was asked, and has gone without a response")
        }
        _ => (code, message),
    };
    GraphqlError::new(code, message).with_detail(error.to_string())
}

impl SourceSession for UpstreamSession {
    fn query<'a>(
        &'a self,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, FieldResult> {
        Box::pin(async move {
            let mut results = self.forward_allowed(&[field.plan()], variables).await;
            results.pop().expect("each field has a result")
        })
    }

    fn query_all<'a>(
        &'a self,
        fields: &'a [&'a PreparedField],
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Vec<FieldResult>> {
        Box::pin(async move {
            let fields: Vec<&UpstreamField> = fields.iter().map(|field| field.plan()).collect();
            self.forward_allowed(&fields, variables).await
        })
    }

    /// As one request, whose root fields the upstream executes in their order.
    fn mutate<'a>(
        &'a self,
        fields: &'a [&'a PreparedField],
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Vec<FieldResult>> {
        self.query_all(fields, variables)
    }

    fn execute<'a>(
        &'a self,
        operation: &'a PreparedField,
        variables: &'a Variables,
        accepted: AcceptedCodings,
    ) -> LocalBoxFuture<'a, OperationResult> {
        Box::pin(self.forward_whole(operation.plan(), variables, accepted))
    }

    fn subscribe(&self, field: &PreparedField, variables: &Variables) -> Result<Events, GraphqlError> {
        match field.plan::<UpstreamField>().refusal(variables) {
            Some(error) => Err(error),
            None => Ok(subscribe::events(&self.upstream, field, variables)),
        }
    }

    /// The document that the root field is forwarded in, where it is forwarded by itself.
    fn explain<'a>(
        &'a self,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Explanation> {
        let body = UpstreamField::request(&[field.plan()], variables);
        let document =
            serde_json::from_slice::<Json>(&body).ok().and_then(|mut body| match body["query"].take() {
                Json::String(text) => Some(text),
                _ => None,
            });
        let explanation = Explanation { requests: document.into_iter().collect(), ..Explanation::default() };
        Box::pin(std::future::ready(explanation))
    }

    fn health(&self) -> LocalBoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            if let Some(failure) = self.upstream.missing_schema() {
                return Err(format!("its schema is not known: {failure}"));
            }
            let response = self.sender.send(true, &[], request_text("{__typename}")).await;
            match response {
                Ok(response) if response.status < 500 => Ok(()),
                Ok(response) => Err(format!("it responds with status {}", response.status)),
                Err(error) => Err(error.to_string()),
            }
        })
    }

    fn readiness(&self) -> LocalBoxFuture<'_, Result<(), NotReady>> {
        Box::pin(async {
            if self.upstream.missing_schema().is_some() {
                return Err(NotReady::Unreachable);
            }
            match self.sender.send(true, &[], request_text("{__typename}")).await {
                Ok(response) if response.status < 500 => Ok(()),
                // Requests of our own clients are before it.
                Err(SendError {
                    kind: SendErrorKind::QueueFull { .. } | SendErrorKind::QueueTimeout { .. },
                    ..
                }) => Ok(()),
                Ok(_) | Err(_) => Err(NotReady::Unreachable),
            }
        })
    }
}
