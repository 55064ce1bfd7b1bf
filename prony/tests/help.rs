//! What the program says of itself: manual pages for all commands, completions for all shells, the documentation.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_prony")).args(arguments).output().expect("prony runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

/// Names of commands, as the help lists them.
fn commands(help: &str) -> BTreeSet<String> {
    let lines =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Lines that go on are indented further.
    let names =
        lines.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let directory = folder.path().join("new/man1");
    printed(&["man", directory.to_str().expect("it is text")]);
    let page = |name: &str| {
        let path = Path::new(&directory).join(format!("{name}.1"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let all = commands(&printed(&["--help"]));
    assert!(all.contains("serve") && all.contains("from-curl") && all.len() > 12, "{all:?}");
    for command in &all {
        let name = format!("prony-{command}");
        assert!(page(&name).contains(&name.replace('-', "\\-")), "{name} names itself");
    }
    assert!(page("prony-run").contains("\\-\\-duration"), "a page has the options");
    let hidden = fs::read_dir(&directory).expect("it was made").flatten();
    let hidden = hidden.filter(|entry| entry.file_name().to_string_lossy().contains("selftest-target"));
    assert_eq!(hidden.count(), 0, "what is hidden has no page");
}

/// Only some builds have it; `web/tests/site.mjs` looks at what they write.
#[test]
fn documentation_is_written_or_told_to_be_absent() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let target = folder.path().join("new/site");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    let output = command.args(["docs", "--write"]).arg(&target).output().expect("prony runs");
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let index = fs::read_to_string(target.join("index.html")).expect("there is a first page");
        assert!(index.contains("Prony") && target.join("docs/run.html").is_file(), "{index}");
    } else {
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("this program was built without its documentation"), "{said}");
        assert!(!target.exists(), "nothing is written");
    }
}

#[test]
fn each_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = printed(&["completions", shell]);
        assert!(text.contains("from-openapi") && text.contains("listen"), "{shell}");
    }
    let bash = tempfile::NamedTempFile::new().expect("a file can be made");
    fs::write(bash.path(), printed(&["completions", "bash"])).expect("it is writable");
    let script =
        "source \"$1\"; COMP_WORDS=(prony sw); COMP_CWORD=1; _prony prony sw prony; echo \"${COMPREPLY[@]}\"";
    let path = bash.path().to_str().expect("it is text");
    let output = Command::new("bash").args(["-c", script, "bash", path]).output().expect("bash is installed");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "sweep", "{output:?}");
}
