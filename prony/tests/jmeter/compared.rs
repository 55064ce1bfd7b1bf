//! Plans in the shapes that published ones have, whose rows JMeter 5.6.3 has written: Prony's are the same.
//!
//! The tables beside the plans are JMeter's; `cargo bench -p prony --bench jmeter -- plans` writes them anew.

use super::site::Site;
use super::table::table;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jmeter/compared")
}

/// Prony's rows of a plan, or how it ended without any.
fn rows_of(name: &str, site: &Site) -> String {
    let directory = tempfile::tempdir().unwrap();
    let jtl = directory.path().join("out.jtl");
    let output = Command::new(env!("CARGO_BIN_EXE_prony"))
        .current_dir(folder())
        .args(["run", &format!("{name}.jmx"), "--quiet", "--seed", "1", "-q", "more.properties", "-l"])
        .arg(&jtl)
        .arg(format!("-Jport={}", site.port()))
        .arg("--output")
        .arg(directory.path())
        .output()
        .unwrap();
    match fs::read_to_string(&jtl) {
        Ok(text) if output.status.code() != Some(2) => {
            table(&text, &site.port(), &folder(), name.starts_with("random"))
        }
        _ => String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
    }
}

#[test]
fn rows_of_compared_plans_are_those_of_jmeter() {
    let site = Site::start();
    let only = env::var("PRONY_COMPARED_PLAN").ok();
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            (path.extension()? == "jmx").then(|| path.file_stem()?.to_str().map(str::to_owned))?
        })
        .filter(|name| only.as_ref().is_none_or(|only| only == name))
        .collect();
    names.sort();
    assert!(only.is_some() || names.len() >= 26, "{names:?}");
    let mut differing = String::new();
    for name in &names {
        let expected = fs::read_to_string(folder().join(format!("{name}.txt"))).unwrap_or_default();
        let rows = rows_of(name, &site);
        if rows != expected {
            let _ = write!(differing, "---- {name}\n{}", difference(&expected, &rows));
        }
    }
    assert!(differing.is_empty(), "JMeter's rows are marked `-`, Prony's `+`:\n{differing}");
}

/// Lines that one of both has and the other has not: what is left of them beside their longest common subsequence.
fn difference(expected: &str, rows: &str) -> String {
    let (theirs, ours): (Vec<_>, Vec<_>) = (expected.lines().collect(), rows.lines().collect());
    let mut common = vec![vec![0_usize; ours.len() + 1]; theirs.len() + 1];
    for (a, line) in theirs.iter().enumerate().rev() {
        for (b, other) in ours.iter().enumerate().rev() {
            let skipped = common[a + 1][b].max(common[a][b + 1]);
            common[a][b] = if line == other { common[a + 1][b + 1] + 1 } else { skipped };
        }
    }
    let (mut a, mut b, mut out) = (0, 0, String::new());
    while a < theirs.len() || b < ours.len() {
        if a < theirs.len() && b < ours.len() && theirs[a] == ours[b] {
            (a, b) = (a + 1, b + 1);
        } else if b == ours.len() || a < theirs.len() && common[a + 1][b] >= common[a][b + 1] {
            let _ = writeln!(out, "-{}", theirs[a]);
            a += 1;
        } else {
            let _ = writeln!(out, "+{}", ours[b]);
            b += 1;
        }
    }
    out
}
