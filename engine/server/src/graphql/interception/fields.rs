//! Which fields of a plan have interceptors.

use std::sync::Arc;

use prony_graphql::{
    schema::{Schema, SourceId},
    selection::{Field, OperationKind},
};
use prony_source::{SourceSchema, interceptors::RowOperation};

use super::index::{Chain, InterceptorIndex};

/// What is called around the fields of one plan.
#[derive(Debug)]
pub(crate) struct Interception {
    pub(super) index: Arc<InterceptorIndex>,
    /// Those around others first.
    pub(super) fields: Box<[InterceptedField]>,
}

#[derive(Debug)]
pub(super) struct InterceptedField {
    /// Indexes from the fields of the selection downwards; at least one.
    pub(super) place: Box<[usize]>,
    pub(super) source: SourceId,
    pub(super) table: Box<str>,
    pub(super) operation: RowOperation,
    pub(super) chain: Arc<Chain>,
}

impl Interception {
    /// None where nothing is called for any of these fields.
    pub(in crate::graphql) fn of(
        index: &Arc<InterceptorIndex>,
        schema: &Schema,
        sources: &[Arc<dyn SourceSchema>],
        kind: OperationKind,
        fields: &[Field],
    ) -> Option<Box<Self>> {
        let mut finder = Finder { index, kind, place: Vec::new(), found: Vec::new() };
        for (number, field) in fields.iter().enumerate() {
            let Some(owner) = schema.owner(kind, &field.name) else { continue };
            // What the server says itself has no source.
            let Some(source) = sources.get(usize::from(owner.0)) else { continue };
            finder.find(owner, &**source, number, field);
        }
        let fields: Box<[_]> = finder.found.into();
        (!fields.is_empty()).then(|| Box::new(Self { index: Arc::clone(index), fields }))
    }

    /// Bytes that the plan cache accounts for it.
    pub(in crate::graphql) fn weight_bytes(&self) -> usize {
        const PER_FIELD: usize = 64;
        self.fields.len() * (size_of::<InterceptedField>() + PER_FIELD)
    }
}

struct Finder<'a> {
    index: &'a InterceptorIndex,
    kind: OperationKind,
    place: Vec<usize>,
    found: Vec<InterceptedField>,
}

impl Finder<'_> {
    fn find(&mut self, owner: SourceId, source: &dyn SourceSchema, number: usize, field: &Field) {
        self.place.push(number);
        if let Some(access) = source.row_access(self.kind, field)
            && let Some(chain) = self.index.chain(owner, &access)
        {
            self.found.push(InterceptedField {
                place: self.place.clone().into(),
                source: owner,
                table: access.table,
                operation: access.operation,
                chain,
            });
        }
        for (number, field) in field.selections.iter().enumerate() {
            self.find(owner, source, number, field);
        }
        self.place.pop();
    }
}

impl InterceptedField {
    /// The field in the selection that it was found in, and those around it.
    pub(super) fn path<'f>(&self, fields: &'f [Field]) -> Vec<&'f Field> {
        let mut level = fields;
        let mut path = Vec::with_capacity(self.place.len());
        for number in &self.place {
            let field = &level[*number];
            path.push(field);
            level = &field.selections;
        }
        path
    }

    pub(super) fn root(&self) -> usize {
        self.place[0]
    }
}

/// The field at a place of a selection, to be changed.
pub(super) fn field_at<'f>(fields: &'f mut [Field], place: &[usize]) -> &'f mut Field {
    let (number, below) = place.split_first().expect("a place has a field");
    let field = &mut fields[*number];
    if below.is_empty() { field } else { field_at(&mut field.selections, below) }
}
