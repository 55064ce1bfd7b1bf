//! The command line of a script: k6's flags, those of options from the table of all options, and Prony's own.

use super::super::quantity::bytes;
use super::refused::{refusal, refused_flags};
use crate::run::live::LiveFlags;
use crate::run::outputs::Asked;
use crate::run::place::ResultFlags;
use crate::run::workers::WorkersFlags;
use crate::terminal::{self, ColorChoice, TerminalFlags};
use anyhow::bail;
use clap::builder::ArgAction;
use clap::{Arg, ArgMatches, Command, CommandFactory as _, FromArgMatches as _, Parser};
use prony_metrics::outputs::OutputSpec;
use prony_runs::k6::{Given, LogFlags, is_true_variable, variable};
use prony_runs::{Flags, Kind};
use prony_script_k6::{OPTIONS, SummaryMode};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

const HEADING: &str = "k6's options";

/// Runs a k6 script.
#[derive(Debug, Clone, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(name = "prony run", max_term_width = 100, args_override_self = true)]
pub(crate) struct K6Arguments {
    /// The script; `-` is standard input. docs/k6.md describes it.
    #[arg(value_name = "SCRIPT.js")]
    pub script: String,
    /// Set a variable of `__ENV`; repeatable.
    #[arg(short, long = "env", value_name = "NAME=VALUE")]
    pub environment: Vec<String>,
    /// Give the script the system's environment in `__ENV`, as k6 does by default.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub include_system_env_vars: Option<bool>,
    /// Serve k6's REST API at this address, such as localhost:6565; nothing is served without it.
    #[arg(short, long, value_name = "ADDRESS")]
    pub address: Option<String>,
    /// Wait for Ctrl-C when the test is over, before the summary; the REST API goes on meanwhile.
    #[arg(short, long, value_name = "BOOL", num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "true")]
    pub linger: Option<bool>,
    /// Write each sample to json=FILE or csv=FILE, or send the run's seconds to prometheus=URL, otlp=URL, influxdb=URL, statsd=HOST:PORT or graphite=HOST:PORT; repeatable. docs/outputs.md describes it.
    #[arg(short, long, value_name = "OUTPUT")]
    pub out: Vec<String>,
    /// Write the summary's figures to a file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub summary_export: Option<PathBuf>,
    /// Give `handleSummary` and --summary-export the summary in k6's form for machines, version 1.0.0.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub new_machine_readable_summary: Option<bool>,
    /// Where k6 sends the spans of k6/browser: none, or otel=URL; there are no others.
    #[arg(long, value_name = "OUTPUT")]
    pub traces_output: Option<String>,
    /// The summary at the end: compact, full, legacy or disabled.
    #[arg(long, value_name = "MODE")]
    pub summary_mode: Option<String>,
    /// Print no summary.
    #[arg(long, hide = true)]
    pub no_summary: bool,
    /// Do not judge thresholds.
    #[arg(long)]
    pub no_thresholds: bool,
    /// Options in a file of JSON, below those of the script.
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print without colours.
    #[arg(long, conflicts_with = "color")]
    pub no_color: bool,
    /// Taken for k6's sake: nothing is ever reported to anybody.
    #[arg(long, hide = true)]
    pub no_usage_report: bool,
    /// Do not run the script: say what it needs, and what of it is missing.
    #[arg(long)]
    pub check: bool,
    /// Do not run the script: say what its scenarios would do.
    #[arg(long)]
    pub explain: bool,
    /// Print Prony's result as JSON in the place of the summary.
    #[arg(long)]
    pub json: bool,
    /// Show nothing but the summary.
    #[arg(short, long)]
    pub quiet: bool,
    /// Threads of the lab; by default one for each processor.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
    /// Log lines of `console.debug` too.
    #[arg(short, long)]
    pub verbose: bool,
    /// Where the log goes: stderr, stdout, none or file=PATH.
    #[arg(long, value_name = "TARGET")]
    pub log_output: Option<String>,
    /// How its lines look: text, json or raw.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// A file for what `console` writes.
    #[arg(long, value_name = "FILE")]
    pub console_output: Option<PathBuf>,
    /// Taken for k6's sake; `js` is the only one.
    #[arg(short = 't', long = "type", value_name = "TYPE", hide = true)]
    pub kind: Option<String>,
    /// Taken for k6's sake: scripts run as in k6's mode `extended`, those of `base` too.
    #[arg(long, value_name = "MODE", hide = true)]
    pub compatibility_mode: Option<String>,
    /// Where `k6/secrets` finds values: mock=KEY=VALUE,… or file=PATH; repeatable, with name=NAME and default.
    #[arg(long, value_name = "SOURCE")]
    pub secret_source: Vec<String>,
    /// Memory that the JavaScript of all users together may take, such as `4GiB`; half of what is free by default.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory_limit: Option<usize>,
    /// Memory that the JavaScript of one user may take, and setup, teardown and `handleSummary` each; 512MiB by default.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub user_memory_limit: Option<usize>,
    /// What to watch meanwhile: pid:N, name:NAME, prom:URL[#METRIC,METRIC], pg:URL, gc:FILE, host:local; can be given several times. docs/observers.md describes it.
    #[arg(long, value_name = "SPEC")]
    pub observe: Vec<String>,
    #[command(flatten)]
    pub place: ResultFlags,
    /// Exit with 1 where what was measured cannot be believed, or nothing succeeded; k6 exits with 0.
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub terminal: TerminalFlags,
    #[command(flatten)]
    pub live: LiveFlags,
    #[command(flatten)]
    pub workers: WorkersFlags,
    /// Why it cannot be run, where k6 could.
    #[arg(skip)]
    pub refusal: Option<String>,
    /// Flags of options, by the options' names.
    #[arg(skip)]
    pub options: Vec<(&'static str, Vec<String>)>,
}

impl K6Arguments {
    /// Something where a command line is `prony run` with a script.
    pub(crate) fn read(line: &[OsString]) -> Option<Result<Self, clap::Error>> {
        let (command, rest) = line.get(1..)?.split_first()?;
        let is_script = |text: &str| Kind::of(text).flags == Flags::K6;
        let has_script = || rest.iter().any(|argument| argument.to_str().is_some_and(is_script));
        (command == "run" && has_script()).then(|| Self::parse_all(rest))
    }

