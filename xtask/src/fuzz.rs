//! `cargo xtask fuzz`: builds the targets of `fuzz/` with libFuzzer inside and runs each for some seconds. It needs the usual toolchain and a
//! C++ compiler, nothing of nightly: coverage is LLVM's, without a sanitizer, and Rust's own checks of overflow and bounds are on.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

const SECONDS: u64 = 60;
/// One input that takes longer is a fault.
const SECONDS_OF_ONE: u32 = 20;
const MEMORY_MIB: u32 = 4096;
const INPUT_BYTES_MAX: u32 = 64 << 10;
/// What libFuzzer needs to see which code an input reaches.
const FLAGS: [&str; 8] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "-Cdebuginfo=line-tables-only",
];
/// The release profile, but quick to build and with names in back traces.
const PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_STRIP", "none"),
    ("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true"),
];

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    seconds: u64,
    /// None for all.
    targets: Vec<String>,
}

/// `Ok(true)` when no target showed a fault.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<bool> {
    let asked = asked(words)?;
    let folder = root.join("target/fuzz");
    let program = build(root, &folder)?;
    let known = output(Command::new(&program).env("PRONY_FUZZ_TARGET", "list"))?;
    let known: Vec<&str> = known.lines().collect();
    if let Some(unknown) = asked.targets.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("no target is called {unknown:?}; there are {}", known.join(", "));
    }
    let chosen = known
        .iter()
        .filter(|name| asked.targets.is_empty() || asked.targets.iter().any(|asked| asked == *name));
    let mut lines = Vec::new();
    let mut is_sound = true;
    for name in chosen {
        println!("\n=== {name}, {} s", asked.seconds);
        let ran = fuzz(&program, &folder, name, asked.seconds)?;
        is_sound &= ran.fault.is_none();
        lines.push(format!("{name:<18} {}", ran.line()));
    }
    println!("\n=== summary\n{}", lines.join("\n"));
    Ok(is_sound)
}

fn asked(words: &[String]) -> Result<Asked> {
    let mut asked = Asked { seconds: SECONDS, targets: Vec::new() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => {
                let given = words.next().context("--seconds needs a number")?;
                asked.seconds =
                    given.parse().with_context(|| format!("--seconds {given:?} is no number of seconds"))?;
            }
            flag if flag.starts_with('-') => bail!("{flag:?} is no flag of this command; there is --seconds"),
            name => asked.targets.push(name.to_owned()),
        }
    }
    Ok(asked)
}

/// The fuzzer's program. With a target given to Cargo, its flags are not those of build scripts, which know no coverage.
fn build(root: &Path, folder: &Path) -> Result<PathBuf> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let mut command = Command::new("cargo");
    command.args([
        "build",
        "--release",
        "--locked",
        "--package",
        "prony-fuzz",
        "--target",
        host,
        "--target-dir",
    ]);
    command.arg(folder).current_dir(root).envs(PROFILE).env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"));
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("the fuzzer could not be built");
    }
    Ok(folder.join(host).join("release/prony-fuzz"))
}

fn output(command: &mut Command) -> Result<String> {
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// How a target's run ended.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ran {
    inputs: u64,
    /// Inputs that reached new code, in this run.
    kept: u64,
    peak_mib: u64,
    /// The command that shows it again.
    fault: Option<String>,
}

impl Ran {
    /// Of libFuzzer's closing statistics.
    fn of(said: &str) -> Self {
        let number = |name: &str| {
            let line = said
                .lines()
                .find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
        };
        Self {
            inputs: number("number_of_executed_units"),
            kept: number("new_units_added"),
            peak_mib: number("peak_rss_mb"),
            fault: None,
        }
    }

    fn line(&self) -> String {
        let Self { inputs, kept, peak_mib, fault } = self;
        let end = fault.as_ref().map_or_else(|| "no fault".to_owned(), |again| format!("FAULT: {again}"));
        format!("{inputs:>10} inputs, {kept:>6} reached new code, {peak_mib:>5} MiB: {end}")
    }
}

/// What reaches new code is kept beside the build, and the next run begins with it.
fn fuzz(program: &Path, folder: &Path, name: &str, seconds: u64) -> Result<Ran> {
    let [corpus, seeds, found] = ["corpus", "seeds", "found"].map(|kind| folder.join(kind).join(name));
    for each in [&corpus, &seeds, &found] {
        fs::create_dir_all(each).with_context(|| format!("cannot make {}", each.display()))?;
    }
    let log = folder.join(format!("{name}.log"));
    let said = fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let status = Command::new(program)
        .env("PRONY_FUZZ_TARGET", name)
        .env("PRONY_FUZZ_SEEDS", &seeds)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={SECONDS_OF_ONE}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .arg(format!("-max_len={INPUT_BYTES_MAX}"))
        .arg(format!("-artifact_prefix={}/", found.display()))
        .args(["-print_final_stats=1", "-close_fd_mask=1"])
        .args([&corpus, &seeds])
        .stderr(said)
        .status()
        .context("cannot run the fuzzer")?;
    let said = fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
    let mut ran = Ran::of(&said);
    if !status.success() {
        let last = said
            .lines()
            .rev()
            .find_map(|line| line.split_once("Test unit written to "))
            .map(|(_, path)| path.trim());
        let input = last.unwrap_or("(it wrote no input)");
        println!("{}", tail(&said));
        ran.fault = Some(format!(
            "PRONY_FUZZ_TARGET={name} {} {input}; its words are in {}",
            program.display(),
            log.display()
        ));
    }
    println!("{}", ran.line());
    Ok(ran)
}

/// Where the panic is told.
fn tail(said: &str) -> String {
    const LINES: usize = 30;
    let lines: Vec<&str> = said.lines().collect();
    let from =
        lines.iter().position(|line| line.contains("panicked at") || line.starts_with("==")).unwrap_or(0);
    lines[from..].iter().take(LINES).copied().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn targets_and_seconds_are_taken_from_the_command_line() {
        assert_eq!(asked(&[]).unwrap(), Asked { seconds: SECONDS, targets: Vec::new() });
        let both = asked(&words("token --seconds 3600 jtl")).unwrap();
        assert_eq!(both, Asked { seconds: 3600, targets: words("token jtl") });
        for (wrong, said) in [
            ("--seconds", "needs a number"),
            ("--seconds x", "\"x\" is no number"),
            ("--hours 1", "\"--hours\""),
        ] {
            let error = asked(&words(wrong)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn statistics_are_read_from_the_end_of_a_run() {
        let said = "#2\tINITED\nDone 7 runs in 1 second(s)\nstat::number_of_executed_units: 7123\nstat::average_exec_per_sec:     7\n\
                    stat::new_units_added:          12\nstat::slowest_unit_time_sec:    0\nstat::peak_rss_mb:              455\n";
        let ran = Ran { inputs: 7123, kept: 12, peak_mib: 455, fault: None };
        assert_eq!(Ran::of(said), ran);
        assert_eq!(ran.line(), "      7123 inputs,     12 reached new code,   455 MiB: no fault");
    }
}
