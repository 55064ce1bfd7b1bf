//! From text to an operation: parsed, within its limits, valid for the schema, and chosen by name.

pub mod complexity;
pub(crate) mod faults;
pub(crate) mod lift;
pub mod limits;
pub mod operation;
pub(crate) mod position;
pub(crate) mod rules;
pub(crate) mod scan;
pub(crate) mod syntax;
pub(crate) mod tally;
pub mod weights;

pub use self::operation::{Operation, OperationId};

use std::borrow::Cow;

use apollo_compiler::{
    ExecutableDocument, Name, Node, ast::Document, executable, parser::Parser, validation::Valid,
};

use crate::{
    document::{
        limits::Limits,
        operation::{VariableDefinition, next_id},
        position::LineIndex,
        scan::{Scan, scan},
    },
    error::{ErrorCode, GraphqlError, abridged},
    schema::Schema,
    variables::literal::Literals,
};

impl Operation {
    /// Parses a document and picks the operation with the given name, or the only one. Limits come first, so
    /// that a hostile document costs no more than its text is long.
    pub fn parse(
        schema: &Schema,
        text: &str,
        operation_name: Option<&str>,
        limits: &Limits,
    ) -> Result<Self, Vec<GraphqlError>> {
        check_text(text, limits)
            .map_err(|message| vec![GraphqlError::new(ErrorCode::LimitExceeded, message)])?;
        let lines = LineIndex::new(text);
        // The parser's own limits only guard against a mistake in ours.
        // Blanks and commas are tokens to it.
        let mut parser = Parser::new().recursion_limit(2 * limits.max_nesting).token_limit(text.len() + 1);
        let readable = syntax::readable(text);
        let mut ast =
            parser.parse_ast(&*readable, "document").map_err(|invalid| faults::of_syntax(&invalid.errors))?;
        syntax::check(&readable, &lines)?;
        tally::check(&ast, limits, &lines)?;
        lift::list_inputs(&mut ast, schema.only_listed());
        let document = validated(&ast, schema, limits)?;
        for operation in document.operations.iter() {
            rules::check_root_fields(&document, operation, &lines)?;
            rules::check_variable_usages(schema, &document, operation, &lines)?;
        }
        let definition = choose(&document, operation_name)?.clone();
        let variables = variables(schema, &definition, &lines)?;
        let weight_bytes = weight_bytes(text, parser.tokens_reached(), &lines);
        Ok(Self {
            id: next_id(),
            kind: definition.operation_type.into(),
            document,
            definition,
            variables,
            lines,
            max_shape_bytes: limits.max_shape_bytes,
            weight_bytes,
        })
    }
}

/// Whether every server reads a text as it is. Descriptions of what is executed are new, and some servers stop at commas behind `...` and
/// before `:`.
pub fn is_read_everywhere(text: &str) -> bool {
    matches!(syntax::readable(text), Cow::Borrowed(_))
}

/// Valid but for what [`rules`] checks.
fn validated(
    ast: &Document,
    schema: &Schema,
    limits: &Limits,
) -> Result<Valid<ExecutableDocument>, Vec<GraphqlError>> {
    ast.to_executable_validate(schema.valid()).or_else(|invalid| {
        let faults = faults::of_validation(&invalid.errors, schema, limits);
        if faults.is_empty() { Ok(Valid::assume_valid(invalid.partial)) } else { Err(faults) }
    })
}

/// The benchmark prints it beside what an allocator counts: 50 bytes a token, which is doubled for documents
/// that it does not know.
fn weight_bytes(text: &str, tokens: usize, lines: &LineIndex) -> usize {
    const BASE: usize = 512;
    const PER_TOKEN: usize = 100;
    BASE + PER_TOKEN * tokens + text.len() + lines.weight_bytes()
}

/// Limits that need no parser.
fn check_text(text: &str, limits: &Limits) -> Result<(), String> {
    let Limits { max_document_bytes, max_tokens, max_nesting, max_definitions, max_directives, .. } = *limits;
    if text.len() > max_document_bytes {
        let bytes = text.len();
        return Err(format!(
            "the document has {bytes} bytes; the limit is {max_document_bytes} (max_document_bytes): send values as \
             variables, or several requests"
        ));
    }
    let Scan { tokens, nesting, definitions, directives } = scan(text);
    if tokens > max_tokens {
        return Err(format!(
            "the document has {tokens} tokens; the limit is {max_tokens} (max_tokens): ask for less at a time"
        ));
    }
    if nesting > max_nesting {
        return Err(format!(
            "the document is nested {nesting} levels deep; the limit is {max_nesting} (max_nesting): ask for fewer levels, or \
             send values as variables"
        ));
    }
    if definitions > max_definitions {
        return Err(tally::too_many_definitions(definitions, max_definitions));
    }
    if directives > max_directives {
        return Err(tally::too_many_directives(directives, max_directives));
    }
    Ok(())
}

fn choose<'a>(
    document: &'a ExecutableDocument,
    name: Option<&str>,
) -> Result<&'a Node<executable::Operation>, Vec<GraphqlError>> {
    let operations = &document.operations;
    let message = match name {
        Some(name) => match operations.named.get(name) {
            Some(operation) => return Ok(operation),
            None => format!(
                "the document has no operation named {:?}; it has {}",
                abridged(name),
                names_of(operations)
            ),
        },
        None if operations.len() == 1 => {
            return Ok(operations.iter().next().expect("there is exactly one"));
        }
        None if operations.is_empty() => "the document has no operation".into(),
        None => format!(
            "the document has several operations; choose one of {} with operationName",
            names_of(operations)
        ),
    };
    Err(vec![GraphqlError::new(ErrorCode::ValidationFailed, message)])
}

fn names_of(operations: &executable::OperationMap) -> String {
    const MAX_NAMES: usize = 8;
    let mut names: Vec<&str> = operations.named.keys().map(Name::as_str).take(MAX_NAMES).collect();
    if operations.anonymous.is_some() {
        names.push("an anonymous one");
    }
    if operations.named.len() > MAX_NAMES {
        names.push("…");
    }
    names.join(", ")
}

fn variables(
    schema: &Schema,
    definition: &executable::Operation,
    lines: &LineIndex,
) -> Result<Vec<VariableDefinition>, Vec<GraphqlError>> {
    let mut literals = Literals::constant(schema, lines);
    let variables = definition
        .variables
        .iter()
        .map(|variable| VariableDefinition {
            name: variable.name.clone(),
            ty: (*variable.ty).clone(),
            default: variable.default_value.as_ref().map(|default| literals.json(&variable.ty, default)),
            position: lines.position(variable.location()),
        })
        .collect();
    literals.finish()?;
    Ok(variables)
}
