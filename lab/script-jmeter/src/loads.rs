//! How many users a group has and when, as a load model: all kinds of thread groups.

use crate::plan::{Concurrency, Group, GroupLoad, Stepping};
use crate::run::context::Context;
use crate::text::Text;
use prony_model::load::{IterationBudget, RateStage, Spacing, Stage, UserSchedule, WAIT_MAX_DEFAULT};
use prony_model::{LoadModel, Nanos};

/// How long a group may run that has no end of its own. It ends as soon as its users have.
const HOLD_MAX: Nanos = Nanos::from_secs(24 * 3_600);
/// Users that serve starts at a rate: each is one of JMeter's threads that would be made for a start.
const SERVING_S: f64 = 10.0;
const SERVING_MAX: f64 = 10_000.0;

/// A group's load, with what its users need to know of it.
#[derive(Debug, Clone)]
pub(crate) struct GroupSchedule {
    pub(crate) load: LoadModel,
    pub(crate) start: Nanos,
    pub(crate) ramp: Nanos,
    /// From its start.
    pub(crate) duration: Option<Nanos>,
}

impl GroupSchedule {
    /// True where there is nobody to run it, or no pass.
    pub(crate) fn is_empty(&self) -> bool {
        self.load.users_max() == 0 || self.load.budget == IterationBudget::EachUser(0)
    }

    /// The message says what cannot be a load.
    pub(crate) fn of(group: &Group, context: &mut Context<'_>) -> Result<Self, String> {
        match &group.load {
            GroupLoad::Threads { threads, ramp_s, loops, duration_s, delay_s } => {
                let users = count(threads, "the number of threads", context)?;
                let ramp = seconds(ramp_s, context);
                let loops =
                    loops.as_ref().map(|loops| count(loops, "the loop count", context)).transpose()?;
                let duration = duration_s.as_ref().map(|text| lifetime(text, context)).transpose()?.flatten();
                let start = delay_s.as_ref().map_or(Nanos::ZERO, |text| seconds(text, context));
                Ok(threads_schedule(users, ramp, loops, duration, start))
            }
            GroupLoad::Ultimate(rows) => {
                let mut trapezoids = Vec::new();
                for row in rows {
                    let users = count(&row[0], "the number of threads", context)?;
                    let [delay, ramp, hold, down] = [1, 2, 3, 4].map(|at| seconds(&row[at], context));
                    trapezoids.push(Trapezoid { users, delay, ramp, hold, down });
                }
                staged(&trapezoids)
            }
            GroupLoad::Stepping(stepping) => staged(&steps_of(stepping, context)?),
            GroupLoad::Concurrency(concurrency) => staged(&concurrency_of(concurrency, context)?),
            GroupLoad::Open { schedule } => open(&schedule.value(context)),
        }
    }
}

fn count(text: &Text, what: &str, context: &mut Context<'_>) -> Result<u64, String> {
    let value = text.value(context);
    let number: i64 = value.trim().parse().map_err(|_| {
        format!("{what} is `{value}`, which is no number; set its variable, or give its property with -Jname=value")
    })?;
    u64::try_from(number).map_err(|_| format!("{what} is {number}; write 0 or more"))
}

fn seconds(text: &Text, context: &mut Context<'_>) -> Nanos {
    let value = text.value(context);
    value.trim().parse().map_or(Nanos::ZERO, |seconds: f64| Nanos::from_secs_f64(seconds.max(0.0)))
}

/// How long a group lives, where the text is not empty. JMeter stops the test where it is no such time; without an end it would go on.
fn lifetime(text: &Text, context: &mut Context<'_>) -> Result<Option<Nanos>, String> {
    let value = text.value(context);
    let value = value.trim();
    if value.is_empty() {
        return Ok(None);
    }
    let seconds: f64 = value.parse().map_err(|_| {
        format!(
            "the duration is `{value}`, which is no number of seconds; set its variable, or give its property with -Jname=value"
        )
    })?;
    match Nanos::from_secs_f64(seconds.max(0.0)) {
        Nanos::ZERO => {
            Err(format!("the duration is `{value}`; write more than 0 seconds, or turn the lifetime off"))
        }
        time => Ok(Some(time)),
    }
}

