//! The source map that a bundle brings, inline or in a file beside it: from places of the bundle to those of the sources that it
//! was made of (ECMA-426).

use super::position::Position;
use super::resolve::clean;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oxc_sourcemap::{JSONSourceMap, SourceMap};
use std::fmt;
use std::path::Path;

const COMMENT: &str = "//# sourceMappingURL=";
/// Nothing but blanks and other comments follows the comment, so it is looked for in the last lines.
const LAST_LINES: usize = 5;

/// Leads from a bundle to its sources.
pub(super) struct BundleMap {
    map: SourceMap<'static>,
    /// By the map's numbers, as places name files.
    sources: Vec<String>,
}

impl BundleMap {
    /// What the text of a file in `folder` names as its map; none where it names none, or one that cannot be read.
    pub(super) fn of(text: &str, folder: &Path) -> Option<Self> {
        let line = text.lines().rev().take(LAST_LINES).find_map(|line| line.trim().strip_prefix(COMMENT))?;
        let json = match line.strip_prefix("data:") {
            Some(data) => inline(data)?,
            None => std::fs::read_to_string(clean(&folder.join(line))).ok()?,
        };
        let beside = if line.starts_with("data:") {
            folder.to_owned()
        } else {
            clean(&folder.join(line)).parent()?.to_owned()
        };
        let json: JSONSourceMap = serde_json::from_str(&json).ok()?;
        let root = json.source_root.clone().unwrap_or_default();
        let map = SourceMap::from_json(json).ok()?;
        let sources = map.get_sources().map(|source| name_of(&root, source, &beside)).collect();
        Some(Self { map, sources })
    }

    /// The source's name and the place in it.
    pub(super) fn source(&self, position: Position) -> Option<(String, Position)> {
        let table = self.map.generate_lookup_table();
        let (line, column) = (position.line.checked_sub(1)?, position.column.saturating_sub(1));
        let token = self.map.lookup_token(&table, line, column)?;
        let source = self.sources.get(token.get_source_id()? as usize)?.clone();
        let position = Position { line: token.get_src_line() + 1, column: token.get_src_col() + 1 };
        Some((source, position))
    }
}

/// The JSON of a `data:` URL, without its scheme.
fn inline(data: &str) -> Option<String> {
    let (kind, data) = data.split_once(',')?;
    if !kind.ends_with(";base64") {
        return None;
    }
    String::from_utf8(STANDARD.decode(data.trim()).ok()?).ok()
}

/// As k6 writes it: URLs as they are, paths as those of files.
fn name_of(root: &str, source: &str, folder: &Path) -> String {
    let whole =
        if root.is_empty() { source.to_owned() } else { format!("{}/{source}", root.trim_end_matches('/')) };
    if whole.contains("://") {
        return whole;
    }
    format!("file://{}", clean(&folder.join(whole)).display())
}

impl fmt::Debug for BundleMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BundleMap").field("sources", &self.sources).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lead_to_sources_by_inline_maps_and_by_files() {
        // The second line of the bundle is the third of `src/a.ts`.
        let json =
            r#"{"version":3,"sources":["../src/a.ts","webpack://x/b.ts"],"names":[],"mappings":";AAEE"}"#;
        let folder = tempfile::tempdir().expect("a folder");
        let dist = folder.path().join("dist");
        std::fs::create_dir(&dist).expect("a folder");
        std::fs::write(dist.join("a.js.map"), json).expect("a file");
        let expected = format!("file://{}/src/a.ts", folder.path().display());
        let inline = format!(
            "\n\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,{}\n",
            STANDARD.encode(json)
        );
        for text in [inline.as_str(), "\n\n//# sourceMappingURL=a.js.map"] {
            let map = BundleMap::of(text, &dist).expect("a map");
            let (source, position) = map.source(Position { line: 2, column: 9 }).expect("a place");
            assert_eq!((source.as_str(), position.to_string().as_str()), (expected.as_str(), "3:3"));
            assert_eq!(map.source(Position { line: 1, column: 1 }), None);
            assert_eq!(map.sources[1], "webpack://x/b.ts");
        }
        for text in ["", "//# sourceMappingURL=none.map", "//# sourceMappingURL=data:text/plain,x"] {
            assert!(BundleMap::of(text, &dist).is_none(), "{text}");
        }
    }
}
