//! `--check`: everything that a script needs and lacks, found without running it.
//!
//! What a built-in module has is read from its own text, so that this and what scripts get cannot differ. Only what
//! stands in plain sight is seen: imported names, members of modules, the options where they are written out.

use super::catalogue::{State, absent, is_builtin};
use super::error::{FaultKind, SourceFault};
use super::exports::no_member;
use super::position::Lines;
use super::resolve::{Target, Unresolved};
use super::sources::{Main, Module, Sources};
use super::text::{Request, Way};
use crate::options::table::{OPTIONS, Support};
use crate::vm::Builtins;
use oxc::allocator::Allocator;
use oxc::ast::ast::{
    Argument, BindingPattern, CallExpression, Declaration, ExportDefaultDeclarationKind, Expression,
    IdentifierReference, ObjectExpression, ObjectPropertyKind, Program, Statement, StaticMemberExpression,
};
use oxc::ast_visit::{Visit, walk};
use oxc::parser::Parser;
use oxc::semantic::{Scoping, SemanticBuilder, SymbolId};
use oxc::span::SourceType;
use oxc::syntax::module_record::ImportImportName;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

/// What a script needs, and what of it is not there.
#[derive(Debug, Clone, Default)]
pub struct Check {
    /// Modules that are not files, by what the script calls them.
    pub modules: BTreeMap<String, Used>,
    /// How many files the script consists of.
    pub files: usize,
    /// What the script will fail without.
    pub lacks: Vec<SourceFault>,
    /// What it will run without.
    pub notes: Vec<SourceFault>,
}

/// A module that a script imports.
#[derive(Debug, Clone)]
pub struct Used {
    pub state: State,
    /// `file:line:column` of each import.
    pub places: Vec<String>,
}

impl Check {
    /// Reads a script and all that it imports.
    pub fn of(main: Main, builtins: &Builtins) -> Self {
        let names: Vec<&str> = builtins.modules.iter().map(|module| module.specifier).collect();
        let (sources, faults) = Sources::load_all(main, names);
        let mut check = Self { lacks: faults, ..Self::default() };
        let members: HashMap<&str, BTreeSet<String>> =
            builtins.modules.iter().map(|module| (module.specifier, exported(module.text))).collect();
        let members = with_fuller(members, builtins);
        for name in sources.names() {
            let Some(module) = sources.module(&name) else { continue };
            check.files += 1;
            for (request, target) in module.parsed.requests.iter().zip(&module.targets) {
                check.add_request(&module, request, target, &members);
                // Also of what only a call asks for, which is no fault of a run.
                if let (Way::Import, Ok(Target::File(path))) = (request.way, target) {
                    check.lacks.extend(sources.lacking_names_of(&module, request, path));
                }
            }
            check.add_text(&sources, &name, &module, &members);
        }
        check.lacks.sort_by(|a, b| (&a.file, a.position).cmp(&(&b.file, b.position)));
        check.lacks.dedup();
        check
    }

