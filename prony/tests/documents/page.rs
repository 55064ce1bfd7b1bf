//! Blocks of code of a page.

use std::fs;

use serde_json::{Deserializer, Value};

pub(crate) struct Block {
    /// What stands behind the fence.
    pub(crate) language: String,
    /// With a line's end behind each line.
    pub(crate) text: String,
    pub(crate) line: usize,
    /// Nothing but an empty line stands between it and the one before.
    pub(crate) follows: bool,
}

impl Block {
    pub(crate) fn is_shown(&self) -> bool {
        ["json", "text"].contains(&self.language.as_str())
    }
}

/// Those of a page, named from the repository's root.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let path = format!("{}/../{page}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut blocks: Vec<Block> = Vec::new();
    let (mut is_open, mut follows) = (false, false);
    for (number, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if is_open => (is_open, follows) = (false, true),
            Some(language) => {
                is_open = true;
                let language = language.to_owned();
                blocks.push(Block { language, text: String::new(), line: number + 1, follows });
            }
            None if is_open => {
                let block = blocks.last_mut().expect("a block is open");
                block.text += line;
                block.text.push('\n');
            }
            None => follows &= line.is_empty(),
        }
    }
    assert!(!is_open, "{page}: a block has no end");
    blocks
}

/// Values one behind the other; none where the text is no JSON.
pub(crate) fn json(text: &str) -> Option<Vec<Value>> {
    Deserializer::from_str(text).into_iter().collect::<Result<Vec<_>, _>>().ok()
}
