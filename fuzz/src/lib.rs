//! Everything in Prony that reads bytes of others, each behind one function of bytes: whatever they are, it does not panic, hang or take
//! memory for what a length only claims, and where two parts read the same bytes they agree.
//!
//! `cargo xtask fuzz` runs the targets with libFuzzer, which looks for bytes that reach new code; `cargo test` runs each over
//! its seeds with a fixed number of random changes.

mod mutation;
mod targets;

use std::{env, fs, path::Path, process, sync::OnceLock};

pub use mutation::Mutator;

/// Which target the fuzzer runs, by its name; `list` prints all.
const TARGET_VARIABLE: &str = "PRONY_FUZZ_TARGET";
/// The folder into which seeds are written before the fuzzer reads it.
const SEEDS_VARIABLE: &str = "PRONY_FUZZ_SEEDS";

/// One reader of bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// What it must take, or nearly: fuzzing begins with these.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Panics where the bytes show a fault.
    pub run: fn(&[u8]),
}

/// All of them, in the order of the folders.
pub const TARGETS: &[Target] = targets::ALL;

static CHOSEN: OnceLock<Target> = OnceLock::new();

/// Chooses the target that the environment names, and writes its seeds where the environment says.
pub fn begin() {
    let name = env::var(TARGET_VARIABLE).unwrap_or_default();
    if name == "list" {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        end(&names.join("\n"), 0);
    }
    let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
        end(&format!("{TARGET_VARIABLE}={name} names no target; `list` prints them"), 2);
    };
    if let Some(folder) = env::var_os(SEEDS_VARIABLE) {
        for (number, seed) in (target.seeds)().iter().enumerate() {
            let path = Path::new(&folder).join(format!("seed-{number}"));
            if let Err(error) = fs::write(&path, seed) {
                end(&format!("cannot write {}: {error}", path.display()), 2);
            }
        }
    }
    CHOSEN.get_or_init(|| *target);
}

/// Runs the target that [`begin`] has chosen.
///
/// # Panics
/// Where the bytes show a fault, and where none is chosen.
pub fn run_chosen(bytes: &[u8]) {
    let target = CHOSEN.get().expect("a target is chosen first");
    (target.run)(bytes);
}

#[expect(clippy::print_stdout, reason = "what a program says")]
fn end(words: &str, code: i32) -> ! {
    println!("{words}");
    process::exit(code)
}
