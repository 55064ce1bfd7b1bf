//! Whether an upstream knows all that a document mentions. It validates that, also where `@skip` and `@include` leave it out
//! and where another source has it.

use prony_graphql::{
    Name,
    compiler::{
        ast::DirectiveList,
        executable::{ExecutableDocument, Operation, Selection, SelectionSet},
    },
    selection::OperationKind,
};

use crate::schema::{UpstreamModel, root_name};

/// `document` is valid for the schema that the upstream has a part in; its operations are of this kind.
pub(crate) fn are_known(model: &UpstreamModel, kind: OperationKind, document: &ExecutableDocument) -> bool {
    let mentions = Mentions { model, kind };
    let mut fragments = document.fragments.values();
    document.operations.iter().all(|operation| mentions.knows_operation(operation))
        && fragments.all(|fragment| {
            let (directives, set) = (&fragment.directives, &fragment.selection_set);
            mentions.knows_directives(directives) && mentions.knows_fragment(set)
        })
}

struct Mentions<'a> {
    model: &'a UpstreamModel,
    kind: OperationKind,
}

impl Mentions<'_> {
    fn knows_operation(&self, operation: &Operation) -> bool {
        self.knows_directives(&operation.directives)
            && self.knows_all(&operation.selection_set)
            && operation.variables.iter().all(|variable| {
                self.knows_type(variable.ty.inner_named_type()) && self.knows_directives(&variable.directives)
            })
    }

    /// A fragment with the type that it is about.
    fn knows_fragment(&self, set: &SelectionSet) -> bool {
        (self.is_root(&set.ty) || self.knows_type(&set.ty)) && self.knows_all(set)
    }

    fn knows_all(&self, set: &SelectionSet) -> bool {
        let knows = |selection: &Selection| match selection {
            // Of a schema; everybody knows them.
            Selection::Field(field) if field.name.starts_with("__") => true,
            Selection::Field(field) => {
                let parent = (!self.is_root(&set.ty)).then_some(&set.ty);
                self.model.field(self.kind, parent, &field.name).is_some()
                    && self.knows_all(&field.selection_set)
            }
            // What it names is looked at by itself.
            Selection::FragmentSpread(_) => true,
            Selection::InlineFragment(inline) => self.knows_fragment(&inline.selection_set),
        };
        let mut selections = set.selections.iter();
        selections.all(|selection| self.knows_directives(selection.directives()) && knows(selection))
    }

    fn knows_directives(&self, directives: &DirectiveList) -> bool {
        directives.iter().all(|directive| {
            matches!(directive.name.as_str(), "skip" | "include")
                || self.model.directive(&directive.name).is_some()
        })
    }

    fn is_root(&self, ty: &Name) -> bool {
        *ty == *root_name(self.kind)
    }

    fn knows_type(&self, ty: &Name) -> bool {
        let is_built_in = matches!(ty.as_str(), "Int" | "Float" | "String" | "Boolean" | "ID");
        is_built_in || self.model.types.contains_key(ty)
    }
}
