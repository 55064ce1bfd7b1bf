//! The folder of one run of an experiment: its table, its outcome as JSON, its page, a result file for each step.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use prony_model::{ResultFile, result::Machine};
use prony_report::{NamedDocument, PageForm, StudyData, read_document, study_html};
use serde::Serialize;

use crate::error::LabError;

/// Runs of one experiment that begin in the same second, at most.
const SAME_SECOND_MAX: u32 = 1_000;

/// `results/NAME-TIME`, and `results/NAME-TIME-2` where another run began in the same second.
#[derive(Debug)]
pub(crate) struct Folder {
    name: &'static str,
    path: PathBuf,
}

impl Folder {
    /// Made below `output`, and of this run alone; `started_at` as [`crate::clock::rfc3339`] writes it.
    pub(crate) fn create(output: &Path, name: &'static str, started_at: &str) -> Result<Self, LabError> {
        let failed = |path: &Path| LabError::io(format!("make directory {}", path.display()));
        fs::create_dir_all(output).map_err(failed(output))?;
        let first = output.join(format!("{name}-{}", started_at.replace(':', "")));
        let mut path = first.clone();
        for number in 2..=SAME_SECOND_MAX {
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let mut next = first.clone().into_os_string();
                    next.push(format!("-{number}"));
                    path = next.into();
                }
                made => return made.map(|()| Self { name, path: path.clone() }).map_err(failed(&path)),
            }
        }
        Err(failed(&first)(io::ErrorKind::AlreadyExists.into()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// As the load side wrote it into any of the results, or would have where nothing was run.
    pub(crate) fn machine(&self) -> Machine {
        let files = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut results = files.filter_map(|file| {
            let name = file.file_name();
            name.to_str()?.ends_with(".prony.json").then(|| fs::read(file.path()).ok())?
        });
        let origin =
            results.find_map(|bytes| Some(serde_json::from_slice::<ResultFile>(&bytes).ok()?.origin));
        origin.map_or_else(prony_load::describe_machine, |origin| origin.machine)
    }

    /// `table.md` and `NAME.json`; returns the latter's name.
    pub(crate) fn write(&self, markdown: &str, outcome: &impl Serialize) -> Result<String, LabError> {
        let json = serde_json::to_vec_pretty(outcome).expect("an outcome has no maps with odd keys");
        let json_name = format!("{}.json", self.name);
        for (name, bytes) in [("table.md", markdown.as_bytes()), (&json_name, &json)] {
            let path = self.path.join(name);
            fs::write(&path, bytes).map_err(LabError::io(format!("write {}", path.display())))?;
        }
        Ok(json_name)
    }

    /// Writes the page of an experiment with those of its runs whose files can be read; returns its name.
    pub(crate) fn write_page(&self, study: StudyData, files: &[&str]) -> Result<&'static str, LabError> {
        const NAME: &str = "report.html";
        let document = |name: &&str| {
            let text = fs::read_to_string(self.path.join(name)).ok()?;
            let document = read_document(&text).ok()?;
            Some(NamedDocument { name: (*name).to_owned(), document })
        };
        let documents: Vec<_> = files.iter().filter_map(document).collect();
        let path = self.path.join(NAME);
        fs::write(&path, study_html(study, &documents, PageForm::Plots))
            .map_err(LabError::io(format!("write {}", path.display())))?;
        Ok(NAME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_the_same_second_have_folders_of_their_own() {
        let output = tempfile::tempdir().unwrap();
        let made = || Folder::create(&output.path().join("deep/ö"), "graph", "2026-11-21T02:03:04Z").unwrap();
        let names = [made(), made(), made()].map(|folder| folder.path.file_name().unwrap().to_owned());
        assert_eq!(
            names,
            ["graph-2026-11-21T020304Z", "graph-2026-11-21T020304Z-2", "graph-2026-11-21T020304Z-3"]
        );
        fs::write(output.path().join("file"), "").unwrap();
        let refused =
            Folder::create(&output.path().join("file"), "graph", "2026-11-21T02:03:04Z").unwrap_err();
        assert!(refused.to_string().starts_with("cannot make directory "), "{refused}");
    }
}
