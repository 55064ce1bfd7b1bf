//! Counting what a document asks for, in time linear in its text, before anything is built from it: fragments
//! are counted once and their counts added wherever they are spread.

use apollo_compiler::{
    Name, Node,
    ast::{self, Definition, Document, Selection, Value},
    collections::{HashMap, HashSet},
};

use crate::{
    document::{
        limits::{Limits, MAX_REPORTED_ERRORS},
        position::LineIndex,
    },
    error::{ErrorCode, GraphqlError},
};

/// The message that the dialect's clients know; name, value and limit stand beside it, in the extensions.
const TOO_DEEP: &str = "Exceeded maximum nest level.";

const DIRECTIVES_ADVICE: &str = "max_directives): ask for fewer at a time";

/// Counts of a selection set with its fragments expanded; saturating.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    fields: usize,
    /// Fields of the set itself, those of fragments spread in it included.
    own_fields: usize,
    aliases: usize,
    directives: usize,
    depth: usize,
    nesting: usize,
    /// `__schema` and `__type`.
    introspecting: usize,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.fields = self.fields.saturating_add(other.fields);
        self.own_fields = self.own_fields.saturating_add(other.own_fields);
        self.aliases = self.aliases.saturating_add(other.aliases);
        self.directives = self.directives.saturating_add(other.directives);
        self.depth = self.depth.max(other.depth);
        self.nesting = self.nesting.max(other.nesting);
        self.introspecting = self.introspecting.saturating_add(other.introspecting);
    }
}

/// Checks every operation and fragment of a document against the limits.
pub(crate) fn check(
    document: &Document,
    limits: &Limits,
    lines: &LineIndex,
) -> Result<(), Vec<GraphqlError>> {
    let mut counter = Counter::new(document, limits, lines);
    if document.definitions.len() > limits.max_definitions {
        let count = document.definitions.len();
        counter.refuse(None, too_many_definitions(count, limits.max_definitions));
        return Err(counter.errors);
    }
    for definition in &document.definitions {
        match definition {
            Definition::OperationDefinition(operation) => counter.operation(operation),
            Definition::FragmentDefinition(fragment) => {
                counter.fragment(&fragment.name, 0);
            }
            _ => {}
        }
    }
    counter.check_totals();
    counter.errors.truncate(MAX_REPORTED_ERRORS);
    if counter.errors.is_empty() { Ok(()) } else { Err(counter.errors) }
}

pub(super) fn too_many_definitions(count: usize, limit: usize) -> String {
    let advice = "max_definitions): send only the operation that is to run";
    exceeded("operations and fragments", count, limit, advice)
}

/// Where each is written; those of a fragment count again wherever it is spread.
pub(super) fn too_many_directives(count: usize, limit: usize) -> String {
    exceeded("directives", count, limit, DIRECTIVES_ADVICE)
}

/// `advice` is the limit's name and what to try.
fn exceeded(what: &str, count: usize, limit: usize, advice: &str) -> String {
    format!("the document has {count} {what}; the limit is {limit} ({advice}")
}

pub(super) fn too_deep(name: &str, depth: usize, limit: usize) -> GraphqlError {
    let mut error = GraphqlError::new(ErrorCode::LimitExceeded, TOO_DEEP);
    let extensions = error.extensions.get_or_insert_default();
    extensions.insert("limit".into(), name.into());
    extensions.insert("value".into(), depth.into());
    extensions.insert("highest".into(), limit.into());
    extensions.insert("try".into(), "ask for fewer nested levels, or in several requests".into());
    error
}

enum Fragment {
    /// Being counted: met again, it is a cycle, which validation reports.
    Open,
    Counted(Tally),
}

struct Counter<'a> {
    limits: &'a Limits,
    lines: &'a LineIndex,
    definitions: HashMap<&'a Name, &'a Node<ast::FragmentDefinition>>,
    fragments: HashMap<&'a Name, Fragment>,
    errors: Vec<GraphqlError>,
    too_nested: bool,
    /// Over the operations counted so far.
    total: Tally,
}

impl<'a> Counter<'a> {
    fn new(document: &'a Document, limits: &'a Limits, lines: &'a LineIndex) -> Self {
        let definitions = document.definitions.iter().filter_map(Definition::as_fragment_definition);
        Self {
            limits,
            lines,
            definitions: definitions.map(|fragment| (&fragment.name, fragment)).collect(),
            fragments: HashMap::default(),
            errors: Vec::new(),
            too_nested: false,
            total: Tally::default(),
        }
    }

    fn refuse(&mut self, span: Option<apollo_compiler::parser::SourceSpan>, message: String) {
        let mut error = GraphqlError::new(ErrorCode::LimitExceeded, message);
        if span.is_some() {
            error = error.at(self.lines.position(span));
        }
        self.errors.push(error);
    }

    fn check_alias(&mut self, alias: &Name) {
        let (limit, bytes) = (self.limits.max_alias_bytes, alias.len());
        if bytes > limit {
            let message = format!(
                "the document has an alias of {bytes} bytes; the limit is {limit} (max_alias_bytes): choose a shorter one"
            );
            self.refuse(alias.location(), message);
        }
    }

