//! Inside a crate, modules form layers: files that import each other in a circle cannot be read one after the other. Imports
//! are `use` and paths from `crate` or `super`; what a module only re-exports counts where it is defined.

use std::collections::{BTreeMap, BTreeSet};

use super::{Repository, SourceFile, Violation, calls::tests_start, crate_of};

/// Files of one circle.
const LIMIT: usize = 3;
/// Circles in all crates together, small ones too: there may be fewer, and this number goes down with them.
const ALL: usize = 2;
/// Re-exports of re-exports that are followed.
const DEPTH: usize = 8;

/// The names from the crate's root: `graphql::core`.
type Module = Vec<String>;

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in repository.rust_files() {
        let Some((_, rest)) = crate_of(&file.path) else { continue };
        if rest.starts_with("src/") && !rest.contains("/tests/") && !rest.ends_with("/tests.rs") {
            let folder = &file.path[..file.path.len() - rest.len() - 1];
            crates.entry(folder).or_default().push(file);
        }
    }
    let imports: Vec<_> =
        crates.into_iter().map(|(folder, files)| (folder, imports(folder, &files))).collect();
    let found: Vec<_> = imports.iter().map(|(folder, imports)| (*folder, circles(imports))).collect();
    let named = |(folder, circles): &(&str, Vec<BTreeSet<&Module>>)| -> Vec<String> {
        circles.iter().map(|circle| format!("{folder}: {}", names(circle))).collect()
    };
    let all: Vec<String> = found.iter().flat_map(named).collect();
    let of_crates = found.into_iter().filter_map(|(folder, circles)| too_large(folder, circles));
    too_many(&all, ALL).into_iter().chain(of_crates).collect()
}

fn names(circle: &BTreeSet<&Module>) -> String {
    circle.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(", ")
}

fn too_many(circles: &[String], allowed: usize) -> Option<Violation> {
    let (count, all) = (circles.len(), circles.join("; "));
    let message = format!("{count} circles of modules that import each other, {allowed} may be: {all}");
    (count > allowed).then(|| Violation { path: "xtask/src/tidy/circles.rs".to_owned(), line: 0, message })
}

fn too_large(folder: &str, circles: Vec<BTreeSet<&Module>>) -> Option<Violation> {
    let largest = circles.into_iter().max_by_key(BTreeSet::len).filter(|circle| circle.len() > LIMIT)?;
    let (count, names) = (largest.len(), names(&largest));
    let message = format!(
        "{count} modules import each other in a circle, {LIMIT} may: {names}; move what they share into a module of its own"
    );
    Some(Violation { path: folder.to_owned(), line: 0, message })
}

/// What each module imports of its own crate.
fn imports(folder: &str, files: &[&SourceFile]) -> BTreeMap<Module, BTreeSet<Module>> {
    let read = |file: &&SourceFile| (module_of(folder, &file.path), Imports::read(&file.text));
    let modules: BTreeMap<Module, Imports> = files.iter().map(read).collect();
    let mut exported = BTreeMap::new();
    for (module, imports) in &modules {
        for (path, name) in &imports.exported {
            if let Some(path) = absolute(&modules, module, path) {
                exported.insert([module.as_slice(), std::slice::from_ref(name)].concat(), path);
            }
        }
    }
    let of = |module: &Module, imports: &Imports| {
        let paths = imports.used.iter().filter_map(|path| absolute(&modules, module, path));
        let defined = paths.filter_map(|path| definition(&modules, &exported, &path, DEPTH));
        defined.filter(|defined| defined != module).collect()
    };
    modules.iter().map(|(module, imports)| (module.clone(), of(module, imports))).collect()
}

/// `graphql::core` of `engine/server/src/graphql/core.rs`, `graphql` of `graphql/mod.rs`.
fn module_of(folder: &str, path: &str) -> Module {
    let inner = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix("/src/")).unwrap_or(path);
    let mut names: Module = inner.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|last| last == "mod" || names.len() == 1 && (last == "lib" || last == "main"))
    {
        names.pop();
    }
    names
}

