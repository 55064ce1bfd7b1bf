//! `prony run PLAN.jmx` as someone meets it who knows JMeter: the process, the requests it sends, its rows, its exit code.
//!
//! What is expected of rows was compared with those that JMeter 5.6.3 writes for the same plans.

#![allow(
    clippy::unwrap_used,
    clippy::format_collect,
    reason = "helpers of tests stand outside of their functions"
)]

mod compared;
mod controllers;
mod disagreements;
mod plans;
mod refusals;
mod reports;
mod requests;
mod samples;
mod server;
mod site;
mod table;
mod users;
mod workers;

use plans::{defaults, group, plan};
use server::Server;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A folder with a plan, and a server that it visits.
struct Trial {
    folder: TempDir,
    server: Server,
}

/// How a process ended.
struct Ended {
    out: String,
    error: String,
    code: Option<i32>,
}

impl Trial {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), server: Server::start() }
    }

    /// With a plan of one group of one thread that goes through its elements once.
    fn once(below: &str) -> Self {
        let trial = Self::new();
        trial.write("plan.jmx", &plan(&group("Group", "1", "1", &(trial.defaults() + below))));
        trial
    }

    fn defaults(&self) -> String {
        defaults(&self.server.port())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn prony(&self, arguments: &[&str]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        let output = command.current_dir(self.folder.path()).args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&self.server.port(), "PORT");
        Ended { out: text(output.stdout), error: text(output.stderr), code: output.status.code() }
    }

    /// Runs `plan.jmx` with rows in `out.jtl`.
    fn run(&self, arguments: &[&str]) -> Ended {
        let all = [&["run", "plan.jmx", "-l", "out.jtl", "--quiet", "--seed", "1"], arguments].concat();
        self.prony(&all)
    }

    /// Runs it and demands that it could be run.
    fn demand(&self, arguments: &[&str]) -> &Self {
        let ended = self.run(arguments);
        assert_ne!(ended.code, Some(2), "{}{}", ended.out, ended.error);
        assert_eq!(ended.error, "");
        self
    }

    /// Chosen columns of the rows, in their order.
    fn rows(&self, columns: &[&str]) -> Vec<String> {
        let text = fs::read_to_string(self.path("out.jtl")).unwrap();
        let mut reader = csv_core::Reader::new();
        let mut rows: Vec<Vec<String>> = vec![Vec::new()];
        let (mut input, mut cell) = (text.as_bytes(), vec![0; 1 << 16]);
        loop {
            let (result, read, written) = reader.read_field(input, &mut cell);
            input = &input[read..];
            match result {
                csv_core::ReadFieldResult::Field { record_end } => {
                    let value = String::from_utf8(cell[..written].to_vec()).unwrap();
                    rows.last_mut().unwrap().push(value.replace(&self.server.port(), "PORT"));
                    if record_end {
                        rows.push(Vec::new());
                    }
                }
                csv_core::ReadFieldResult::End => break,
                other => assert_eq!(other, csv_core::ReadFieldResult::InputEmpty),
            }
        }
        let places: Vec<usize> =
            columns.iter().map(|name| rows[0].iter().position(|column| column == name).unwrap()).collect();
        let whole = rows[1..].iter().filter(|row| !row.is_empty());
        whole
            .map(|row| places.iter().map(|place| row[*place].as_str()).collect::<Vec<_>>().join(" | "))
            .collect()
    }

    fn labels(&self) -> Vec<String> {
        self.rows(&["label"])
    }
}
