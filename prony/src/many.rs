//! What `prony find`, `compare` and `sweep` share: the flags, what they measure, the display, and where the file goes.

use crate::run::live::{LiveFlags, LivePages};
use crate::run::place::result_line;
use crate::run::workers::{LocalWorkers, THREADS_ARE_THE_WORKERS, WorkersFlags};
use crate::run_names::{RunFlagsInstead, RunNames};
use crate::terminal::{TerminalFlags, steps_display};
use crate::{interrupt, run};
use anyhow::{Context as _, bail};
use prony_live::LiveSteps;
use prony_load::Output;
use prony_model::comparison::Side;
use prony_model::search::{Interval, Vary};
use prony_model::{LoadModel, Nanos, Plan, PlanDraft, ResultFile};
use prony_report::{ProgressDisplay, StepHead, StepsDone, TextLooks, run_line, run_word, step_verdict};
use prony_runs::{
    Argument, Event, Flags as Kinds, ManyOptions, OpenSettings, ReservedPath, Subject, observe,
};
use prony_workers::UserState;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// Threads of the lab; by default one for each processor.
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,
    /// Seed of all random choices, in place of the plan's.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// What to watch meanwhile, beside what the plan names: pid:N, name:NAME, prom:URL[#METRIC,METRIC], pg:URL, gc:FILE, host:local; can be given several times. docs/observers.md describes it.
    #[arg(long, value_name = "SPEC")]
    observe: Vec<String>,
    /// For a k6 script: set a variable of `__ENV`; repeatable.
    #[arg(short, long = "env", value_name = "NAME=VALUE")]
    environment: Vec<String>,
    /// For a JMeter plan: set a property; repeatable.
    #[arg(short = 'J', value_name = "NAME=VALUE")]
    properties: Vec<String>,
    /// Folder that the result file is written to.
    #[arg(long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
    /// Print the whole result as JSON instead of a summary.
    #[arg(long)]
    json: bool,
    /// Show nothing while it goes on.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    terminal: TerminalFlags,
    #[command(flatten)]
    live: LiveFlags,
    #[command(flatten)]
    workers: WorkersFlags,
    #[command(flatten)]
    run_names: RunNames,
}

impl Flags {
    /// With the file at which the result will stand, and the page that shows each run meanwhile.
    pub(crate) fn options(
        &self,
        name: &str,
        vary: Vary,
    ) -> anyhow::Result<(ManyOptions, PathBuf, LivePages)> {
        let reserved = ReservedPath::new(&self.output, name);
        let path = reserved.path().to_owned();
        let progress = steps_display(name, self.quiet, self.terminal.color);
        let seeks_findings = progress.is_screen();
        let stop = interrupt::stop_flag()?;
        let live = self.live.open(name, &path.display().to_string(), &stop)?;
        let mut display = Display { vary, progress, live: live.steps() };
        let given = self.observe.clone();
        let mut options = ManyOptions {
            observe: Some(Box::new(move |named| observe::open(&[named, &given].concat()))),
            output: Output::File(path.clone()),
            reserved: Some(reserved),
            seeks_findings,
            command_line: crate::command_line(),
            stop,
            watch: Box::new(move |event| display.show(event)),
            ..ManyOptions::default()
        };
        options.threads = self.threads.unwrap_or(options.threads);
        options.watcher = live.watcher();
        Ok((options, path, live))
    }

    /// An error where flags of `prony run` are among them.
    pub(crate) fn refuse_those_of_run(&self, instead: &RunFlagsInstead) -> anyhow::Result<()> {
        self.run_names.refuse(instead)
    }

    /// An error where something is set that none of these takes.
    pub(crate) fn refuse_foreign_settings(&self, arguments: &[&Argument]) -> anyhow::Result<()> {
        let settings = [
            ("-e", "variables of k6 scripts", Kinds::K6, &self.environment),
            ("-J", "properties of JMeter plans", Kinds::Jmeter, &self.properties),
        ];
        for (flag, what, kind, given) in settings {
            let is_taken = arguments.iter().any(|argument| argument.kind.flags == kind);
            if let (Some(first), false, [argument, ..]) = (given.first(), is_taken, arguments) {
                let Argument { text, kind, .. } = argument;
                bail!("`{flag} {first}` sets {what}, and {text} is {}: leave it out", kind.name);
            }
        }
        Ok(())
    }