    /// What the script is run with.
    pub(crate) fn given(&self) -> Given {
        Given {
            script: self.script.clone(),
            environment: self.environment.clone(),
            include_system_env_vars: self.include_system_env_vars,
            configuration: self.config.clone(),
            log: LogFlags {
                is_verbose: self.verbose,
                output: self.log_output.clone(),
                format: self.log_format.clone(),
                console_output: self.console_output.clone(),
            },
            secret_sources: self.secret_source.clone(),
            memory_limit_bytes: self.memory_limit,
            user_memory_limit_bytes: self.user_memory_limit,
            options: self.options.clone(),
        }
    }

    /// All flags: Prony's own, those of the table of options, and those that are refused.
    pub(crate) fn whole_command() -> Command {
        Self::command().args(option_flags()).args(refused_flags())
    }

    fn parse_all(rest: &[OsString]) -> Result<Self, clap::Error> {
        let name = OsString::from("prony run");
        let rest = joined(rest);
        let matches = Self::whole_command().try_get_matches_from([&name].into_iter().chain(&rest))?;
        let mut arguments = Self::from_arg_matches(&matches)?;
        arguments.options = given_flags(&matches);
        let (kind, mode) = (arguments.kind.as_deref(), arguments.compatibility_mode.as_deref());
        arguments.refusal = refusal(&matches, kind, mode);
        Ok(arguments)
    }

    pub(crate) fn summary_mode(&self) -> anyhow::Result<SummaryMode> {
        if self.no_summary || is_set("K6_NO_SUMMARY") {
            return Ok(SummaryMode::Disabled);
        }
        let name = self.summary_mode.clone().or_else(|| variable("K6_SUMMARY_MODE")).unwrap_or_default();
        match SummaryMode::from_name(&name) {
            Some(mode) => Ok(mode),
            None => bail!("--summary-mode `{name}` is none of compact, full, legacy and disabled"),
        }
    }

