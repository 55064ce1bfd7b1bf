//! Text for people: what of it has colours, how wide it may be, and that nothing in it steers a terminal.
//!
//! Whoever prints a text says how it may look; which part is coloured how is said by a [`Tone`], and what that is, here alone.

pub(crate) mod columns;
pub(crate) mod table;

use std::fmt::{self, Write};

/// How a text may look, where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextLooks {
    pub has_colors: bool,
    /// Of the terminal. Where nobody knows, as of files and pipes, tables are as wide as they are.
    pub columns: Option<usize>,
}

impl TextLooks {
    /// Of files and pipes.
    pub const PLAIN: Self = Self { has_colors: false, columns: None };
}

/// What a part of a text is to its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// Of what follows: a run, a table, an observer.
    Name,
    /// It parts or frames what stands around it.
    Rule,
    /// An objective that was kept.
    Passed,
    /// A failure.
    Failed,
    /// A finding, or what cannot be believed because of one.
    Doubtful,
}

impl Tone {
    /// Of ECMA-48's "select graphic rendition"; nothing where it is as all text.
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Name => Some("1"),
            Self::Rule => Some("2"),
            Self::Failed => Some("31"),
            Self::Passed => Some("32"),
            Self::Doubtful => Some("33"),
        }
    }

    /// Of a text that begins with the word of a verdict, of a threshold or of a difference.
    pub(crate) fn of_judgement(text: &str) -> Self {
        let word = text.split([' ', ':', ',']).next().unwrap_or_default();
        match word {
            "passed" | "kept" | "better" => Self::Passed,
            "FAILED" | "WORSE" => Self::Failed,
            // `LAB LIMITED`.
            "VOID" | "void" | "UNDECIDED" | "LAB" => Self::Doubtful,
            _ => Self::Plain,
        }
    }
}

/// A text that is being written. Names come from plans and scripts: what would steer a terminal is not passed on.
#[derive(Debug)]
pub(crate) struct StyledText {
    text: String,
    looks: TextLooks,
}

impl StyledText {
    pub(crate) const fn new(looks: TextLooks) -> Self {
        Self { text: String::new(), looks }
    }

    pub(crate) const fn looks(&self) -> TextLooks {
        self.looks
    }

    pub(crate) fn push(&mut self, text: &str) {
        let safe = |c: char| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c };
        self.text.extend(text.chars().map(safe));
    }

    /// Part of a line.
    pub(crate) fn push_as(&mut self, tone: Tone, text: &str) {
        match tone.code().filter(|_| self.looks.has_colors && !text.is_empty()) {
            None => self.push(text),
            Some(code) => {
                let _ = write!(self.text, "\u{1b}[{code}m");
                self.push(text);
                self.text.push_str("\u{1b}[0m");
            }
        }
    }

    /// A line that is a name, below an empty one.
    pub(crate) fn push_title(&mut self, title: &str) {
        self.push("\n");
        self.push_as(Tone::Name, title);
        self.push("\n");
    }

    /// A sentence that begins with a verdict's word, below an empty line.
    pub(crate) fn push_verdict(&mut self, sentence: &str) {
        self.push("\n");
        self.push_as(Tone::of_judgement(sentence), sentence);
        self.push("\n");
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }
}

/// For `write!`: parts without a tone.
impl Write for StyledText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(looks: TextLooks) -> String {
        let mut text = StyledText::new(looks);
        text.push_as(Tone::Name, "a\u{1b}[2Jb");
        text.push_as(Tone::Failed, "");
        let _ = write!(text, ": {}\r", 5);
        text.push_verdict("FAILED: p95<1s");
        text.push_verdict("passed: every threshold was kept");
        text.push_verdict("VOID, neither passed nor failed");
        text.push_verdict("nothing is claimed");
        text.into_string()
    }

    #[test]
    fn colours_are_those_of_a_tone_and_names_have_none_of_their_own() {
        let colored = written(TextLooks { has_colors: true, columns: None });
        assert_eq!(
            colored.replace('\u{1b}', "^"),
            "^[1ma\u{fffd}[2Jb^[0m: 5\u{fffd}\n^[31mFAILED: p95<1s^[0m\n\n^[32mpassed: every threshold was kept^[0m\n\
             \n^[33mVOID, neither passed nor failed^[0m\n\nnothing is claimed\n"
        );
    }

    #[test]
    fn without_colours_the_text_is_the_same_and_nothing_steers_a_terminal() {
        let plain = written(TextLooks::PLAIN);
        assert!(!plain.contains('\u{1b}') && plain.contains("\u{fffd}[2Jb: 5\u{fffd}\nFAILED"), "{plain:?}");
    }
}
