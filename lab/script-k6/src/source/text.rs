//! One file: parsed as k6 would, types stripped, and what it imports and exports.
//!
//! A file with `import`, `export` or a top-level `await` is an ES module, any other one `CommonJS`. What is not
//! JavaScript is TypeScript where its name ends so, or where it came from standard input.

use super::common_js;
use super::error::{FaultKind, SourceFault};
use super::position::{Lines, Position, PositionMap};
use super::typescript::{self, first_error};
use oxc::allocator::Allocator;
use oxc::ast::ast::{Argument, CallExpression, Expression, Program};
use oxc::ast_visit::{Visit, walk};
use oxc::diagnostics::OxcDiagnostic;
use oxc::parser::{Parser, ParserReturn};
use oxc::semantic::{Semantic, SemanticBuilder};
use oxc::span::SourceType;
use oxc::syntax::module_record::{ExportImportName, ImportImportName, ModuleRecord};

/// A file's text, and what people call it.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileText<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    /// True where it may be TypeScript.
    pub(super) may_have_types: bool,
}

/// A file that can run, but for the modules that it imports.
#[derive(Debug, Clone)]
pub(super) struct Parsed {
    pub(super) kind: ModuleKind,
    /// JavaScript without types.
    pub(super) text: String,
    pub(super) map: PositionMap,
    /// In the order of the text.
    pub(super) requests: Vec<Request>,
    /// What an ES module surely, and a `CommonJS` module probably exports.
    pub(super) exports: Vec<String>,
    /// What an ES module takes the other exports from, as written: `export * from`.
    pub(super) stars: Vec<String>,
    /// An ES module that calls `require` as well.
    pub(super) calls_require: bool,
    /// An ES module that may look at `import.meta`.
    pub(super) has_meta: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModuleKind {
    Es,
    CommonJs,
}

/// A module that another one asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// As written.
    pub specifier: String,
    /// Where the specifier stands in what the author wrote.
    pub position: Position,
    pub way: Way,
    /// The exports that are named, and where.
    pub names: Vec<(String, Position)>,
}

/// How a module is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// `import … from`, `export … from`: found before anything runs.
    Import,
    /// `import()`: found when it is called.
    Dynamic,
    /// `require()`: found when it is called.
    Require,
}

/// What the way through the parser leaves of a text.
struct ModuleFacts {
    kind: ModuleKind,
    requests: Vec<Request>,
    exports: Vec<String>,
    stars: Vec<String>,
    calls_require: bool,
}

pub(super) fn parse(file: FileText<'_>) -> Result<Parsed, SourceFault> {
    match facts(file.text) {
        Ok(facts) => Ok(parsed(file.text.to_owned(), PositionMap::default(), facts)),
        Err(error) if !file.may_have_types => {
            let mut fault = syntax_fault(file, &error);
            if typescript::strip(file.text).is_ok() {
                fault.message.push_str("; it is right as TypeScript: give the file a name that ends in .ts");
            }
            Err(fault)
        }
        Err(_) => stripped(file),
    }
}

fn stripped(file: FileText<'_>) -> Result<Parsed, SourceFault> {
    let stripped = typescript::strip(file.text).map_err(|error| syntax_fault(file, &error))?;
    let facts = facts(&stripped.text).map_err(|error| {
        let mut fault = syntax_fault(FileText { text: &stripped.text, ..file }, &error);
        fault.position = fault.position.map(|position| stripped.map.author(position));
        fault.line = fault.position.map(|at| Lines::of(file.text).line(file.text, at.line).to_owned());
        fault
    })?;
    Ok(parsed(stripped.text, stripped.map, facts))
}

fn parsed(text: String, map: PositionMap, facts: ModuleFacts) -> Parsed {
    let ModuleFacts { kind, mut requests, exports, stars, calls_require } = facts;
    for request in &mut requests {
        request.position = map.author(request.position);
        for (_, position) in &mut request.names {
            *position = map.author(*position);
        }
    }
    let has_meta = kind == ModuleKind::Es && text.contains("import.meta");
    Parsed { kind, text, map, requests, exports, stars, calls_require, has_meta }
}

/// What an ES module exports by name, without what it takes from others as a whole.
pub(super) fn named_exports(text: &str) -> Vec<String> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::mjs()).parse();
    parsed.module_record.exported_bindings.keys().map(ToString::to_string).collect()
}

pub(super) fn syntax_fault(file: FileText<'_>, error: &OxcDiagnostic) -> SourceFault {
    let offset = error.labels.first().map_or(0, oxc::diagnostics::LabeledSpan::offset);
    let position = Lines::of(file.text).position(file.text, offset);
    let message = format!("syntax error: {}", lower_case(&error.message));
    SourceFault::at(FaultKind::Syntax, file.file, file.text, position, message)
}