/// User `k` of `n` begins at `k/n` of the ramp, the first at once.
fn threads_schedule(
    users: u64,
    ramp: Nanos,
    loops: Option<u64>,
    duration: Option<Nanos>,
    start: Nanos,
) -> GroupSchedule {
    let users = u32::try_from(users).unwrap_or(u32::MAX);
    let rise = Nanos(ramp.0 / u64::from(users.max(1)) * u64::from(users.saturating_sub(1)));
    let whole = duration.unwrap_or_else(|| rise.plus(HOLD_MAX));
    let stages = if rise == Nanos::ZERO {
        vec![Stage::new(Nanos::ZERO, users), Stage::new(whole, users)]
    } else if whole < rise {
        // The time is over before all have begun.
        let there = 1 + u64::from(users - 1) * whole.0 / rise.0;
        vec![Stage::new(Nanos::ZERO, 1), Stage::new(whole, there as u32)]
    } else {
        vec![Stage::new(Nanos::ZERO, 1), Stage::new(rise, users), Stage::new(whole.since(rise), users)]
    };
    let budget = loops.map_or(IterationBudget::Unlimited, IterationBudget::EachUser);
    let load = LoadModel { users: UserSchedule { stages }, budget, arrivals: None };
    GroupSchedule { load, start, ramp, duration }
}

/// Users that come in a straight line, stay, and go in one.
#[derive(Debug, Clone, Copy)]
struct Trapezoid {
    users: u64,
    delay: Nanos,
    ramp: Nanos,
    hold: Nanos,
    down: Nanos,
}

impl Trapezoid {
    fn times(&self) -> [Nanos; 4] {
        let up = self.delay.plus(self.ramp);
        let held = up.plus(self.hold);
        [self.delay, up, held, held.plus(self.down)]
    }

    /// Users at a moment; just before it, or just behind it.
    fn users_at(&self, at: Nanos, is_before: bool) -> f64 {
        let [begin, up, held, end] = self.times();
        let users = self.users as f64;
        let is_past = |time: Nanos| if is_before { at > time } else { at >= time };
        let share = |from: Nanos, to: Nanos| at.since(from).as_secs_f64() / to.since(from).as_secs_f64();
        if is_past(end) || !is_past(begin) {
            0.0
        } else if is_past(held) {
            users * (1.0 - share(held, end))
        } else if is_past(up) {
            users
        } else {
            users * share(begin, up)
        }
    }
}

/// The sum of them as stages; who was the first to come is the last to go.
fn staged(parts: &[Trapezoid]) -> Result<GroupSchedule, String> {
    let mut times: Vec<Nanos> = parts.iter().flat_map(Trapezoid::times).collect();
    times.push(Nanos::ZERO);
    times.sort_unstable();
    times.dedup();
    let users_at =
        |at, is_before| parts.iter().map(|part| part.users_at(at, is_before)).sum::<f64>().round() as u32;
    let mut stages = vec![Stage::new(Nanos::ZERO, users_at(Nanos::ZERO, false))];
    for pair in times.windows(2) {
        stages.push(Stage::new(pair[1].since(pair[0]), users_at(pair[1], true)));
        if users_at(pair[1], true) != users_at(pair[1], false) {
            stages.push(Stage::new(Nanos::ZERO, users_at(pair[1], false)));
        }
    }
    let load = LoadModel::closed(stages);
    if load.users_max() == 0 || load.duration() == Nanos::ZERO {
        return Err("its schedule has no users or lasts no time; give it both".to_owned());
    }
    let duration = Some(load.duration());
    Ok(GroupSchedule { load, start: Nanos::ZERO, ramp: Nanos::ZERO, duration })
}

fn steps_of(stepping: &Stepping, context: &mut Context<'_>) -> Result<Vec<Trapezoid>, String> {
    let users = count(&stepping.threads, "the number of threads", context)?;
    let [first, burst, stop] = [&stepping.first, &stepping.step, &stepping.stop_count]
        .map(|text| text.number(context).and_then(|number| u64::try_from(number).ok()).unwrap_or(0));
    let [delay, every, ramp, hold, stop_every] =
        [&stepping.delay, &stepping.every, &stepping.ramp, &stepping.hold, &stepping.stop_every]
            .map(|text| seconds(text, context));
    // When each user begins: in bursts, each within the ramp.
    let (mut begins, mut at) = (Vec::new(), delay);
    while (begins.len() as u64) < users {
        let size = if begins.is_empty() && first > 0 { first } else { burst.max(1) };
        let size = size.min(users - begins.len() as u64);
        begins.extend((0..size).map(|user| at.plus(Nanos(ramp.0 * user / size))));
        at = at.plus(ramp).plus(every);
    }
    let full = begins.iter().copied().max().unwrap_or(Nanos::ZERO).plus(hold);
    let trapezoids = begins.iter().rev().enumerate().map(|(place, begin)| {
        let batch = (place as u64).checked_div(stop).unwrap_or(0);
        let end = full.plus(Nanos(stop_every.0 * batch));
        Trapezoid { users: 1, delay: *begin, ramp: Nanos::ZERO, hold: end.since(*begin), down: Nanos::ZERO }
    });
    Ok(trapezoids.collect())
}

