//! Lines of a script's log that repeat one another: users say the same by the thousand, and a person wants to read it once.
//!
//! The first is written at once. What comes again within a second is counted, whatever stands between the two, and how often is
//! said with the line some seconds later, so that none is lost and none stands where it did not happen.

use crate::units::counted;
use std::time::Duration;

/// A line that comes again later than this is no repeat.
const SHORT: Duration = Duration::from_secs(1);
/// How long a repeat may remain unsaid.
const SAY_AFTER: Duration = Duration::from_secs(3);
/// Different lines of the last second; of more than these, repeats are said when the line is forgotten.
const LINES_MAX: usize = 64;

/// Lines that were written lately, each with how often it has come again. Times are from the beginning of the log. `K` is what a
/// line has beside its message, such as a level.
#[derive(Debug)]
pub struct LogRepeats<K>(Vec<LatelyLogged<K>>);

#[derive(Debug)]
struct LatelyLogged<K> {
    key: K,
    message: String,
    last: Duration,
    unsaid: u64,
    /// Of the first that is unsaid.
    unsaid_since: Duration,
}

/// How often a line has come again.
#[derive(Debug, PartialEq, Eq)]
pub struct RepeatedLine<K> {
    pub key: K,
    /// With the count.
    pub message: String,
}

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum LineFate<K> {
    Counted,
    /// It is to be written, behind these.
    Written(Vec<RepeatedLine<K>>),
}

impl<K> Default for LogRepeats<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Clone> LogRepeats<K> {
    /// A line whose key is made only where it is to be written.
    pub fn take(
        &mut self,
        now: Duration,
        message: &str,
        has_key: impl Fn(&K) -> bool,
        key: impl FnOnce() -> K,
    ) -> LineFate<K> {
        let known = self.0.iter_mut().find(|line| line.message == message && has_key(&line.key));
        if let Some(line) = known.filter(|line| now.saturating_sub(line.last) <= SHORT) {
            if line.unsaid == 0 {
                line.unsaid_since = now;
            }
            (line.last, line.unsaid) = (now, line.unsaid + 1);
            return LineFate::Counted;
        }
        let mut said = self.forget(|line| now.saturating_sub(line.last) > SHORT);
        if self.0.len() == LINES_MAX
            && let Some(oldest) = (0..LINES_MAX).min_by_key(|index| self.0[*index].last)
        {
            said.extend(self.0.remove(oldest).say());
        }
        let (key, message) = (key(), message.to_owned());
        self.0.push(LatelyLogged { key, message, last: now, unsaid: 0, unsaid_since: now });
        LineFate::Written(said)
    }

    /// What has been unsaid for long enough.
    pub fn due(&mut self, now: Duration) -> Vec<RepeatedLine<K>> {
        let due = self.0.iter_mut().filter(|line| now.saturating_sub(line.unsaid_since) >= SAY_AFTER);
        due.filter_map(LatelyLogged::say).collect()
    }

    /// All that is unsaid; what comes next is no repeat.
    pub fn end(&mut self) -> Vec<RepeatedLine<K>> {
        self.forget(|_| true)
    }

    fn forget(&mut self, is_over: impl Fn(&LatelyLogged<K>) -> bool) -> Vec<RepeatedLine<K>> {
        let forgotten = self.0.extract_if(.., |line| is_over(line));
        forgotten.filter_map(|mut line| line.say()).collect()
    }
}

impl<K: Clone> LatelyLogged<K> {
    fn say(&mut self) -> Option<RepeatedLine<K>> {
        let count = std::mem::take(&mut self.unsaid);
        let message = self.message.strip_suffix('\n').unwrap_or(&self.message);
        (count > 0).then(|| RepeatedLine {
            key: self.key.clone(),
            message: format!("{message} (… repeated {})", counted(count, "time", "times")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(repeats: &mut LogRepeats<u8>, milliseconds: u64, message: &str) -> Option<Vec<String>> {
        match repeats.take(Duration::from_millis(milliseconds), message, |key| *key == 7, || 7) {
            LineFate::Counted => None,
            LineFate::Written(before) => Some(texts(before)),
        }
    }

    fn due(repeats: &mut LogRepeats<u8>, milliseconds: u64) -> Vec<String> {
        texts(repeats.due(Duration::from_millis(milliseconds)))
    }

    fn texts(said: Vec<RepeatedLine<u8>>) -> Vec<String> {
        said.into_iter().map(|line| line.message).collect()
    }

    fn nothing() -> Vec<String> {
        Vec::new()
    }

    #[test]
    fn repeats_are_counted_among_other_lines_and_said_some_seconds_later() {
        let mut repeats = LogRepeats::default();
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
        let mut repeats = LogRepeats::default();
        take(&mut repeats, 0, "a");
        take(&mut repeats, 1_000, "a");
        assert_eq!(take(&mut repeats, 2_001, "a"), Some(vec!["a (… repeated 1 time)".to_owned()]));
        take(&mut repeats, 2_002, "a");
        assert_eq!(take(&mut repeats, 2_003, "b"), Some(nothing()));
        assert_eq!(take(&mut repeats, 4_000, "c"), Some(vec!["a (… repeated 1 time)".to_owned()]));
    }

    #[test]
    fn lines_with_another_key_are_others() {
        let mut repeats = LogRepeats::default();
        let mut take =
            |key: u8| repeats.take(Duration::ZERO, "a", |known| *known == key, || key) == LineFate::Counted;
        assert_eq!([1, 2, 1, 2, 3].map(&mut take), [false, false, true, true, false]);
    }

    #[test]
    fn of_too_many_different_lines_none_is_lost() {
        let mut repeats = LogRepeats::default();
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
