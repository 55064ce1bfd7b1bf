//! The source map that a bundle brings, inline or in a file beside it: from places of the bundle to those of the sources that it
//! was made of (ECMA-426).

use super::position::{Lines, Position, characters, units};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oxc_sourcemap::{JSONSourceMap, SourceMap};
use std::fmt;
use std::path::Path;
use url::Url;

const COMMENT: &str = "//# sourceMappingURL=";
/// Nothing but blanks and other comments follows the comment, so it is looked for in the last lines.
const LAST_LINES: usize = 5;

/// Leads from a bundle to its sources.
pub(super) struct BundleMap {
    /// Of the bundle's text.
    lines: Lines,
    marks: Vec<BundleMark>,
    /// By the map's numbers.
    sources: Vec<Source>,
}

/// One of the files that a bundle was made of.
struct Source {
    /// As places name files.
    name: String,
    /// Where the map brings it.
    text: Option<String>,
}

/// A place of the bundle, and the place of a source that it was made of; lines and columns from 0, columns in UTF-16 units. Without
/// a source from here on to the next is what the bundler added.
#[derive(Clone, Copy)]
struct BundleMark {
    bundle: (u32, u32),
    source: Option<(u32, u32, u32)>,
}

/// Where a place of a bundle comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourcePlace {
    /// The address of the source: of a file with `file://`.
    pub(super) name: String,
    pub(super) position: Position,
    /// The line of the source, where the map brings it.
    pub(super) line: Option<String>,
}

impl BundleMap {
    /// What the text of a file in `folder` names as its map; none where it names none, or one that cannot be read.
    pub(super) fn of(text: &str, folder: &Path) -> Option<Self> {
        let line = text.lines().rev().take(LAST_LINES).find_map(|line| line.trim().strip_prefix(COMMENT))?;
        let folder = Url::from_directory_path(folder).ok()?;
        let (json, beside) = if let Some(data) = line.strip_prefix("data:") {
            (inline(data)?, folder)
        } else {
            let beside = folder.join(line).ok()?;
            (std::fs::read_to_string(beside.to_file_path().ok()?).ok()?, beside)
        };
        let json: JSONSourceMap = serde_json::from_str(&json).ok()?;
        let root = json.source_root.clone().unwrap_or_default();
        let map = SourceMap::from_json(json).ok()?;
        let sources = map.get_sources().enumerate().map(|(id, source)| Source {
            name: name_of(&root, source, &beside),
            text: map.get_source_content(id as u32).map(str::to_owned),
        });
        let sources: Vec<_> = sources.collect();
        let mut marks: Vec<_> = map
            .get_tokens()
            .map(|token| BundleMark {
                bundle: (token.get_dst_line(), token.get_dst_col()),
                source: token.get_source_id().map(|id| (id, token.get_src_line(), token.get_src_col())),
            })
            .collect();
        marks.sort_by_key(|mark| mark.bundle);
        Some(Self { lines: Lines::of(text), marks, sources })
    }

    /// Where a place of the bundle, whose `text` is given again, comes from.
    pub(super) fn source(&self, text: &str, position: Position) -> Option<SourcePlace> {
        let line = position.line.checked_sub(1)?;
        let column = units(self.lines.line(text, position.line), position.column.saturating_sub(1));
        let after = self.marks.partition_point(|mark| mark.bundle <= (line, column));
        let mark = self.marks.get(after.checked_sub(1)?).filter(|mark| mark.bundle.0 == line)?;
        let (id, line, column) = mark.source?;
        let source = self.sources.get(id as usize)?;
        let text = source.text.as_ref().and_then(|text| text.lines().nth(line as usize));
        let column = text.map_or(column, |text| characters(text, column));
        let position = Position { line: line + 1, column: column + 1 };
        Some(SourcePlace { name: source.name.clone(), position, line: text.map(str::to_owned) })
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

/// As k6 writes it: URLs as they are, paths as those of files. `beside`: what the map's own address is, or stands for it.
fn name_of(root: &str, source: &str, beside: &Url) -> String {
    let whole =
        if root.is_empty() { source.to_owned() } else { format!("{}/{source}", root.trim_end_matches('/')) };
    let file = beside.join(&whole).ok().filter(|url| url.scheme() == "file");
    match file.and_then(|url| url.to_file_path().ok()) {
        Some(path) => format!("file://{}", path.display()),
        None => whole,
    }
}

impl fmt::Debug for BundleMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources: Vec<_> = self.sources.iter().map(|source| &source.name).collect();
        f.debug_struct("BundleMap").field("sources", &sources).finish_non_exhaustive()
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
            let text = "a\nb é 𝒳 throw";
            let place = map.source(text, Position { line: 2, column: 9 }).expect("a place");
            assert_eq!(
                (place.name.as_str(), place.position.to_string().as_str()),
                (expected.as_str(), "3:3")
            );
            assert_eq!(map.source(text, Position { line: 1, column: 1 }), None);
            assert_eq!(map.sources[1].name, "webpack://x/b.ts");
        }
        let encoded = json.replace("a.ts", "a%20%C3%A9.ts");
        std::fs::write(dist.join("a é.js.map"), encoded).expect("a file");
        let map = BundleMap::of("//# sourceMappingURL=a%20%C3%A9.js.map?v=1", &dist).expect("a map");
        assert_eq!(map.sources[0].name, format!("file://{}/src/a é.ts", folder.path().display()));
        for text in ["", "//# sourceMappingURL=none.map", "//# sourceMappingURL=data:text/plain,x"] {
            assert!(BundleMap::of(text, &dist).is_none(), "{text}");
        }
    }

    #[test]
    fn columns_are_characters_here_and_utf_16_units_in_maps() {
        // One line, as a bundler makes it: `𝒳` takes two units. The source has one as well.
        let json = r#"{"version":3,"sources":["a.ts"],"sourcesContent":["let 𝒳; x(); throw 1;"],"names":[],"mappings":"AAAA,YAAa,CAAC"}"#;
        let text = format!(
            "let 𝒳;xxxx;throw 1;\n//# sourceMappingURL=data:application/json;base64,{}",
            STANDARD.encode(json)
        );
        let map = BundleMap::of(&text, Path::new("/work")).expect("a map");
        let at =
            |column| map.source(&text, Position { line: 1, column }).expect("a place").position.to_string();
        assert_eq!([at(1), at(11), at(12), at(13)], ["1:1", "1:1", "1:13", "1:14"]);
        let place = map.source(&text, Position { line: 1, column: 12 }).expect("a place");
        assert_eq!(place.line.as_deref(), Some("let 𝒳; x(); throw 1;"));
    }
}
