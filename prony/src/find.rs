//! `prony find`: searches for the largest load that keeps its objectives, and prints the interval it lies in.

use crate::many::{Flags, duration, share};
use crate::run_names::RunFlagsInstead;
use crate::summaries::SummaryFlags;
use anyhow::bail;
use prony_model::search::{SearchPlan, StepShape, Vary};
use prony_model::{LoadModel, Nanos, PlanDraft, Threshold};
use prony_report::{Document, NamedDocument};
use prony_runs::{Argument, SearchSettings, find};
use std::process::ExitCode;

/// Loads tried first: small enough for any target, large enough to be a load.
const FROM_USERS: u32 = 10;
const FROM_RATE: u32 = 100;
/// As far as a search goes unless told otherwise.
const MAX_USERS: u32 = 100_000;
const MAX_RATE: u32 = 10_000_000;
/// Doubling over the whole range takes 17 steps, bisection to a thousandth 10.
const STEPS_MAX: u32 = 40;

#[derive(Debug, clap::Args)]
pub(crate) struct FindArguments {
    /// A plan, an address of which one page is fetched again and again, or a script of k6, wrk or JMeter; docs/find.md describes it.
    #[arg(value_name = "PLAN|URL|SCRIPT")]
    subject: String,
    /// The address for a wrk script.
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// What a load must keep to pass, such as `p95<500ms,errors<1%`; by default the plan's thresholds.
    #[arg(long, value_name = "OBJECTIVES")]
    slo: Option<String>,
    /// What is changed from step to step; by default the rate where the plan asks for one, else the users.
    #[arg(long, value_enum)]
    vary: Option<VaryFlag>,
    /// The first load tried.
    #[arg(long, value_name = "LOAD", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    from: Option<u32>,
    /// No load above this one is tried.
    #[arg(long, value_name = "LOAD", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    max: Option<u32>,
    /// Runs of each load; more where they disagree.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// Time in which a step's load is built up; not judged.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = Nanos::parse)]
    ramp: Nanos,
    /// Time for which it is held; this is judged.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    hold: Nanos,
    /// How far apart the ends of the interval may be.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share)]
    resolution: f64,
    /// Users that serve the starts where the rate varies; by default the plan's, else as many as a second of starts.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    users: Option<u32>,
    #[command(flatten)]
    summaries: SummaryFlags,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum VaryFlag {
    #[value(alias = "vus")]
    Users,
    Rate,
}

/// Of `prony run`.
const INSTEAD: RunFlagsInstead = RunFlagsInstead {
    command: "prony find",
    connections: "--from and --max, between which loads are tried",
    duration: "--hold, for which each load is held",
    rate: "--vary rate, with --from and --max",
};

pub(crate) fn execute(arguments: &FindArguments) -> anyhow::Result<ExitCode> {
    arguments.flags.refuse_those_of_run(&INSTEAD)?;
    let texts = [Some(arguments.subject.as_str()), arguments.url.as_deref()];
    let read = Argument::read_all("prony find", texts.into_iter().flatten())?;
    let [argument] = read.as_slice() else {
        bail!("one thing is searched, and the arguments name {}", read.len());
    };
    arguments.flags.refuse_foreign_settings(&[argument])?;
    let mut given = arguments.flags.open(argument, LoadModel::constant(1, Nanos::from_secs(1)))?;
    let settings = settings(arguments, &given.draft)?;
    given.draft.thresholds.clone_from(&settings.objectives);
    let subject = given.check()?;
    let name = format!("find-{}", subject.plan().name());
    let (mut options, path, live) = arguments.flags.options(&name, settings.shape.vary)?;
    // Where the first load cannot be made of it, the search says why.
    let first = settings.shape.apply(&subject.plan().clone().into_draft(), settings.plan.start);
    let first = first.ok().and_then(|draft| draft.check().ok());
    let plans: Vec<_> = first.iter().collect();
    let local = arguments.flags.recruit(&mut options, argument.kind.users, &plans)?;
    let file = find(&subject, &settings, options)?;
    drop(local);
    live.finish_with(&path, || Document::Search(Box::new(file.clone())));
    // Of what was stopped before anything was measured there is no file, and nobody tried to make one.
    let kept = (!file.steps.is_empty()).then_some(path.as_path());
    arguments.flags.print(
        || serde_json::to_string_pretty(&file),
        &prony_report::search_summary(&file, arguments.flags.looks()),
        kept,
    )?;
    let conclusion = file.kept_verdict().conclusion;
    arguments.summaries.write(|| {
        let document = Document::Search(Box::new(file));
        vec![NamedDocument { name: document.title(), document }]
    })?;
    Ok(ExitCode::from(conclusion.exit_code()))
}

fn settings(arguments: &FindArguments, draft: &PlanDraft) -> anyhow::Result<SearchSettings> {
    let asks_for_a_rate = draft.scenarios.iter().any(|scenario| scenario.load.rate_max().is_some());
    let vary = match arguments.vary {
        Some(VaryFlag::Rate) => Vary::Rate,
        None if asks_for_a_rate => Vary::Rate,
        Some(VaryFlag::Users) | None => Vary::Users,
    };
    if vary == Vary::Users && arguments.users.is_some() {
        bail!(
            "--users are those that serve the starts of a rate, and here users vary: write --from and --max for their number, or --vary rate"
        );
    }
    let (from, highest) = match vary {
        Vary::Users => (FROM_USERS, MAX_USERS),
        Vary::Rate => (FROM_RATE, MAX_RATE),
    };
    let lowest = match vary {
        // Each scenario needs one.
        Vary::Users => draft.scenarios.len() as u32,
        Vary::Rate => 1,
    };
    let highest = arguments.max.unwrap_or(highest).max(lowest);
    let plan = SearchPlan {
        start: arguments.from.unwrap_or(from).min(highest),
        lowest,
        highest,
        growth: 2.0,
        resolution: 1.0 + arguments.resolution,
        repeats: arguments.repeats,
        steps_max: STEPS_MAX,
    };
    let (ramp, hold, pool) = (arguments.ramp, arguments.hold, arguments.users);
    let shape = StepShape { vary, ramp, hold, pool };
    Ok(SearchSettings { plan, shape, objectives: objectives(arguments, draft)? })
}

fn objectives(arguments: &FindArguments, draft: &PlanDraft) -> anyhow::Result<Vec<Threshold>> {
    let Some(text) = &arguments.slo else {
        if draft.thresholds.is_empty() {
            bail!(
                "nothing says what a load must keep to pass; write for example --slo 'p95<500ms,errors<1%'"
            );
        }
        return Ok(draft.thresholds.clone());
    };
    Threshold::parse_list(text).map_err(|errors| {
        let messages: Vec<_> = errors.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("--slo: {}", messages.join("; "))
    })
}
