//! From what an import says to what it means: a built-in module, a library that is answered, or a file.
//!
//! Paths are taken as k6 takes them, extension and all. Beyond k6, files are found without their extension and folders by the file
//! that stands for them, and packages in `node_modules`, as Node.js finds them.

use super::catalogue::{State, absent, is_builtin, similar};
use super::error::FaultKind;
use crate::jslib;
use oxc_resolver::{ResolveOptions, Resolver};
use std::path::{Component, Path, PathBuf};

/// What an import means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// A module of ours, by its full name: `k6/http`, `jslib:uuid`.
    Builtin(String),
    /// An absolute path without `.` and `..`.
    File(PathBuf),
}

/// Why an import means nothing that we have; the message says what to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unresolved {
    pub kind: FaultKind,
    pub state: State,
    pub message: String,
}

impl Unresolved {
    fn missing(message: String) -> Self {
        Self { kind: FaultKind::Missing, state: State::Unknown, message }
    }

    fn unsupported(state: State, message: String) -> Self {
        Self { kind: FaultKind::Unsupported, state, message }
    }
}

/// Finds what imports mean. `has` says which modules are built in.
pub(super) struct Imports<'a> {
    has: &'a dyn Fn(&str) -> bool,
    packages: &'a Packages,
}

/// Finds files of packages.
#[derive(Debug)]
pub(super) struct Packages(Resolver);

impl Packages {
    pub(super) fn new() -> Self {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        Self(Resolver::new(ResolveOptions {
            // What is for Node.js wants its modules, which are not there; what is for browsers does not.
            condition_names: texts(&["k6", "browser", "import", "module", "default"]),
            main_fields: texts(&["module", "main"]),
            extensions: texts(&[".js", ".mjs", ".cjs", ".ts"]),
            ..ResolveOptions::default()
        }))
    }

    fn find(&self, folder: &Path, specifier: &str) -> Result<PathBuf, String> {
        let found = self.0.resolve(folder, specifier).map_err(|error| error.to_string())?;
        Ok(found.into_path_buf())
    }
}

impl<'a> Imports<'a> {
    pub(super) fn new(has: &'a dyn Fn(&str) -> bool, packages: &'a Packages) -> Self {
        Self { has, packages }
    }

    /// What `specifier` means in a file of `folder`.
    pub(super) fn find(&self, folder: &Path, specifier: &str) -> Result<Target, Unresolved> {
        if (self.has)(specifier) {
            return Ok(Target::Builtin(specifier.to_owned()));
        }
        if is_builtin(specifier) {
            return Err(no_builtin(specifier));
        }
        if let Some(path) = specifier.strip_prefix("file://") {
            return existing(clean(Path::new(&percent_decoded(path))), specifier);
        }
        if specifier.contains("://") {
            return self.url(specifier);
        }
        match specifier.chars().next() {
            None => {
                Err(Unresolved::missing("an import needs a path, the name of a module, or a URL".to_owned()))
            }
            Some('.' | '/') => self.path(folder, specifier),
            Some(_) => self.package(folder, specifier),
        }
    }

    fn url(&self, url: &str) -> Result<Target, Unresolved> {
        match jslib::library(url) {
            Some(library) if (self.has)(library.name) => Ok(Target::Builtin(library.name.to_owned())),
            Some(_) => Err(Unresolved::unsupported(State::NotYet, format!("{url} is not answered yet"))),
            None => Err(Unresolved::unsupported(State::Unknown, vendor(url))),
        }
    }

    fn path(&self, folder: &Path, specifier: &str) -> Result<Target, Unresolved> {
        let path = clean(&folder.join(percent_decoded(specifier)));
        if path.is_file() {
            return Ok(Target::File(path));
        }
        match self.packages.find(folder, &percent_decoded(specifier)) {
            Ok(found) => Ok(Target::File(found)),
            Err(_) => existing(path, specifier),
        }
    }

    fn package(&self, folder: &Path, specifier: &str) -> Result<Target, Unresolved> {
        if let Ok(found) = self.packages.find(folder, specifier) {
            return Ok(Target::File(found));
        }
        let beside = clean(&folder.join(specifier));
        let hint = if beside.is_file() {
            format!("for the file beside the script write './{specifier}'")
        } else {
            format!(
                "run `npm install {}` where the script is, or import a file with './'",
                package_name(specifier)
            )
        };
        Err(Unresolved::missing(format!(
            "cannot find the package {specifier}: no `node_modules` in {} or above it has it; {hint}",
            folder.display()
        )))
    }
}

/// `@scope/name` or `name`, without what follows.
fn package_name(specifier: &str) -> &str {
    let parts = if specifier.starts_with('@') { 2 } else { 1 };
    let end = specifier.match_indices('/').nth(parts - 1).map_or(specifier.len(), |(at, _)| at);
    &specifier[..end]
}

fn no_builtin(specifier: &str) -> Unresolved {
    let state = absent(specifier);
    let meant = similar(specifier).filter(|_| state == State::Unknown);
    let hint = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
    Unresolved::unsupported(state, format!("no module {specifier}: {state}{hint}"))
}

/// How to have the file of a URL beside the script.
fn vendor(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty());
    let last = parts.next().unwrap_or("library.js");
    let is_version = |part: &&str| part.starts_with(|c: char| c.is_ascii_digit());
    let name = match last {
        "index.js" => parts.find(|part| !is_version(part)).map(|part| format!("{part}.js")),
        _ => None,
    };
    let name = name.unwrap_or_else(|| last.to_owned());
    format!(
        "{url} is not a library that is built in, and scripts are never downloaded; \
         save it beside the script, `curl -o {name} '{url}'`, and import './{name}'"
    )
}

fn existing(path: PathBuf, specifier: &str) -> Result<Target, Unresolved> {
    if path.is_file() {
        return Ok(Target::File(path));
    }
    let hint = if path.is_dir() { "; it is a folder without an index.js: name the file in it" } else { "" };
    Err(Unresolved::missing(format!("cannot find {specifier}: tried {}{hint}", path.display())))
}

/// True where a path is no file by its whole name: k6 would not find it.
pub(super) fn is_short(folder: &Path, specifier: &str, found: &Path) -> bool {
    specifier.starts_with(['.', '/'])
        && !is_in_package(folder)
        && clean(&folder.join(percent_decoded(specifier))) != found
}

/// True where a file of a package is data that it imports, as in Node.js; k6 has no packages.
pub(super) fn is_data_of_package(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json") && is_in_package(path)
}

fn is_in_package(folder: &Path) -> bool {
    folder.components().any(|part| part.as_os_str() == "node_modules")
}

/// Without `.`, `..` and doubled slashes, by the text alone.
pub(super) fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

/// `%20` as a space, as in URLs.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |byte: u8| (byte as char).to_digit(16);
        match after {
            [high, low, left @ ..] if *first == b'%' => {
                if let (Some(high), Some(low)) = (hex(*high), hex(*low)) {
                    bytes.push((high * 16 + low) as u8);
                    rest = left;
                    continue;
                }
                bytes.push(*first);
            }
            _ => bytes.push(*first),
        }
        rest = after;
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