/// What a file says that it imports.
#[derive(Debug, Default)]
struct Imports {
    used: Vec<Module>,
    /// With the name under which others find it here.
    exported: Vec<(Module, String)>,
}

impl Imports {
    fn read(text: &str) -> Self {
        let mut imports = Self::default();
        let code =
            text.lines().take(tests_start(text)).map(|line| line.split("//").next().unwrap_or_default());
        let mut rest = String::new();
        let mut statement: Option<String> = None;
        for line in code {
            let begins = statement.is_none() && tree_of(line.trim()).is_some();
            if begins || statement.is_some() {
                let statement_so_far = statement.get_or_insert_default();
                statement_so_far.push(' ');
                statement_so_far.push_str(line.trim());
                if line.trim_end().ends_with(';') {
                    imports.take(statement.take().unwrap_or_default().trim());
                }
            } else {
                rest.push_str(line);
                rest.push('\n');
            }
        }
        imports.used.extend(inline_paths(&rest));
        imports
    }

    fn take(&mut self, statement: &str) {
        let Some((is_public, tree)) = tree_of(statement) else { return };
        for path in expand(tree.trim_end_matches(';')) {
            if is_public {
                let renamed = path.last().and_then(|last| last.split_once(" as "));
                let name = renamed.map(|(_, name)| name.to_owned()).or_else(|| path.last().cloned());
                self.exported.extend(name.map(|name| (without_rename(path), name)));
            } else {
                self.used.push(without_rename(path));
            }
        }
    }
}

/// Whether a `use` is public, and what stands behind it.
fn tree_of(statement: &str) -> Option<(bool, &str)> {
    if let Some(tree) = statement.strip_prefix("use ") {
        return Some((false, tree));
    }
    let public = statement.strip_prefix("pub")?;
    let public = public.strip_prefix('(').and_then(|rest| Some(rest.split_once(')')?.1)).unwrap_or(public);
    public.strip_prefix(" use ").map(|tree| (true, tree))
}

/// `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<Module> {
    let names = |path: &str| -> Module {
        let names = path.split("::").map(str::trim).filter(|name| !["", "*"].contains(name));
        names.map(str::to_owned).collect()
    };
    let Some((before, inside)) = tree.trim().split_once('{') else { return vec![names(tree)] };
    let inside = inside.trim_end().strip_suffix('}').unwrap_or(inside);
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (place, character) in inside.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[from..place]);
                from = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[from..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty()).flat_map(expand);
    parts.map(|part| [names(before), part].concat()).collect()
}

/// Without another name that it gets, and with `self` at its beginning alone: elsewhere it is the module before it.
fn without_rename(mut path: Module) -> Module {
    if let Some(last) = path.last_mut() {
        *last = last.split(" as ").next().unwrap_or_default().to_owned();
    }
    let mut names = path.into_iter();
    names.next().into_iter().chain(names.filter(|name| name != "self")).collect()
}

/// Paths from `crate` or `super` outside of `use`.
fn inline_paths(text: &str) -> Vec<Module> {
    let starts = ["crate::", "super::"].into_iter().flat_map(|start| text.match_indices(start));
    let is_name = |character: char| character.is_alphanumeric() || character == '_' || character == ':';
    let whole = |(place, _): (usize, &str)| {
        let before = &text[..place];
        // `pub(in crate::a)` says who may import, and imports nothing.
        let begins = !before.ends_with(is_name) && !before.ends_with("(in ");
        let end = text[place..].find(|character| !is_name(character)).map_or(text.len(), |end| place + end);
        if begins { expand(&text[place..end]) } else { Vec::new() }
    };
    starts.flat_map(whole).collect()
}

/// A path as it is written in a module, from the crate's root; none for other crates.
fn absolute(modules: &BTreeMap<Module, Imports>, module: &Module, path: &[String]) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    let mut base = module.clone();
    match first.as_str() {
        "crate" => return Some(rest.to_vec()),
        "self" => return Some([base, rest.to_vec()].concat()),
        "super" => {
            let ups = path.iter().take_while(|name| *name == "super").count();
            base.truncate(base.len().saturating_sub(ups));
            return Some([&base[..], &path[ups..]].concat());
        }
        _ => {}
    }
    base.push(first.clone());
    modules.contains_key(&base).then(|| [module.as_slice(), path].concat())
}

