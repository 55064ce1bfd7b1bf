//! Places in text: lines and columns of what the author wrote, and how places of the text that runs lead back to it.

use oxc::codegen::CodegenReturn;
use std::fmt;
use std::ops::Range;

/// From 1 on; a column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Where the lines of a text begin.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    /// Byte offsets, ascending; the first is 0.
    starts: Vec<u32>,
}

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let after = |(at, _): (usize, &str)| at as u32 + 1;
        Self { starts: std::iter::once(0).chain(text.match_indices('\n').map(after)).collect() }
    }

    /// The place of a byte offset into the text that the lines are of.
    pub(super) fn position(&self, text: &str, offset: u32) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = text.get(self.starts[line] as usize..offset as usize).unwrap_or_default();
        Position { line: line as u32 + 1, column: before.chars().count() as u32 + 1 }
    }

    /// A line, from 1, without its end; empty where there is none such.
    pub(super) fn line<'a>(&self, text: &'a str, line: u32) -> &'a str {
        text.get(self.range(text, line)).unwrap_or_default().trim_end_matches('\r')
    }

    fn range(&self, text: &str, line: u32) -> Range<usize> {
        let index = line.saturating_sub(1) as usize;
        let Some(start) = self.starts.get(index) else { return text.len()..text.len() };
        let end = self.starts.get(index + 1).map_or(text.len(), |next| *next as usize - 1);
        *start as usize..end
    }
}

/// Leads from places of a text that runs to places of the text that its author wrote.
#[derive(Debug, Clone, Default)]
pub(super) struct PositionMap {
    /// None where the text is the author's own.
    made: Option<Made>,
}

/// What a text made from another one needs to know of both.
#[derive(Debug, Clone)]
struct Made {
    marks: Vec<Mark>,
    from: String,
    from_lines: Lines,
    to: String,
    to_lines: Lines,
}

/// Two places that mean the same; lines and columns from 0, columns in UTF-16 units, as in source maps.
#[derive(Debug, Clone, Copy)]
struct Mark {
    run: (u32, u32),
    author: (u32, u32),
}

impl PositionMap {
    /// What the printer made of `author`.
    pub(super) fn printed(author: &str, printed: &CodegenReturn<'_>) -> Self {
        let Some(map) = &printed.map else { return Self::default() };
        let marks = map.get_tokens().map(|token| Mark {
            run: (token.get_dst_line(), token.get_dst_col()),
            author: (token.get_src_line(), token.get_src_col()),
        });
        let made = Made {
            marks: marks.collect(),
            from: printed.code.clone(),
            from_lines: Lines::of(&printed.code),
            to: author.to_owned(),
            to_lines: Lines::of(author),
        };
        Self { made: Some(made) }
    }

    /// The author's place; what has no origin stays where it is.
    pub(super) fn author(&self, run: Position) -> Position {
        self.made.as_ref().and_then(|made| made.author(run)).unwrap_or(run)
    }
}

impl Made {
    fn author(&self, run: Position) -> Option<Position> {
        let line = run.line.checked_sub(1)?;
        let text = self.from_lines.line(&self.from, run.line);
        let column = units(text, run.column - 1);
        let after = self.marks.partition_point(|mark| mark.run <= (line, column));
        let mark = self.marks.get(after.checked_sub(1)?).filter(|mark| mark.run.0 == line)?;
        let to = self.to_lines.line(&self.to, mark.author.0 + 1);
        let mut at = mark.author.1;
        // Inside a piece that was copied unchanged the distance to its beginning is the same in both.
        let copied = slice(text, mark.run.1, column);
        if slice(to, at, at + (column - mark.run.1)) == copied {
            at += column - mark.run.1;
        }
        Some(Position { line: mark.author.0 + 1, column: characters(to, at) + 1 })
    }
}

/// The UTF-16 units of the first `characters` of a line.
pub(super) fn units(line: &str, characters: u32) -> u32 {
    line.chars().take(characters as usize).map(|c| c.len_utf16() as u32).sum()
}

/// How many characters the first `units` of a line in UTF-16 are.
pub(super) fn characters(line: &str, units: u32) -> u32 {
    let mut seen = 0;
    let before = line.chars().take_while(|c| {
        seen += c.len_utf16() as u32;
        seen <= units
    });
    before.count() as u32
}

/// A piece of a line, by UTF-16 units.
fn slice(line: &str, from: u32, to: u32) -> Option<&str> {
    let byte = |units| {
        line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(characters(line, units) as usize)
    };
    line.get(byte(from)?..byte(to)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_lines_and_columns_of_characters() {
        let text = "a\r\nhéé b\n\nlast";
        let lines = Lines::of(text);
        let at = |needle: &str| {
            lines.position(text, text.find(needle).expect("the text has it") as u32).to_string()
        };
        assert_eq!([at("a"), at("b"), at("last")], ["1:1", "2:5", "4:1"]);
        assert_eq!(lines.line(text, 1), "a");
        assert_eq!(lines.line(text, 2), "héé b");
        assert_eq!(lines.line(text, 9), "");
        assert_eq!(lines.position(text, text.len() as u32).to_string(), "4:5");
    }
}