    pub(crate) const fn has_workers(&self) -> bool {
        self.workers.is_given()
    }

    /// Has workers make the load of all runs, where the flags ask for any; those of this machine end when what this returns is
    /// dropped, which must be after the options. `plans`: some of those that will be run.
    pub(crate) fn recruit(
        &self,
        options: &mut ManyOptions,
        users: UserState,
        plans: &[&Plan],
    ) -> anyhow::Result<Option<LocalWorkers>> {
        if self.workers.is_given() && self.threads.is_some() {
            bail!(THREADS_ARE_THE_WORKERS);
        }
        let waiting = self.workers.recruit_for_many(users, plans, &options.stop)?;
        let Some(waiting) = waiting else { return Ok(None) };
        options.workers = Some(waiting.recruited);
        Ok(waiting.local)
    }

    /// The load is that of an address, which says nothing of its own.
    pub(crate) fn open(&self, argument: &Argument, load: LoadModel) -> anyhow::Result<Given> {
        let subject = argument.open(&self.open_settings(load)?)?;
        let draft = subject.plan().clone().into_draft();
        let seed = self.seed.unwrap_or(draft.seed);
        Ok(Given { draft: PlanDraft { seed, ..draft }, subject })
    }

    /// The load is that of an address, which says nothing of its own.
    pub(crate) fn open_settings(&self, load: LoadModel) -> anyhow::Result<OpenSettings> {
        let environment = self.environment.clone();
        let properties = run::jmeter::properties(&self.properties)?;
        Ok(OpenSettings { environment, properties, ..OpenSettings::new(load, run::end_process) })
    }

    /// The summary, or all of it as JSON.
    pub(crate) fn print(
        &self,
        json: impl FnOnce() -> serde_json::Result<String>,
        summary: &str,
        path: Option<&Path>,
    ) -> anyhow::Result<()> {
        let text = if self.json {
            json().context("cannot write the result as JSON")? + "\n"
        } else {
            let place = path.map_or(String::new(), |path| format!("\n{}", result_line(path)));
            format!("{summary}{place}")
        };
        crate::print(&text)
    }

    /// Of the summary.
    pub(crate) fn looks(&self) -> TextLooks {
        self.terminal.color.output_looks()
    }

    pub(crate) fn seed(&self) -> Option<u64> {
        self.seed
    }

    pub(crate) fn output(&self) -> &Path {
        &self.output
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }
}

/// What is run again and again, before its plan is looked at as a whole.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) draft: PlanDraft,
    subject: Subject,
}

impl Given {
    pub(crate) fn check(self) -> anyhow::Result<Subject> {
        Ok(self.subject.with_plan(self.draft.check()?))
    }
}

/// A line for each run that has ended; while one goes on, the screen where there is one.
struct Display {
    vary: Vary,
    progress: ProgressDisplay,
    live: Option<LiveSteps>,
}