    /// The file for the summary's figures.
    pub(crate) fn export_file(&self) -> Option<PathBuf> {
        let variable = || std::env::var_os("K6_SUMMARY_EXPORT").filter(|path| !path.is_empty());
        self.summary_export.clone().or_else(|| variable().map(PathBuf::from))
    }

    pub(crate) fn is_summary_for_machines(&self) -> bool {
        self.new_machine_readable_summary.unwrap_or_else(|| is_set("K6_NEW_MACHINE_READABLE_SUMMARY"))
    }

    /// `none` where nobody says otherwise.
    pub(crate) fn traces_output(&self) -> String {
        let traces_output = self.traces_output.clone().or_else(|| variable("K6_TRACES_OUTPUT"));
        traces_output.unwrap_or_else(|| "none".to_owned())
    }

    /// Of all that is shown to people.
    pub(crate) fn color(&self) -> ColorChoice {
        match self.terminal.color {
            _ if self.no_color => ColorChoice::Never,
            ColorChoice::Auto if terminal::is_set("K6_NO_COLOR") => ColorChoice::Never,
            asked => asked,
        }
    }

    pub(crate) fn lingers(&self) -> bool {
        self.linger.unwrap_or_else(|| is_set("K6_LINGER"))
    }

    pub(crate) fn no_thresholds(&self) -> bool {
        self.no_thresholds || is_set("K6_NO_THRESHOLDS")
    }

    pub(crate) fn outputs(&self) -> anyhow::Result<Asked> {
        let (time, file) = (variable("K6_CSV_TIME_FORMAT"), variable("K6_CSV_FILENAME"));
        let named: Vec<_> = match variable("K6_OUT") {
            Some(out) if self.out.is_empty() => out.split(',').map(str::to_owned).collect(),
            _ => self.out.clone(),
        };
        Asked::parse(&named, |text| OutputSpec::parse(text, time.as_deref(), file.as_deref()))
    }
}

/// Whether a variable is one of the words that k6 takes for true.
fn is_set(variable: &str) -> bool {
    is_true_variable(variable) == Some(true)
}

/// Whether k6 would serve its dashboard.
pub(super) fn wants_dashboard() -> bool {
    is_set("K6_WEB_DASHBOARD")
}

/// The variable that gives k6 a proxy, where one does. Loopback addresses k6 asks without it.
pub(super) fn proxy_variable() -> Option<&'static str> {
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"];
    names.into_iter().find(|name| variable(name).is_some())
}

/// The flags of the table of options, so that help and reading follow from one list.
fn option_flags() -> impl Iterator<Item = Arg> {
    OPTIONS.iter().filter_map(|row| {
        let flag = row.flag.as_ref()?;
        let arg = Arg::new(row.name).long(flag.long).help(flag.help).help_heading(HEADING);
        let arg = match flag.short {
            Some(short) => arg.short(short),
            None => arg,
        };
        let arg = match flag.words.first() {
            // Alone before the script it must not take that for its value, as in k6.
            Some(word) => arg.num_args(0..=1).require_equals(true).default_missing_value(*word),
            None => arg,
        };
        Some(match (flag.value_name, flag.is_repeatable) {
            ("", _) => arg
                .num_args(0..=1)
                .require_equals(true)
                .value_name("BOOL")
                .default_missing_value("true")
                .action(ArgAction::Set),
            (name, true) => arg.value_name(name).action(ArgAction::Append),
            (name, false) => arg.value_name(name).action(ArgAction::Set),
        })
    })
}

/// The command line with `--http-debug full` as `--http-debug=full`: a value that may be left out may also be the next argument.
fn joined(rest: &[OsString]) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(rest.len());
    for argument in rest {
        let words = joined.last().map(|last| words_behind(last)).unwrap_or_default();
        match joined.last_mut() {
            Some(last) if words.iter().any(|word| argument == word) => {
                last.push("=");
                last.push(argument);
            }
            _ => joined.push(argument.clone()),
        }
    }
    joined
}

/// What the value of an argument may be that is a flag without it.
fn words_behind(argument: &OsStr) -> &'static [&'static str] {
    let name = argument.to_str().and_then(|text| text.strip_prefix("--"));
    let mut flags = OPTIONS.iter().filter_map(|row| row.flag.as_ref());
    flags.find(|flag| Some(flag.long) == name).map(|flag| flag.words).unwrap_or_default()
}

