//! What pages of `docs/` tell to type is typed here, in their order and in one shell, and gives what they show.

mod page;
mod shell;

use page::{Block, blocks};
use shell::Shell;

/// Types a page's commands; blocks that have one of these texts are left out, each for the reason beside it.
fn walk(page: &str, left_out: &[(&str, &str)]) {
    let blocks = blocks(page);
    let mut shell = Shell::new();
    let (mut typed, mut compared) = (0, 0);
    for (index, block) in blocks.iter().enumerate() {
        if left_out.iter().any(|(text, _)| block.text.contains(text)) {
            continue;
        }
        let shown = blocks.get(index + 1).filter(|next| next.is_shown() && next.follows);
        match block.language.as_str() {
            "toml" => shell.write("prony.toml", &block.text),
            "sh" | "graphql" => {
                let said = if block.language == "sh" {
                    shell.run(&block.text, shown.map(|next| next.text.as_str()))
                } else {
                    shell.ask(&block.text)
                };
                typed += 1;
                if let Some(shown) = shown {
                    compared += 1;
                    compare(page, block, &shell.as_here(&shown.text), &said);
                }
            }
            _ => {}
        }
    }
    assert!(typed > 3 && compared > 2, "{page}: {typed} blocks typed, {compared} compared");
    for (text, _) in left_out {
        assert!(blocks.iter().any(|block| block.text.contains(text)), "{page} has no {text:?} any more");
    }
}

/// Lines of the server's log may have others between them; everything else is the same, as JSON where it is JSON.
fn compare(page: &str, block: &Block, shown: &str, said: &shell::Said) {
    let place = format!("{page}:{}\n{}", block.line, block.text);
    let (log, output): (Vec<&str>, Vec<&str>) = shown.lines().partition(|line| line.starts_with("INFO "));
    for line in log {
        let line = shell::without_figures(line);
        assert!(
            said.log.lines().any(|said| shell::without_figures(said).ends_with(&line)),
            "{place}\nno {line:?} in\n{}",
            said.log
        );
    }
    let (output, found) = (output.join("\n"), said.output.trim());
    if let (Some(output), Some(found)) = (page::json(&output), page::json(found)) {
        assert_eq!(found, output, "{place}");
    } else {
        assert_eq!(shell::without_figures(found), shell::without_figures(output.trim()), "{place}");
    }
}

#[test]
fn series() {
    walk(
        "docs/series.md",
        &[("[[join]]", "part of a file"), ("[roles.", "part of a file"), ("retention", "part of a file")],
    );
}

#[test]
fn graphs() {
    walk("docs/graph.md", &[("prony graph backup", "its figures are an example's")]);
}

#[test]
fn graphs_as_graphql() {
    walk("docs/graphql-graph.md", &[]);
}
