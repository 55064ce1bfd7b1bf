//! Resident memory of the engine: before the first request, while they come, and after the last.

use std::{cell::RefCell, rc::Rc};

use prony_load::RunError;
use prony_model::result::Progress;
use prony_model::{Nanos, Plan};
use prony_observe::usage::Usage;
use serde::Serialize;

use super::study::{MEMORY_USERS, ResolversPace, ResolversQuestions, SOAK_USERS};
use crate::{
    display::Display,
    markdown::{megabytes, thousands},
    runs::{Measured, Runs, whole},
};

/// Once this share of the requests has been answered, all caches have what they will have.
const WARM_SHARE: f64 = 0.2;
/// Memory is flat where nothing later is above the warm figure by more than this.
pub(super) const GROWTH_MAX: f64 = 0.05;

/// Which requests they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileKind {
    /// The study's users.
    Study,
    /// Many more, as fast as they are answered.
    Soak,
}

/// A look at the engine while requests come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sample {
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    pub requests: u64,
    pub resident_bytes: u64,
}

/// What requests did to the engine's memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    pub kind: ProfileKind,
    pub users: u32,
    pub requests: u64,
    pub failures: u64,
    pub before_bytes: u64,
    /// One a second.
    pub samples: Vec<Sample>,
    pub after_bytes: u64,
    /// The result file, next to the table.
    pub file: &'static str,
}

impl Profile {
    /// The first look at the warm engine. `None` where all was over too soon.
    pub fn warm(&self) -> Option<&Sample> {
        let warm = self.requests as f64 * WARM_SHARE;
        self.samples.iter().find(|sample| sample.requests as f64 >= warm)
    }

    /// The most that was resident from then on.
    pub fn highest_bytes(&self) -> Option<u64> {
        let warm = self.warm()?;
        let later = self.samples.iter().filter(|sample| sample.at >= warm.at);
        later.map(|sample| sample.resident_bytes).chain([self.after_bytes]).max()
    }

    /// Above the warm figure, as a share of it.
    pub fn growth(&self) -> Option<f64> {
        Some(self.highest_bytes()? as f64 / self.warm()?.resident_bytes as f64 - 1.0)
    }

    pub fn is_flat(&self) -> Option<bool> {
        Some(self.growth()? <= GROWTH_MAX)
    }

    /// The look that is nearest to a share of the requests.
    pub fn at(&self, share: f64) -> Option<u64> {
        let wanted = self.requests as f64 * share;
        let distance = |sample: &&Sample| (sample.requests as f64 - wanted).abs();
        let nearest = self.samples.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        Some(nearest.resident_bytes)
    }
}

/// Makes the study's requests, then many more; those that were made before a stop are kept.
pub(super) fn measure(
    questions: &ResolversQuestions,
    engine: Measured<'_>,
    pace: &ResolversPace,
    runs: &Runs<'_>,
    display: &Display,
    done: &mut Vec<Profile>,
) -> Result<(), RunError> {
    let asked = pace.memory_requests;
    let study = questions.memory(asked);
    let title = format!("Memory, {MEMORY_USERS} users");
    let soak_time = Nanos(pace.time_of(super::Part::Memory).0 - pace.memory().0);
    let watch = display.begin(title, pace.memory(), soak_time);
    let Some(found) = profile(ProfileKind::Study, &study, "memory.prony.json", engine, runs, watch)? else {
        return Ok(());
    };
    display.line(&line(&found));
    done.push(found);
    let title = format!("Memory, {} requests", thousands(pace.soak_requests));
    let watch = display.begin(title, soak_time, Nanos::ZERO);
    let soak = questions.soak(pace.soak_requests);
    if let Some(found) = profile(ProfileKind::Soak, &soak, "memory-soak.prony.json", engine, runs, watch)? {
        display.line(&line(&found));
        done.push(found);
    }
    Ok(())
}

fn profile(
    kind: ProfileKind,
    plan: &Plan,
    file: &'static str,
    engine: Measured<'_>,
    runs: &Runs<'_>,
    mut show: impl FnMut(&Progress) + 'static,
) -> Result<Option<Profile>, RunError> {
    let process = engine.process;
    let resident = move || Usage::of(process).map_or(0, |usage| usage.resident_bytes);
    let before_bytes = resident();
    let samples: Rc<RefCell<Vec<Sample>>> = Rc::default();
    let kept = Rc::clone(&samples);
    let watch = move |progress: &Progress| {
        show(progress);
        if !progress.is_last {
            let (at, requests) = (progress.elapsed, progress.requests);
            kept.borrow_mut().push(Sample { at, requests, resident_bytes: resident() });
        }
    };
    let Some((result, _)) = runs.measure(plan, file, engine, watch)? else { return Ok(None) };
    let whole = whole(&result);
    Ok(Some(Profile {
        kind,
        users: if kind == ProfileKind::Study { MEMORY_USERS } else { SOAK_USERS },
        requests: whole.requests,
        failures: whole.failures,
        before_bytes,
        samples: samples.take(),
        after_bytes: resident(),
        file,
    }))
}

fn line(profile: &Profile) -> String {
    format!(
        "Memory, {} requests: {} before, {} after",
        thousands(profile.requests),
        megabytes(profile.before_bytes),
        megabytes(profile.after_bytes)
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn profile(kind: ProfileKind, megabytes: &[u64]) -> Profile {
        let sample = |(second, megabytes): (u64, &u64)| Sample {
            at: Nanos::from_secs(second),
            requests: second * 100,
            resident_bytes: megabytes * 1_000_000,
        };
        let samples: Vec<Sample> = (1..).zip(megabytes).map(sample).collect();
        let last = samples.last().map_or(0, |sample| sample.requests);
        Profile {
            kind,
            users: 15,
            requests: last,
            failures: 0,
            before_bytes: 9_000_000,
            after_bytes: samples.last().map_or(0, |sample| sample.resident_bytes),
            samples,
            file: "x",
        }
    }

    #[test]
    fn only_what_is_above_the_warm_figure_is_growth() {
        let verdict = |megabytes: &[u64]| profile(ProfileKind::Study, megabytes).is_flat();
        assert_eq!(verdict(&[10, 100, 104, 103, 90, 99, 100, 101, 100, 100]), Some(true));
        assert_eq!(verdict(&[10, 100, 100, 100, 100, 100, 100, 100, 100, 106]), Some(false));
        assert_eq!(verdict(&[]), None);
        let mut late = profile(ProfileKind::Soak, &[10, 100, 100]);
        late.after_bytes = 200_000_000;
        assert_eq!((late.is_flat(), late.highest_bytes()), (Some(false), Some(200_000_000)));
        assert_eq!(late.at(0.7), Some(100_000_000));
    }
}
