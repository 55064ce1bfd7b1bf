//! The reference of all options, for `docs/configuration.md`.

use std::fmt::Write as _;

use prony_source::config::Kinds;

use super::options::{Section, options};

/// One Markdown table a section.
pub fn reference(kinds: Kinds<'_>) -> String {
    let mut text = String::new();
    let mut section = None;
    for listed in options(kinds) {
        if section.replace(listed.section) != Some(listed.section) {
            begin_table(&mut text, listed.section);
        }
        let option = listed.spec();
        let flag = option.flag.map_or_else(String::new, |flag| format!("`--{flag}`"));
        let values = option.kind.described();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| `{}` | {flag} | {values} | `{}` | {} |",
            option.key, option.default, listed.help
        );
    }
    text.push('\n');
    text
}

fn begin_table(text: &mut String, section: Section) {
    let name = if section == Section::Source { "[[source]]" } else { &format!("[{}]", section.key()) };
    // As above.
    let _ = write!(
        text,
        "\n### `{name}`\n\n| option | flag | values | default | meaning |\n|---|---|---|---|---|\n"
    );
}
