//! The reference of all options, for `docs/configuration.md`.

use std::fmt::Write as _;

use super::options::{self, Section};

/// One Markdown table a section.
pub fn reference() -> String {
    let mut text = String::new();
    for section in [Section::Server, Section::Graphql, Section::Subscriptions, Section::Log, Section::Source]
    {
        let name = if section == Section::Source { "[[source]]" } else { &format!("[{}]", section.key()) };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n### `{name}`\n\n| option | flag | values | default | meaning |\n|---|---|---|---|---|\n"
        );
        for option in options::of(section) {
            let flag = option.flag.map_or_else(String::new, |flag| format!("`--{flag}`"));
            let values = option.kind.described();
            let _ = writeln!(
                text,
                "| `{}` | {flag} | {values} | `{}` | {} |",
                option.key, option.default, option.help
            );
        }
    }
    text.push('\n');
    text
}
