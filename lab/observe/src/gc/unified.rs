//! The JVM's unified log (JDK 9 and later, JEP 158 and 271): decorations in brackets, then what happened.
//! Collectors: Serial, Parallel, CMS, G1, ZGC (both kinds), Shenandoah.

use super::event::{Event, EventKind, Reading, Stamp, date, heap, nanos};

/// Milliseconds above this are those of a wall clock (2001), below of an uptime.
const WALL_MILLISECONDS_MIN: u64 = 1_000_000_000_000;

/// The event of a line, where it tells the end of a pause or of a cycle; lines that announce one, and details of
/// phases, are nothing.
pub(super) fn read(line: &str) -> Reading {
    let Some((stamp, true, message)) = decorations(line) else { return Reading::Nothing };
    let Some(message) = without_number(message) else { return Reading::Nothing };
    if let Some(kind) = cycle(message) {
        return Reading::Event(Event { at: stamp, kind });
    }
    match message.strip_prefix("Pause ") {
        Some(rest) if is_over(rest) => pause(stamp, rest).into(),
        _ => Reading::Nothing,
    }
}

/// True for a line that only this format has.
pub(super) fn is_one(line: &str) -> bool {
    decorations(line).is_some_and(|(_, is_of_collector, _)| is_of_collector)
}

/// What only announces a pause tells neither its length nor what came of it.
fn is_over(rest: &str) -> bool {
    rest.ends_with("ms") || rest.contains("->")
}

fn before(stamp: Stamp, length_ns: u64) -> Stamp {
    let earlier = |at: Option<i128>| at.map(|at| at - i128::from(length_ns));
    Stamp { wall_ns: earlier(stamp.wall_ns), uptime_ns: earlier(stamp.uptime_ns) }
}

/// When the line was written, whether its tags are those of a collector (or left out), and what it says.
fn decorations(line: &str) -> Option<(Stamp, bool, &str)> {
    let (mut stamp, mut tags, mut rest) = (Stamp::default(), None, line);
    while let Some(inside) = rest.strip_prefix('[') {
        let (decoration, behind) = inside.split_once(']')?;
        let decoration = decoration.trim();
        if !time(decoration, &mut stamp) && decoration.split(',').any(|tag| tag.trim() == "gc") {
            tags = Some(true);
        }
        rest = behind;
    }
    (rest.len() < line.len()).then(|| {
        let is_of_collector = tags.unwrap_or_else(|| rest.trim_start().starts_with("GC("));
        (stamp, is_of_collector, rest.trim())
    })
}

/// Takes a decoration that is a time: `uptime`, `time`, `utctime`, and those in whole milli- or nanoseconds.
fn time(decoration: &str, stamp: &mut Stamp) -> bool {
    if let Some((wall, "")) = date(decoration) {
        stamp.wall_ns = Some(wall);
        return true;
    }
    let uptime = |text: &str, unit_ns| nanos(text, unit_ns).map(i128::from);
    if let Some(text) = decoration.strip_suffix("ms") {
        let Ok(milliseconds) = text.parse::<u64>() else { return false };
        let place =
            if milliseconds > WALL_MILLISECONDS_MIN { &mut stamp.wall_ns } else { &mut stamp.uptime_ns };
        *place = place.or(Some(i128::from(milliseconds) * 1_000_000));
    } else if let Some(found) = decoration.strip_suffix("ns").and_then(|text| uptime(text, 1.0)) {
        stamp.uptime_ns = stamp.uptime_ns.or(Some(found));
    } else if let Some(found) = decoration.strip_suffix('s').and_then(|text| uptime(text, 1e9)) {
        stamp.uptime_ns = Some(found);
    } else {
        return false;
    }
    true
}

/// The message behind `GC(12)`; generational ZGC marks its lines with the generation too, as in `GC(12) y: `.
fn without_number(message: &str) -> Option<&str> {
    let (_, message) = message.strip_prefix("GC(")?.split_once(')')?;
    let message = message.trim_start();
    let generation = ["y: ", "Y: ", "o: ", "O: "].iter().find_map(|mark| message.strip_prefix(mark));
    Some(generation.unwrap_or(message))
}

/// `Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.210ms`, without its first word.
fn pause(stamp: Stamp, rest: &str) -> Option<Event> {
    let (_, last) = rest.rsplit_once(' ')?;
    let length_ns = nanos(last.strip_suffix("ms")?, 1e6)?;
    let kind = EventKind::Pause { length_ns, is_full: rest.starts_with("Full"), heap: heap(rest) };
    // A line is written when the pause is over.
    Some(Event { at: before(stamp, length_ns), kind })
}

/// `Garbage Collection (Warmup) 102M(10%)->34M(3%)` of ZGC, `Concurrent cleanup 90M->40M(256M) 0.1ms` of Shenandoah.
fn cycle(message: &str) -> Option<EventKind> {
    let is_full = ["Garbage Collection", "Major Collection"].iter().any(|name| message.starts_with(name));
    let is_part = ["Minor Collection", "Concurrent cleanup"].iter().any(|name| message.starts_with(name));
    let heap = heap(message)?;
    (is_full || is_part).then_some(EventKind::Cycle { is_full, heap: Some(heap) })
}
