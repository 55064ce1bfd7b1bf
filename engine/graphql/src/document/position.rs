//! Lines and columns of byte offsets, in constant time also in a document of one long line.

use apollo_compiler::parser::SourceSpan;

use crate::error::Position;

/// Bytes between two remembered character counts: a lookup counts at most so many.
const STRIDE: usize = 64;

/// Where lines begin and how many characters lie before each stride of a document.
#[derive(Debug)]
pub(crate) struct LineIndex {
    /// Byte offsets.
    line_starts: Vec<u32>,
    /// Empty where the text is ASCII: then bytes are characters.
    characters_before: Vec<u32>,
    /// Kept only where the text is not ASCII.
    text: Box<str>,
}

impl LineIndex {
    pub(crate) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut line_starts = vec![0];
        for (index, &byte) in bytes.iter().enumerate() {
            // GraphQL specification, section 2.1.2: LF, CR, and CR LF end a line.
            if byte == b'\n' || (byte == b'\r' && bytes.get(index + 1) != Some(&b'\n')) {
                line_starts.push(index as u32 + 1);
            }
        }
        if text.is_ascii() {
            return Self { line_starts, characters_before: Vec::new(), text: "".into() };
        }
        let mut count = 0;
        let mut characters_before = Vec::with_capacity(bytes.len() / STRIDE + 1);
        for stride in bytes.chunks(STRIDE) {
            characters_before.push(count);
            count += characters(stride) as u32;
        }
        Self { line_starts, characters_before, text: text.into() }
    }

    pub(crate) fn position(&self, span: Option<SourceSpan>) -> Position {
        span.map_or_else(Position::default, |span| self.at(span.offset()))
    }

    /// Of a byte offset.
    pub(crate) fn at(&self, offset: usize) -> Position {
        let line = self.line_starts.partition_point(|&start| start as usize <= offset);
        let start = self.line_starts[line - 1] as usize;
        let column = self.characters_to(offset) - self.characters_to(start) + 1;
        Position { line: line as u32, column: column as u32 }
    }

    fn characters_to(&self, offset: usize) -> usize {
        let stride = offset / STRIDE;
        match self.characters_before.get(stride) {
            None if self.characters_before.is_empty() => offset,
            None => characters(self.text.as_bytes()),
            Some(&before) => {
                before as usize
                    + characters(&self.text.as_bytes()[stride * STRIDE..offset.min(self.text.len())])
            }
        }
    }

    pub(crate) fn weight_bytes(&self) -> usize {
        (self.line_starts.len() + self.characters_before.len()) * 4 + self.text.len()
    }
}

/// UTF-8: every byte but continuation bytes begins a character.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn equals_counting(text in "[a-zü\u{1f600}\n\r]{0,300}", pick in 0usize..300) {
            let boundaries: Vec<usize> = text.char_indices().map(|(offset, _)| offset).collect();
            prop_assume!(!boundaries.is_empty());
            let offset = boundaries[pick % boundaries.len()];
            let before = text[..offset].replace("\r\n", "\n");
            // Between CR and LF the line has not ended yet.
            prop_assume!(!(before.ends_with('\r') && text[offset..].starts_with('\n')));
            let before = before.replace('\r', "\n");
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
            prop_assert_eq!(LineIndex::new(&text).at(offset), Position { line: line as u32, column: column as u32 });
        }
    }
}
