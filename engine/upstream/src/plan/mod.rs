//! What an upstream is asked: a root field as text of its own, of which requests are put together ([`print`]), and a whole
//! operation as its client wrote it.

mod mentions;
mod parts;
mod print;
mod sent;

use std::{borrow::Cow, io::Write as _};

use prony_graphql::{
    Name,
    error::{GraphqlError, Position},
    json,
    requirements::RequirementId,
    selection::{Field, OperationKind},
    variables::Variables,
};
use prony_source::{FieldPlan, OperationRequest};
use serde_json::Value as Json;

use self::parts::{UpstreamVariable, VariableType, VariableValue};
pub(crate) use self::{mentions::are_known, parts::Typenames};
use crate::schema::{Guards, UpstreamModel};

/// A root field, ready to be forwarded beside others.
#[derive(Debug)]
pub(crate) struct UpstreamField {
    pub(crate) kind: OperationKind,
    pub(crate) response_key: Name,
    pub(crate) position: Position,
    /// Its type lets it be no null.
    pub(crate) is_non_null: bool,
    /// Text of a selection, escaped to stand within a string of JSON.
    text: String,
    /// That the text uses.
    variables: Vec<UpstreamVariable>,
    /// Names of types that the response has other than they are served; none where it is served as it comes.
    pub(crate) typenames: Option<Box<Typenames>>,
    guards: Guards,
    /// What it wants to know of who asks, with all that is selected below it.
    wanted: Box<[RequirementId]>,
}

/// An operation that is forwarded as its client wrote it.
#[derive(Debug)]
pub(crate) struct UpstreamOperation {
    pub(crate) kind: OperationKind,
    /// `{"query":"…","operationName":"…"`, without its end.
    head: Vec<u8>,
    /// `"name":` of each variable.
    variables: Vec<Box<[u8]>>,
    pub(crate) fields: Vec<WholeField>,
}

/// What is known of a root field of an operation that is forwarded whole.
#[derive(Debug)]
pub(crate) struct WholeField {
    pub(crate) response_key: Name,
    pub(crate) position: Position,
}

impl FieldPlan for UpstreamField {
    fn weight_bytes(&self) -> usize {
        let variables = self
            .variables
            .iter()
            .map(|variable| size_of::<UpstreamVariable>() + variable.name.len() + variable.ty.text.len());
        size_of::<Self>() + self.text.len() + size_of_val(&*self.wanted) + variables.sum::<usize>()
    }
}

impl FieldPlan for UpstreamOperation {
    fn weight_bytes(&self) -> usize {
        let variables = self.variables.iter().map(|name| name.len() + size_of::<Box<[u8]>>());
        size_of::<Self>() + self.head.len() + variables.sum::<usize>() + size_of_val(&*self.fields)
    }
}

impl UpstreamField {
    pub(crate) fn of(model: &UpstreamModel, kind: OperationKind, field: &Field) -> Self {
        let mut printer = print::Printer::new(model, kind, field);
        printer.field(field, None);
        let print::Printed { text, variables } = printer.finish();
        let mut escaped = Vec::with_capacity(text.len() + text.len() / 8);
        json::write_string(&mut escaped, &text);
        let inner = escaped[1..escaped.len() - 1].to_vec();
        Self {
            kind,
            response_key: field.response_key.clone(),
            position: field.position,
            is_non_null: field.output.is_non_null(),
            text: String::from_utf8(inner).expect("an escaped text is text"),
            variables,
            typenames: print::typenames(model, field).map(Box::new),
            guards: model.guards.clone(),
            wanted: model.guards.wanted(field).into(),
        }
    }

    /// Why it is not forwarded for who asks.
    pub(crate) fn refusal(&self, variables: &Variables) -> Option<GraphqlError> {
        self.guards.refusal(&self.wanted, variables)
    }

