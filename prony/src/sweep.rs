//! `prony sweep`: measures every combination of users, message sizes and settings, and writes the tables that studies publish.

use crate::many::{Flags, duration};
use crate::run_names::RunFlagsInstead;
use crate::summaries::SummaryFlags;
use anyhow::{Context as _, bail};
use prony_model::plan::target::Endpoint;
use prony_model::search::Vary;
use prony_model::sweep::{PayloadSize, Setting, SweepFile, SweepSpace};
use prony_model::{LoadModel, Nanos};
use prony_report::{Document, NamedDocument, SweepReport, SweepRun, read_document};
use prony_runs::sweep::{SweepSettings, TargetCommands, payload, sweep};
use prony_runs::{Argument, Flags as Kinds, Subject, result_path};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Longest that a target may take to start.
const TARGET_WAIT: &str = "60s";

#[derive(Debug, clap::Args)]
pub(crate) struct SweepArguments {
    /// A plan, an address, or a script of k6, wrk or JMeter; docs/sweep.md describes it.
    #[arg(value_name = "PLAN|URL|SCRIPT")]
    subject: String,
    /// The address for a wrk script.
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// Numbers of users, such as 50,100,200; without it the load is the plan's own.
    #[arg(long, value_name = "COUNT,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    users: Vec<u32>,
    /// Message sizes in bytes, such as 50,1024,10240, or @FILE.
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',')]
    payload: Vec<String>,
    /// Values of a variable of the plan, of `__ENV` of a k6 script, of a property of a JMeter plan, or, as target.NAME, of the
    /// target's command; repeatable.
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = setting)]
    set: Vec<Setting>,
    /// Time in which the users begin; not judged.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = Nanos::parse)]
    ramp: Nanos,
    /// Time that is cut off after it; by default the plan's, else 5s.
    #[arg(long, value_name = "TIME", value_parser = Nanos::parse)]
    warm_up: Option<Nanos>,
    /// Time that is measured.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    hold: Nanos,
    /// Starts the target before each combination and stops it after; {NAME} in it stands for target.NAME.
    #[arg(long, value_name = "COMMAND")]
    target_start: Option<String>,
    /// Stops the target; by default what --target-start began is asked to end (SIGTERM).
    #[arg(long, value_name = "COMMAND", requires = "target_start")]
    target_stop: Option<String>,
    /// How long the target may take until it can be connected to.
    #[arg(long, value_name = "TIME", default_value = TARGET_WAIT, value_parser = duration)]
    target_wait: Nanos,
    /// The target's garbage-collection log, which may have {NAME} in it.
    #[arg(long, value_name = "FILE")]
    gc_log: Option<String>,
    /// How the tables call what is swept; by default the plan's name.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    /// How the tables call the target.
    #[arg(long, value_name = "NAME", default_value = "Target")]
    server: String,
    /// Go on with the sweep in this folder: what it has measured is kept.
    #[arg(long, value_name = "FOLDER")]
    resume: Option<PathBuf>,
    #[command(flatten)]
    summaries: SummaryFlags,
    #[command(flatten)]
    flags: Flags,
}

/// Of `prony run`.
const INSTEAD: RunFlagsInstead = RunFlagsInstead {
    command: "prony sweep",
    connections: "--users",
    duration: "--hold, for which each combination is measured",
    rate: "`rate` into a plan",
};

