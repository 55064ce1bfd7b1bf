//! Each configuration of a server that a page of the documentation shows is read as `prony serve --config` reads it. Plans and other
//! files in TOML are told from their keys; what they hold is for the tests of those who read them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use prony_interceptors::JavaScriptLoader;
use prony_server::config::{self, CommandLine, Program};

use super::KINDS;

/// Keys and tables at the top of plans, of tests of permissions and of manifests of Cargo.
const OF_OTHER_FILES: [&str; 6] =
    ["target", "requests", "subscriptions", "thresholds", "test", "dependencies"];
/// Lines of a table that their page names in words: what they begin with, and the table's beginning.
const PARTS: [(&str, &str); 2] = [
    ("concurrency = {", "[[operation]]\nmatch = \"Query.orders\"\n"),
    ("retention = [", "[[source]]\nurl = \"series:rooms\"\n"),
];
/// For configurations that name roles and leave out who asks: a webhook may give any role and any variable of a session.
const WEBHOOK: &str = "\n[auth.webhook]\naddress = \"https://login.example/\"\nforward = \"cookie\"\n";
/// Of each variable of the environment; keys of HS256 need so many bytes.
const VALUE: &str = "0123456789abcdef0123456789abcdef";

/// A block of a page.
#[derive(Debug)]
struct PageBlock {
    language: String,
    text: String,
    line: usize,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn pages() -> Vec<PathBuf> {
    let folders = ["docs", "docs/architecture", "docs/decisions"];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(root().join(folder)).expect("it is there"));
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let mut pages: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

fn blocks(page: &str) -> Vec<PageBlock> {
    let mut blocks: Vec<PageBlock> = Vec::new();
    let mut is_open = false;
    for (index, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(language) => {
                is_open = true;
                blocks.push(PageBlock {
                    language: language.to_owned(),
                    text: String::new(),
                    line: index + 1,
                });
            }
            None if is_open => {
                let block = blocks.last_mut().expect("one is open");
                block.text += line;
                block.text.push('\n');
            }
            None => {}
        }
    }
    blocks
}

/// Keys and tables at the top of a text in TOML.
fn tops(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut is_in_table = false;
    for line in text.lines() {
        if let Some(header) = line.strip_prefix('[') {
            is_in_table = true;
            let name = header.trim_start_matches('[');
            found.insert(&name[..name.find(['.', ']']).unwrap_or(name.len())]);
        } else if let (false, Some((key, _))) = (is_in_table, line.split_once(" = ")) {
            found.insert(key);
        }
    }
    found
}

/// With what its page has around it; none where it is no configuration of a server.
fn configuration(block: &str) -> Option<String> {
    let before = PARTS.iter().find(|(begin, _)| block.starts_with(begin)).map_or("", |(_, before)| before);
    let mut whole = format!("{before}{block}");
    let tops = tops(&whole);
    if OF_OTHER_FILES.iter().any(|key| tops.contains(key)) {
        return None;
    }
    if !tops.contains("auth") && (tops.contains("roles") || tops.contains("operation")) {
        whole += WEBHOOK;
    }
    Some(whole)
}

/// An error is what the server would say. Variables of the environment have values that are long enough for keys.
fn read(text: &str, folder: &Path) -> Result<(), String> {
    let text = with_variables(text);
    let has_source = tops(&text).contains("source");
    let sources = if has_source { Vec::new() } else { vec!["sqlite:shop.db".to_owned()] };
    let line = CommandLine { sources, ..CommandLine::default() };
    let program = Program { kinds: KINDS, interceptors: Some(&JavaScriptLoader) };
    let path = folder.join("prony.toml");
    let read = config::load_for(program, Some((path.as_path(), text.as_str())), line, &|_| None);
    read.map(drop).map_err(|faults| faults.to_string())
}

/// A text whose `${NAME}` are filled in: some kinds of sources ask the environment of the process itself.
fn with_variables(text: &str) -> String {
    let mut parts = text.split("${");
    let begin = parts.next().unwrap_or_default().to_owned();
    parts.fold(begin, |filled, part| {
        let (_, rest) = part.split_once('}').expect("a variable's name ends");
        filled + VALUE + rest
    })
}

/// Writes the modules that a page shows, with their names in their first lines.
fn keep_modules(blocks: &[PageBlock], folder: &Path) {
    for block in blocks.iter().filter(|block| block.language == "ts") {
        let name = block.text.lines().next().and_then(|line| line.strip_prefix("// "));
        if let Some(name) =
            name.filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "ts"))
        {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
            fs::write(path, &block.text).expect("it can be written");
        }
    }
}

#[test]
fn all_configurations_of_the_documentation_are_right() {
    let (mut faults, mut read_ones) = (Vec::new(), 0);
    for page in pages() {
        let text = fs::read_to_string(&page).expect("it can be read");
        let blocks = blocks(&text);
        let folder = tempfile::tempdir().expect("a directory can be made");
        keep_modules(&blocks, folder.path());
        for block in blocks.iter().filter(|block| block.language == "toml") {
            let Some(text) = configuration(&block.text) else { continue };
            read_ones += 1;
            if let Err(fault) = read(&text, folder.path()) {
                faults.push(format!("{}:{}: {fault}", page.display(), block.line));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(read_ones > 20, "{read_ones}");
}

/// The page about reverse proxies had one that did not start.
#[test]
fn options_outside_of_their_section_are_found() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let block = "# prony.toml\nlisten = [\"127.0.0.1:8080\"]\n\n[log]\nrequest_ids = true\n";
    let text = configuration(block).expect("it is one of a server");
    let fault = read(&text, folder.path()).expect_err("`listen` stands in [server]");
    assert!(fault.contains("`listen` is no section"), "{fault}");
    assert_eq!(with_variables("a = \"${B}-${C}\"\n"), format!("a = \"{VALUE}-{VALUE}\"\n"));
    assert_eq!(configuration("users = 5\ntarget = \"http://127.0.0.1\"\n"), None);
}

#[test]
fn each_part_is_one_of_a_page() {
    let text: String = pages().iter().map(|page| fs::read_to_string(page).expect("it can be read")).collect();
    for (begin, _) in PARTS {
        assert!(text.contains(&format!("```toml\n{begin}")), "{begin}");
    }
}
