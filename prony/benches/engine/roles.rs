//! Start and memory with 5,000 tables and eleven roles, each of which has its own permissions of every table: how long until the
//! server listens, what it holds then, and once every role has asked.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use crate::{
    ROUNDS, process,
    statistics::{median, print_table},
    subject::Subject,
    tables,
};

const ROLES: usize = 11;

/// Prints the time from the start of the process to its ready line, without roles and with them, in turns, and resident memory.
pub(crate) fn eleven() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = tables::sqlite_file(folder.path());
    let source = format!("[[source]]\nname = \"big\"\nurl = \"sqlite:{}\"\n", file.display());
    let keys: Vec<ApiKey> = (0..ROLES).map(|role| ApiKey::new(&format!("role_{role}"))).collect();
    let without = config(folder.path(), "none.toml", &source);
    let with = config(folder.path(), "roles.toml", &(source + &permissions(&keys)));

    let (mut plain, mut restricted) = (Figures::default(), Figures::default());
    for _ in 0..ROUNDS {
        plain.take(&without, &[]);
        restricted.take(&with, &keys);
    }
    let head = ["roles", "start, ms", "resident MB", "MB once all have asked", "MB at most"];
    print_table(&[head.map(str::to_owned).to_vec(), plain.row("none"), restricted.row(&ROLES.to_string())]);
}

/// One entry a round.
#[derive(Default)]
struct Figures {
    start_ms: Vec<f64>,
    resident_mb: Vec<f64>,
    asked_mb: Vec<f64>,
    peak_mb: Vec<f64>,
}

impl Figures {
    fn take(&mut self, config: &Path, keys: &[ApiKey]) {
        let started = Instant::now();
        let subject = Subject::start(&format!("--config={}", config.display()), &[], None);
        self.start_ms.push(started.elapsed().as_secs_f64() * 1e3);
        self.resident_mb.push(process::resident_mb(subject.pid()));
        for key in keys {
            let header = format!("X-Api-Key: {}\r\n", key.secret);
            let response =
                subject.post("{ table_7s { id name } __type(name: \"Query\") { name } }", "{}", &header);
            assert!(response.contains(r#"{"data":{"table_7s":[]"#), "{response}");
        }
        self.asked_mb.push(process::resident_mb(subject.pid()));
        self.peak_mb.push(process::peak_resident_kib(subject.pid()) as f64 * 1024.0 / 1e6);
    }

    fn row(&self, roles: &str) -> Vec<String> {
        let figures = [&self.start_ms, &self.resident_mb, &self.asked_mb, &self.peak_mb];
        let figures = figures.map(|rounds| format!("{:.0}", median(rounds)));
        [roles.to_owned()].into_iter().chain(figures).collect()
    }
}

/// A key as `prony key new` prints it, and what the configuration keeps of it.
struct ApiKey {
    role: String,
    secret: String,
    entry: String,
}

impl ApiKey {
    fn new(role: &str) -> Self {
        let output = Command::new(env!("CARGO_BIN_EXE_prony")).args(["key", "new", "--role", role]).output();
        let text = String::from_utf8(output.expect("prony runs").stdout).expect("keys are text");
        let (secret, entry) = text.split_once('\n').expect("the key is a line of its own");
        Self { role: role.to_owned(), secret: secret.to_owned(), entry: entry.to_owned() }
    }
}

/// Each role reads three columns of its own rows of each table, and inserts and updates them.
fn permissions(keys: &[ApiKey]) -> String {
    let mut text = String::new();
    for key in keys {
        text.push_str(&key.entry);
        text.push_str("session = { \"user.id\" = \"n7\" }\n");
    }
    for key in keys {
        for number in 0..tables::TABLES {
            writeln!(
                text,
                "[roles.{}.sources.big.tables.table_{number}]\n\
                 select = {{ columns = [\"id\", \"name\", \"amount\"], rows = {{ name = {{ eq = \"$user.id\" }} }} }}\n\
                 insert = {{ columns = [\"amount\"], set = {{ name = \"$user.id\" }} }}\n\
                 update = {{ columns = [\"amount\"], rows = {{ name = {{ eq = \"$user.id\" }} }} }}",
                key.role
            )
            .expect("writing to a string");
        }
    }
    text
}

fn config(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("the temporary folder is writable");
    path
}