pub(crate) fn execute(arguments: &SweepArguments) -> anyhow::Result<ExitCode> {
    arguments.flags.refuse_those_of_run(&INSTEAD)?;
    let texts = [Some(arguments.subject.as_str()), arguments.url.as_deref()];
    let mut read = Argument::read_all("prony sweep", texts.into_iter().flatten())?;
    let (Some(argument), []) = (read.pop(), read.as_slice()) else {
        bail!("one thing is swept, and the arguments name {}", read.len() + 1);
    };
    if arguments.users.is_empty() && argument.kind.flags == Kinds::Wrk {
        bail!("{} says nothing of its load; write for example --users 50,100,200", argument.kind.name);
    }
    arguments.flags.refuse_foreign_settings(&[&argument])?;
    let users = argument.kind.users;
    let settings = settings(arguments, argument)?;
    let (mut options, _, live) = arguments.flags.options("sweep", Vary::Users)?;
    // It has a folder of its own.
    options.reserved = None;
    // Without users of its own each combination has the plan's load.
    let own = arguments.users.is_empty() && arguments.flags.has_workers();
    let own = if own { settings.argument.open(&settings.open).ok() } else { None };
    let plans: Vec<_> = own.iter().map(Subject::plan).collect();
    let local = arguments.flags.recruit(&mut options, users, &plans)?;
    let folder = settings.folder.clone();
    let swept = sweep(&settings, options);
    drop(local);
    // What was measured before an error is in the tables all the same.
    let file = match swept {
        Ok(file) => file,
        Err(error) => {
            if let Some(file) = account(&folder)
                && file.measured().next().is_some()
            {
                Tables { arguments, folder: &folder, file: &file }.write()?;
                let text = format!("what was measured is in {}; {}", folder.display(), go_on(&folder));
                // A hint that cannot be shown is no reason for another error.
                let _ = writeln!(std::io::stderr(), "{text}");
            }
            return Err(error.into());
        }
    };
    let tables = Tables { arguments, folder: &folder, file: &file };
    let summary = tables.write()?;
    let place = folder.join("summary.csv");
    live.finish_all(&format!("It is over. Results and tables are in {}.", folder.display()), || {
        tables.documents()
    });
    arguments.flags.print(|| serde_json::to_string_pretty(&file), &summary, Some(place.as_path()))?;
    let verdict = file.verdict();
    if file.state != prony_model::result::RunState::Completed && !arguments.flags.is_json() {
        crate::print(&format!("{}\n", go_on(&folder)))?;
    }
    arguments.summaries.write(|| tables.documents())?;
    Ok(ExitCode::from(verdict.conclusion.exit_code()))
}

/// The line to type.
fn go_on(folder: &Path) -> String {
    format!("go on with the same command and --resume {}", folder.display())
}

fn account(folder: &Path) -> Option<SweepFile> {
    let text = fs::read(folder.join(prony_runs::sweep::ACCOUNT_FILE)).ok()?;
    serde_json::from_slice(&text).ok()
}

fn settings(arguments: &SweepArguments, argument: Argument) -> anyhow::Result<SweepSettings> {
    let payloads: Vec<(PayloadSize, String)> =
        arguments.payload.iter().map(|text| payload(text)).collect::<Result<_, _>>()?;
    let space = SweepSpace {
        users: arguments.users.clone(),
        payloads: payloads.iter().map(|(size, _)| size.clone()).collect(),
        settings: arguments.set.clone(),
    };
    let target = arguments.target_start.clone().map(|start| TargetCommands {
        start,
        stop: arguments.target_stop.clone(),
        wait: Duration::from_nanos(arguments.target_wait.0),
    });
    let given = match &argument.url {
        Some(url) => format!("{} {url}", argument.text),
        None => argument.text.clone(),
    };
    Ok(SweepSettings {
        combinations: space.combinations()?,
        given,
        open: arguments.flags.open_settings(LoadModel::constant(1, Nanos::from_secs(1)))?,
        payloads,
        ramp: arguments.ramp,
        hold: arguments.hold,
        warm_up: arguments.warm_up,
        seed: arguments.flags.seed(),
        target,
        gc_log: arguments.gc_log.clone(),
        folder: folder(arguments, &argument)?,
        argument,
    })
}