fn given_flags(matches: &ArgMatches) -> Vec<(&'static str, Vec<String>)> {
    let rows = OPTIONS.iter().filter(|row| row.flag.is_some());
    let given = |name| matches.get_many::<String>(name).map(|texts| texts.cloned().collect());
    rows.filter_map(|row| Some((row.name, given(row.name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<K6Arguments> {
        let line: Vec<OsString> = line.split(' ').map(Into::into).collect();
        K6Arguments::read(&line).map(|read| read.unwrap())
    }

    #[test]
    fn scripts_are_told_from_plans_and_addresses() {
        for line in [
            "prony run plan.toml",
            "prony run http://host/app.js",
            "prony find a.js",
            "prony run -s w.lua http://x",
        ] {
            assert!(read(line).is_none(), "{line}");
        }
        for line in [
            "prony run a.js",
            "prony run -u 3 - -d 1s",
            "prony run --vus 2 dir/a.ts",
            "prony run -e A=b.js c.mjs",
        ] {
            assert!(read(line).is_some(), "{line}");
        }
    }

    #[test]
    fn flags_are_those_of_k6() {
        let line = "prony run -u 3 -d 30s -i5 --stage 1s:2,2s:3 -s 3s:4 -e A=1 --env B=2=3 --tag x=y --no-setup \
                    --throw=false --out json=a.gz -o csv -q --summary-trend-stats avg,p(99) a.js";
        let arguments = read(line).unwrap();
        let options: Vec<_> =
            arguments.options.iter().map(|(name, texts)| format!("{name}={}", texts.join("|"))).collect();
        assert_eq!(
            options.join(" "),
            "vus=3 duration=30s iterations=5 stages=1s:2,2s:3|3s:4 noSetup=true summaryTrendStats=avg,p(99) tags=x=y throw=false"
        );
        assert_eq!(
            (arguments.environment.join(" "), arguments.out.join(" ")),
            ("A=1 B=2=3".into(), "json=a.gz csv".into())
        );
        assert!(arguments.quiet && arguments.script == "a.js");
    }

    /// In k6 it is `headers` where nothing stands behind `=`; what follows it is the script.
    #[test]
    fn http_debug_alone_does_not_take_the_script() {
        for (line, value) in [
            ("prony run --http-debug a.js", "headers"),
            ("prony run --http-debug=full a.js", "full"),
            ("prony run --http-debug full a.js", "full"),
            ("prony run a.js -u 2 --http-debug headers", "headers"),
            ("prony run a.js --http-debug", "headers"),
        ] {
            let arguments = read(line).unwrap();
            let debug = arguments.options.iter().find(|(name, _)| *name == "httpDebug");
            assert_eq!(debug.map(|(_, values)| values.join("|")).as_deref(), Some(value), "{line}");
            assert_eq!(arguments.script, "a.js", "{line}");
        }
    }

    fn refusal(line: &str) -> Option<String> {
        read(line).unwrap().refusal
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name_and_what_asks_for_nothing_is_not() {
        for (flag, part) in [
            ("--upload-only", "--upload-only is not supported"),
            ("--profiling-enabled", "--profiling-enabled is not supported"),
            ("--type archive", "--type archive is not supported"),
            ("--summary junit=load.xml", "prony report results --summary junit=load.xml"),
            ("--compatibility-mode old", "none of extended, base, experimental_enhanced"),
        ] {
            let refusal = refusal(&format!("prony run {flag} a.js")).unwrap_or_default();
            assert!(refusal.contains(part), "{flag}: {refusal}");
        }
        for flag in [
            "-a :0 --linger --paused",
            "-a :0 -l -p",
            "--new-machine-readable-summary",
            "--upload-only=false",
            "--execution-segment 0:1/2",
            "--type js",
            "-t js",
            "--compatibility-mode base",
            "-v",
            "--traces-output otel",
        ] {
            assert_eq!(refusal(&format!("prony run {flag} a.js")), None, "{flag}");
        }
    }
}