/// The parser writes sentences.
fn lower_case(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// As k6: a module where it parses as one and has the words of one, else the body of a function, else, for `await`
/// at the top, a module after all.
fn facts(text: &str) -> Result<ModuleFacts, OxcDiagnostic> {
    let allocator = Allocator::default();
    let module = Parser::new(&allocator, text, SourceType::mjs()).parse();
    let is_module = module.module_record.has_module_syntax;
    let problem = first_error(&module.diagnostics);
    if problem.is_none() && is_module {
        return es_facts(text, &module);
    }
    let common = Parser::new(&allocator, text, SourceType::cjs()).parse();
    if !is_module && first_error(&common.diagnostics).is_none() {
        return common_js_facts(text, &common);
    }
    problem.map_or_else(|| es_facts(text, &module), Err)
}

fn checked<'a>(program: &'a Program<'a>) -> Result<Semantic<'a>, OxcDiagnostic> {
    let result = SemanticBuilder::new().with_check_syntax_error(true).build(program);
    match first_error(&result.diagnostics) {
        Some(error) => Err(error),
        None => Ok(result.semantic),
    }
}

fn es_facts(text: &str, parsed: &ParserReturn<'_>) -> Result<ModuleFacts, OxcDiagnostic> {
    let semantic = checked(&parsed.program)?;
    let calls_require = semantic.scoping().root_unresolved_references().contains_key("require");
    let mut requests = requests(text, &parsed.module_record);
    if calls_require {
        requests.extend(required(text, &parsed.program));
    }
    requests.sort_by_key(|request| request.position);
    let record = &parsed.module_record;
    let mut exports: Vec<String> = record.exported_bindings.keys().map(ToString::to_string).collect();
    if record.local_export_entries.iter().any(|entry| entry.export_name.is_default()) {
        exports.push("default".to_owned());
    }
    let stars = record.star_export_entries.iter();
    let stars = stars.filter_map(|entry| Some(entry.module_request.as_ref()?.name.to_string())).collect();
    Ok(ModuleFacts { kind: ModuleKind::Es, requests, exports, stars, calls_require })
}

fn common_js_facts(text: &str, parsed: &ParserReturn<'_>) -> Result<ModuleFacts, OxcDiagnostic> {
    checked(&parsed.program)?;
    let mut requests = requests(text, &parsed.module_record);
    requests.extend(required(text, &parsed.program));
    requests.sort_by_key(|request| request.position);
    let exports = common_js::exported_names(&parsed.program);
    let stars = Vec::new();
    Ok(ModuleFacts { kind: ModuleKind::CommonJs, requests, exports, stars, calls_require: true })
}

/// The imports of all kinds but `require`.
fn requests(text: &str, record: &ModuleRecord<'_>) -> Vec<Request> {
    let lines = Lines::of(text);
    let mut requests = Vec::new();
    for (specifier, places) in &record.requested_modules {
        for place in places {
            let names = names_of(text, &lines, record, place.statement_span.start);
            let position = lines.position(text, place.span.start);
            requests.push(Request { specifier: specifier.to_string(), position, way: Way::Import, names });
        }
    }
    for import in &record.dynamic_imports {
        let written = &text[import.module_request.start as usize..import.module_request.end as usize];
        let quoted = |quote| written.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
        if let Some(specifier) = quoted('\'').or_else(|| quoted('"')) {
            let position = lines.position(text, import.module_request.start);
            requests.push(Request {
                specifier: specifier.to_owned(),
                position,
                way: Way::Dynamic,
                names: Vec::new(),
            });
        }
    }
    requests
}

/// The names in the statement that begins at an offset.
fn names_of(text: &str, lines: &Lines, record: &ModuleRecord<'_>, statement: u32) -> Vec<(String, Position)> {
    let imports = record.import_entries.iter().filter(|entry| entry.statement_span.start == statement);
    let imports = imports.filter_map(|entry| match &entry.import_name {
        ImportImportName::Name(name) => Some((name.name.to_string(), name.span)),
        ImportImportName::Default(span) => Some(("default".to_owned(), *span)),
        ImportImportName::NamespaceObject => None,
    });
    // An import that is exported elsewhere is among these, too, by the name that it has in this file.
    let is_import = record.import_entries.iter().any(|entry| entry.statement_span.start == statement);
    let exports = record
        .indirect_export_entries
        .iter()
        .filter(|entry| !is_import && entry.statement_span.start == statement);
    let exports = exports.filter_map(|entry| match &entry.import_name {
        ExportImportName::Name(name) => Some((name.name.to_string(), name.span)),
        _ => None,
    });
    imports.chain(exports).map(|(name, span)| (name, lines.position(text, span.start))).collect()
}

/// The calls of `require` with a text.
fn required(text: &str, program: &Program<'_>) -> Vec<Request> {
    let mut finder = RequireFinder { text, lines: Lines::of(text), requests: Vec::new() };
    finder.visit_program(program);
    finder.requests
}

struct RequireFinder<'t> {
    text: &'t str,
    lines: Lines,
    requests: Vec<Request>,
}

impl<'a> Visit<'a> for RequireFinder<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        let is_require = matches!(&call.callee, Expression::Identifier(callee) if callee.name == "require");
        if let ([Argument::StringLiteral(specifier)], true) = (&call.arguments[..], is_require) {
            let position = self.lines.position(self.text, specifier.span.start);
            let specifier = specifier.value.to_string();
            self.requests.push(Request { specifier, position, way: Way::Require, names: Vec::new() });
        }
        walk::walk_call_expression(self, call);
    }
}
