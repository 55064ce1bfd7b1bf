//! Builds the console with npm and writes the table of its files, which the server embeds. Where npm is missing, fails,
//! or `PRONY_WEB=off` is set, the plain page of `plain/` takes its place; the build itself never fails for it.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// What of `web/` the console is made of; paths that cargo watches.
const INPUTS: [&str; 6] =
    ["console", "package.json", "package-lock.json", ".npmrc", "vite.config.ts", "compress.mjs"];

fn main() -> Result<(), Box<dyn Error>> {
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let web = manifest.join("../../web");
    println!("cargo::rerun-if-env-changed=PRONY_WEB");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=plain");
    for input in INPUTS {
        println!("cargo::rerun-if-changed={}", web.join(input).display());
    }
    let console = match build_console(&web, &out) {
        Ok(folder) => folder,
        Err(reason) => {
            println!("cargo::warning=the console is the plain page: {reason}");
            manifest.join("plain")
        }
    };
    fs::write(out.join("pages.rs"), table(&console)?)?;
    Ok(())
}

/// Works on a copy in the output folder: the source tree stays as it is.
fn build_console(web: &Path, out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    if env::var("PRONY_WEB").is_ok_and(|value| value == "off") {
        return Err("PRONY_WEB=off".into());
    }
    let copy = out.join("web");
    for input in INPUTS {
        copy_all(&web.join(input), &copy.join(input))?;
    }
    let lock = fs::read(copy.join("package-lock.json"))?;
    let installed = copy.join("installed-lock.json");
    if fs::read(&installed).ok().as_deref() != Some(lock.as_slice()) {
        npm(&copy, &["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"])?;
        fs::write(installed, lock)?;
    }
    npm(&copy, &["run", "build"])?;
    let console = copy.join("dist/console");
    if console.join("index.html").is_file() { Ok(console) } else { Err("npm built no index.html".into()) }
}

fn npm(folder: &Path, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let output = Command::new("npm").args(arguments).current_dir(folder).output().map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            "npm is not installed".to_owned()
        } else {
            error.to_string()
        }
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|line| line.contains("rror")).unwrap_or("it does not say why");
    Err(format!("`npm {}` failed: {first}", arguments.join(" ")).into())
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    // What was removed in the source must not stay in the copy.
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
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
