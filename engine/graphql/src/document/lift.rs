//! Variables of an input type that the schema takes only as a list: `$sort: MemberSort` where the argument has
//! the type `[MemberSort!]`. A value in a document may leave out the brackets (GraphQL specification, section
//! 3.11); a variable may not, though clients written when the argument took one value declare it so. Before
//! validation, its type becomes the list, and its value is coerced as a list of one. A variable that stands in
//! brackets (`[$sort]`) is an item, and keeps its type.

use apollo_compiler::{
    Name, Node,
    ast::{Definition, Document, OperationDefinition, Selection, Type, Value, VariableDefinition},
    collections::HashSet,
};

/// Rewrites the types of such variables; documents without them are left as they are.
pub(crate) fn list_inputs(document: &mut Document, only_listed: &HashSet<Name>) {
    let has_candidates = |operation: &OperationDefinition| {
        operation.variables.iter().any(|variable| lifted(&variable.ty, only_listed).is_some())
    };
    let is_concerned = |definition: &Definition| match definition {
        Definition::OperationDefinition(operation) => has_candidates(operation),
        _ => false,
    };
    if !document.definitions.iter().any(is_concerned) {
        return;
    }
    let mut items_of_fragments = HashSet::default();
    for definition in &document.definitions {
        if let Definition::FragmentDefinition(fragment) = definition {
            add_items(&fragment.selection_set, &mut items_of_fragments);
        }
    }
    for definition in &mut document.definitions {
        let Definition::OperationDefinition(operation) = definition else { continue };
        if !has_candidates(operation) {
            continue;
        }
        let mut items = items_of_fragments.clone();
        add_items(&operation.selection_set, &mut items);
        let is_whole = |variable: &&mut Node<VariableDefinition>| !items.contains(&variable.name);
        for variable in operation.make_mut().variables.iter_mut().filter(is_whole) {
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

/// Adds the variables that are items of lists in the arguments of fields. The limits on documents bound how deep they lie.
fn add_items(selections: &[Selection], items: &mut HashSet<Name>) {
    for selection in selections {
        match selection {
            Selection::Field(field) => {
                for argument in &field.arguments {
                    add_items_of_value(&argument.value, items);
                }
                add_items(&field.selection_set, items);
            }
            Selection::InlineFragment(fragment) => add_items(&fragment.selection_set, items),
            Selection::FragmentSpread(_) => {}
        }
    }
}

fn add_items_of_value(value: &Value, items: &mut HashSet<Name>) {
    match value {
        Value::List(values) => {
            for value in values {
                match &**value {
                    Value::Variable(name) => {
                        items.insert(name.clone());
                    }
                    other => add_items_of_value(other, items),
                }
            }
        }
        Value::Object(fields) => {
            for (_, value) in fields {
                add_items_of_value(value, items);
            }
        }
        _ => {}
    }
}
