//! The prose of the documents: textlint reads it with the rules of `prose/`, among them the words that the glossary forbids, which the
//! texts of programs are read for too.

use std::path::Path;

use anyhow::Result;

use crate::{npm, stages::Ran};

pub(crate) fn check(root: &Path) -> Result<Ran> {
    let directory = root.join("prose");
    let installed = npm::install(&directory)?;
    if !installed.succeeded {
        return Ok(installed);
    }
    npm::run_scripts(&directory, &["test", "check"])
}
