//! Imports of names that the file which is meant does not export. The virtual machine tells of the first one alone, without its place.

use super::error::{FaultKind, SourceFault};
use super::position::Position;
use super::resolve::Target;
use super::sources::{Module, Sources, full_name};
use super::text::{Request, Way};
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

impl Sources {
    /// Those of the main module and of all that it imports, directly or not. What only a call asks for is not among them.
    pub(super) fn lacking_names(&self) -> Vec<SourceFault> {
        let mut faults = Vec::new();
        let mut known = BTreeSet::from([self.entry().to_owned()]);
        let mut waiting = VecDeque::from([self.entry().to_owned()]);
        while let Some(name) = waiting.pop_front() {
            let Some(module) = self.module(&name) else { continue };
            for (request, target) in module.parsed.requests.iter().zip(&module.targets) {
                let (Way::Import, Ok(Target::File(path))) = (request.way, target) else { continue };
                faults.extend(self.lacking_names_of(&module, request, path));
                let next = full_name(path);
                if known.insert(next.clone()) {
                    waiting.push_back(next);
                }
            }
        }
        faults
    }

    /// Those of one import, which means the file at this path.
    pub(super) fn lacking_names_of(
        &self,
        module: &Module,
        request: &Request,
        path: &Path,
    ) -> Vec<SourceFault> {
        let file = full_name(path);
        let names = request.names.iter().filter(|(name, _)| self.lacks(&file, name, &mut BTreeSet::new()));
        let fault = |(name, position): &(String, Position)| {
            let message = if name == "default" {
                format!("{} has no default export", request.specifier)
            } else {
                no_member(&request.specifier, name, &self.exports_of(&file))
            };
            module.fault_at(FaultKind::Missing, *position, message)
        };
        names.map(fault).collect()
    }

    /// True where a file surely does not export a name; `asked` are the files that were asked before.
    fn lacks(&self, file: &str, name: &str, asked: &mut BTreeSet<String>) -> bool {
        let Some(module) = self.module(file) else { return false };
        if module.is_common_js() || module.parsed.exports.iter().any(|known| known == name) {
            return false;
        }
        // What is taken as a whole comes without its default export, and a circle adds nothing.
        if name == "default" || !asked.insert(file.to_owned()) {
            return true;
        }
        let mut requests = module.parsed.requests.iter().zip(&module.targets);
        let is_star = |request: &Request| {
            request.way == Way::Import && module.parsed.stars.contains(&request.specifier)
        };
        requests.all(|(request, target)| match target {
            _ if !is_star(request) => true,
            Ok(Target::File(path)) => self.lacks(&full_name(path), name, asked),
            Ok(Target::Builtin(_)) | Err(_) => false,
        })
    }

    fn exports_of(&self, file: &str) -> BTreeSet<String> {
        self.module(file).map(|module| module.parsed.exports.iter().cloned().collect()).unwrap_or_default()
    }
}

/// What to tell of a name that a module does not have among those that it `has`.
pub(super) fn no_member(module: &str, member: &str, has: &BTreeSet<String>) -> String {
    let distance = |known: &&String| strsim::damerau_levenshtein(known, member);
    let near = has.iter().min_by_key(distance).filter(|known| distance(known) <= 2);
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("{module} has no `{member}`{hint}")
}
