//! Runs of A and B in the order A B B A, and what they show together.

use crate::many::{Event, ManyError, ManyOptions, Runs};
use crate::subject::Subject;
use prony_load::reach;
use prony_model::Nanos;
use prony_model::comparison::{self, ComparedRun, ComparisonFile, FailIf, Side};
use prony_model::result::{Origin, RunState};

/// A plan or a script, and what the user called it.
#[derive(Debug)]
pub struct Compared {
    pub given: String,
    pub subject: Subject,
}

impl Compared {
    fn describe(&self) -> comparison::Subject {
        let plan = self.subject.plan();
        comparison::Subject {
            given: self.given.clone(),
            name: plan.name().to_owned(),
            target: plan.target().map(ToString::to_string).unwrap_or_default(),
        }
    }
}

/// Compares over `pairs` runs of each, once the targets of both were reached. A stop ends it with the pairs that are whole. Blocks the calling thread.
pub fn compare(
    a: &Compared,
    b: &Compared,
    pairs: u32,
    conditions: &[FailIf],
    options: ManyOptions,
) -> Result<ComparisonFile, ManyError> {
    let unreached: Vec<_> = [(Side::A, a), (Side::B, b)]
        .into_iter()
        .filter_map(|(side, compared)| Some(format!("{side:?}: {}", reach(compared.subject.plan()).err()?)))
        .collect();
    if !unreached.is_empty() {
        return Err(ManyError::Unreached(unreached.join("; ")));
    }
    let runs = Runs::new(options);
    let mut file = ComparisonFile::new(Origin::default(), a.describe(), b.describe(), true);
    for index in 0..2 * pairs {
        if runs.stop.is_stopped() {
            break;
        }
        let side = Side::of_run(index as usize);
        let of = |side| match side {
            Side::A => a,
            Side::B => b,
        };
        let (compared, pair) = (of(side), index / 2);
        let rest = (index..2 * pairs).map(|index| of(Side::of_run(index as usize)).subject.plan().duration());
        runs.tell(&Event::SideRunBegins {
            side,
            pair: pair + 1,
            pairs,
            left: rest.fold(Nanos::ZERO, Nanos::plus),
        });
        // Both of a pair make the same choices, so that luck in them is no difference.
        let plan = compared.subject.plan();
        let plan = plan.clone().with_seed(plan.seed().wrapping_add(u64::from(pair)));
        let result = match runs.run(&compared.subject, &plan) {
            Ok(result) => result,
            Err(error) => {
                file.state = RunState::Stopped;
                if !file.runs.is_empty() {
                    runs.keep(&file, file.state);
                }
                return Err(error);
            }
        };
        if result.state == RunState::Stopped {
            break;
        }
        runs.tell(&Event::SideRunEnds { side, result: &result });
        if file.runs.is_empty() {
            file.origin = result.origin.clone();
        }
        file.runs.push(ComparedRun { side, result });
        file.judge(conditions);
        // What follows the last run writes the file as a whole.
        if index + 1 < 2 * pairs {
            runs.keep(&file, file.state);
        }
    }
    let is_whole = file.runs.len() == 2 * pairs as usize;
    file.state = if is_whole { RunState::Completed } else { RunState::Stopped };
    file.judge(conditions);
    if !file.runs.is_empty() {
        runs.keep(&file, file.state);
    }
    Ok(file)
}
