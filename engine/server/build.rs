//! Builds the console with npm and writes the table of its files, which the server embeds. Where npm is missing, fails,
//! or `PRONY_WEB=off` is set, the plain page of `plain/` takes its place; the build itself never fails for it.

#[path = "../../web/embed.rs"]
mod embed;
#[path = "../../web/files.rs"]
mod files;

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// What the console is made of.
const SOURCES: embed::Sources<'_> = embed::Sources {
    root: "../../web",
    inputs: &[
        "console",
        "shared",
        "package.json",
        "package-lock.json",
        ".npmrc",
        "vite.config.ts",
        "compress.mjs",
    ],
    package: "",
};

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=plain");
    let (console, is_whole) = match embed::build(&SOURCES, "build", Path::new("dist/console/index.html")) {
        Ok(page) => (page.parent().ok_or("a page lies in a folder")?.to_owned(), true),
        Err(reason) => {
            println!("cargo::warning=the console is the plain page: {reason}");
            (PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("plain"), false)
        }
    };
    let mut text = table(&console)?;
    writeln!(text, "pub(crate) const IS_WHOLE: bool = {is_whole};")?;
    fs::write(out.join("pages.rs"), text)?;
    Ok(())
}

/// Rust source: one `Page` a file, compressed forms beside it.
fn table(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut text = String::from("static PAGES: &[Page] = &[\n");
    for file in &files::list(folder)? {
        let name = file.strip_prefix(folder)?.to_str().ok_or("file names are UTF-8")?;
        let compressed = |suffix: &str| {
            let path = PathBuf::from(format!("{}.{suffix}", file.display()));
            if path.is_file() {
                format!("Some(include_bytes!({}))", files::quoted(&path))
            } else {
                "None".to_owned()
            }
        };
        writeln!(
            text,
            "    Page {{ path: {:?}, content_type: {:?}, immutable: {}, identity: include_bytes!({}), \
             gzip: {}, brotli: {} }},",
            format!("/{name}"),
            files::content_type(name),
            name.starts_with("assets/"),
            files::quoted(file),
            compressed("gz"),
            compressed("br"),
        )?;
    }
    text.push_str("];\n");
    Ok(text)
}