    /// True where nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.lacks.is_empty()
    }

    fn add_request(
        &mut self,
        module: &Module,
        request: &Request,
        target: &Result<Target, Unresolved>,
        members: &HashMap<&str, BTreeSet<String>>,
    ) {
        let state = match target {
            Ok(Target::File(_)) => return,
            Ok(Target::Builtin(_)) => State::Works,
            Err(why) if request.specifier.contains("://") => why.state,
            Err(_) if is_builtin(&request.specifier) => absent(&request.specifier),
            Err(why) => return self.add_deferred(module, request, why),
        };
        let used =
            self.modules.entry(request.specifier.clone()).or_insert(Used { state, places: Vec::new() });
        used.places.push(module.shown_place(request.position));
        match target {
            Ok(Target::Builtin(name)) => {
                let Some(has) = members.get(name.as_str()) else { return };
                for (wanted, position) in request.names.iter().filter(|(name, _)| !has.contains(name)) {
                    let message = no_member(&request.specifier, wanted, has);
                    self.lacks.push(module.fault_at(FaultKind::Unsupported, *position, message));
                }
            }
            Ok(Target::File(_)) => {}
            Err(why) => self.add_deferred(module, request, why),
        }
    }

    /// What only a call asks for was no fault when the script was read.
    fn add_deferred(&mut self, module: &Module, request: &Request, why: &Unresolved) {
        if request.way != Way::Import {
            self.lacks.push(module.fault(request, why));
        }
    }

    /// Members of built-in modules, files that are opened, and the options.
    fn add_text(
        &mut self,
        sources: &Sources,
        name: &str,
        module: &Module,
        members: &HashMap<&str, BTreeSet<String>>,
    ) {
        let allocator = Allocator::default();
        let text = &module.parsed.text;
        let kind = if module.is_common_js() { SourceType::cjs() } else { SourceType::mjs() };
        let parsed = Parser::new(&allocator, text, kind).parse();
        let scoping = SemanticBuilder::new().build(&parsed.program).semantic.into_scoping();
        let target = |specifier: &str| {
            let mut requests = module.parsed.requests.iter().zip(&module.targets);
            let (_, target) = requests.find(|(request, _)| request.specifier == specifier)?;
            let Ok(Target::Builtin(name)) = target else { return None };
            members.contains_key(name.as_str()).then_some(name.as_str())
        };
        let mut tracked = HashMap::new();
        for entry in &parsed.module_record.import_entries {
            let is_whole = !matches!(entry.import_name, ImportImportName::Name(_));
            let symbol = scoping.get_root_binding(entry.local_name.name.as_str().into());
            if let (true, Some(symbol), Some(name)) = (is_whole, symbol, target(&entry.module_request.name)) {
                tracked.insert(symbol, (entry.module_request.name.as_str(), name));
            }
        }
        let lines = Lines::of(text);
        let mut finder = MemberFinder { scoping: &scoping, tracked: &tracked, found: Vec::new() };
        finder.visit_program(&parsed.program);
        for (symbol, member, offset) in finder.found {
            let (specifier, name) = tracked[&symbol];
            let has = &members[name];
            if has.contains(&member) {
                continue;
            }
            let position = module.parsed.map.author(lines.position(text, offset));
            let message = no_member(specifier, &member, has);
            self.lacks.push(module.fault_at(FaultKind::Unsupported, position, message));
        }
        let mut finder = OpenFinder { scoping: &scoping, found: Vec::new() };
        finder.visit_program(&parsed.program);
        for (path, offset) in finder.found {
            let Some(message) = absent_file(sources, name, &path) else { continue };
            let position = module.parsed.map.author(lines.position(text, offset));
            self.lacks.push(module.fault_at(FaultKind::Missing, position, message));
        }
        for (key, offset) in options_keys(&parsed.program) {
            let Some(message) = option_note(&key) else { continue };
            let position = module.parsed.map.author(lines.position(text, offset));
            self.notes.push(module.fault_at(FaultKind::Unsupported, position, message));
        }
    }
}

/// A function may be called from the main module, whose folder counts then: only what is in neither is missing.
fn absent_file(sources: &Sources, module: &str, path: &str) -> Option<String> {
    let own = sources.path_of(module, path);
    if own.is_file() || sources.path_of(sources.entry(), path).is_file() {
        return None;
    }
    Some(format!("open() finds no file {path}: tried {}", own.display()))
}

fn option_note(key: &str) -> Option<String> {
    match OPTIONS.iter().find(|row| row.name == key).map(|row| row.support) {
        Some(Support::Used) => None,
        Some(Support::Ignored) => Some(format!("the option `{key}` has no meaning here")),
        Some(Support::Missing) => Some(format!("what the option `{key}` asks for is not done")),
        None => Some(format!("there is no option `{key}`")),
    }
}

/// Modules have what the fuller ones in their places have.
fn with_fuller<'a>(
    mut members: HashMap<&'a str, BTreeSet<String>>,
    builtins: &Builtins,
) -> HashMap<&'a str, BTreeSet<String>> {
    for fuller in &builtins.fuller {
        let more = members.get(fuller.instead).cloned().unwrap_or_default();
        members.entry(fuller.specifier).or_default().extend(more);
    }
    members
}

