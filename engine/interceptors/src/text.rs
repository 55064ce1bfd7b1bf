//! One file of a module: parsed, without its types, and what it imports.

use std::path::{Path, PathBuf};

use oxc::{
    allocator::Allocator,
    codegen::{Codegen, CodegenOptions, CommentOptions},
    diagnostics::{Diagnostics, LabeledSpan},
    parser::{Parser, ParserReturn},
    semantic::SemanticBuilder,
    span::SourceType,
    transformer::{TransformOptions, Transformer},
};

use crate::position::{Place, PlaceMap, place};

/// A file that can run, beside those that it imports.
#[derive(Debug)]
pub(crate) struct Text {
    /// The path, by which imports and stacks name it.
    pub(crate) name: String,
    /// JavaScript.
    pub(crate) code: String,
    pub(crate) places: PlaceMap,
    /// What is imported, as it is written, with its place.
    pub(crate) imports: Vec<(String, Place)>,
}

/// Something that keeps a file from being run.
#[derive(Debug)]
pub(crate) struct SyntaxFault {
    pub(crate) place: Place,
    pub(crate) message: String,
}

/// Reads a file, of which one that ends in `.ts` is TypeScript.
///
/// # Errors
/// All that the parser finds.
pub(crate) fn read(name: &str, written: &str) -> Result<Text, Vec<SyntaxFault>> {
    let has_types = Path::new(name).extension().is_some_and(|ending| ending == "ts");
    let (code, places) =
        if has_types { without_types(written)? } else { (written.to_owned(), PlaceMap::default()) };
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &code, SourceType::mjs()).parse();
    check(&code, &parsed.diagnostics)?;
    let checked = SemanticBuilder::new().with_check_syntax_error(true).build(&parsed.program);
    check(&code, &checked.diagnostics)?;
    let imports = imports(&parsed, &code, &places);
    Ok(Text { name: name.to_owned(), imports, code, places })
}

/// Imports that only types need are gone from the result.
fn without_types(written: &str) -> Result<(String, PlaceMap), Vec<SyntaxFault>> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, written, SourceType::ts().with_module(true)).parse();
    check(written, &parsed.diagnostics)?;
    let mut program = parsed.program;
    let checked = SemanticBuilder::new().with_check_syntax_error(true).with_enum_eval(true).build(&program);
    check(written, &checked.diagnostics)?;
    let scoping = checked.semantic.into_scoping();
    let transformed = Transformer::new(&allocator, Path::new("module.ts"), &TransformOptions::default())
        .build_with_scoping(scoping, &mut program);
    check(written, &transformed.diagnostics)?;
    let options = CodegenOptions {
        comments: CommentOptions::disabled(),
        source_map_path: Some(PathBuf::from("module.ts")),
        ..CodegenOptions::default()
    };
    let printed = Codegen::new().with_options(options).with_source_text(written).build(&program);
    let places = PlaceMap::of(&printed);
    Ok((printed.code, places))
}

fn check(text: &str, diagnostics: &Diagnostics) -> Result<(), Vec<SyntaxFault>> {
    let faults = diagnostics.errors().map(|error| {
        let offset = error.labels.first().map_or(0, LabeledSpan::offset);
        let mut letters = error.message.chars();
        // The parser writes sentences.
        let message =
            letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect());
        SyntaxFault { place: place(text, offset as usize), message: format!("syntax error: {message}") }
    });
    let faults: Vec<_> = faults.collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// What `import … from` and `export … from` name, in the order of the text.
fn imports(parsed: &ParserReturn<'_>, code: &str, places: &PlaceMap) -> Vec<(String, Place)> {
    let mut found = Vec::new();
    for (specifier, requests) in &parsed.module_record.requested_modules {
        if let Some(first) = requests.first() {
            let at = places.written(place(code, first.span.start as usize));
            found.push((specifier.to_string(), at));
        }
    }
    found.sort_by_key(|(_, place)| *place);
    found
}
