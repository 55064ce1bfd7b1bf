//! Builds the report's page with npm into one file, which the crate embeds. Where npm is missing, fails, or
//! `PRONY_WEB=off` is set, it embeds the reason, and results become plain pages; the build itself never fails for it.

#[path = "../../web/embed.rs"]
mod embed;

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

/// What the page is made of.
const SOURCES: embed::Sources<'_> = embed::Sources {
    root: "../../web",
    inputs: &["report", "shared", "package.json", "package-lock.json", ".npmrc", "vite.report.config.ts"],
    package: "",
};

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    let template = match embed::build(&SOURCES, "build:report", Path::new("dist/report/index.html")) {
        Ok(page) => format!("Ok(include_str!({:?}))", page.display().to_string()),
        Err(reason) => {
            println!("cargo::warning=reports are plain pages: {reason}");
            format!("Err({:?})", format!("this program was built without them ({reason})"))
        }
    };
    fs::write(out.join("template.rs"), template)?;
    Ok(())
}