/// What scripts find in a module: its named exports, and the keys of its default export where that is written out.
fn exported(text: &str) -> BTreeSet<String> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::mjs()).parse();
    let mut names: BTreeSet<String> =
        parsed.module_record.exported_bindings.keys().map(ToString::to_string).collect();
    let has_default = parsed.module_record.local_export_entries.iter().any(|e| e.export_name.is_default());
    if has_default {
        names.insert("default".to_owned());
    }
    for statement in &parsed.program.body {
        if let Statement::ExportDefaultDeclaration(export) = statement
            && let ExportDefaultDeclarationKind::ObjectExpression(object) = &export.declaration
        {
            names.extend(keys(object).map(|(key, _)| key));
        }
    }
    names
}

fn keys<'o>(object: &'o ObjectExpression<'_>) -> impl Iterator<Item = (String, u32)> + 'o {
    object.properties.iter().filter_map(|property| match property {
        ObjectPropertyKind::ObjectProperty(property) => {
            Some((property.key.static_name()?.into_owned(), property.span.start))
        }
        ObjectPropertyKind::SpreadProperty(_) => None,
    })
}

/// The keys of `export const options = {…}`, and where they stand.
fn options_keys(program: &Program<'_>) -> Vec<(String, u32)> {
    let exports = program.body.iter().filter_map(|statement| match statement {
        Statement::ExportDeclaration(export) => Some(&export.declaration),
        _ => None,
    });
    let variables = exports.filter_map(|declaration| match declaration {
        Declaration::VariableDeclaration(variables) => Some(variables),
        _ => None,
    });
    let objects = variables.flat_map(|variables| &variables.declarations).filter_map(|variable| {
        let BindingPattern::BindingIdentifier(name) = &variable.id else { return None };
        match &variable.init {
            Some(Expression::ObjectExpression(object)) if name.name == "options" => Some(object),
            _ => None,
        }
    });
    objects.flat_map(|object| keys(object)).collect()
}

/// Finds `module.member` of imported modules.
struct MemberFinder<'s> {
    scoping: &'s Scoping,
    tracked: &'s HashMap<SymbolId, (&'s str, &'s str)>,
    found: Vec<(SymbolId, String, u32)>,
}

impl MemberFinder<'_> {
    fn symbol(&self, identifier: &IdentifierReference<'_>) -> Option<SymbolId> {
        let symbol = self.scoping.get_reference(identifier.reference_id()).symbol_id()?;
        self.tracked.contains_key(&symbol).then_some(symbol)
    }
}

impl<'a> Visit<'a> for MemberFinder<'_> {
    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        if let Expression::Identifier(identifier) = &member.object
            && let Some(symbol) = self.symbol(identifier)
        {
            self.found.push((symbol, member.property.name.to_string(), member.property.span.start));
        }
        walk::walk_static_member_expression(self, member);
    }
}

/// Calls of k6's `open` with a text.
struct OpenFinder<'s> {
    scoping: &'s Scoping,
    found: Vec<(String, u32)>,
}

impl<'a> Visit<'a> for OpenFinder<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let Expression::Identifier(callee) = &call.callee
            && callee.name == "open"
            && self.scoping.get_reference(callee.reference_id()).symbol_id().is_none()
            && let Some(Argument::StringLiteral(path)) = call.arguments.first()
        {
            self.found.push((path.value.to_string(), path.span.start));
        }
        walk::walk_call_expression(self, call);
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: usize, what: &str| {
            if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
        };
        let modules = counted(self.modules.len(), "module");
        writeln!(f, "{} and {modules} from elsewhere", counted(self.files, "file"))?;
        let width = self.modules.keys().map(|name| name.chars().count()).max().unwrap_or_default();
        for (name, used) in &self.modules {
            let places = used.places.join(", ");
            writeln!(f, "  {name:width$}  {:8} {places}", used.state.word())?;
        }
        for (title, faults) in [("Missing", &self.lacks), ("Without effect", &self.notes)] {
            if !faults.is_empty() {
                writeln!(f, "\n{title}:")?;
            }
            for fault in faults {
                writeln!(f, "{fault}")?;
            }
        }
        match self.lacks.len() {
            0 => write!(f, "\nNothing is missing."),
            1 => write!(f, "\n1 thing is missing."),
            count => write!(f, "\n{count} things are missing."),
        }
    }
}
