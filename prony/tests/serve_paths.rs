//! `prony serve PATH`: what a path is, is seen; and what SQLite's addresses may say behind the file.

use std::{fs, path::Path, process::Command};

use prony_graph_store::{Durability, Options, Store};
use prony_testkit::PronyProcess;

fn prony(folder: &Path, arguments: &[&str]) -> PronyProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(arguments).current_dir(folder);
    PronyProcess::start_command(command)
}

/// The address under which a server says that it serves a source.
fn served(folder: &Path, argument: &str) -> String {
    let mut process = prony(folder, &["serve", argument, "--listen", "127.0.0.1:0"]);
    process.wait_for_url();
    let said = process.stop().stderr;
    let line =
        said.lines().find(|line| line.contains("serving a source")).unwrap_or_else(|| panic!("{said}"));
    let address = line.split("address=").nth(1).and_then(|rest| rest.split(' ').next());
    address.unwrap_or_else(|| panic!("{line}")).to_owned()
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let finished = prony(folder, &[&["serve"], arguments].concat()).wait();
    assert_eq!(finished.status.code(), Some(2), "{arguments:?}: {}", finished.stderr);
    let said = finished.stderr.lines().filter(|line| !line.starts_with("20"));
    said.collect::<Vec<_>>().join("\n")
}

fn database(path: &Path) {
    let connection = rusqlite::Connection::open(path).expect("a file can be made");
    connection
        .execute_batch("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT)")
        .expect("tables can be made");
}

#[test]
fn a_variable_that_is_passed_over_is_told_at_the_start() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    database(&folder.path().join("shop.db"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["serve", "shop.db", "--listen", "127.0.0.1:0"]).current_dir(folder.path());
    command.env("PRONY_WRITE_TIMEOUT_MS", "1000");
    let mut process = PronyProcess::start_command(command);
    process.wait_for_url();
    let said = process.stop().stderr;
    assert!(said.contains("did you mean `PRONY_SERVER_WRITE_TIMEOUT_MS`?"), "{said}");
}

#[test]
fn a_path_is_what_it_holds() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let folder = folder.path();
    // No extension says what it is.
    database(&folder.join("möbel lager"));
    assert_eq!(served(folder, "./möbel lager"), "sqlite:./möbel");
    assert_eq!(served(folder, "graph:people"), "graph:people");
    assert_eq!(served(folder, "people"), "graph:people");
    assert_eq!(served(folder, "series:history"), "series:history");
    assert_eq!(served(folder, "history/"), "series:history/");
}

#[test]
fn a_path_that_holds_nothing_to_serve_is_refused() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let folder = folder.path();
    fs::write(folder.join("notes.txt"), "SQLite format 4, perhaps").expect("it is writable");
    fs::write(folder.join("prony.toml"), "[[source]]\nurl = \"shop.db\"\n").expect("it is writable");
    fs::create_dir(folder.join("empty")).expect("it is writable");
    database(&folder.join("shop.db"));
    let all = "write sqlite:FILE, postgres://…, graph:DIRECTORY, series:DIRECTORY or https://HOST/graphql";
    for (argument, expected) in [
        ("notes.txt", format!("`notes.txt` is a file and no SQLite database; {all}")),
        ("empty", format!("`empty` is a directory without a graph or series in it; {all}")),
        ("shop.dbx", format!("`shop.dbx` is no source, and there is no such file; {all}")),
        (
            "prony.toml",
            "`prony.toml` is no source; a configuration is given by --config prony.toml".to_owned(),
        ),
        (
            "sqlite:shop.db?mode=memory",
            "`?mode=memory`: behind a file `?mode=ro`, `?mode=rw`, `?journal=keep` and `?journal=wal` are known"
                .to_owned(),
        ),
        (
            "sqlite:shop.db?mode=rw&journal=off",
            "`?journal=off`: behind a file `?mode=ro`, `?mode=rw`, `?journal=keep` and `?journal=wal` are known"
                .to_owned(),
        ),
    ] {
        let said = refused(folder, &[argument]);
        assert!(said.ends_with(&expected), "{argument}: {said}");
    }
    // In a file an address is one that is true tomorrow, too.
    let said = refused(folder, &["--config", "prony.toml"]);
    assert!(said.ends_with("`shop.db` is no source; write sqlite:shop.db"), "{said}");
}

#[test]
fn a_file_may_be_opened_for_reading_alone() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let folder = folder.path();
    database(&folder.join("shop.db"));
    database(&folder.join("odd?mode=ro"));
    let before = fs::read(folder.join("shop.db")).expect("it is there");
    let schema = |address: &str| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_prony")).args(["schema", address]).current_dir(folder).output();
        String::from_utf8(output.expect("prony runs").stdout).expect("it is text")
    };
    assert!(!schema("sqlite:shop.db?mode=ro").contains("type Mutation"));
    assert_eq!(fs::read(folder.join("shop.db")).expect("it is there"), before, "not switched to WAL");
    assert!(schema("sqlite:odd?mode=ro").contains("type Mutation"), "that is its name");
    assert!(schema("sqlite:shop.db?mode=rw").contains("type Mutation"));
}

