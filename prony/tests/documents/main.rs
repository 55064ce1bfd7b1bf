//! What pages tell to type is typed here, in their order and in one shell a page, and gives what they show. A block that is neither
//! typed, shown nor kept in a file is left out in `pages.rs`, with the reason.

mod command;
mod compare;
mod page;
mod pages;
mod shell;

use std::{collections::BTreeSet, fs};

use command::Kind;
use page::{Use, blocks, used};
use pages::Page;
use shell::Shell;

/// Reads a page from its top, as somebody in an empty folder.
fn walk(page: &Page) {
    let path = page.path;
    let blocks = blocks(path);
    let text = fs::read_to_string(pages::root().join(path)).expect("it was read before");
    let mut shell = Shell::new(&text);
    if text.contains("examples/") {
        shell.copy_examples();
    }
    let (mut typed, mut faults) = (0, Vec::new());
    let mut given: Vec<_> = page.given.iter().collect();
    for (index, block) in blocks.iter().enumerate() {
        let (now, later): (Vec<_>, _) =
            given.into_iter().partition(|(before, _)| block.text.contains(before));
        given = later;
        for (_, script) in now {
            shell.run(&command::commands(script), None, path);
            faults.extend(shell.failures().into_iter().map(|failure| format!("{path}: given: {failure}")));
        }
        let place = format!("{path}:{}", block.line);
        let its_use = used(&blocks, index);
        if page.leaves_out(block, &its_use) {
            continue;
        }
        match its_use {
            Use::Type(steps) => {
                for step in steps {
                    let commands = page.typed(&step.commands);
                    if commands.is_empty() {
                        continue;
                    }
                    typed += 1;
                    faults.extend(type_one(&mut shell, &commands, step.shown, &place));
                }
            }
            Use::Ask(shown) => {
                typed += 1;
                let said = shell.ask(&block.text);
                let shown = shell.as_here(shown.unwrap_or(&said.output));
                faults.extend(
                    compare::check(&shown, &said, false).err().map(|fault| format!("{place}\n{fault}")),
                );
                if said.output.contains("\"errors\"") && !shown.contains("\"errors\"") {
                    faults.push(format!("{place}\n{}", said.output));
                }
            }
            Use::Keep(name) => shell.keep(name, &block.text),
            Use::Seen => {}
            Use::Unknown => {
                faults.push(format!("{place}: it is neither typed, nor shown by what is, nor left out"));
            }
        }
    }
    faults.extend(shell.settle().err());
    faults.extend(page.needless(&blocks));
    assert!(faults.is_empty(), "{} faults\n\n{}", faults.len(), faults.join("\n\n"));
    assert!(typed > 0, "{path}: nothing is typed");
}

/// Types commands, and compares what they print with what the page shows.
fn type_one(shell: &mut Shell, commands: &[String], shown: Option<&str>, place: &str) -> Vec<String> {
    let kinds: BTreeSet<Kind> = commands.iter().map(|command| Kind::of(command)).collect();
    let mut faults = Vec::new();
    if kinds.contains(&Kind::Server) {
        faults.extend(shell.settle().err());
    }
    let place = format!("{place}\n{}", commands.concat());
    let said = shell.run(commands, shown, &place);
    let is_error_shown =
        shown.is_some_and(|shown| ["error", "FAIL", "missing"].iter().any(|word| shown.contains(word)));
    let failures =
        shell.failures().into_iter().filter(|failure| !is_error_shown && !pages::is_outcome(failure));
    faults.extend(failures.map(|failure| format!("{place}failed: {failure}\n{}{}", said.output, said.log)));
    if kinds.contains(&Kind::Server) && !said.log.contains("listening on") {
        faults.push(format!("{place}the server does not listen:\n{}", said.log));
    }
    if let Some(shown) = shown {
        let is_measured = kinds.contains(&Kind::Measurement);
        let checked = compare::check(&shell.as_here(shown), &said, is_measured);
        faults.extend(checked.err().map(|fault| format!("{place}\n{fault}")));
    }
    faults
}