    fn operation(&mut self, operation: &'a Node<ast::OperationDefinition>) {
        let limits = self.limits;
        let mut tally = self.selection_set(&operation.selection_set, 0);
        tally.directives = tally.directives.saturating_add(self.directives(&operation.directives));
        for variable in &operation.variables {
            tally.directives = tally.directives.saturating_add(self.directives(&variable.directives));
            if let Some(default) = &variable.default_value {
                self.value(default);
            }
        }
        let span = operation.location();
        self.total.add(tally);
        if operation.variables.len() > limits.max_variables {
            let count = operation.variables.len();
            let advice = "max_variables): gather values in input objects";
            self.refuse(span, exceeded("variables", count, limits.max_variables, advice));
        }
        if tally.depth > limits.max_depth {
            self.errors
                .push(too_deep("max_depth", tally.depth, limits.max_depth).at(self.lines.position(span)));
        }
        if tally.nesting > limits.max_nesting {
            self.too_nested(span);
        }
        if tally.introspecting > 0 && !limits.introspection {
            let message = "introspection is switched off on this server; ask its operator for the schema, \
                           or for `introspection` to be switched on";
            let error = GraphqlError::new(ErrorCode::ValidationFailed, message).at(self.lines.position(span));
            self.errors.push(error);
        }
    }

    fn check_totals(&mut self) {
        let (limits, total) = (self.limits, self.total);
        let counts = [
            (
                "fields when its fragments are expanded",
                total.fields,
                limits.max_fields,
                "max_fields): ask for fewer at a time",
            ),
            (
                "root fields",
                total.own_fields,
                limits.max_root_fields,
                "max_root_fields): send several requests",
            ),
            ("aliases", total.aliases, limits.max_aliases, "max_aliases): send several requests"),
            ("directives", total.directives, limits.max_directives, DIRECTIVES_ADVICE),
            (
                "introspecting fields",
                total.introspecting,
                limits.max_introspection_fields,
                "max_introspection_fields): ask for __schema once",
            ),
        ];
        for (what, count, limit, advice) in counts {
            if count > limit {
                self.refuse(None, exceeded(what, count, limit, advice));
            }
        }
    }

    fn too_nested(&mut self, span: Option<apollo_compiler::parser::SourceSpan>) {
        if !std::mem::replace(&mut self.too_nested, true) {
            let limit = self.limits.max_nesting;
            self.refuse(span, format!("selections are nested deeper than {limit} levels (max_nesting): ask for fewer, or in several requests"));
        }
    }

    /// `level` bounds the stack; the tally's `nesting` is what the limit is checked against.
    fn selection_set(&mut self, selections: &'a [Selection], level: usize) -> Tally {
        let mut total = Tally::default();
        if level > self.limits.max_nesting {
            self.too_nested(None);
            return total;
        }
        for selection in selections {
            let tally = match selection {
                Selection::Field(field) => self.field(field, level),
                Selection::InlineFragment(inline) => {
                    let mut tally = self.selection_set(&inline.selection_set, level + 1);
                    tally.directives = tally.directives.saturating_add(self.directives(&inline.directives));
                    tally
                }
                Selection::FragmentSpread(spread) => {
                    let mut tally = self.fragment(&spread.fragment_name, level + 1);
                    tally.directives = tally.directives.saturating_add(self.directives(&spread.directives));
                    tally
                }
            };
            total.add(tally);
        }
        total.nesting += 1;
        total
    }

    fn field(&mut self, field: &'a ast::Field, level: usize) -> Tally {
        let mut tally = Tally::default();
        if !field.selection_set.is_empty() {
            tally = self.selection_set(&field.selection_set, level + 1);
            tally.depth += 1;
        }
        if matches!(field.name.as_str(), "__schema" | "__type") {
            tally.introspecting = tally.introspecting.saturating_add(1);
            tally.depth = 0;
        }
        tally.fields = tally.fields.saturating_add(1);
        tally.own_fields = 1;
        if let Some(alias) = &field.alias {
            tally.aliases = tally.aliases.saturating_add(1);
            self.check_alias(alias);
        }
        tally.directives = tally.directives.saturating_add(self.directives(&field.directives));
        for argument in &field.arguments {
            self.value(&argument.value);
        }
        tally
    }

    fn fragment(&mut self, name: &'a Name, level: usize) -> Tally {
        match self.fragments.get(name) {
            Some(Fragment::Counted(tally)) => return *tally,
            Some(Fragment::Open) => return Tally::default(),
            None => {}
        }
        // An unknown fragment is for validation to report.
        let Some(&definition) = self.definitions.get(name) else { return Tally::default() };
        self.fragments.insert(name, Fragment::Open);
        let mut tally = self.selection_set(&definition.selection_set, level);
        tally.directives = tally.directives.saturating_add(self.directives(&definition.directives));
        if tally.nesting > self.limits.max_nesting {
            self.too_nested(definition.location());
        }
        self.fragments.insert(name, Fragment::Counted(tally));
        tally
    }

    fn directives(&mut self, directives: &'a ast::DirectiveList) -> usize {
        for directive in directives {
            for argument in &directive.arguments {
                self.value(&argument.value);
            }
        }
        directives.len()
    }

    /// Keys of object literals must be unique (GraphQL specification, section 5.6.3). The parser's limit bounds
    /// the recursion.
    fn value(&mut self, value: &'a Node<Value>) {
        match &**value {
            Value::List(items) => items.iter().for_each(|item| self.value(item)),
            Value::Object(entries) => {
                let mut known = HashSet::default();
                for (key, entry) in entries {
                    if !known.insert(key) {
                        let message = format!("the input object has the field {key} more than once");
                        let error = GraphqlError::new(ErrorCode::ValidationFailed, message);
                        self.errors.push(error.at(self.lines.position(key.location())));
                        return;
                    }
                    self.value(entry);
                }
            }
            _ => {}
        }
    }
}
