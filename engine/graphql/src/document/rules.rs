//! Rules of the specification that apollo-compiler 1.33 leaves unchecked: variables within literals of lists and
//! input objects (section 5.8.5), and lists of different lengths among arguments of merged fields (section
//! 5.3.2). All variables are checked here, since a schema may accept some where the specification does not; and so are the
//! root fields of subscriptions, which it counts before it merges them.

use apollo_compiler::{
    ExecutableDocument, Name, Node,
    ast::{self, Argument, DirectiveList, InputValueDefinition, Type, Value},
    collections::HashSet,
    executable::{self, Selection, SelectionSet},
    schema::ExtendedType,
};

use crate::{
    document::{limits::MAX_REPORTED_ERRORS, position::LineIndex},
    error::{ErrorCode, GraphqlError},
    schema::Schema,
};

/// Checks every variable of an operation against the place where it is used.
pub(crate) fn check_variable_usages(
    schema: &Schema,
    document: &ExecutableDocument,
    operation: &executable::Operation,
    lines: &LineIndex,
) -> Result<(), Vec<GraphqlError>> {
    if operation.variables.is_empty() {
        return Ok(());
    }
    let visited = HashSet::default();
    let mut usages = Usages { schema, document, operation, lines, visited, errors: Vec::new() };
    usages.directives(&operation.directives);
    usages.selection_set(&operation.selection_set);
    if usages.errors.is_empty() { Ok(()) } else { Err(usages.errors) }
}

/// A subscription has one root field, which may be selected several times (section 5.2.3.1).
pub(crate) fn check_root_fields(
    document: &ExecutableDocument,
    operation: &Node<executable::Operation>,
    lines: &LineIndex,
) -> Result<(), Vec<GraphqlError>> {
    let mut keys = operation.root_fields(document).map(|field| field.response_key());
    let first = keys.next();
    if !operation.is_subscription() || keys.all(|key| Some(key) == first) {
        return Ok(());
    }
    let name = operation.name.as_ref();
    let subject = name.map_or("anonymous subscription".to_owned(), |name| format!("subscription `{name}`"));
    let message = format!("{subject} can only have one root field");
    let error = GraphqlError::new(ErrorCode::ValidationFailed, message);
    Err(vec![error.at(lines.position(operation.location()))])
}

struct Usages<'a> {
    schema: &'a Schema,
    document: &'a ExecutableDocument,
    operation: &'a executable::Operation,
    lines: &'a LineIndex,
    visited: HashSet<&'a Name>,
    errors: Vec<GraphqlError>,
}

impl<'a> Usages<'a> {
    fn selection_set(&mut self, set: &'a SelectionSet) {
        for selection in &set.selections {
            self.directives(selection.directives());
            match selection {
                Selection::Field(field) => {
                    for argument in &field.arguments {
                        if let Some(definition) = field.definition.argument_by_name(&argument.name) {
                            self.input(definition, &argument.value);
                        }
                    }
                    self.selection_set(&field.selection_set);
                }
                Selection::InlineFragment(inline) => self.selection_set(&inline.selection_set),
                Selection::FragmentSpread(spread) => {
                    let fragment = self.document.fragments.get(&spread.fragment_name);
                    if let Some(fragment) = fragment.filter(|fragment| self.visited.insert(&fragment.name)) {
                        self.directives(&fragment.directives);
                        self.selection_set(&fragment.selection_set);
                    }
                }
            }
        }
    }

    fn directives(&mut self, directives: &DirectiveList) {
        let schema = self.schema;
        for directive in directives {
            let Some(known) = schema.valid().directive_definitions.get(&directive.name) else { continue };
            for argument in &directive.arguments {
                if let Some(definition) = known.argument_by_name(&argument.name) {
                    self.input(definition, &argument.value);
                }
            }
        }
    }

    fn input(&mut self, definition: &InputValueDefinition, value: &Node<Value>) {
        self.value(&definition.ty, definition.default_value.is_some(), value);
    }

    fn value(&mut self, ty: &Type, has_default: bool, value: &Node<Value>) {
        match &**value {
            Value::Variable(name) => self.variable(ty, has_default, name, value),
            Value::List(items) if ty.is_list() => {
                for item in items {
                    self.value(ty.item_type(), false, item);
                }
            }
            Value::Object(entries) => {
                let schema = self.schema;
                if let Some(ExtendedType::InputObject(object)) =
                    schema.valid().types.get(ty.inner_named_type())
                {
                    for (key, entry) in entries {
                        if let Some(definition) = object.fields.get(key) {
                            self.input(definition, entry);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn variable(&mut self, ty: &Type, has_default: bool, name: &Name, value: &Node<Value>) {
        let definition = self.operation.variables.iter().find(|variable| variable.name == *name);
        let Some(definition) = definition else { return };
        let widened = self.widened(&definition.ty, ty);
        let is_allowed = is_usage_allowed(definition, widened.as_ref(), ty, has_default);
        if is_allowed || self.errors.len() >= MAX_REPORTED_ERRORS {
            return;
        }
        let message =
            format!("variable \"${name}\" of type {} cannot be used where {ty} is expected", definition.ty);
        let error = GraphqlError::new(ErrorCode::ValidationFailed, message);
        self.errors.push(error.at(self.lines.position(value.location())));
    }

    /// The type of a variable as the wider one that is expected, where the schema says that it is one.
    fn widened(&self, declared: &Type, expected: &Type) -> Option<Type> {
        let pair = (declared.inner_named_type().clone(), expected.inner_named_type().clone());
        self.schema.widened().contains(&pair).then(|| renamed(declared, &pair.1))
    }
}

/// The same lists and non-nulls of another type.
fn renamed(ty: &Type, name: &Name) -> Type {
    match ty {
        Type::Named(_) => Type::Named(name.clone()),
        Type::NonNullNamed(_) => Type::NonNullNamed(name.clone()),
        Type::List(item) => renamed(item, name).list(),
        Type::NonNullList(item) => renamed(item, name).list().non_null(),
    }
}

/// GraphQL specification, section 5.8.5, `IsVariableUsageAllowed`.
fn is_usage_allowed(
    variable: &ast::VariableDefinition,
    widened: Option<&Type>,
    ty: &Type,
    has_default: bool,
) -> bool {
    let declared = widened.unwrap_or(&variable.ty);
    let has_own_default = variable.default_value.as_ref().is_some_and(|default| !default.is_null());
    if ty.is_non_null() && !declared.is_non_null() && (has_own_default || has_default) {
        declared.is_assignable_to(&ty.clone().nullable())
    } else {
        declared.is_assignable_to(ty)
    }
}

/// Whether two fields have the same arguments, in any order.
pub(crate) fn same_arguments(left: &[Node<Argument>], right: &[Node<Argument>]) -> bool {
    left.len() == right.len()
        && left.iter().all(|argument| {
            right.iter().any(|other| argument.name == other.name && same_value(&argument.value, &other.value))
        })
}

fn same_value(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same_value(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| {
                    right.iter().any(|(other_key, other)| key == other_key && same_value(value, other))
                })
        }
        _ => left == right,
    }
}
