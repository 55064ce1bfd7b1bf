//! `prony graph` from outside: what a user types, and what is said and done.

use expect_test::{Expect, expect};
use prony_graph_store::{Durability, Options, Side, Store};
use prony_testkit::{PronyProcess, process::Finished};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn run(directory: &Path, arguments: &[&str]) -> Finished {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg("graph").args(arguments).current_dir(directory);
    PronyProcess::start_command(command).wait()
}

/// What a command says and returns; times, rates and sizes are not repeated.
fn check(directory: &Path, arguments: &[&str], expected: &Expect) {
    let finished = run(directory, arguments);
    let text = format!("{}{}{}", finished.stdout, finished.stderr, finished.status);
    let is_time = |at: &usize, line: &str| line.as_bytes().get(at + 4).is_some_and(u8::is_ascii_digit);
    let lines = text.lines().map(|line| {
        let took = line.match_indices(" in ").map(|(at, _)| at).find(|at| is_time(at, line));
        let size = line.find("B on the disk").and_then(|at| line[..at].rfind(", "));
        &line[..took.or(size).or_else(|| line.find("; it took")).unwrap_or(line.len())]
    });
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n").replace(&*directory.to_string_lossy(), "DIR"));
}

fn open(directory: &Path) -> Store {
    Store::open(directory, Options::new(Durability::Sync)).expect("it can be opened")
}

fn counts(directory: &Path) -> (u64, u64) {
    let store = open(directory);
    let read = store.read();
    (read.count(Side::Nodes, None), read.count(Side::Relationships, None))
}

const NODES: &str = ":LABEL,key:ID,name,age:int\nUser,max,Max,42\nUser,helene,Helene,\n";
const RELATIONSHIPS: &str = ":START_ID(User),:END_ID(User),:TYPE\nmax,helene,KNOWS\n";