/// The module in which the thing at this path is defined.
fn definition(
    modules: &BTreeMap<Module, Imports>,
    exported: &BTreeMap<Module, Module>,
    path: &[String],
    depth: usize,
) -> Option<Module> {
    let depth = depth.checked_sub(1)?;
    (0..=path.len()).rev().find_map(|length| {
        let (begin, rest) = path.split_at(length);
        match exported.get(begin) {
            // What a module exports of a module below it that has the same name is not that module.
            Some(other) if !other.starts_with(begin) => {
                definition(modules, exported, &[other.as_slice(), rest].concat(), depth)
            }
            _ => modules.contains_key(begin).then(|| begin.to_vec()),
        }
    })
}

/// The modules that reach each other.
fn circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<&Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reached_from(imports, module))).collect();
    let mut found: Vec<BTreeSet<&Module>> = Vec::new();
    for (module, others) in &reached {
        if others.contains(module) && !found.iter().any(|circle| circle.contains(module)) {
            found.push(others.iter().copied().filter(|other| reached[other].contains(module)).collect());
        }
    }
    found
}

/// Itself only where it is in a circle.
fn reached_from<'a>(
    imports: &'a BTreeMap<Module, BTreeSet<Module>>,
    module: &'a Module,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![module];
    while let Some(next) = waiting.pop() {
        waiting.extend(imports.get(next).into_iter().flatten().filter(|module| reached.insert(*module)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{
        super::tests::{lines, repository},
        *,
    };

    #[test]
    fn more_circles_than_there_were_are_told() {
        let circles = ["a: b, c", "a: d, e", "f: g, h"].map(str::to_owned);
        assert_eq!(too_many(&circles[1..], 2), None);
        let told = too_many(&circles, 2).expect("there are three").message;
        assert!(told.starts_with("3 circles") && told.ends_with("a: b, c; a: d, e; f: g, h"), "{told}");
    }

    #[test]
    fn uses_are_taken_apart() {
        let shown =
            |tree: &str| expand(tree).iter().map(|path| path.join("::")).collect::<Vec<_>>().join(" ");
        assert_eq!(
            shown("crate::a::{self, b::{C, d}, e as f}"),
            "crate::a::self crate::a::b::C crate::a::b::d crate::a::e as f"
        );
        let imports = Imports::read(
            "pub(crate) use self::a::{B, c as d};\nuse super::e::*;\npub(in crate::i) fn f() { crate::g::h() }\n",
        );
        let [first, second] = &imports.exported[..] else { panic!("{imports:?}") };
        assert_eq!((first.0.join("::"), &*first.1), ("self::a::B".to_owned(), "B"));
        assert_eq!((second.0.join("::"), &*second.1), ("self::a::c".to_owned(), "d"));
        assert_eq!(imports.used, [vec!["super", "e"], vec!["crate", "g", "h"]]);
    }

    #[test]
    fn a_circle_is_found_through_what_is_exported_again() {
        let file = |path, text| (path, text);
        let repository = repository(&[
            file("engine/new/src/lib.rs", "mod a;\nmod d;\npub use a::A;\n"),
            file("engine/new/src/a/mod.rs", "mod b;\nmod c;\npub use self::b::A;\n"),
            file("engine/new/src/a/b.rs", "use super::c::C;\npub struct A;\n"),
            file("engine/new/src/a/c.rs", "use crate::d::{\n    D,\n};\n"),
            file("engine/new/src/d.rs", "use crate::e::E;\nuse std::fmt;\n"),
            file("engine/new/src/e.rs", "fn e() -> crate::A {}\n"),
            file("engine/old/src/a.rs", "use crate::b::B;\n"),
            file("engine/old/src/b.rs", "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n"),
        ]);
        expect![[r#"
            engine/new: 4 modules import each other in a circle, 3 may: a::b, a::c, d, e; move what they share into a module of its own
        "#]].assert_eq(&lines(&check(&repository)));
    }
}
