//! Builds the documentation's pages with npm and embeds them compressed. Only a release build does, or one with `PRONY_DOCS=on`: it takes half a
//! minute, and would again with each word that changes in a document. Where npm is missing or fails there are none; the build itself
//! never fails for it.

#[path = "../web/embed.rs"]
mod embed;
#[path = "../web/files.rs"]
mod files;

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};

/// What the pages are made of.
const SOURCES: embed::Sources<'_> = embed::Sources {
    root: "..",
    inputs: &[
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "docs",
        "site/.vitepress/config.mts",
        "site/.vitepress/theme",
        "site/package.json",
        "site/package-lock.json",
        "site/.npmrc",
        "web/console/public/icon.svg",
    ],
    package: "site",
};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PRONY_DOCS");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let is_wanted = env::var("PRONY_DOCS").map_or(env::var("PROFILE")? == "release", |value| value == "on");
    let made = if is_wanted {
        embed::build(&SOURCES, "build", Path::new("dist"))
    } else {
        Err("only release builds have it, or those with PRONY_DOCS=on".into())
    };
    let text = match made {
        Ok(folder) => format!("Ok(&[{}])", table(&folder, &out.join("compressed"))?),
        Err(reason) => {
            if is_wanted {
                println!("cargo::warning=`prony docs` has no pages: {reason}");
            }
            format!("Err({:?})", reason.to_string())
        }
    };
    fs::write(out.join("pages.rs"), text)?;
    Ok(())
}

/// Rust source: one `Page` a file, each compressed into a folder of its own.
fn table(folder: &Path, compressed: &Path) -> Result<String, Box<dyn Error>> {
    fs::create_dir_all(compressed)?;
    let mut text = String::new();
    for (number, file) in files::list(folder)?.iter().enumerate() {
        let name = file.strip_prefix(folder)?.to_str().ok_or("file names are UTF-8")?;
        let place = compressed.join(number.to_string());
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(file)?)?;
        fs::write(&place, encoder.finish()?)?;
        writeln!(
            text,
            "Page {{ path: {:?}, content_type: {:?}, gzip: include_bytes!({}) }},",
            format!("/{name}"),
            files::content_type(name),
            files::quoted(&place),
        )?;
    }
    Ok(text)
}