fn concurrency_of(concurrency: &Concurrency, context: &mut Context<'_>) -> Result<Vec<Trapezoid>, String> {
    let users = count(&concurrency.target, "the target concurrency", context)?;
    let unit = if concurrency.in_minutes { 60 } else { 1 };
    let [ramp, hold] =
        [&concurrency.ramp, &concurrency.hold].map(|text| Nanos(seconds(text, context).0 * unit));
    let steps = concurrency.steps.number(context).and_then(|steps| u64::try_from(steps).ok()).unwrap_or(0);
    if steps == 0 {
        return Ok(vec![Trapezoid { users, delay: Nanos::ZERO, ramp, hold, down: Nanos::ZERO }]);
    }
    let end = ramp.plus(hold);
    let trapezoids = (0..steps).map(|step| {
        let delay = Nanos(ramp.0 * step / steps);
        let share = users * (step + 1) / steps - users * step / steps;
        Trapezoid { users: share, delay, ramp: Nanos::ZERO, hold: end.since(delay), down: Nanos::ZERO }
    });
    Ok(trapezoids.collect())
}

/// `rate(10/s) random_arrivals(1 min) rate(20/s) pause(5 s)`: rates between two `rate`s move in a straight line.
fn open(schedule: &str) -> Result<GroupSchedule, String> {
    let fault = |reason: &str| {
        format!(
            "its schedule `{}` {reason}; write for example `rate(10/sec) random_arrivals(1 min)`",
            schedule.trim()
        )
    };
    let (mut stages, mut rate, mut spacing) = (Vec::new(), 0.0, None);
    let mut rest = strip_comments(schedule);
    // What moves towards a rate that is said behind it.
    let mut moving: Option<Nanos> = None;
    while let Some((call, after)) = next_call(&rest) {
        let (name, argument) = call;
        match name.as_str() {
            "rate" => {
                let next = rate_of(&argument).ok_or_else(|| fault("has a rate that is none"))?;
                match moving.take() {
                    Some(time) => stages.push(RateStage::new(time, next)),
                    None => stages.push(RateStage::new(Nanos::ZERO, next)),
                }
                rate = next;
            }
            "random_arrivals" | "even_arrivals" => {
                if let Some(time) = moving.take() {
                    stages.push(RateStage::new(time, rate));
                }
                let this = if name == "even_arrivals" { Spacing::Even } else { Spacing::Poisson };
                if spacing.is_some_and(|known| known != this) {
                    return Err(fault("mixes even and random arrivals, and one kind is made"));
                }
                spacing = Some(this);
                moving = Some(time_of(&argument).ok_or_else(|| fault("has a time that is none"))?);
            }
            "pause" => {
                if let Some(time) = moving.take() {
                    stages.push(RateStage::new(time, rate));
                }
                let time = time_of(&argument).ok_or_else(|| fault("has a time that is none"))?;
                stages.push(RateStage::new(Nanos::ZERO, 0.0));
                stages.push(RateStage::new(time, 0.0));
                stages.push(RateStage::new(Nanos::ZERO, rate));
            }
            _ => return Err(fault(&format!("has `{name}`, which is not known"))),
        }
        rest = after;
    }
    if let Some(time) = moving {
        stages.push(RateStage::new(time, rate));
    }
    if !rest.trim().is_empty() || spacing.is_none() {
        return Err(fault("cannot be read"));
    }
    let highest = stages.iter().map(|stage| stage.rate_per_s).fold(0.0, f64::max);
    let users = (highest * SERVING_S).clamp(10.0, SERVING_MAX) as u32;
    let load = LoadModel::arrivals(stages, spacing.unwrap_or(Spacing::Poisson), users, WAIT_MAX_DEFAULT);
    Ok(GroupSchedule { load, start: Nanos::ZERO, ramp: Nanos::ZERO, duration: None })
}

