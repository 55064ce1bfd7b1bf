//! Modules with all that they import, in an order in which each file comes behind those that it needs.

use std::{collections::BTreeSet, io, path::Path};

use prony_source::config::{Faults, Origin};

use crate::{
    position::Place,
    text::{self, Text},
};

/// Files that one module may consist of.
const MAX_FILES: usize = 200;
/// Bytes of one file.
const MAX_FILE_BYTES: usize = 4 << 20;

/// A module, ready to be run: the last file, behind those that it imports.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) files: Vec<Text>,
}

impl Program {
    /// The module's own file.
    pub(crate) fn name(&self) -> &str {
        &self.files.last().expect("a program has its module").name
    }

    /// The author's place for one of a file; none where the file is none of the module's.
    pub(crate) fn written(&self, file: &str, place: Place) -> Option<Place> {
        let file = self.files.iter().find(|known| known.name == file)?;
        Some(file.places.written(place))
    }
}

/// Reads a module and all that it imports. All that is wrong goes to `faults`.
pub(crate) fn read(
    path: &str,
    asked: &Origin,
    file: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
    faults: &mut Faults,
) -> Option<Program> {
    let before = faults.0.len();
    let mut reader = Reader { file, faults, open: Vec::new(), known: BTreeSet::new(), files: Vec::new() };
    reader.add(path, asked);
    let files = reader.files;
    (faults.0.len() == before).then_some(Program { files })
}

struct Reader<'r> {
    file: &'r dyn Fn(&Path) -> io::Result<Vec<u8>>,
    faults: &'r mut Faults,
    /// Files whose imports are being read, the outermost first.
    open: Vec<String>,
    known: BTreeSet<String>,
    files: Vec<Text>,
}

impl Reader<'_> {
    fn add(&mut self, name: &str, asked: &Origin) {
        if self.open.iter().any(|open| open == name) {
            let message = format!("`{name}` imports itself, through {}", self.open.join(", "));
            return self.faults.push(asked.clone(), message);
        }
        if !self.known.insert(name.to_owned()) {
            return;
        }
        if self.known.len() > MAX_FILES {
            return self.faults.push(asked.clone(), format!("a module has at most {MAX_FILES} files"));
        }
        let Some(written) = self.written(name, asked) else { return };
        let text = match text::read(name, &written) {
            Ok(text) => text,
            Err(found) => {
                for fault in found {
                    self.faults.push(origin(name, fault.place), fault.message);
                }
                return;
            }
        };
        self.open.push(name.to_owned());
        for (specifier, place) in &text.imports {
            let at = origin(name, *place);
            if let Some(imported) = resolve(name, specifier) {
                self.add(&imported, &at);
            } else {
                let message = format!(
                    "`{specifier}` cannot be imported: modules import files beside them, by a path that begins with ./ or ../ \
                     and ends in .ts, .js or .mjs"
                );
                self.faults.push(at, message);
            }
        }
        self.open.pop();
        self.files.push(text);
    }

    fn written(&mut self, name: &str, asked: &Origin) -> Option<String> {
        let bytes = match (self.file)(Path::new(name)) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.faults.push(asked.clone(), format!("{name} cannot be read: {error}"));
                return None;
            }
        };
        if bytes.len() > MAX_FILE_BYTES {
            self.faults.push(asked.clone(), format!("{name} has more than {MAX_FILE_BYTES} bytes"));
            return None;
        }
        let text = String::from_utf8(bytes);
        text.map_err(|_| self.faults.push(asked.clone(), format!("{name} is no UTF-8"))).ok()
    }
}

pub(crate) fn origin(name: &str, place: Place) -> Origin {
    Origin::File { path: Path::new(name).into(), line: place.line, column: place.column }
}

/// The path that an import of a file means, as QuickJS finds it: by its letters.
fn resolve(from: &str, specifier: &str) -> Option<String> {
    let is_file = [".ts", ".js", ".mjs"].iter().any(|ending| specifier.ends_with(ending));
    if !is_file || !(specifier.starts_with("./") || specifier.starts_with("../")) {
        return None;
    }
    let mut folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut rest = specifier;
    loop {
        if let Some(below) = rest.strip_prefix("./") {
            rest = below;
        } else if let (Some(beside), false) = (rest.strip_prefix("../"), ends_above(folder)) {
            rest = beside;
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        } else {
            break;
        }
    }
    Some(if folder.is_empty() { rest.to_owned() } else { format!("{folder}/{rest}") })
}

/// Whether nothing can be taken off a folder.
fn ends_above(folder: &str) -> bool {
    matches!(folder.rsplit('/').next(), None | Some("" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_beside_the_file_that_has_them() {
        for (from, specifier, expected) in [
            ("a/b.ts", "./c.ts", Some("a/c.ts")),
            ("a/b.ts", "../c.js", Some("c.js")),
            ("b.ts", "./c.ts", Some("c.ts")),
            ("b.ts", "../c.ts", Some("../c.ts")),
            ("/etc/a/b.ts", "./../c.ts", Some("/etc/c.ts")),
            ("a/b.ts", "./c", None),
            ("a/b.ts", "lodash", None),
        ] {
            assert_eq!(resolve(from, specifier).as_deref(), expected, "{from} {specifier}");
        }
    }
}
