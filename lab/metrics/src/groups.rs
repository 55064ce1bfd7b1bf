//! The tree of groups and checks under the root group, as the summary's data shows it.

use crate::samples::CheckCount;
use md5::{Digest, Md5};
use prony_model::units::Nanos;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;
use std::sync::Arc;

/// What stands between the names of a path.
pub(crate) const SEPARATOR: &str = "::";

/// The checks and groups of all threads.
#[derive(Debug, Default)]
pub struct Checks {
    counts: Vec<CheckCount>,
    /// By group and name.
    places: HashMap<(Arc<str>, Arc<str>), usize>,
    /// Groups that were entered, also those without checks.
    groups: HashMap<Arc<str>, Nanos>,
}

impl Checks {
    pub fn add(&mut self, added: &CheckCount) {
        let key = (Arc::clone(&added.group), Arc::clone(&added.name));
        match self.places.entry(key) {
            Entry::Vacant(place) => {
                place.insert(self.counts.len());
                self.counts.push(added.clone());
            }
            Entry::Occupied(place) => {
                let count = &mut self.counts[*place.get()];
                count.passes += added.passes;
                count.fails += added.fails;
                count.first_at = count.first_at.min(added.first_at);
            }
        }
    }

    pub fn enter(&mut self, group: &Arc<str>, at: Nanos) {
        let first_at = self.groups.entry(Arc::clone(group)).or_insert(at);
        *first_at = at.min(*first_at);
    }

    pub fn to_tree(&self) -> Group {
        let mut root = Group::default();
        self.counts.iter().for_each(|count| root.count(count));
        let mut groups: Vec<_> = self.groups.iter().collect();
        groups.sort();
        for (path, at) in groups {
            root.enter(path, *at);
        }
        root.sort();
        root
    }
}

/// A group, the checks within it and its groups. The root has neither name nor path.
#[derive(Debug, Clone, Default)]
pub struct Group {
    name: String,
    /// `::outer::inner`
    path: String,
    first_at: Nanos,
    groups: Vec<Group>,
    checks: Vec<Check>,
}

/// A check by its name within a group.
#[derive(Debug, Clone)]
pub struct Check {
    pub name: Arc<str>,
    pub passes: u64,
    pub fails: u64,
    first_at: Nanos,
}

impl Check {
    fn add(&mut self, other: &Self) {
        self.passes += other.passes;
        self.fails += other.fails;
        self.first_at = self.first_at.min(other.first_at);
    }
}

impl Group {
    /// The group of a path, made where it does not exist.
    fn enter(&mut self, path: &str, at: Nanos) -> &mut Self {
        let names = path.strip_prefix(SEPARATOR).map(|rest| rest.split(SEPARATOR));
        names.into_iter().flatten().fold(self, |group, name| group.child(name, at))
    }

    fn child(&mut self, name: &str, at: Nanos) -> &mut Self {
        let known = self.groups.iter().position(|group| group.name == name);
        let index = known.unwrap_or_else(|| {
            let path = format!("{}{SEPARATOR}{name}", self.path);
            self.groups.push(Self { name: name.to_owned(), path, first_at: at, ..Self::default() });
            self.groups.len() - 1
        });
        let child = &mut self.groups[index];
        child.first_at = child.first_at.min(at);
        child
    }

    fn count(&mut self, count: &CheckCount) {
        let CheckCount { name, passes, fails, first_at, .. } = count;
        let group = self.enter(&count.group, *first_at);
        let added = Check { name: Arc::clone(name), passes: *passes, fails: *fails, first_at: *first_at };
        add_check(&mut group.checks, &added);
    }

    /// Groups and checks in the order in which they were first met, on whatever thread.
    fn sort(&mut self) {
        self.groups.sort_by_key(|group| group.first_at);
        self.checks.sort_by_key(|check| check.first_at);
        self.groups.iter_mut().for_each(Self::sort);
    }

    /// All checks of this group and those within it; those of one name are one.
    pub fn checks_by_name(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        self.collect_checks(&mut checks);
        checks.sort_by_key(|check| check.first_at);
        checks
    }

    fn collect_checks(&self, checks: &mut Vec<Check>) {
        self.checks.iter().for_each(|check| add_check(checks, check));
        self.groups.iter().for_each(|group| group.collect_checks(checks));
    }

    /// As `root_group` of the summary's data.
    pub fn to_json(&self) -> Value {
        let check = |check: &Check| {
            let path = format!("{}{SEPARATOR}{}", self.path, check.name);
            json!({
                "name": &*check.name,
                "path": path,
                "id": id_of(&path),
                "passes": check.passes,
                "fails": check.fails,
            })
        };
        json!({
            "name": self.name,
            "path": self.path,
            "id": id_of(&self.path),
            "groups": self.groups.iter().map(Self::to_json).collect::<Vec<_>>(),
            "checks": self.checks.iter().map(check).collect::<Vec<_>>(),
        })
    }
}

fn add_check(checks: &mut Vec<Check>, added: &Check) {
    match checks.iter_mut().find(|check| check.name == added.name) {
        Some(check) => check.add(added),
        None => checks.push(added.clone()),
    }
}

/// The MD5 of the path, in hexadecimal.
fn id_of(path: &str) -> String {
    let mut id = String::new();
    for byte in Md5::digest(path.as_bytes()) {
        write!(id, "{byte:02x}").expect("text can be appended to");
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn count(group: &str, name: &str, passes: u64, fails: u64, at: u64) -> CheckCount {
        let (group, name) = (group.into(), name.into());
        CheckCount { group, name, passes, fails, first_at: Nanos::from_secs(at) }
    }

    #[test]
    fn counts_of_threads_become_one_tree_in_the_order_of_the_script() {
        let mut checks = Checks::default();
        checks.add(&count("", "late", 1, 0, 5));
        checks.add(&count("::outer::inner", "is ok", 0, 1, 4));
        checks.add(&count("", "is ok", 2, 0, 1));
        checks.add(&count("", "is ok", 1, 0, 3));
        checks.enter(&"::first".into(), Nanos::from_secs(2));
        checks.enter(&"::outer".into(), Nanos::from_secs(6));
        let root = checks.to_tree();
        let lines: Vec<String> = root
            .checks_by_name()
            .iter()
            .map(|check| format!("{}: {} passed, {} failed", check.name, check.passes, check.fails))
            .collect();
        expect![[r#"
            is ok: 3 passed, 1 failed
            late: 1 passed, 0 failed"#]]
        .assert_eq(&lines.join("\n"));
        expect![[r#"{"name":"","path":"","id":"d41d8cd98f00b204e9800998ecf8427e","groups":[{"name":"first","path":"::first","id":"638f639344ae9a3ba511c0b4c526cd39","groups":[],"checks":[]},{"name":"outer","path":"::outer","id":"c34b428ee7255085dfe7fef53d3394d5","groups":[{"name":"inner","path":"::outer::inner","id":"b6c425bc7b9e3d21a2d56ce7a6de3614","groups":[],"checks":[{"name":"is ok","path":"::outer::inner::is ok","id":"dbfaa2a9910b097a032400ff17684364","passes":0,"fails":1}]}],"checks":[]}],"checks":[{"name":"is ok","path":"::is ok","id":"b23880cd908e867eadca735b83befcbd","passes":3,"fails":0},{"name":"late","path":"::late","id":"0ec48fe016b87004e4e9a8b07501fff4","passes":1,"fails":0}]}"#]]
        .assert_eq(&root.to_json().to_string());
    }
}
