//! A plan or script with the files that it names, as one object that travels under its hash.
//!
//! Files keep their places relative to each other: each stands under its whole path on the machine that it comes from, beneath
//! the folder where it is unpacked, so that what the plan says beside `../` is found too.

use crate::error::WorkersError;
use crate::figures::hexadecimal;
use crate::kind::{LoadKind, PLANS, PlanKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_load::plan_files;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Of a load with its files, at most: each worker keeps it in memory while it comes.
const BYTES_MAX: u64 = 1 << 30;

/// What workers are handed of a run, in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    bytes: Vec<u8>,
    /// Of the bytes: SHA-256, in hexadecimal digits. Found once, since each of hundreds of workers is told it.
    hash: String,
}

#[derive(Serialize, Deserialize)]
struct Packed {
    /// The name of its kind.
    kind: String,
    /// What the kind says of itself.
    settings: Value,
    /// By path, without a leading `/`; contents in base64.
    files: BTreeMap<String, String>,
    /// Those that names of files pass and leave again by `..`: without them such a name leads nowhere.
    #[serde(default)]
    folders: BTreeSet<String>,
}

impl Bundle {
    /// Of a plan file and what it names.
    pub fn of_plan(plan: &Path) -> Result<Self, WorkersError> {
        let whole = absolute(plan)?;
        let text = fs::read_to_string(&whole).map_err(unreadable(plan))?;
        let directory = whole.parent().unwrap_or(Path::new("/"));
        let mut files = vec![whole.clone()];
        for name in plan_files(&text) {
            if Path::new(&name).is_absolute() {
                return Err(WorkersError::AbsoluteFile(name));
            }
            files.push(directory.join(&name));
        }
        Self::pack(&PLANS, json!({ PlanKind::PLAN: Self::place(&whole)? }), &files)
    }

    /// Of any kind of load: what it says of itself, and the files that it needs.
    pub fn pack(kind: &dyn LoadKind, settings: Value, paths: &[PathBuf]) -> Result<Self, WorkersError> {
        let (mut files, mut folders, mut bytes) = (BTreeMap::new(), BTreeSet::new(), 0);
        for path in paths {
            let size = fs::metadata(path).map_err(unreadable(path))?.len();
            bytes += size;
            if bytes > BYTES_MAX {
                return Err(WorkersError::TooLarge { bytes, max: BYTES_MAX });
            }
            let content = fs::read(path).map_err(unreadable(path))?;
            let (place, passed) = place_and_passed(&absolute(path)?);
            files.insert(place, STANDARD.encode(content));
            folders.extend(passed);
        }
        let packed = Packed { kind: kind.name().to_owned(), settings, files, folders };
        Ok(Self::of(serde_json::to_vec(&packed).expect("texts can be written")))
    }

    /// Where a file is beneath the folder of a worker.
    pub fn place(path: &Path) -> Result<String, WorkersError> {
        Ok(place_and_passed(&absolute(path)?).0)
    }

    fn of(bytes: Vec<u8>) -> Self {
        let hash = hexadecimal(&Sha256::digest(&bytes));
        Self { bytes, hash }
    }

    /// As it came.
    pub(crate) fn of_bytes(bytes: Vec<u8>, hash: &str) -> Result<Self, WorkersError> {
        let bundle = Self::of(bytes);
        if bundle.hash != hash {
            return Err(WorkersError::Hash { expected: hash.to_owned(), found: bundle.hash });
        }
        Ok(bundle)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// Writes the files beneath a folder and returns the kind's name with what it has said of itself.
    pub(crate) fn unpack(&self, folder: &Path) -> Result<(String, Value), WorkersError> {
        let failed = |reason: String| WorkersError::Unpack(reason);
        let packed: Packed =
            serde_json::from_slice(&self.bytes).map_err(|error| failed(error.to_string()))?;
        let inside = |name: &str| {
            let place = beneath(name).ok_or_else(|| failed(format!("`{name}` is no place beneath a folder")));
            place.map(|place| folder.join(place))
        };
        for name in &packed.folders {
            let path = inside(name)?;
            fs::create_dir_all(&path).map_err(|error| failed(format!("{}: {error}", path.display())))?;
        }
        for (name, content) in &packed.files {
            let content = STANDARD.decode(content).map_err(|error| failed(format!("{name}: {error}")))?;
            let path = inside(name)?;
            let written =
                path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, content));
            written.map_err(|error| failed(format!("{}: {error}", path.display())))?;
        }
        Ok((packed.kind, packed.settings))
    }
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> WorkersError {
    let path = path.to_owned();
    move |cause| WorkersError::File { path: path.clone(), cause }
}

fn absolute(path: &Path) -> Result<PathBuf, WorkersError> {
    std::path::absolute(path).map_err(unreadable(path))
}

