//! The repository's own commands: `cargo xtask test` (everything), `tidy`, `fuzz`, `valgrind`, `screenshots`, `release`, `deb` and `first-try`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod counts;
mod deb;
mod deploy;
mod failures;
mod first_try;
mod fuzz;
mod metadata;
mod npm;
mod prerequisites;
mod programs;
mod prose;
mod release;
mod sbom;
mod stages;
mod target;
mod test;
mod tidy;
mod valgrind;
mod web;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [STAGE…]   everything a change must pass; with names, only those stages
  tidy            only the checks of the repository's own rules
  fuzz [--seconds N] [TARGET…]
                  changes bytes that others send, for N seconds (60) a target, looking for faults
  valgrind        unsafe code under Valgrind's memcheck: some k6 scripts, some tests
  screenshots [NAME…]
                  the pictures of docs/images, from the program as it is
  release [FILE]  an archive of the binary, or of FILE, with its bill of materials and checksums
  deb             a Debian package, by cargo-deb
  first-try FILE  how long it takes from FILE, such an archive or a binary, to an answer and a load test";

/// The commands, for the check that documents mention no others.
const COMMANDS: &[&str] = &["test", "tidy", "fuzz", "valgrind", "screenshots", "release", "deb", "first-try"];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((command, stages)) if command == "test" => test::run(&root(), stages),
        Some((command, [])) if command == "tidy" => tidy::run(&root()),
        Some((command, words)) if command == "fuzz" => fuzz::run(&root(), words),
        Some((command, [])) if command == "valgrind" => valgrind::run(&root()),
        Some((command, names)) if command == "screenshots" => web::picture(&root(), names),
        Some((command, [])) if command == "release" => release::run(&root(), None),
        Some((command, [binary])) if command == "release" => release::run(&root(), Some(binary)),
        Some((command, [])) if command == "deb" => deb::run(&root()),
        Some((command, [file])) if command == "first-try" => first_try::run(&root(), file),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The repository's root: this package is one directory below it.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("xtask is one directory below the root").to_path_buf()
}
