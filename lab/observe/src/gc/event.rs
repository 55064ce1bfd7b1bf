//! What a line of a garbage-collection log can say, whatever its format, and the sizes and dates that both have.

/// When something was logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Nanoseconds since 1970.
    pub(super) wall_ns: Option<i128>,
    /// Nanoseconds since the JVM began.
    pub(super) uptime_ns: Option<i128>,
}

/// Bytes in use before and after a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heap {
    pub(super) before: u64,
    pub(super) after: u64,
    /// What the JVM has of the system for its heap; ZGC tells shares in its place.
    pub(super) committed: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// When it began.
    pub(super) at: Stamp,
    pub(super) kind: EventKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    /// The program stood still.
    Pause { length_ns: u64, is_full: bool, heap: Option<Heap> },
    /// A collection beside the running program has ended; `is_full` where it was of the whole heap.
    Cycle { is_full: bool, heap: Option<Heap> },
    /// What the pause before it did to the heap, where that stands on a line of its own.
    HeapOfPause { heap: Heap },
}

impl EventKind {
    pub(super) fn length_ns(self) -> u64 {
        match self {
            Self::Pause { length_ns, .. } => length_ns,
            Self::Cycle { .. } | Self::HeapOfPause { .. } => 0,
        }
    }
}

/// What one line told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    Event(Event),
    /// A detail, an announcement, or a line that is not a collector's.
    Nothing,
    /// It tells of a pause but is cut off or garbled.
    Broken,
}

impl From<Option<Event>> for Reading {
    /// Of a line that should have told of an event.
    fn from(event: Option<Event>) -> Self {
        event.map_or(Self::Broken, Self::Event)
    }
}

/// A size such as `24M`, `5000.5K`, `0.0B` or `123456`, in bytes, and what follows it.
pub(super) fn size(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let (factor, length) = match text[end..].chars().next() {
        Some('B') => (0, 1),
        Some('K') => (10, 1),
        Some('M') => (20, 1),
        Some('G') => (30, 1),
        Some('T') => (40, 1),
        _ => (0, 0),
    };
    Some(((number * (1_u64 << factor) as f64) as u64, &text[end + length..]))
}

/// The last `24M->4M` in a text; a size may have a share or a capacity in parentheses behind it, such as `24M(10%)`.
pub(super) fn heap(text: &str) -> Option<Heap> {
    let arrows = text.match_indices("->").map(|(index, _)| index);
    arrows
        .filter_map(|arrow| {
            let (after, rest) = size(&text[arrow + 2..])?;
            Some(Heap { before: size_before(&text[..arrow])?, after, committed: capacity(rest) })
        })
        .last()
}

/// The size in the parentheses that a text begins with.
fn capacity(text: &str) -> Option<u64> {
    let (bytes, rest) = size(text.strip_prefix('(')?)?;
    rest.starts_with(')').then_some(bytes)
}

fn size_before(text: &str) -> Option<u64> {
    let text = match text.strip_suffix(')') {
        Some(inside) => &inside[..inside.rfind('(')?],
        None => text,
    };
    let is_size = |c: char| c.is_ascii_digit() || ".BKMGT".contains(c);
    let start = text
        .rfind(|c: char| !is_size(c))
        .map_or(0, |index| index + text[index..].chars().next().map_or(1, char::len_utf8));
    let (bytes, rest) = size(&text[start..])?;
    rest.is_empty().then_some(bytes)
}

/// Nanoseconds of a number of `unit_ns` each, exact to the digits that logs have.
pub(super) fn nanos(number: &str, unit_ns: f64) -> Option<u64> {
    let value: f64 = number.trim().replace(',', ".").parse().ok()?;
    (value >= 0.0).then(|| (value * unit_ns).round() as u64)
}

/// `2026-11-21T04:22:32.123+0000` as nanoseconds since 1970, and what follows it. Logs write the zone without a colon;
/// one with a colon and `Z` are read too.
pub(super) fn date(text: &str) -> Option<(i128, &str)> {
    let number = |from: usize, to: usize| -> Option<i64> { text.get(from..to)?.parse().ok() };
    let marks = [(4, '-'), (7, '-'), (10, 'T'), (13, ':'), (16, ':')];
    if !marks.iter().all(|(at, mark)| text.get(*at..=*at).is_some_and(|c| c.starts_with(*mark))) {
        return None;
    }
    let days = days_since_1970(number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let seconds = ((days * 24 + number(11, 13)?) * 60 + number(14, 16)?) * 60 + number(17, 19)?;
    let rest = &text[19..];
    let fraction_end = match rest.strip_prefix(['.', ',']) {
        Some(digits) => 1 + digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()),
        None => 0,
    };
    let fraction = match fraction_end {
        0 | 1 => 0,
        end => nanos(&format!("0.{}", &rest[1..end]), 1e9)?,
    };
    let (offset, rest) = zone(&rest[fraction_end..])?;
    Some((i128::from(seconds - offset) * 1_000_000_000 + i128::from(fraction), rest))
}

/// Seconds east of Greenwich.
fn zone(text: &str) -> Option<(i64, &str)> {
    if let Some(rest) = text.strip_prefix('Z') {
        return Some((0, rest));
    }
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let hours: i64 = text.get(1..3)?.parse().ok()?;
    let minutes_at = if text.get(3..4) == Some(":") { 4 } else { 3 };
    let minutes: i64 = text.get(minutes_at..minutes_at + 2)?.parse().ok()?;
    Some((sign * (hours * 60 + minutes) * 60, &text[minutes_at + 2..]))
}

/// By the rule of the proleptic Gregorian calendar, years beginning in March so that the leap day is the last one.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_with_zones_are_read() {
        for (text, milliseconds) in [
            ("1970-01-01T00:00:00.000+0000", 0),
            ("2026-11-21T04:22:32.123+0000", 1_795_234_952_123),
            ("2026-11-21T05:22:32.123+0100", 1_795_234_952_123),
            ("2026-11-20T20:22:32.123-08:00", 1_795_234_952_123),
            ("2024-02-29T23:59:59.999Z", 1_709_251_199_999),
        ] {
            assert_eq!(date(&format!("{text}: x")), Some((milliseconds * 1_000_000, ": x")), "{text}");
        }
        for text in ["", "0.123", "2026-11-21", "2026-11-21T04:22:32", "2026-11-21T04:22:32.1é"] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn heaps_are_read_in_all_their_forms() {
        const K: u64 = 1 << 10;
        const M: u64 = 1 << 20;
        for (text, before, after, committed) in [
            ("Pause Young 24M->4M(256M) 3.2ms", 24 * M, 4 * M, Some(256 * M)),
            ("102M(10%)->34M(3%)", 102 * M, 34 * M, None),
            ("Heap: 14.0M(256.0M)->512.5K(255.5M)]", 14 * M, 512 * K + K / 2, Some(255 * M + M / 2)),
            (" 33280K->5126K(125952K), ", 33_280 * K, 5_126 * K, Some(125_952 * K)),
            ("[PSYoungGen: 9K->0K(9K)] 10K->0B(8K)", 10 * K, 0, Some(8 * K)),
            ("24M->4M(256", 24 * M, 4 * M, None),
        ] {
            assert_eq!(heap(text), Some(Heap { before, after, committed }), "{text}");
        }
        for text in ["", "->", "a->b", "4M->", "é->4M"] {
            assert_eq!(heap(text), None, "{text}");
        }
    }
}