/// The path without its root and without `..`, as files are named in a bundle, and the folders that it leaves by `..`.
fn place_and_passed(path: &Path) -> (String, Vec<String>) {
    let (mut parts, mut passed) = (Vec::new(), Vec::new());
    for component in path.components() {
        match component {
            Component::Normal(name) => parts.push(name.to_string_lossy()),
            Component::ParentDir if !parts.is_empty() => {
                passed.push(parts.join("/"));
                parts.pop();
            }
            Component::ParentDir | Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    (parts.join("/"), passed)
}

/// A path that leads nowhere but beneath the folder that it is joined to.
fn beneath(name: &str) -> Option<&Path> {
    let path = Path::new(name);
    let is_beneath = path.components().all(|component| matches!(component, Component::Normal(_)));
    (is_beneath && !name.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "target = \"http://localhost\"\nusers = 2\nduration = \"1s\"\nrequests = [{ path = \"/${who.id}\" }]\n\
                        [variables]\nwho = { csv = \"../tables/größe.csv\" }\n";

    #[test]
    fn a_plan_with_its_files_is_the_same_plan_elsewhere() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(here.path().join("plans")).unwrap();
        fs::create_dir_all(here.path().join("tables")).unwrap();
        let plan = here.path().join("plans/a plan.toml");
        fs::write(&plan, PLAN).unwrap();
        fs::write(here.path().join("tables/größe.csv"), "id\n7\n8\n").unwrap();
        let bundle = Bundle::of_plan(&plan).unwrap();
        assert_eq!(bundle.hash(), Bundle::of_plan(&plan).unwrap().hash(), "the same plan has the same hash");
        let came = Bundle::of_bytes(bundle.bytes().to_vec(), bundle.hash()).unwrap();
        drop(here);
        let (kind, settings) = came.unpack(there.path()).unwrap();
        let unpacked = there.path().join(settings["plan"].as_str().unwrap());
        assert_eq!((kind.as_str(), unpacked.file_name().unwrap().to_str()), ("plan", Some("a plan.toml")));
        let read = prony_load::read_plan(&unpacked).unwrap();
        assert_eq!(read.variables()[0].feeder().unwrap().rows.len(), 2);
    }

    /// The folder that such a name passes has nothing of its own that travels.
    #[test]
    fn names_that_leave_a_folder_again_are_found_elsewhere() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(here.path().join("plans/old")).unwrap();
        let plan = here.path().join("plans/p.toml");
        fs::write(&plan, PLAN.replace("../tables/", "old/../../")).unwrap();
        fs::write(here.path().join("größe.csv"), "id\n7\n8\n").unwrap();
        let bundle = Bundle::of_plan(&plan).unwrap();
        drop(here);
        let (_, settings) = bundle.unpack(there.path()).unwrap();
        let unpacked = there.path().join(settings["plan"].as_str().unwrap());
        let read = prony_load::read_plan(&unpacked).unwrap();
        assert_eq!(read.variables()[0].feeder().unwrap().rows.len(), 2);
    }

    #[test]
    fn what_is_not_there_absolute_or_torn_is_refused() {
        let here = tempfile::tempdir().unwrap();
        let plan = here.path().join("p.toml");
        let refused = |text: &str| {
            fs::write(&plan, text).unwrap();
            Bundle::of_plan(&plan).unwrap_err().to_string()
        };
        assert!(refused(PLAN).contains("größe.csv, which the plan names: No such file"));
        let absolute = refused(&PLAN.replace("../tables", "/srv"));
        assert!(absolute.contains("`/srv/größe.csv` by its place on this machine"), "{absolute}");
        let torn = Bundle::of_bytes(b"{}".to_vec(), "00").unwrap_err().to_string();
        assert!(torn.contains("and not 00"), "{torn}");
    }

    #[test]
    fn nothing_is_written_outside_of_the_folder() {
        let there = tempfile::tempdir().unwrap();
        for name in ["../evil", "/tmp/evil", "a/../../evil", ""] {
            let bytes =
                format!(r#"{{"kind":"plan","settings":{{}},"files":{{"{name}":"eA=="}}}}"#).into_bytes();
            let error = Bundle::of(bytes).unpack(&there.path().join("inner")).unwrap_err().to_string();
            assert!(error.contains("no place beneath"), "{error}");
            let bytes = format!(r#"{{"kind":"plan","settings":{{}},"files":{{}},"folders":["{name}"]}}"#);
            let error = Bundle::of(bytes.into_bytes()).unpack(&there.path().join("inner")).unwrap_err();
            assert!(error.to_string().contains("no place beneath"), "{error}");
        }
        assert_eq!(fs::read_dir(there.path()).unwrap().count(), 0);
    }
}