/// A new one below that of results, unless the sweep goes on with another.
fn folder(arguments: &SweepArguments, argument: &Argument) -> anyhow::Result<PathBuf> {
    if let Some(folder) = &arguments.resume {
        if !folder.join(prony_runs::sweep::ACCOUNT_FILE).is_file() {
            bail!(
                "{} is not the folder of a sweep: it has no {}",
                folder.display(),
                prony_runs::sweep::ACCOUNT_FILE
            );
        }
        return Ok(folder.clone());
    }
    let name = Path::new(&argument.text).file_stem().unwrap_or_default().to_string_lossy();
    let path = result_path(arguments.flags.output(), &format!("sweep-{name}"));
    let name = path.to_string_lossy().trim_end_matches(".prony.json").to_owned();
    // Another sweep may have begun in the same second.
    let names = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}-{number}")));
    names.map(PathBuf::from).find(|folder| !folder.exists()).context("every name of a folder is taken")
}

/// `NAME=VALUE,VALUE`.
fn setting(text: &str) -> Result<Setting, String> {
    let (name, values) = text.split_once('=').unwrap_or((text, ""));
    let values: Vec<String> = values.split(',').map(str::trim).map(str::to_owned).collect();
    if name.trim().is_empty() || values.iter().any(String::is_empty) {
        return Err(format!(
            "`{text}` has no name or no value; write NAME=VALUE,VALUE such as target.heap=512m,1g"
        ));
    }
    Ok(Setting { name: name.trim().to_owned(), values })
}

/// What a sweep leaves beside the results of its combinations.
struct Tables<'a> {
    arguments: &'a SweepArguments,
    folder: &'a Path,
    file: &'a SweepFile,
}

impl Tables<'_> {
    /// All files; returns what the terminal shows.
    fn write(&self) -> anyhow::Result<String> {
        let documents = self.documents();
        let runs = self.file.measured().filter_map(|step| {
            let is_its = |named: &&NamedDocument| Path::new(&named.name).ends_with(&step.file);
            match &documents.iter().find(is_its)?.document {
                Document::Run(result) => Some(SweepRun { step, result }),
                _ => None,
            }
        });
        let runs: Vec<_> = runs.collect();
        let is_here = self.arguments.target_start.is_some() || runs.iter().any(|run| is_local(run));
        let report = SweepReport {
            file: self.file,
            scenario: self.arguments.scenario.as_deref().unwrap_or(&self.file.name),
            server: &self.arguments.server,
            machine: if is_here { &self.arguments.server } else { "Lab" },
            runs,
        };
        for (name, text) in [
            ("summary.csv", report.csv()),
            ("summary.md", report.markdown()),
            ("report.html", report.html(&documents)),
        ] {
            let path = self.folder.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(report.terminal(self.arguments.flags.looks()))
    }

    /// The results that can be read, in the order of the combinations.
    fn documents(&self) -> Vec<NamedDocument> {
        let read = self.file.measured().filter_map(|step| {
            let path = self.folder.join(&step.file);
            let text = fs::read_to_string(&path).ok()?;
            Some(NamedDocument { name: path.display().to_string(), document: read_document(&text).ok()? })
        });
        read.collect()
    }
}

/// What is watched of this machine is then the target's too.
fn is_local(run: &SweepRun<'_>) -> bool {
    let targets = run.result.plan.targets.iter();
    let mut targets = targets.filter_map(|target| prony_model::Target::parse(target).ok());
    targets.any(|target| match target.endpoint {
        Endpoint::Tcp { host, .. } => {
            let host = host.trim_matches(['[', ']']).to_owned();
            host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Endpoint::Unix { .. } => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_a_name_and_values() {
        let read = setting("target.heap= 512m ,1g").unwrap();
        assert_eq!(
            (read.name.as_str(), read.values.as_slice()),
            ("target.heap", &["512m".into(), "1g".into()][..])
        );
        assert_eq!(setting("a=b=c").unwrap().values, ["b=c"]);
        for text in ["", "a", "=b", "a=", "a=b,,c"] {
            assert!(setting(text).unwrap_err().contains("write NAME=VALUE,VALUE"), "{text}");
        }
    }
}