/// Bytes 18 and 19 of a header (<https://sqlite.org/fileformat.html#the_database_header>): 1 is a journal that is undone, 2 is WAL.
fn is_wal(path: &Path) -> bool {
    fs::read(path).expect("it is there")[18..20] == [2, 2]
}

#[test]
fn serving_switches_to_wal_unless_the_journal_is_kept() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let folder = folder.path();
    let file = folder.join("shop.db");
    database(&file);
    served(folder, "sqlite:shop.db?journal=keep");
    assert!(!is_wal(&file), "by its address");
    let configuration =
        "[server]\nlisten = [\"127.0.0.1:0\"]\n[[source]]\nurl = \"sqlite:shop.db\"\njournal = \"keep\"\n";
    fs::write(folder.join("prony.toml"), configuration).expect("it is writable");
    let mut process = prony(folder, &["serve", "--config", "prony.toml"]);
    process.wait_for_url();
    let said = process.stop().stderr;
    assert!(said.contains("the database keeps its journal"), "{said}");
    assert!(!is_wal(&file), "by its configuration");
    served(folder, "sqlite:shop.db?mode=rw&journal=wal");
    assert!(is_wal(&file));
}

#[test]
fn commands_that_only_look_leave_a_file_as_it_is() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let folder = folder.path();
    let file = folder.join("shop.db");
    database(&file);
    let before = fs::read(&file).expect("it is there");
    let configuration = "[[source]]\nurl = \"sqlite:shop.db\"\n[auth]\nanonymous = \"visitor\"\n\
                         [roles.visitor.sources.shop.tables.things]\nselect = { columns = [\"id\"] }\n";
    fs::write(folder.join("roles.toml"), configuration).expect("it is writable");
    let tests = "[[test]]\nname = \"none\"\nquery = \"{ things { id } }\"\ndata = { things = [] }\n";
    fs::write(folder.join("tests.toml"), tests).expect("it is writable");
    for arguments in [
        &["schema", "shop.db"][..],
        &["init", "shop.db"],
        &["serve", "--config", "roles.toml", "--explain-role", "visitor"],
        &["permissions", "test", "tests.toml", "--config", "roles.toml"],
    ] {
        let finished = prony(folder, arguments).wait();
        assert_eq!(finished.status.code(), Some(0), "{arguments:?}: {}{}", finished.stdout, finished.stderr);
        assert_eq!(fs::read(&file).expect("it is there"), before, "{arguments:?}");
    }
}

/// They were opened as to be served: no server could have them open, and a directory that was not there was made.
#[test]
fn commands_that_only_look_read_graphs_and_series_that_are_open_elsewhere() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let folder = folder.path();
    let graph = Store::open(&folder.join("people/rage"), Options::new(Durability::Sync));
    let graph = graph.expect("a graph can be made");
    graph.write_and_wait(|write| write.create_node("User", "Max", &[]).map(drop)).expect("it is written");
    let options = prony_series_store::Options::new(Durability::Sync);
    let series =
        prony_series_store::Store::open(&folder.join("history"), options).expect("series can be made");
    let written = series.write_and_wait(|write| {
        let table = write.table("", "Room")?;
        let kind = || prony_series_store::Kind::Double;
        let (temperature, _) = write.attribute(table, "temperature", "Number", kind)?;
        let room = write.series(table, "Room:1", "/")?;
        write.row(room, 0, &[(temperature, prony_series_store::Value::Double(21.5))])
    });
    written.expect("it is written");
    for (address, has) in [
        ("graph:people", "type User "),
        ("series:history", "rooms("),
        ("graph:none/graph", "type Query "),
        ("series:none/series", "type Query "),
    ] {
        let looked = prony(folder, &["schema", address]).wait();
        assert_eq!(looked.status.code(), Some(0), "{address}: {}", looked.stderr);
        assert!(looked.stdout.contains(has), "{address}: {}", looked.stdout);
        let looked = prony(folder, &["init", address, "--output", "first.toml", "--force"]).wait();
        assert_eq!(looked.status.code(), Some(0), "{address}: {}", looked.stderr);
    }
    assert!(!folder.join("none").exists(), "nothing is made");
    // Whoever has them open goes on.
    graph.write_and_wait(|write| write.create_node("User", "Ada", &[]).map(drop)).expect("it is written");
    drop((graph, series));
}
