//! A comparison in a terminal: B against A, figure by figure, with intervals.

use crate::describe;
use crate::search::{push_findings_of, push_state};
use crate::text::table::{TextTable, judged};
use crate::text::{StyledText, TextLooks, Tone};
use prony_model::Nanos;
use prony_model::comparison::{
    self, Compared, ComparedUnit, ComparisonFile, Difference, FailVerdict, Failure, PAIRS_MIN, Scale,
};
use prony_model::units::{per_second, percent};
use prony_model::verdict::rule::Belief;
use std::fmt::Write as _;

/// What the table of figures loses where it is too wide: the interval, which the last column sums up, then A and B.
const LOST: [usize; 3] = [4, 1, 2];

/// For people; ends with a line break.
pub fn comparison_summary(file: &ComparisonFile, looks: TextLooks) -> String {
    let mut text = StyledText::new(looks);
    for (side, subject) in [("A", &file.a), ("B", &file.b)] {
        text.push_as(Tone::Name, side);
        let _ = writeln!(text, ": {}", describe::compared(subject));
    }
    push_state(&mut text, file.state);
    let pairs = file.comparison.pairs;
    let _ = writeln!(text, "\n{}\n", headline(file));
    let rows: Vec<_> = [header()]
        .into_iter()
        .chain(file.comparison.figures.iter().map(|figure| row(figure, file.belief())))
        .collect();
    TextTable::with_head(&rows).with_tone(judged::<5>).losing(&LOST).write(&mut text);
    let confidence = file.comparison.confidence * 100.0;
    let order = if file.interleaved {
        "made in turns (A B B A)"
    } else {
        "made at different times, so a change of the machine between them counts as a difference"
    };
    let _ = writeln!(
        text,
        "\n{pairs} runs of each, {order}; all intervals hold together with {confidence:.0} % confidence"
    );
    if !file.fail_if.is_empty() {
        let rows: Vec<_> = file.fail_if.iter().map(|verdict| condition(verdict).to_vec()).collect();
        text.push_title("conditions");
        TextTable::without_head(&rows).with_tone(judged::<1>).write(&mut text);
    }
    push_findings_of(&mut text, file.runs.iter().map(|run| &run.result));
    text.push_verdict(&sentence(file));
    text.into_string()
}

/// What the comparison comes to in one sentence, by the one rule.
pub(crate) fn sentence(file: &ComparisonFile) -> String {
    let passed = if file.fail_if.is_empty() {
        "compared, and nothing was asked (--fail-if)"
    } else {
        "no condition is shown"
    };
    describe::sentence(&file.kept_verdict(), passed)
}

/// What is claimed of B, or why nothing is.
pub(crate) fn headline(file: &ComparisonFile) -> String {
    no_claim(file).unwrap_or_else(|| claim(file))
}

/// Something where the figures allow no claim: why.
pub(crate) fn no_claim(file: &ComparisonFile) -> Option<String> {
    let failed: Vec<_> = file
        .without_success()
        .into_iter()
        .map(|(side, reason)| format!("{side:?} failed: {reason}"))
        .collect();
    if !failed.is_empty() {
        return Some(format!("no claim is made: {}", failed.join("; ")));
    }
    let void = file.void_runs();
    if void > 0 {
        let runs = file.runs.len();
        return Some(format!(
            "no claim is made: {void} of {runs} runs were not about the target (see the findings below)"
        ));
    }
    let pairs = file.comparison.pairs;
    file.has_few_pairs().then(|| {
        format!(
            "no claim is made: {} of each, and from fewer than {PAIRS_MIN} nothing is known of the noise",
            if pairs == 1 { "one run".to_owned() } else { format!("{pairs} runs") }
        )
    })
}

fn claim(file: &ComparisonFile) -> String {
    let of = |wanted| {
        let figures = file.comparison.figures.iter().filter(move |figure| figure.difference == wanted);
        figures.map(|figure| figure.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    match (of(Difference::Better), of(Difference::Worse)) {
        (better, worse) if better.is_empty() && worse.is_empty() => "no difference shown".to_owned(),
        (better, worse) if worse.is_empty() => format!("B is better: {better}"),
        (better, worse) if better.is_empty() => format!("B is worse: {worse}"),
        (better, worse) => format!("B is better in {better}, and worse in {worse}"),
    }
}

pub(crate) fn header() -> Vec<String> {
    ["", "A", "B", "B against A", "interval", ""].map(str::to_owned).to_vec()
}

/// A figure that cannot be believed, so that it is neither better nor worse.
pub(crate) fn is_void(figure: &Compared, belief: Belief) -> bool {
    !comparison::metric(&figure.name).is_some_and(|metric| belief.compares(metric))
}

pub(crate) fn row(figure: &Compared, belief: Belief) -> Vec<String> {
    let difference = match figure.difference {
        _ if is_void(figure, belief) => "void",
        Difference::NotShown => "no difference shown",
        Difference::Better => "better",
        Difference::Worse => "WORSE",
    };
    let interval = figure.interval.map_or("-".to_owned(), |(low, high)| {
        format!("{} to {}", change(figure.scale, low), change(figure.scale, high))
    });
    vec![
        figure.name.clone(),
        value(figure.unit, figure.a),
        value(figure.unit, figure.b),
        change(figure.scale, figure.change),
        interval,
        difference.to_owned(),
    ]
}

fn value(unit: ComparedUnit, value: f64) -> String {
    match unit {
        ComparedUnit::PerSecond => per_second(value),
        ComparedUnit::Nanoseconds => Nanos(value as u64).to_string(),
        ComparedUnit::Share => percent(value),
    }
}

pub(crate) fn change(scale: Scale, change: f64) -> String {
    match scale {
        Scale::Ratio => format!("{change:.3}"),
        // A change too small to be seen has no sign.
        Scale::Difference => format!("{:+.2} %", change * 100.0).replace("-0.00", "+0.00"),
    }
}

pub(crate) fn condition(verdict: &FailVerdict) -> [String; 2] {
    let judgement = match verdict.failure {
        Failure::Shown => "FAILED",
        Failure::Excluded => "kept",
        Failure::Open => "not shown, and not excluded",
        Failure::Void => "VOID",
    };
    [verdict.condition.clone(), judgement.to_owned()]
}
