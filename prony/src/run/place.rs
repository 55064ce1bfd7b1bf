//! Where the result of a run is kept, or that it is not.

use prony_load::Output;
use prony_runs::ReservedPath;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ResultFlags {
    /// Folder that the result file is written to.
    #[arg(long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
    /// Write no result file; what is printed and sent elsewhere is the same.
    #[arg(long, conflicts_with = "output")]
    no_result: bool,
}

/// The file of a run.
#[derive(Debug)]
pub(crate) struct ResultPlace {
    /// Of the plan.
    name: String,
    reserved: Option<ReservedPath>,
}

impl ResultFlags {
    pub(crate) fn place(&self, name: &str) -> ResultPlace {
        let reserved = (!self.no_result).then(|| ReservedPath::new(&self.output, name));
        ResultPlace { name: name.to_owned(), reserved }
    }
}

impl ResultPlace {
    pub(crate) fn output(&self) -> Output {
        self.path().map_or(Output::Nowhere, |path| Output::File(path.to_owned()))
    }

    /// What the result is called where it stands beside others: its file, or the plan where there is none.
    pub(crate) fn label(&self) -> String {
        self.path().map_or_else(|| self.name.clone(), |path| path.display().to_string())
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.reserved.as_ref().map(ReservedPath::path)
    }

    /// The end of a summary.
    pub(crate) fn line(&self) -> String {
        match self.path() {
            Some(path) => result_line(path),
            None => "result: not written, as --no-result asks\n".to_owned(),
        }
    }

    /// What a page that was open during the run says at its end.
    pub(crate) fn farewell(&self) -> String {
        match self.path() {
            Some(path) => farewell(path),
            None => {
                "It is over. No result file was written, as --no-result asks; this page is all that is left."
                    .to_owned()
            }
        }
    }
}

/// Where a result is, at the end of a summary. One that could not be written was told of when that failed.
pub(crate) fn result_line(path: &Path) -> String {
    if path.exists() {
        format!("result: {}\n", path.display())
    } else {
        format!("result: not written, {} could not be made\n", path.display())
    }
}

/// What a page that was open meanwhile says of a file.
pub(crate) fn farewell(path: &Path) -> String {
    if !path.exists() {
        return "It is over. No result file could be written; this page is all that is left.".to_owned();
    }
    let path = path.display();
    format!("It is over. The result is in {path}; prony report {path} --html FILE writes this page.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_not_kept_is_called_as_its_plan() {
        let folder = tempfile::tempdir().unwrap();
        let flags = |no_result| ResultFlags { output: folder.path().to_owned(), no_result };
        let kept = flags(false).place("shop");
        let path = kept.path().unwrap().to_owned();
        assert!(path.starts_with(folder.path()) && kept.label() == path.display().to_string());
        assert_eq!(kept.output(), Output::File(path.clone()));
        // A disk that is full from the first second on leaves none.
        assert_eq!(kept.line(), format!("result: not written, {} could not be made\n", path.display()));
        assert!(kept.farewell().contains("No result file could be written"), "{}", kept.farewell());
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(kept.line(), format!("result: {}\n", path.display()));
        let dropped = flags(true).place("shop");
        assert_eq!(
            (dropped.path(), dropped.output(), dropped.label().as_str()),
            (None, Output::Nowhere, "shop")
        );
        assert_eq!(dropped.line(), "result: not written, as --no-result asks\n");
    }
}
