//! TypeScript to JavaScript: types go, enums, namespaces and parameter properties become what they stand for.
//!
//! Types are not checked, as with k6. `docs/decisions/0006-oxc.md` says why it is oxc that does it.

use super::position::PositionMap;
use oxc::allocator::Allocator;
use oxc::codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc::diagnostics::{Diagnostics, OxcDiagnostic};
use oxc::parser::Parser;
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use oxc::transformer::{TransformOptions, Transformer};
use std::path::{Path, PathBuf};

/// A text without types, and the way back to the one that had them.
pub(super) struct Stripped {
    pub(super) text: String,
    pub(super) map: PositionMap,
}

/// Imports that only types need are gone from the result.
pub(super) fn strip(text: &str) -> Result<Stripped, OxcDiagnostic> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::ts()).parse();
    if let Some(error) = first_error(&parsed.diagnostics) {
        return Err(error);
    }
    let mut program = parsed.program;
    let checked = SemanticBuilder::new().with_check_syntax_error(true).with_enum_eval(true).build(&program);
    if let Some(error) = first_error(&checked.diagnostics) {
        return Err(error);
    }
    let scoping = checked.semantic.into_scoping();
    let transformed = Transformer::new(&allocator, Path::new("script.ts"), &TransformOptions::default())
        .build_with_scoping(scoping, &mut program);
    if let Some(error) = first_error(&transformed.diagnostics) {
        return Err(error);
    }
    let options = CodegenOptions {
        comments: CommentOptions::disabled(),
        source_map_path: Some(PathBuf::from("script.ts")),
        ..CodegenOptions::default()
    };
    let printed = Codegen::new().with_options(options).with_source_text(text).build(&program);
    let map = PositionMap::printed(text, &printed);
    Ok(Stripped { text: printed.code, map })
}

/// The first thing that keeps a text from being run.
pub(super) fn first_error(diagnostics: &Diagnostics) -> Option<OxcDiagnostic> {
    diagnostics.errors().next().cloned()
}
