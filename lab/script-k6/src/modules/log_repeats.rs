//! Lines of the log that repeat one another: users of a script say the same by the thousand, and a person wants to read it once.
//!
//! The first is written at once. What comes again within a second is counted, whatever stands between the two, and how often is
//! said with the line some seconds later, so that none is lost and none stands where it did not happen.

use super::log_level::Level;
use prony_model::units::counted;
use std::time::Duration;

/// A line that comes again later than this is no repeat.
const SHORT: Duration = Duration::from_secs(1);
/// How long a repeat may remain unsaid.
const SAY_AFTER: Duration = Duration::from_secs(3);
/// Different lines of the last second; of more than these, repeats are said when the line is forgotten.
const LINES_MAX: usize = 64;

/// Lines that were written lately, each with how often it has come again. Times are from the beginning of the log.
#[derive(Debug, Default)]
pub(super) struct Repeats(Vec<Lately>);

#[derive(Debug)]
struct Lately {
    level: Level,
    message: String,
    fields: Vec<(String, String)>,
    last: Duration,
    unsaid: u64,
    /// Of the first that is unsaid.
    unsaid_since: Duration,
}

/// How often a line has come again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repeated {
    pub(super) level: Level,
    pub(super) message: String,
    pub(super) fields: Vec<(String, String)>,
}

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Counted,
    /// It is to be written, behind these.
    Written(Vec<Repeated>),
}

impl Repeats {
    pub(super) fn take(
        &mut self,
        now: Duration,
        level: Level,
        message: &str,
        fields: &[(&str, &str)],
    ) -> Fate {
        let known = self.0.iter_mut().find(|line| line.is(level, message, fields));
        if let Some(line) = known.filter(|line| now.saturating_sub(line.last) <= SHORT) {
            if line.unsaid == 0 {
                line.unsaid_since = now;
            }
            (line.last, line.unsaid) = (now, line.unsaid + 1);
            return Fate::Counted;
        }
        let mut said = self.forget(|line| now.saturating_sub(line.last) > SHORT);
        if self.0.len() == LINES_MAX
            && let Some(oldest) = (0..LINES_MAX).min_by_key(|index| self.0[*index].last)
        {
            said.extend(self.0.remove(oldest).say());
        }
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let message = message.to_owned();
        self.0.push(Lately { level, message, fields, last: now, unsaid: 0, unsaid_since: now });
        Fate::Written(said)
    }

    /// What has been unsaid for long enough.
    pub(super) fn due(&mut self, now: Duration) -> Vec<Repeated> {
        let due = self.0.iter_mut().filter(|line| now.saturating_sub(line.unsaid_since) >= SAY_AFTER);
        due.filter_map(Lately::say).collect()
    }

    /// All that is unsaid; what comes next is no repeat.
    pub(super) fn end(&mut self) -> Vec<Repeated> {
        self.forget(|_| true)
    }

    fn forget(&mut self, is_over: impl Fn(&Lately) -> bool) -> Vec<Repeated> {
        let forgotten = self.0.extract_if(.., |line| is_over(line));
        forgotten.filter_map(|mut line| line.say()).collect()
    }
}

impl Lately {
    fn is(&self, level: Level, message: &str, fields: &[(&str, &str)]) -> bool {
        let own = self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        self.level == level && self.message == message && own.eq(fields.iter().copied())
    }

    fn say(&mut self) -> Option<Repeated> {
        let Self { level, message, fields, unsaid, .. } = self;
        let count = std::mem::take(unsaid);
        let message = message.strip_suffix('\n').unwrap_or(message);
        (count > 0).then(|| Repeated {
            level: *level,
            message: format!("{message} (… repeated {})", counted(count, "time", "times")),
            fields: fields.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(repeats: &mut Repeats, milliseconds: u64, message: &str) -> Option<Vec<String>> {
        match repeats.take(
            Duration::from_millis(milliseconds),
            Level::Info,
            message,
            &[("source", "console")],
        ) {
            Fate::Counted => None,
            Fate::Written(before) => Some(texts(before)),
        }
    }

    fn due(repeats: &mut Repeats, milliseconds: u64) -> Vec<String> {
        texts(repeats.due(Duration::from_millis(milliseconds)))
    }

    fn texts(said: Vec<Repeated>) -> Vec<String> {
        said.into_iter().map(|line| line.message).collect()
    }

    fn nothing() -> Vec<String> {
        Vec::new()
    }

    #[test]
    fn repeats_are_counted_among_other_lines_and_said_some_seconds_later() {
        let mut repeats = Repeats::default();
        assert_eq!(take(&mut repeats, 0, "a"), Some(nothing()));
        assert_eq!(take(&mut repeats, 1, "b"), Some(nothing()));
        for at in 2..1_236 {
            assert_eq!(take(&mut repeats, at, "a"), None);
        }
        assert_eq!(due(&mut repeats, 3_001), nothing());
        assert_eq!(due(&mut repeats, 3_002), ["a (… repeated 1 234 times)"]);
        assert_eq!(due(&mut repeats, 9_000), nothing(), "each is said once");
    }

    #[test]
    fn what_comes_again_later_is_written_behind_what_is_unsaid() {
        let mut repeats = Repeats::default();
        take(&mut repeats, 0, "a");
        take(&mut repeats, 1_000, "a");
        assert_eq!(take(&mut repeats, 2_001, "a"), Some(vec!["a (… repeated 1 time)".to_owned()]));
        take(&mut repeats, 2_002, "a");
        assert_eq!(take(&mut repeats, 2_003, "b"), Some(nothing()));
        assert_eq!(take(&mut repeats, 4_000, "c"), Some(vec!["a (… repeated 1 time)".to_owned()]));
    }

    #[test]
    fn lines_of_another_level_or_with_other_fields_are_others() {
        let mut repeats = Repeats::default();
        let at = Duration::ZERO;
        let written = Fate::Written(Vec::new());
        assert_eq!(repeats.take(at, Level::Info, "a", &[]), written);
        assert_eq!(repeats.take(at, Level::Error, "a", &[]), written);
        assert_eq!(repeats.take(at, Level::Info, "a", &[("vu", "1")]), written);
        assert_eq!(repeats.take(at, Level::Info, "a", &[("vu", "2")]), written);
        assert_eq!(repeats.take(at, Level::Info, "a", &[("vu", "1")]), Fate::Counted);
    }

    #[test]
    fn of_too_many_different_lines_none_is_lost() {
        let mut repeats = Repeats::default();
        take(&mut repeats, 0, "first");
        take(&mut repeats, 1, "first");
        let mut said = Vec::new();
        for number in 0..LINES_MAX {
            said.extend(take(&mut repeats, 2, &number.to_string()).expect("it is new"));
        }
        assert_eq!(said, ["first (… repeated 1 time)"]);
        take(&mut repeats, 3, "7");
        assert_eq!(texts(repeats.end()), ["7 (… repeated 1 time)"]);
        assert_eq!(take(&mut repeats, 4, "7"), Some(nothing()), "the log has begun anew");
    }
}
