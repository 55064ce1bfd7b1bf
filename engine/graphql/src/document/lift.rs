//! Variables of an input type that the schema takes only as a list: `$sort: MemberSort` where the argument has
//! the type `[MemberSort!]`. A value in a document may leave out the brackets (GraphQL specification, section
//! 3.11); a variable may not, though clients written when the argument took one value declare it so. Before
//! validation, its type becomes the list, and its value is coerced as a list of one.

use apollo_compiler::{
    Name, Node,
    ast::{Definition, Document, Type},
    collections::HashSet,
};

/// Rewrites the types of such variables; documents without them are left as they are.
pub(crate) fn list_inputs(document: &mut Document, only_listed: &HashSet<Name>) {
    for definition in &mut document.definitions {
        let Definition::OperationDefinition(operation) = definition else { continue };
        if !operation.variables.iter().any(|variable| lifted(&variable.ty, only_listed).is_some()) {
            continue;
        }
        for variable in &mut operation.make_mut().variables {
            if let Some(list) = lifted(&variable.ty, only_listed) {
                let list: Node<Type> = variable.ty.same_location(list);
                variable.make_mut().ty = list;
            }
        }
    }
}

fn lifted(ty: &Type, only_listed: &HashSet<Name>) -> Option<Type> {
    match ty {
        Type::Named(name) if only_listed.contains(name) => Some(Type::NonNullNamed(name.clone()).list()),
        Type::NonNullNamed(name) if only_listed.contains(name) => Some(ty.clone().list().non_null()),
        _ => None,
    }
}