fn strip_comments(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join(" ")
}

/// The first `name(argument)` and what follows.
fn next_call(text: &str) -> Option<((String, String), String)> {
    let text = text.trim_start();
    let open = text.find('(')?;
    let close = text[open..].find(')')? + open;
    let call = (text[..open].trim().to_owned(), text[open + 1..close].trim().to_owned());
    Some((call, text[close + 1..].to_owned()))
}

/// `10/sec`, `5 per min`, `600/1 hour`.
fn rate_of(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once('/').or_else(|| text.split_once("per")).unwrap_or((text, "sec"));
    let number: f64 = number.trim().parse().ok()?;
    let unit = unit.trim();
    let unit = if unit.starts_with(|letter: char| letter.is_ascii_digit()) {
        time_of(unit)?
    } else {
        unit_of(unit)?
    };
    Some(number / unit.as_secs_f64()).filter(|rate| rate.is_finite())
}

/// `1 min`, `30s`, `1 min 30 sec`; a number alone is seconds.
fn time_of(text: &str) -> Option<Nanos> {
    let (mut sum, mut rest) = (0.0, text.trim());
    while !rest.is_empty() {
        let digits =
            rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = if letters == 0 { Nanos::from_secs(1) } else { unit_of(&rest[..letters])? };
        sum += number * unit.as_secs_f64();
        rest = rest[letters..].trim_start();
    }
    Some(Nanos::from_secs_f64(sum))
}

fn unit_of(text: &str) -> Option<Nanos> {
    Some(match text {
        "ms" | "millis" => Nanos::from_millis(1),
        "s" | "sec" | "second" | "seconds" => Nanos::from_secs(1),
        "m" | "min" | "minute" | "minutes" => Nanos::from_secs(60),
        "h" | "hour" | "hours" => Nanos::from_secs(3_600),
        "d" | "day" | "days" => Nanos::from_secs(86_400),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(schedule: &GroupSchedule) -> Vec<f64> {
        let users = 0..schedule.load.users_max();
        users.map(|user| schedule.load.activities_of(user)[0].start.as_secs_f64()).collect()
    }

    #[test]
    fn threads_begin_as_jmeters_do() {
        let schedule = threads_schedule(4, Nanos::from_secs(8), Some(3), None, Nanos::ZERO);
        assert_eq!(starts(&schedule), [0.0, 2.0, 4.0, 6.0]);
        let all = threads_schedule(3, Nanos::ZERO, None, Some(Nanos::from_secs(5)), Nanos::ZERO);
        assert_eq!((starts(&all), all.load.duration()), (vec![0.0; 3], Nanos::from_secs(5)));
        let short = threads_schedule(10, Nanos::from_secs(10), None, Some(Nanos::from_secs(4)), Nanos::ZERO);
        assert_eq!((short.load.users_max(), short.load.duration()), (5, Nanos::from_secs(4)));
    }

    #[test]
    fn trapezoids_add_up() {
        let second = Nanos::from_secs;
        let parts = [
            Trapezoid { users: 2, delay: second(0), ramp: second(0), hold: second(10), down: second(0) },
            Trapezoid { users: 4, delay: second(2), ramp: second(4), hold: second(2), down: second(2) },
        ];
        let schedule = staged(&parts).unwrap();
        let at = |time| schedule.load.users_active_at(second(time));
        assert_eq!([0, 1, 4, 6, 7, 9].map(at), [2, 2, 4, 6, 6, 4]);
        assert_eq!(schedule.load.duration(), second(10));
    }

    #[test]
    fn open_schedules_are_read() {
        let schedule =
            open("rate(0/s) random_arrivals(10 s) rate(60/min) // up\n random_arrivals(1 min)").unwrap();
        assert_eq!(schedule.load.duration(), Nanos::from_secs(70));
        assert_eq!(schedule.load.rate_max(), Some(1.0));
        assert!(open("rate(x) random_arrivals(1)").unwrap_err().contains("has a rate that is none"));
        assert!(open("hello").unwrap_err().contains("cannot be read"));
    }
}
