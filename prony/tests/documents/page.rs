//! Blocks of code of a page, and what of it is a name, a command or what a command shows.

use std::fs;

use crate::command::commands;

#[derive(Debug)]
pub(crate) struct Block {
    /// What stands behind the fence.
    pub(crate) language: String,
    /// Of the file that it is: from the comment of HTML before it, which readers do not see, or from its own first line.
    name: Option<String>,
    /// With a line's end behind each line.
    pub(crate) text: String,
    pub(crate) line: usize,
    /// Nothing but an empty line stands between it and the one before.
    follows: bool,
}

/// What somebody who reads the page does with a block.
#[derive(Debug)]
pub(crate) enum Use<'a> {
    /// Types it, and sees what the page shows.
    Type(Vec<Typed<'a>>),
    /// Asks the server that was started last.
    Ask(Option<&'a str>),
    /// Keeps it in a file of this name.
    Keep(&'a str),
    /// Has read it as what the block before shows.
    Seen,
    /// Nothing that is known.
    Unknown,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Typed<'a> {
    pub(crate) commands: Vec<String>,
    pub(crate) shown: Option<&'a str>,
}

impl Block {
    fn is_shown(&self) -> bool {
        self.name.is_none() && ["json", "text"].contains(&self.language.as_str())
    }

    fn is_typed(&self) -> bool {
        self.name.is_none() && ["sh", "graphql"].contains(&self.language.as_str())
    }
}

/// What is done with the block at `index`.
pub(crate) fn used(blocks: &[Block], index: usize) -> Use<'_> {
    let block = &blocks[index];
    let next = blocks.get(index + 1).filter(|next| next.follows && next.is_shown());
    let shown = next.map(|next| next.text.as_str());
    if let Some(name) = &block.name {
        return Use::Keep(name);
    }
    match block.language.as_str() {
        "sh" => Use::Type(vec![Typed { commands: commands(&block.text), shown }]),
        "console" => Use::Type(session(&block.text)),
        "graphql" => Use::Ask(shown),
        "toml" => Use::Keep("prony.toml"),
        _ if block.is_shown() && block.follows && index > 0 && blocks[index - 1].is_typed() => Use::Seen,
        _ => Use::Unknown,
    }
}

/// A terminal's text: what stands behind `$ `, and what it shows.
fn session(text: &str) -> Vec<Typed<'_>> {
    let mut typed: Vec<Typed<'_>> = Vec::new();
    let mut rest = text;
    while let Some(command) = rest.strip_prefix("$ ") {
        let first = commands(command).into_iter().next().unwrap_or_default();
        let output = &command[first.len()..];
        let end =
            if output.starts_with("$ ") { 0 } else { output.find("\n$ ").map_or(output.len(), |at| at + 1) };
        let (shown, after) = output.split_at(end);
        let shown = (!shown.trim().is_empty()).then_some(shown);
        typed.push(Typed { commands: vec![first], shown });
        rest = after;
    }
    assert!(rest.trim().is_empty(), "what is typed stands behind `$ `:\n{text}");
    typed
}

/// Those of a page, named from the repository's root.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let path = format!("{}/../{page}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let blocks = blocks_of(&text);
    blocks.unwrap_or_else(|| panic!("{page}: a block has no end"))
}

fn blocks_of(text: &str) -> Option<Vec<Block>> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut is_open, mut follows, mut before) = (false, false, "");
    for (number, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if is_open => (is_open, follows) = (false, true),
            Some(language) => {
                is_open = true;
                let name = comment(before, "<!-- ", " -->");
                let language = language.to_owned();
                blocks.push(Block { language, name, text: String::new(), line: number + 1, follows });
            }
            None if is_open => {
                let block = blocks.last_mut().expect("a block is open");
                if block.text.is_empty() && block.language != "sh" {
                    let own = || comment(line, "# ", "").or_else(|| comment(line, "// ", ""));
                    block.name = block.name.take().or_else(own);
                }
                block.text += line;
                block.text.push('\n');
            }
            None => follows &= line.is_empty() || line.starts_with("<!-- "),
        }
        before = line;
    }
    (!is_open).then_some(blocks)
}

/// The name of a file that is all of a comment.
fn comment(line: &str, begin: &str, end: &str) -> Option<String> {
    let name = line.strip_prefix(begin)?.strip_suffix(end)?;
    let is_name = name.contains('.') && !name.ends_with('.') && !name.contains([' ', ':']);
    is_name.then(|| name.to_owned())
}

#[test]
fn blocks_are_files_commands_and_what_they_show() {
    let text = "<!-- a.js -->\n```js\nlet a;\n```\n\n```toml\n# b.toml\nb = 1\n```\n```sh\nls\n```\n\n```text\na.js\n```\n\
                Words.\n```text\nothers\n```\n```console\n$ cat a.js \\\n    b.toml\nlet a;\n$ rm a.js\n```\n";
    let blocks = blocks_of(text).expect("all end");
    let uses: Vec<String> = (0..blocks.len()).map(|index| format!("{:?}", used(&blocks, index))).collect();
    let expected = [
        r#"Keep("a.js")"#,
        r#"Keep("b.toml")"#,
        r#"Type([Typed { commands: ["ls\n"], shown: Some("a.js\n") }])"#,
        "Seen",
        "Unknown",
        concat!(
            r#"Type([Typed { commands: ["cat a.js \\\n    b.toml\n"], shown: Some("let a;\n") }, "#,
            r#"Typed { commands: ["rm a.js\n"], shown: None }])"#
        ),
    ];
    assert_eq!(uses, expected);
    assert!(blocks_of("```sh\nls\n").is_none());
}
