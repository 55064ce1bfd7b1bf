//! What is wrong with a script before it runs: faults with their places, the line, and a caret under it.

use super::position::{Lines, Position};
use std::fmt;

/// What kind of fault it is, for whoever chooses an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// A file that cannot be read, or is not there.
    Missing,
    /// Text that is neither JavaScript nor TypeScript.
    Syntax,
    /// A module of k6, or a library, that we do not have.
    Unsupported,
}

/// One fault of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFault {
    pub kind: FaultKind,
    /// As people write it: a path from the working directory, `-` for standard input.
    pub file: String,
    pub position: Option<Position>,
    pub message: String,
    /// The line that the position is on.
    pub line: Option<String>,
}

impl SourceFault {
    /// A fault at a place of a text.
    pub(super) fn at(kind: FaultKind, file: &str, text: &str, position: Position, message: String) -> Self {
        let line = Some(Lines::of(text).line(text, position.line).to_owned());
        Self { kind, file: file.to_owned(), position: Some(position), message, line }
    }
}

impl fmt::Display for SourceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        let Some(position) = self.position else { return write!(f, ": {}", self.message) };
        write!(f, ":{position}: {}", self.message)?;
        let Some(line) = &self.line else { return Ok(()) };
        let (excerpt, caret) = excerpt(line, position.column);
        let number = position.line.to_string();
        let margin = " ".repeat(number.len());
        let excerpt = format!(" {number} | {excerpt}");
        write!(f, "\n{}\n {margin} | {}^", excerpt.trim_end(), " ".repeat(caret))
    }
}

/// The widest line that is shown; longer ones, as bundlers write them, are cut around the place.
const LONGEST_EXCERPT: usize = 120;

/// What is shown of a line, and how many characters stand before the caret.
fn excerpt(line: &str, column: u32) -> (String, usize) {
    let column = column.saturating_sub(1) as usize;
    let from =
        if line.chars().count() > LONGEST_EXCERPT { column.saturating_sub(LONGEST_EXCERPT / 2) } else { 0 };
    // A tab is as wide as the terminal wants; one space keeps the caret where it belongs.
    let shown = line.chars().skip(from).take(LONGEST_EXCERPT).map(|c| if c.is_control() { ' ' } else { c });
    (shown.collect::<String>().trim_end().to_owned(), column - from)
}

/// All that is wrong with a script; at least one fault, in the order of the imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    pub faults: Vec<SourceFault>,
}

impl SourceError {
    pub(super) fn one(fault: SourceFault) -> Self {
        Self { faults: vec![fault] }
    }

    pub fn kind(&self) -> FaultKind {
        self.faults.first().map_or(FaultKind::Missing, |fault| fault.kind)
    }
}

impl std::error::Error for SourceError {}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_fault_shows_its_line_with_a_caret() {
        let text = "import x from 'y';\n\tlet = 5;";
        let position = Position { line: 2, column: 6 };
        let fault = SourceFault::at(FaultKind::Syntax, "a.js", text, position, "unexpected token".to_owned());
        expect![[r#"
            a.js:2:6: unexpected token
             2 |  let = 5;
               |      ^"#]]
        .assert_eq(&fault.to_string());
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = "x".repeat(5000);
        let position = Position { line: 1, column: 4000 };
        let fault = SourceFault::at(FaultKind::Syntax, "a.js", &text, position, "no".to_owned());
        let shown = fault.to_string();
        assert!(shown.lines().all(|line| line.chars().count() < 130), "{shown}");
    }
}
