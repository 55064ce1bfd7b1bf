//! `prony report` as a user meets it: files that a run has left, folders of them, and what is no result.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::peer::ScriptedPeer;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn prony(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).args(arguments).output().unwrap()
}

fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn complaint(directory: &Path, arguments: &[&str]) -> String {
    let output = prony(directory, arguments);
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

/// Makes a run and returns its file, relative to the folder.
fn run(directory: &Path, name: &str) -> PathBuf {
    let peer = ScriptedPeer::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    let plan = format!(
        "name = \"{name}\"\ntarget = \"{}\"\nusers = 2\nduration = \"1s\"\nthink_time = \"10ms\"\n\
         [[requests]]\nname = \"<b>q</b>\"\npath = \"/\"\n",
        peer.url()
    );
    fs::write(directory.join("plan.toml"), plan).unwrap();
    printed(&prony(directory, &["run", "plan.toml", "--quiet", "--output", name]));
    let entry = fs::read_dir(directory.join(name)).unwrap().next().unwrap().unwrap();
    Path::new(name).join(entry.file_name())
}

#[test]
fn a_result_is_shown_again_and_written_as_files() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, file) = (folder.path(), run(folder.path(), "shop"));
    let file = file.to_str().unwrap();
    let text = printed(&prony(folder, &["report", file]));
    assert!(text.starts_with("shop: http://127.0.0.1:"), "{text}");
    assert!(text.contains("successes a second"), "{text}");

    let files = ["--html", "r.html", "--csv", "r.csv", "--hgrm", "r.hgrm"];
    let said = printed(&prony(folder, &[&["report", file][..], &files].concat()));
    assert_eq!(said, "wrote r.html\nwrote r.csv\nwrote r-figures.csv\nwrote r.hgrm\n");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert!(read("r.html").contains("<title>shop</title>"));
    assert!(!read("r.html").contains("<b>q</b>"));
    assert!(read("r.csv").starts_with("run,second,users,"));
    assert!(read("r-figures.csv").contains(",<b>q</b>,"));
    assert!(read("r.hgrm").trim_start().starts_with("Value   Percentile   TotalCount"));

    let json: serde_json::Value =
        serde_json::from_str(&printed(&prony(folder, &["report", file, "--json"]))).unwrap();
    assert_eq!(json["schema"], "prony-result");
    assert!(printed(&prony(folder, &["report", file, "--csv"])).starts_with("run,second,"));
}

#[test]
fn a_folder_is_all_its_results_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (first, second) = (run(folder, "first"), run(folder, "second"));
    let moved = Path::new("first").join(second.file_name().unwrap());
    fs::rename(folder.join(&second), folder.join(&moved)).unwrap();
    fs::write(folder.join("first/notes.txt"), "no result").unwrap();
    let text = printed(&prony(folder, &["report", "first"]));
    let head = text.lines().find(|line| line.trim_start().starts_with("first ") && line.contains("second"));
    assert!(head.is_some(), "{text}");
    printed(&prony(folder, &["report", "first", "--hgrm", "spectra"]));
    assert!(folder.join("spectra/first.hgrm").is_file() && folder.join("spectra/second.hgrm").is_file());
    let json =
        printed(&prony(folder, &["report", first.to_str().unwrap(), moved.to_str().unwrap(), "--json"]));
    assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&json).unwrap().len(), 2);
}

/// Names of plans that are the same as names of files, and one that is what the second of two others is called.
#[test]
fn each_run_has_a_spectrum_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, file) = (folder.path(), run(folder.path(), "shop"));
    let text = fs::read_to_string(folder.join(&file)).unwrap();
    fs::create_dir(folder.join("all")).unwrap();
    let (long, longer) = ("é".repeat(150), "é".repeat(151));
    let names = ["a b", "a/b", "c", "c", "c #2", "a b-service", &long, &longer];
    for (number, name) in names.into_iter().enumerate() {
        let result = text.replacen("\"name\":\"shop\"", &format!("\"name\":\"{name}\""), 1);
        assert_ne!(result, text);
        fs::write(folder.join(format!("all/{number}.prony.json")), result).unwrap();
    }
    let said = printed(&prony(folder, &["report", "all", "--hgrm", "spectra"]));
    let files = fs::read_dir(folder.join("spectra")).unwrap().count();
    assert_eq!((files, said.lines().count()), (names.len(), names.len()), "{said}");
}

#[test]
fn what_is_no_result_is_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, file) = (folder.path(), run(folder.path(), "shop"));
    let whole = fs::read_to_string(folder.join(&file)).unwrap();
    let put = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    put("half.prony.json", &whole[..whole.len() / 2]);
    put("newer.prony.json", &whole.replace("\"schema_version\":2", "\"schema_version\":99"));
    put("empty.prony.json", "");
    fs::write(folder.join("bytes"), [0xff, 0xfe, 0x00]).unwrap();
    fs::create_dir(folder.join("bare")).unwrap();
    for (name, part) in [
        ("half.prony.json", "half.prony.json: it ends in the middle"),
        ("newer.prony.json", "written by a newer version (schema 99"),
        ("empty.prony.json", "it is empty"),
        ("bytes", "not a result file: it is no text"),
        ("plan.toml", "plan.toml: not a result file"),
        ("bare", "bare holds no result: no file in it ends with .prony.json"),
        ("nowhere", "cannot read nowhere: No such file"),
    ] {
        let said = complaint(folder, &["report", name]);
        assert!(said.contains(part), "{part} in {said}");
    }
    let said = complaint(folder, &["report", "half.prony.json", "--csv", file.to_str().unwrap()]);
    assert!(said.contains("half.prony.json: it ends"), "{said}");
}

#[test]
fn a_result_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, file) = (folder.path(), run(folder.path(), "shop"));
    let (file, before) = (file.to_str().unwrap(), fs::read(folder.join(&file)).unwrap());
    let said = complaint(folder, &["report", file, "--csv", file]);
    assert!(said.contains("is named as a result, which is not written over"), "{said}");
    assert_eq!(fs::read(folder.join(file)).unwrap(), before);
}

/// What a run leaves that was killed says so.
#[test]
fn a_run_that_had_not_ended_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, file) = (folder.path(), run(folder.path(), "shop"));
    let text = fs::read_to_string(folder.join(&file)).unwrap();
    fs::write(folder.join("r.prony.json"), text.replace("\"state\":\"completed\"", "\"state\":\"running\""))
        .unwrap();
    let text = printed(&prony(folder, &["report", "r.prony.json"]));
    assert!(text.contains("the run had not ended when this was written"), "{text}");
}
