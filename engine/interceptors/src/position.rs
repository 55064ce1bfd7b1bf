//! Places in modules: lines and columns of what their author wrote, and how places of JavaScript that was made of TypeScript lead
//! back to it.

use oxc::codegen::CodegenReturn;

/// From 1 on. Of what the author wrote, a column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// The place of a byte offset.
pub(crate) fn place(text: &str, offset: usize) -> Place {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1;
    Place { line, column: before[start..].chars().count() + 1 }
}

/// Leads from the text that runs to the one that was written: pairs of lines and columns from 0, in the order of the first.
/// Columns count UTF-16 units, as in source maps (ECMA-426).
#[derive(Debug, Clone, Default)]
pub(crate) struct PlaceMap(Option<Box<[Pair]>>);

#[derive(Debug, Clone, Copy)]
struct Pair {
    runs: (u32, u32),
    written: (u32, u32),
}

impl PlaceMap {
    /// Of what the printer made.
    pub(crate) fn of(printed: &CodegenReturn<'_>) -> Self {
        let pairs = printed.map.as_ref().map(|map| {
            let pairs = map.get_tokens().map(|token| Pair {
                runs: (token.get_dst_line(), token.get_dst_col()),
                written: (token.get_src_line(), token.get_src_col()),
            });
            pairs.collect()
        });
        Self(pairs)
    }

    /// The nearest place before that was written, on the same line of the text that runs.
    pub(crate) fn written(&self, runs: Place) -> Place {
        let Some(pairs) = &self.0 else { return runs };
        let wanted = (runs.line.saturating_sub(1) as u32, runs.column.saturating_sub(1) as u32);
        let after = pairs.partition_point(|pair| pair.runs <= wanted);
        let found = after.checked_sub(1).map(|index| pairs[index]).filter(|pair| pair.runs.0 == wanted.0);
        found.map_or(runs, |pair| Place {
            line: pair.written.0 as usize + 1,
            column: pair.written.1 as usize + 1,
        })
    }
}
