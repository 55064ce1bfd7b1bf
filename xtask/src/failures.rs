//! What failed tests said, taken from the output of `cargo test` as it goes by: the runs of a hundred programs of tests stand before
//! whoever looks for it at the end. A program that a signal has ended says nothing itself; cargo does, on its standard error.

/// Lines of one test that are kept; what it panicked with is among its first, unless it logs much.
const LINES: usize = 40;
/// How cargo's lines of an error begin that are not indented.
const CAUSES: [&str; 2] = ["error: ", "Caused by:"];
/// Tests that are kept; of more, something that they share is broken, and any of these says what.
const TESTS: usize = 30;

/// Texts of which each has begun with a line of its own.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    excerpts: Vec<Vec<String>>,
    in_block: bool,
}

impl Failures {
    /// Reads libtest's blocks `---- name stdout ----`, each up to the next or to the list of names that ends them.
    pub(crate) fn read(&mut self, line: &str) {
        let line = line.trim_end();
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            self.in_block = true;
            self.excerpts.push(vec![name.to_owned()]);
        } else if line == "failures:" || line.starts_with("test result: ") {
            self.in_block = false;
        } else if let Some(excerpt) = self.excerpts.last_mut().filter(|_| self.in_block) {
            excerpt.push(line.to_owned());
        }
    }

    /// Reads cargo's errors with their causes, which are indented by two or four but for their headings.
    pub(crate) fn read_error(&mut self, line: &str) {
        let line = line.trim_end();
        if line.starts_with("error: ") {
            self.in_block = true;
            self.excerpts.push(Vec::new());
        }
        let indentation = line.len() - line.trim_start().len();
        let heading = CAUSES.iter().any(|begin| line.starts_with(begin));
        self.in_block &= line.is_empty() || heading || [2, 4].contains(&indentation);
        if let Some(excerpt) = self.excerpts.last_mut().filter(|_| self.in_block && !line.is_empty()) {
            excerpt.push(line.to_owned());
        }
    }

    /// Each with its first line, a test's name or an error, first. What is left out is said.
    pub(crate) fn into_excerpts(self) -> Vec<String> {
        let left_out = self.excerpts.len().saturating_sub(TESTS);
        let mut texts: Vec<String> = self.excerpts.into_iter().take(TESTS).map(shortened).collect();
        if left_out > 0 {
            texts.push(format!("and {left_out} more"));
        }
        texts
    }
}

fn shortened(mut excerpt: Vec<String>) -> String {
    while excerpt.last().is_some_and(String::is_empty) {
        excerpt.pop();
    }
    let left_out = excerpt.len().saturating_sub(LINES);
    if left_out > 0 {
        excerpt.truncate(LINES);
        excerpt.push(format!("and {left_out} lines more"));
    }
    excerpt.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpts(output: &str) -> Vec<String> {
        let mut failures = Failures::default();
        output.lines().for_each(|line| failures.read(line));
        failures.into_excerpts()
    }

    #[test]
    fn each_failed_test_is_kept_with_what_it_said() {
        let output = "running 3 tests\ntest a ... ok\ntest b::c ... FAILED\ntest d ... FAILED\n\nfailures:\n\n---- b::c stdout ----\n\
                      thread 'b::c' panicked at x.rs:1:2:\nleft: 1\n\n---- d stdout ----\nno\n\n\nfailures:\n    b::c\n    d\n\n\
                      test result: FAILED. 1 passed; 2 failed; 0 ignored\n\nrunning 1 test\ntest e ... ok\n";
        assert_eq!(excerpts(output), ["b::c\nthread 'b::c' panicked at x.rs:1:2:\nleft: 1", "d\nno"]);
    }

    #[test]
    fn a_program_that_a_signal_has_ended_is_named() {
        let mut failures = Failures::default();
        let output = "     Running unittests src/main.rs (target/debug/deps/a-1)\nerror: test failed, to rerun pass `-p a --bin a`\n\n\
                      Caused by:\n  process didn't exit successfully: `a-1` (signal: 6, SIGABRT: process abort signal)\n\
                      \u{20}    Running tests/b.rs (target/debug/deps/b-1)\n   Doc-tests c\nerror: 1 target failed:\n    `-p a --bin a`\n";
        output.lines().for_each(|line| failures.read_error(line));
        let died = "error: test failed, to rerun pass `-p a --bin a`\nCaused by:\n  process didn't exit successfully: `a-1` \
                    (signal: 6, SIGABRT: process abort signal)";
        let excerpts = failures.into_excerpts();
        assert_eq!(
            (excerpts[0].as_str(), excerpts[1].as_str()),
            (died, "error: 1 target failed:\n    `-p a --bin a`")
        );
    }

    #[test]
    fn nothing_failed_and_nothing_is_kept() {
        let output = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        assert_eq!(excerpts(output), [""; 0]);
    }

    #[test]
    fn much_is_shortened_and_says_so() {
        let long = format!("---- a stdout ----\n{}failures:\n", "line\n".repeat(LINES + 2));
        let [text] = &excerpts(&long)[..] else { panic!("one test failed") };
        assert_eq!((text.lines().count(), text.lines().last()), (LINES + 1, Some("and 3 lines more")));
        let many = "---- a stdout ----\nno\n".repeat(TESTS + 2);
        let texts = excerpts(&many);
        assert_eq!((texts.len(), texts.last().map(String::as_str)), (TESTS + 1, Some("and 2 more")));
    }
}