impl Display {
    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::StepRunBegins { load, step, run, repeats, interval, left, steps_left } => {
                let of = if run > repeats { String::new() } else { format!(" of {repeats}") };
                self.begin(StepHead {
                    step: self.vary.show(*load),
                    position: format!("step {step}, run {run}{of}"),
                    range: self.range(interval),
                    left: *left,
                    steps: steps_left.map(|to_go| StepsDone { done: step - 1, to_go }),
                });
            }
            Event::SideRunBegins { side, pair, pairs, left } => {
                let position = format!("run {pair} of {pairs} of each");
                if *side == Side::A && pair % 2 == 1 {
                    self.progress.say(&position);
                }
                let (step, left) = (format!("{side:?}"), Some(*left));
                let steps = Some(sides_done(*side, *pair, *pairs));
                self.begin(StepHead { step, position, left, steps, ..StepHead::default() });
            }
            Event::CombinationBegins { label, number, count, left } => {
                self.progress.say(&format!("{number} of {count}: {label}; {left} left at least"));
                let position = format!("{number} of {count}");
                let (step, left) = ((*label).to_owned(), Some(*left));
                let steps = StepsDone { done: *number as u32 - 1, to_go: (count + 1 - number) as u32 };
                let steps = Some(steps);
                self.begin(StepHead { step, position, left, steps, ..StepHead::default() });
            }
            Event::CombinationKept { label, number, count } => {
                self.progress.say(&format!("{number} of {count}: {label}; measured before"));
            }
            Event::Second(progress) => {
                if let Some(warning) = &progress.warning {
                    self.progress.warn(warning);
                }
                self.progress.show(progress);
            }
            Event::StepRunEnds { .. }
            | Event::StepEnds { .. }
            | Event::SideRunEnds { .. }
            | Event::CombinationEnds { .. } => self.show_end(event),
            Event::Warning(warning) => self.progress.warn(warning),
        }
    }

    /// A run begins: for the screen, and for the page where there is one.
    fn begin(&mut self, head: StepHead) {
        if let Some(live) = &self.live {
            let parts = [&head.step, &head.position, &head.range].map(String::as_str);
            live.say(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "));
        }
        self.progress.begin(head);
    }

    fn show_end(&self, event: &Event<'_>) {
        match event {
            Event::StepRunEnds { load, run } => {
                let outcome = if run.reason.is_empty() { "passed" } else { &run.reason };
                self.progress.say(&run_line(&self.vary.show(*load), &run.result, outcome));
            }
            Event::StepEnds { load, verdict, note } => {
                let note = note.map_or(String::new(), |note| format!(": {note}"));
                let step = format!("{}: {}", self.vary.show(*load), step_verdict(*verdict));
                self.progress.say_step(&format!("{step}{note}"), step);
            }
            Event::SideRunEnds { side, result } => self.show_run(&format!("{side:?}"), result),
            Event::CombinationEnds { label, result } => self.show_run(label, result),
            _ => {}
        }
    }

    fn show_run(&self, what: &str, result: &ResultFile) {
        self.progress.say_step(&run_line(what, result, ""), run_word(what, result));
    }

    /// What is still searched.
    fn range(&self, known: &Interval) -> String {
        let ceiling = known.failed.into_iter().chain(known.lab_limited).min();
        match (known.passed, ceiling) {
            (None, None) => String::new(),
            (Some(passed), None) => format!("above {}", self.vary.show(passed)),
            (None, Some(ceiling)) => format!("below {}", self.vary.show(ceiling)),
            (Some(passed), Some(ceiling)) => format!("between {passed} and {}", self.vary.show(ceiling)),
        }
    }
}

/// Runs of a comparison, which are made in turns.
fn sides_done(side: Side, pair: u32, pairs: u32) -> StepsDone {
    let before = 2 * (pair - 1);
    let done = before + u32::from(side != Side::of_run(before as usize));
    StepsDone { done, to_go: 2 * pairs - done }
}

/// `5%` as 0.05.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let percent = number.filter(|percent| (0.0..=100.0).contains(percent));
    percent
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("`{text}` is no share; write for example `5%`"))
}

/// `30s`, and not nothing.
pub(crate) fn duration(text: &str) -> Result<Nanos, String> {
    let duration = Nanos::parse(text).map_err(|error| error.to_string())?;
    if duration == Nanos::ZERO { Err("it must be longer than nothing".to_owned()) } else { Ok(duration) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_in_turns_are_counted() {
        let counted = (0..6).map(|index| {
            let StepsDone { done, to_go } = sides_done(Side::of_run(index), index as u32 / 2 + 1, 3);
            (done, to_go)
        });
        assert_eq!(counted.collect::<Vec<_>>(), [(0, 6), (1, 5), (2, 4), (3, 3), (4, 2), (5, 1)]);
    }
}