    /// The body of a request for these fields, which are of one kind.
    pub(crate) fn request(fields: &[&Self], variables: &Variables) -> Vec<u8> {
        let texts: usize = fields.iter().map(|field| field.text.len()).sum();
        let mut body = Vec::with_capacity(texts + 128);
        body.extend_from_slice(b"{\"query\":\"");
        let kind = fields.first().map_or(OperationKind::Query, |field| field.kind);
        write!(body, "{kind}").expect("memory takes it");
        let mut declared: Vec<(&UpstreamVariable, Cow<'_, VariableType>)> = Vec::new();
        for variable in fields.iter().flat_map(|field| &field.variables) {
            match declared.iter_mut().find(|(known, _)| known.name == variable.name) {
                Some((_, ty)) if **ty != variable.ty => *ty = Cow::Owned(ty.with(&variable.ty)),
                Some(_) => {}
                None => declared.push((variable, Cow::Borrowed(&variable.ty))),
            }
        }
        for (index, (variable, ty)) in declared.iter().enumerate() {
            let begin = if index == 0 { '(' } else { ' ' };
            let ty = ty.declared(variable.value_in(variables));
            write!(body, "{begin}${}:{ty}", variable.name).expect("memory takes it");
        }
        body.extend_from_slice(if declared.is_empty() { b"{" } else { b"){" });
        for field in fields {
            body.extend_from_slice(field.text.as_bytes());
        }
        body.extend_from_slice(b"}\"");
        if !declared.is_empty() {
            body.extend_from_slice(b",\"variables\":");
            for (index, (variable, _)) in declared.iter().enumerate() {
                body.push(if index == 0 { b'{' } else { b',' });
                json::write_string(&mut body, &variable.name);
                body.push(b':');
                serde_json::to_writer(&mut body, variable.value_in(variables)).expect("memory takes it");
            }
            body.push(b'}');
        }
        body.push(b'}');
        body
    }
}

impl UpstreamVariable {
    fn value_in<'v>(&'v self, variables: &'v Variables) -> &'v Json {
        static NULL: Json = Json::Null;
        match &self.value {
            VariableValue::Slot(slot) => variables.get(slot).unwrap_or(&NULL),
            VariableValue::Constant(value) => value,
        }
    }
}

impl UpstreamOperation {
    pub(crate) fn of(request: &OperationRequest<'_>) -> Self {
        let mut head = Vec::with_capacity(request.text.len() + 64);
        head.extend_from_slice(b"{\"query\":");
        json::write_string(&mut head, request.text);
        if let Some(name) = request.name {
            head.extend_from_slice(b",\"operationName\":");
            json::write_string(&mut head, name);
        }
        let fields = request
            .fields
            .iter()
            .map(|field| WholeField { response_key: field.response_key.clone(), position: field.position });
        Self {
            kind: request.kind,
            head,
            variables: request.variables.iter().map(|name| json::member_prefix(name)).collect(),
            fields: fields.collect(),
        }
    }

    /// The body of a request for it.
    pub(crate) fn request(&self, variables: &Variables) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.head.len() + 64);
        body.extend_from_slice(&self.head);
        if !self.variables.is_empty() {
            body.extend_from_slice(b",\"variables\":{");
            let sent = variables.sent().map(sent::members).unwrap_or_default();
            let mut is_first = true;
            for (name, value) in self.variables.iter().zip(variables.values()) {
                let Some(value) = value else { continue };
                if !std::mem::take(&mut is_first) {
                    body.push(b',');
                }
                body.extend_from_slice(name);
                match sent.get(name_of(name)) {
                    Some(sent) => sent::write(&mut body, value, sent),
                    None => sent::write_plain(&mut body, value),
                }
            }
            body.push(b'}');
        }
        if let Some(extensions) = variables.extensions() {
            body.extend_from_slice(b",\"extensions\":");
            body.extend_from_slice(extensions.as_bytes());
        }
        body.push(b'}');
        body
    }
}

/// From `"name":`.
fn name_of(prefix: &[u8]) -> &str {
    std::str::from_utf8(&prefix[1..prefix.len() - 2]).expect("names are text")
}
