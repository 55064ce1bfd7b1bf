//! The log of JDK 8 and before (`-XX:+PrintGC` or `-XX:+PrintGCDetails`, with dates, uptimes or both): nested
//! brackets, a collection sometimes over several lines. Collectors: Serial, Parallel, CMS, G1.

use super::event::{Event, EventKind, Reading, Stamp, date, heap, nanos};

/// Lines of one collection; more belong to something that is no collection.
const LINES_MAX: usize = 64;

/// Reads lines one after the other; a collection may need several.
#[derive(Debug, Default)]
pub(super) struct Legacy {
    /// The text of a collection whose brackets are not closed yet.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    at: Stamp,
    text: String,
    lines: usize,
}

impl Legacy {
    pub(super) fn read(&mut self, line: &str) -> Reading {
        let (stamp, rest) = stamp(line);
        let before = self.open.take();
        if begins(rest) {
            let reading = self.go_on(Open { at: stamp, text: rest.to_owned(), lines: 1 });
            // The collection before was cut off, as by a full disk.
            return if before.is_some() && reading == Reading::Nothing { Reading::Broken } else { reading };
        }
        match before {
            Some(open) => self.go_on(Open { text: open.text + line, lines: open.lines + 1, ..open }),
            None => heap_line(line).map_or(Reading::Nothing, Reading::Event),
        }
    }

    fn go_on(&mut self, open: Open) -> Reading {
        match inner(&open.text) {
            Some(inside) => pause(open.at, inside, &open.text).into(),
            None if open.lines < LINES_MAX => {
                self.open = Some(open);
                Reading::Nothing
            }
            None => Reading::Broken,
        }
    }
}

/// True for a line that only this format has.
pub(super) fn is_one(line: &str) -> bool {
    let (stamp, rest) = stamp(line);
    stamp != Stamp::default() && rest.starts_with('[')
        || ["Java HotSpot", "OpenJDK ", "CommandLine flags:"].iter().any(|start| line.starts_with(start))
}

/// `2026-11-21T04:22:32.123+0000: 0.123: `, either part or both.
fn stamp(line: &str) -> (Stamp, &str) {
    let (mut stamp, mut rest) = (Stamp::default(), line);
    if let Some((wall, behind)) = date(line)
        && let Some(behind) = behind.strip_prefix(": ")
    {
        stamp.wall_ns = Some(wall);
        rest = behind;
    }
    if let Some((number, behind)) = rest.split_once(": ")
        && number.contains(['.', ','])
        && let Some(uptime) = nanos(number, 1e9)
    {
        stamp.uptime_ns = Some(i128::from(uptime));
        rest = behind;
    }
    (stamp, rest)
}

/// Concurrent phases of G1 (`[GC concurrent-mark-start]`) and CMS (`[CMS-concurrent-mark: …]`) are no pauses.
fn begins(rest: &str) -> bool {
    (rest.starts_with("[GC") && !rest.starts_with("[GC concurrent")) || rest.starts_with("[Full GC")
}

/// What stands between the first bracket and its partner, where that has come.
fn inner(text: &str) -> Option<&str> {
    let mut depth = 0_u32;
    for (index, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(&text[1..index]);
                }
            }
            _ => {}
        }
    }
    None
}

fn pause(at: Stamp, inside: &str, whole: &str) -> Option<Event> {
    let outermost = outermost(inside);
    let before_seconds = outermost.trim_end().strip_suffix("secs")?;
    let (_, seconds) = before_seconds.trim_end().rsplit_once(' ')?;
    let length_ns = nanos(seconds, 1e9)?;
    Some(Event { at, kind: EventKind::Pause { length_ns, is_full: is_full(whole), heap: heap(&outermost) } })
}

/// A collection of the whole heap says so, or is a young one that went on to the old generation, as where Serial or `ParNew` find no
/// room there for what survives.
fn is_full(whole: &str) -> bool {
    let of_the_old_generation = ["[Tenured: ", "[CMS: ", "(concurrent mode failure)"];
    whole.starts_with("[Full GC") || of_the_old_generation.iter().any(|part| whole.contains(part))
}

/// The text outside of nested brackets: what concerns the whole heap and the whole pause.
fn outermost(inside: &str) -> String {
    let mut depth = 0_u32;
    let mut text = String::new();
    for c in inside.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => text.push(c),
            _ => {}
        }
    }
    text
}

/// `   [Eden: 14.0M(14.0M)->0.0B(13.0M) Survivors: 0.0B->2048.0K Heap: 14.0M(256.0M)->5000.5K(256.0M)]` of G1.
fn heap_line(line: &str) -> Option<Event> {
    let line = line.trim_start();
    let (_, sizes) = line.strip_prefix("[Eden:")?.split_once("Heap: ")?;
    let heap = heap(&sizes[..sizes.find(']')?])?;
    Some(Event { at: Stamp::default(), kind: EventKind::HeapOfPause { heap } })
}
