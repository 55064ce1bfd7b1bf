//! `prony init` as somebody meets it who has a database: the file that it writes is served as it is.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Command, Output},
};

use prony_testkit::{PronyProcess, TestDatabase, chinook::sqlite_copy};

fn init(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).arg("init").args(arguments).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The status and the body of a query, with these lines of headers.
fn ask(url: &str, headers: &str) -> String {
    let body = r#"{"query":"{ artists(limit: 1) { Name } }"}"#;
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).expect("it listens");
    write!(
        stream,
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it responds");
    response
}

#[test]
fn what_is_written_is_served() {
    let (directory, database) = (tempfile::tempdir().unwrap(), sqlite_copy());
    let path = database.path();
    let path = path.to_str().unwrap();
    let output = init(directory.path(), &[path]);
    let said = text(&output.stdout);
    assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""), "{said}");
    assert!(
        said.contains("11 tables: albums, artists") && said.contains("prony serve --config prony.toml"),
        "{said}"
    );
    let file = directory.path().join("prony.toml");
    let written = fs::read_to_string(&file).unwrap();
    // Every option that it names is one: as lines that count they are taken as well.
    let all: String = written.replace("\n# ", "\n");
    let options = all.lines().filter(|line| line.contains(" = ") || line.starts_with('['));
    let all_options = options.fold(String::new(), |text, line| text + line + "\n");
    assert!(all_options.contains("max_limit = 10000\n"), "{all_options}");
    for (name, content) in [("prony.toml", &written), ("all.toml", &all_options)] {
        let config = directory.path().join(name);
        fs::write(&config, content).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.arg("serve").arg("--config").arg(&config).args(["--listen", "127.0.0.1:0", "--cpus", "1"]);
        let mut process = PronyProcess::start_command(command);
        let response = ask(&process.wait_for_url(), "");
        assert!(response.contains(r#"{"artists":[{"Name":"AC/DC"}]}"#), "{name}: {response}");
    }
    let again = init(directory.path(), &[path]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("prony.toml is there already"), "{}", text(&again.stderr));
    assert_eq!(init(directory.path(), &[path, "--force"]).status.code(), Some(0));
    let spaced = text(&init(directory.path(), &[path, "-o", "my shop.toml"]).stdout);
    assert!(spaced.contains("prony serve --config 'my shop.toml'\n"), "as a shell takes it: {spaced}");
}

/// What it remarks on other schemas names a flag, which is one of its own.
#[test]
fn a_schema_that_is_not_the_current_one_is_looked_at_and_written() {
    let (directory, database) = (tempfile::tempdir().unwrap(), TestDatabase::create());
    database.execute("create schema app; create table app.artist (id int primary key, \"Name\" text)");
    database.execute("insert into app.artist values (1, 'AC/DC')");
    let first = init(directory.path(), &[&database.url()]);
    let told = text(&first.stderr);
    assert_eq!(first.status.code(), Some(2), "{told}");
    assert!(told.contains("serve at least one table") && told.contains("`app` (1)"), "{told}");
    assert!(told.contains("--schema"), "{told}");
    let output = init(directory.path(), &[&database.url(), "--schema", "app"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(said.contains("1 table: artists"), "{said}");
    let file = directory.path().join("prony.toml");
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.contains("\nschemas = [\"app\"]\n"), "{written}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg("serve").arg("--config").arg(&file).args(["--listen", "127.0.0.1:0", "--cpus", "1"]);
    let mut process = PronyProcess::start_command(command);
    let response = ask(&process.wait_for_url(), "");
    assert!(response.contains(r#"{"artists":[{"Name":"AC/DC"}]}"#), "{response}");
    let unknown = init(directory.path(), &[&database.url(), "--schema", "nowhere", "--force"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("the database has no schema `nowhere`"), "{unknown:?}");
}

#[test]
fn a_key_lets_in_and_nothing_else_does() {
    let (directory, database) = (tempfile::tempdir().unwrap(), sqlite_copy());
    let file = directory.path().join("my \"own\".toml");
    let output =
        init(directory.path(), &[database.path().to_str().unwrap(), "--key", "-o", file.to_str().unwrap()]);
    let said = text(&output.stdout);
    let header = said.lines().find(|line| line.contains("X-Api-Key: ")).expect("it shows a key").trim();
    let key = header.rsplit(' ').next().unwrap();
    assert!(!fs::read_to_string(&file).unwrap().contains(key), "the key is kept");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg("serve").arg("--config").arg(&file).args(["--listen", "127.0.0.1:0", "--cpus", "1"]);
    let mut process = PronyProcess::start_command(command);
    let url = process.wait_for_url();
    assert!(ask(&url, "").starts_with("HTTP/1.1 401"));
    assert!(ask(&url, "X-Api-Key: prony_no\r\n").starts_with("HTTP/1.1 401"));
    assert!(ask(&url, &format!("{header}\r\n")).contains(r#"{"Name":"AC/DC"}"#));
}

#[test]
fn nothing_is_written_of_what_cannot_be_opened() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, message) in [
        (&[][..], "what is to be served? Write it behind `prony init`"),
        (&["nowhere.db"], "`nowhere.db` is no source"),
        (&["sqlite:nowhere.db"], "source `nowhere` cannot be opened"),
    ] {
        let output = init(directory.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(message), "{arguments:?}: {}", text(&output.stderr));
        assert!(!directory.path().join("prony.toml").exists());
    }
}

#[test]
fn flags_decide_who_may_ask() {
    let (directory, copy) = (tempfile::tempdir().unwrap(), sqlite_copy());
    let path = copy.path();
    let database = path.to_str().unwrap();
    let refused = init(directory.path(), &[database, "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("add --key"), "{}", text(&refused.stderr));
    assert!(!directory.path().join("prony.toml").exists());
    let arguments = [
        database,
        "--listen",
        "0.0.0.0:0",
        "--key",
        "--visitors",
        "--console",
        "false",
        "-o",
        "visitors.toml",
    ];
    let output = init(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("visitors, who have no key, read every table: take out"), "{said}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory.path()).args(["serve", "--config", "visitors.toml", "--cpus", "1"]);
    let mut process = PronyProcess::start_command(command);
    let url = process.wait_for_url().replace("0.0.0.0", "127.0.0.1");
    let visitor = ask(&url, "");
    assert!(visitor.contains(r#"{"Name":"AC/DC"}"#), "{visitor}");
    assert!(ask(&url, "X-Api-Key: prony_no\r\n").starts_with("HTTP/1.1 401"));
}