#[test]
fn files_are_imported_exported_and_imported_again() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let here = directory.path();
    fs::write(here.join("nodes.csv"), NODES).expect("it can be written");
    fs::write(here.join("relationships.csv"), RELATIONSHIPS).expect("it can be written");
    check(
        here,
        &["import", "graphs", "nodes.csv", "relationships.csv"],
        &expect![[r#"
            nodes.csv: 2 nodes
            relationships.csv: 1 relationship
            graphs/rage has 2 nodes and 1 relationship now
            exit status: 0"#]],
    );
    assert_eq!(counts(&here.join("graphs/rage")), (2, 1));
    check(
        here,
        &["export", "graphs", "out"],
        &expect![[r#"
        out/nodes.csv: 2 nodes
        out/relationships.csv: 1 relationship
        exit status: 0"#]],
    );
    check(
        here,
        &["export", "graphs/rage", "out"],
        &expect![[r#"
        error: out/nodes.csv exists; name another directory, or remove it
        exit status: 2"#]],
    );
    let written = |name: &str| fs::read_to_string(here.join("out").join(name)).expect("it is there");
    expect![[r#"
        :LABEL,key:ID,age:long,name:string
        User,max,42,Max
        User,helene,,Helene
        :START_LABEL,:START_ID,:END_LABEL,:END_ID,:TYPE
        User,max,User,helene,KNOWS
    "#]]
    .assert_eq(&(written("nodes.csv") + &written("relationships.csv")));
    check(
        here,
        &["import", "graphs", "--graph", "copy", "out/nodes.csv", "out/relationships.csv"],
        &expect![[r#"
            out/nodes.csv: 2 nodes
            out/relationships.csv: 1 relationship
            graphs/copy has 2 nodes and 1 relationship now
            exit status: 0"#]],
    );
    assert_eq!(counts(&here.join("graphs/copy")), (2, 1));
    check(
        here,
        &["compact", "graphs"],
        &expect![[r#"
            graphs/rage: 2 nodes and 1 relationship
            exit status: 0"#]],
    );
    check(
        here,
        &["export", "graphs", "--graph", "other"],
        &expect![[r#"
        error: there is no graph in graphs/other; there are copy, rage: name one with --graph
        exit status: 2"#]],
    );
    check(
        here,
        &["export", "nowhere"],
        &expect![[r#"
        error: there is no graph in nowhere/rage
        exit status: 2"#]],
    );
}

#[test]
fn a_faulty_line_keeps_everything_out_unless_it_is_put_aside() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let here = directory.path();
    fs::write(here.join("nodes.csv"), format!("{NODES}User,x,X,old\nUser,max,Max,1\nUser,y,Y,7"))
        .expect("it can be written");
    check(
        here,
        &["import", "graphs", "nodes.csv"],
        &expect![[r#"
        nodes.csv:4: column 4 (`age:int`): `old` is no integer from -9223372036854775808 to 9223372036854775807
        nodes.csv:5: column 2 (`key:ID`): a node of type `User` with the key `max` exists
        error: nothing was imported: 2 lines are faulty; mend them, or put them aside and keep the rest with --rejects DIR
        exit status: 2"#]],
    );
    assert_eq!(counts(&here.join("graphs/rage")), (0, 0));
    check(
        here,
        &["import", "graphs", "nodes.csv", "--rejects", "aside"],
        &expect![[r#"
            nodes.csv: 3 nodes
            2 faulty lines are in aside: mend and import them by themselves
            graphs/rage has 3 nodes and 0 relationships now
            nodes.csv:4: column 4 (`age:int`): `old` is no integer from -9223372036854775808 to 9223372036854775807
            nodes.csv:5: column 2 (`key:ID`): a node of type `User` with the key `max` exists
            exit status: 0"#]],
    );
    assert_eq!(counts(&here.join("graphs/rage")), (3, 0));
    let aside = fs::read_to_string(here.join("aside/nodes.csv")).expect("it is there");
    assert_eq!(aside, ":LABEL,key:ID,name,age:int\nUser,x,X,old\nUser,max,Max,1\n");
    // Mended, they go in by themselves.
    fs::write(here.join("mended.csv"), aside.replace("old", "80").replace("max", "maximilian"))
        .expect("it can be written");
    check(
        here,
        &["import", "graphs", "mended.csv"],
        &expect![[r#"
            mended.csv: 2 nodes
            graphs/rage has 5 nodes and 0 relationships now
            exit status: 0"#]],
    );
    assert_eq!(counts(&here.join("graphs/rage")), (5, 0));
}

/// The second file was to be put where the first one was, and nothing was imported.
#[test]
fn faulty_lines_of_files_with_one_name_are_put_aside_by_themselves() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let here = directory.path();
    for (folder, text) in [
        ("nodes", ":LABEL,key:ID,age:int\nUser,x,old\nUser,y,7\n"),
        ("links", ":START_ID(User),:END_ID(User),:TYPE\ny,y,KNOWS\ny,nobody,KNOWS\n"),
    ] {
        fs::create_dir(here.join(folder)).expect("it can be made");
        fs::write(here.join(folder).join("data.csv"), text).expect("it can be written");
    }
    let import = ["import", "graphs", "nodes/data.csv", "links/data.csv", "--rejects", "aside"];
    let finished = run(here, &import);
    assert!(finished.status.success(), "{}", finished.stderr);
    assert_eq!(counts(&here.join("graphs/rage")), (1, 1));
    let aside = |name: &str| fs::read_to_string(here.join("aside").join(name)).expect("it is there");
    assert_eq!(aside("data.csv"), ":LABEL,key:ID,age:int\nUser,x,old\n");
    assert_eq!(aside("2-data.csv"), ":START_ID(User),:END_ID(User),:TYPE\ny,nobody,KNOWS\n");
    // What was put aside is not written over.
    let again = run(here, &import);
    assert_eq!(again.status.code(), Some(2), "{}", again.stderr);
    assert!(again.stderr.contains("aside/data.csv exists; name another directory"), "{}", again.stderr);
}

/// No server served what was imported so.
#[test]
fn a_database_gets_no_name_that_a_server_leaves_alone() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let here = directory.path();
    fs::write(here.join("nodes.csv"), NODES).expect("it can be written");
    for name in ["my graph", "../other", ""] {
        let finished = run(here, &["import", "graphs", "nodes.csv", "--graph", name]);
        assert_eq!(finished.status.code(), Some(2), "{name}: {}", finished.stderr);
        assert!(finished.stderr.contains("is no name of a database"), "{name}: {}", finished.stderr);
    }
    assert!(!here.join("graphs").exists() && !here.join("other").exists());
}

#[test]
fn a_graph_that_is_open_elsewhere_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let graph = directory.path().join("graphs/rage");
    let store = open(&graph);
    let process = std::process::id().to_string();
    fs::write(directory.path().join("nodes.csv"), NODES).expect("it can be written");
    for arguments in
        [&["import", "graphs", "nodes.csv"][..], &["export", "graphs"], &["compact", "graphs/rage"]]
    {
        let finished = run(directory.path(), arguments);
        assert_eq!(finished.status.code(), Some(2), "{arguments:?}");
        let is_named = finished.stderr.contains(&format!("process {process} ("));
        assert!(is_named && finished.stderr.contains("/rage/lock); stop it first"), "{}", finished.stderr);
    }
    drop(store);
    assert_eq!(counts(&graph), (0, 0));
}

#[test]
fn damage_is_told_and_nothing_is_changed_by_a_check() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let here = directory.path();
    let graph = here.join("graphs/rage");
    let store = open(&graph);
    for key in ["a", "b", "c"] {
        store.write_and_wait(|write| write.create_node("User", key, &[])).expect("it is written");
    }
    drop(store);
    let log = graph.join("log-000000000001");
    let whole = fs::read(&log).expect("it is there");
    fs::write(&log, [&whole[..], b"torn"].concat()).expect("it can be written");
    check(
        here,
        &["check", "graphs"],
        &expect![[r#"
            graphs/rage: 3 nodes and 0 relationships; everything fits together
            the last 4 bytes of the log do not count: they were probably being written when the process or the machine died; whether a write in them had been acknowledged is unknown
            exit status: 0"#]],
    );
    assert_eq!(fs::read(&log).expect("it is there").len(), whole.len() + 4, "a check changes nothing");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&log, &damaged).expect("it can be written");
    check(
        here,
        &["check", "graphs"],
        &expect![[r#"
            error: graphs/rage/log-000000000001: it is damaged at byte 67: the checksum does not fit, and good frames follow at 102; --recover keeps what stands before and says what is lost
            exit status: 2"#]],
    );
    check(
        here,
        &["compact", "graphs", "--recover"],
        &expect![[r#"
            graphs/rage: 1 node and 0 relationships
            lost: 86 bytes from byte 67 on of graphs/rage/log-000000000001: the checksum does not fit, and good frames follow at 102; graphs/rage/log-000000000001.lost has the file as it was
            exit status: 0"#]],
    );
    check(
        here,
        &["check", "graphs"],
        &expect![[r#"
            graphs/rage: 1 node and 0 relationships; everything fits together
            exit status: 0"#]],
    );
}

#[test]
fn a_chain_of_backups_is_restored_at_a_moment() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let here = directory.path();
    let store = open(&here.join("graphs/rage"));
    let put = |key: &str| store.write_and_wait(|write| write.create_node("User", key, &[])).map(drop);
    let said = |arguments: &[&str], code: i32, texts: &[&str]| {
        let finished = run(here, arguments);
        let text = format!("{}{}", finished.stdout, finished.stderr);
        assert_eq!(finished.status.code(), Some(code), "{arguments:?}: {text}");
        for wanted in texts {
            assert!(text.contains(wanted), "{arguments:?}: {text}");
        }
        text
    };
    put("max").expect("it is written");
    let backup = ["backup", "--incremental", "graphs", "backups"];
    said(&backup, 0, &["backups/base-000000000001: a whole copy of ", ", up to frame 1, 2"]);
    said(&backup, 0, &["backups: nothing was written since frame 1"]);
    put("helene").expect("it is written");
    let first = said(&backup, 0, &["backups/increment-000000000002: 1 frame of ", ", up to frame 2, 2"]);
    let time = first.trim_end().rsplit(' ').next().expect("it ends with the time").to_owned();
    std::thread::sleep(std::time::Duration::from_millis(5));
    put("zoë").expect("it is written");
    said(&backup, 0, &["1 frame of "]);
    // What is not in a backup is gone with it.
    put("later").expect("it is written");
    store.snapshot().expect("one is taken");
    let whole = "the frames from 4 to 4 are not in the log any more";
    said(&backup, 0, &[whole, "backups/base-000000000004: a whole copy of "]);
    drop(store);
    said(
        &["restore", "backups", "all"],
        0,
        &["all: 4 nodes and 0 relationships", "everything fits together"],
    );
    let two = "2 nodes and 0 relationships, up to frame 2, ";
    said(&["restore", "backups", "a", "--until-sequence", "2"], 0, &[two]);
    said(&["restore", "backups", "b", "--until", &time], 0, &[two, &time]);
    assert_eq!([counts(&here.join("a")), counts(&here.join("b"))], [(2, 0), (2, 0)]);
    said(&["restore", "backups", "all"], 2, &["there is no graph of backups in all", "is there already"]);
    said(
        &["restore", "backups", "c", "--until", "yesterday"],
        2,
        &["`yesterday` is no time", "2026-11-24T12:00:00Z"],
    );
    let refused = ["does not have frame 9", "it has frames up to 4"];
    said(&["restore", "backups", "c", "--until-sequence", "9"], 2, &refused);
    said(&["restore", "graphs", "c"], 2, &["is neither a backup of a graph nor a chain of them"]);
    fs::remove_file(here.join("backups/increment-000000000003")).expect("it is there");
    said(&["restore", "backups", "c"], 0, &["4 nodes"]);
    let missing = ["increment-000000000003 is missing", "--until-sequence 2"];
    said(&["restore", "backups", "d", "--until-sequence", "3"], 2, &missing);
    assert!(!here.join("d").exists() && !here.join("d.part").exists());
}

/// All that is in a directory, with its bytes.
fn content(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries =
        fs::read_dir(directory).expect("it is there").map(|entry| entry.expect("it is there").path());
    let each = entries.flat_map(|path| {
        if path.is_dir() {
            return content(&path);
        }
        let bytes = fs::read(&path).expect("it can be read");
        BTreeMap::from([(path, bytes)])
    });
    each.collect()
}

/// The server that was running did not start again.
#[test]
fn a_chain_of_backups_is_not_made_among_databases() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let here = directory.path();
    drop(open(&here.join("graphs/rage")));
    let refused = run(here, &["backup", "--incremental", "graphs", "graphs/nightly"]);
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("graphs cannot be served with a chain"), "{}", refused.stderr);
    assert!(!here.join("graphs/nightly").exists());
    let taken = run(here, &["backup", "--incremental", "graphs", "graphs/of.nights"]);
    assert!(taken.status.success(), "what can be no database is left alone: {}", taken.stderr);
}

/// The directory above was taken for a graph without anything in it, or for a chain, and was no longer served.
#[test]
fn databases_may_be_called_as_files_of_a_graph() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let here = directory.path();
    for name in ["rage", "lock", "log-000000000001", "snapshot-2026", "backup-manifest"] {
        let store = open(&here.join("graphs").join(name));
        store.write_and_wait(|write| write.create_node("User", name, &[])).expect("it is written");
    }
    let checked = run(here, &["check", "graphs"]);
    assert!(checked.stdout.starts_with("graphs/rage: 1 node "), "{}{}", checked.stdout, checked.stderr);
    let taken = run(here, &["backup", "graphs", "copy"]);
    assert!(taken.stdout.contains(" with 1 node "), "{}{}", taken.stdout, taken.stderr);
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["serve", "graph:graphs", "--listen", "127.0.0.1:0", "--cpus", "1"]).current_dir(here);
    let mut served = PronyProcess::start_command(command);
    served.wait_for_url();
    let ended = served.stop();
    assert!(ended.stderr.contains("database=\"backup-manifest\" nodes=1"), "{}", ended.stderr);
}

/// A mistake in the middle of the night: what is meant to be served is named in place of an empty graph, and the backups stay as they are.
#[test]
fn a_chain_of_backups_is_not_served() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let here = directory.path();
    let store = open(&here.join("graphs/rage"));
    for key in ["max", "helene"] {
        store.write_and_wait(|write| write.create_node("User", key, &[])).expect("it is written");
        let taken = run(here, &["backup", "--incremental", "graphs", "kept/nightly"]);
        assert!(taken.status.success(), "{}", taken.stderr);
    }
    drop(store);
    let serve = |source: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["serve", source, "--listen", "127.0.0.1:0", "--cpus", "1"]).current_dir(here);
        PronyProcess::start_command(command)
    };
    fs::write(here.join("nodes.csv"), ":LABEL,key:ID\nUser,zoë\n").expect("it can be written");
    let before = content(here);
    let is_chain = "kept/nightly is a chain of backups of a graph, and no graph";
    let what_to_type = "`prony graph restore kept/nightly NEW/rage`";
    // Its directory, by its kind and without, and the one above it, in which it would be a database.
    for source in ["graph:kept/nightly", "kept/nightly", "graph:kept"] {
        let refused = serve(source).wait();
        assert_eq!(refused.status.code(), Some(2), "{source}: {}", refused.stderr);
        let says = |text: &str| refused.stderr.contains(text);
        assert!(
            says(is_chain) && says(what_to_type) && says("serve `graph:NEW`"),
            "{source}: {}",
            refused.stderr
        );
    }
    // Each took it for an empty graph, of which everything fits together.
    for arguments in [
        &["check", "kept/nightly"][..],
        &["check", "kept", "--graph", "nightly"],
        &["export", "kept/nightly", "out"],
        &["compact", "kept/nightly"],
        &["backup", "kept/nightly", "again"],
        &["import", "kept/nightly", "nodes.csv"],
    ] {
        let refused = run(here, arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {}{}", refused.stdout, refused.stderr);
        assert!(refused.stderr.contains(is_chain), "{arguments:?}: {}", refused.stderr);
    }
    let refused = serve("graph:graphs/rage").wait();
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("graphs/rage has the files of one database"), "{}", refused.stderr);
    assert_eq!(content(here), before, "nothing is written");
    // What it says to type.
    let restored = run(here, &["restore", "kept/nightly", "new/rage"]);
    assert!(restored.status.success(), "{}", restored.stderr);
    let mut served = serve("graph:new");
    served.wait_for_url();
    let ended = served.stop();
    assert!(ended.stderr.contains("opened a graph") && ended.stderr.contains("nodes=2"), "{}", ended.stderr);
}
