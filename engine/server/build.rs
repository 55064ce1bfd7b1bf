//! Builds the console with npm and writes the table of its files, which the server embeds. Where npm is missing, fails,
//! or `PRONY_WEB=off` is set, the plain page of `plain/` takes its place; the build itself never fails for it.

#[path = "../../web/embed.rs"]
mod embed;

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

/// What of `web/` the console is made of; paths that cargo watches.
const INPUTS: [&str; 7] =
    ["console", "shared", "package.json", "package-lock.json", ".npmrc", "vite.config.ts", "compress.mjs"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=plain");
    let console = match embed::build(&INPUTS, "build", Path::new("dist/console/index.html")) {
        Ok(page) => page.parent().ok_or("a page lies in a folder")?.to_owned(),
        Err(reason) => {
            println!("cargo::warning=the console is the plain page: {reason}");
            PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("plain")
        }
    };
    fs::write(out.join("pages.rs"), table(&console)?)?;
    Ok(())
}

/// Rust source: one `Page` a file, compressed forms beside it.
fn table(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.sort();
    let mut text = String::from("static PAGES: &[Page] = &[\n");
    for file in &files {
        let name = file.strip_prefix(folder)?.to_str().ok_or("file names are UTF-8")?;
        let compressed = |suffix: &str| {
            let path = PathBuf::from(format!("{}.{suffix}", file.display()));
            if path.is_file() {
                format!("Some(include_bytes!({}))", quoted(&path))
            } else {
                "None".to_owned()
            }
        };
        writeln!(
            text,
            "    Page {{ path: {:?}, content_type: {:?}, immutable: {}, identity: include_bytes!({}), \
             gzip: {}, brotli: {} }},",
            format!("/{name}"),
            content_type(name),
            name.starts_with("assets/"),
            quoted(file),
            compressed("gz"),
            compressed("br"),
        )?;
    }
    text.push_str("];\n");
    Ok(text)
}

/// A path as a string literal of Rust.
fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if !path.extension().is_some_and(|suffix| suffix == "gz" || suffix == "br") {
            files.push(path);
        }
    }
    Ok(())
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json; charset=utf-8",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
