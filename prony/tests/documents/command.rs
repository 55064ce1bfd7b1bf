//! Commands as they are typed: where one ends, what kind it is, and how it is made shorter than a reader would have it.

/// What a command is to the shell that types it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// It serves until it is stopped.
    Server,
    /// It listens to events until it is stopped.
    Stream,
    /// It goes on until it is stopped, and nobody waits for it.
    Background,
    /// It measures, or says sizes and times, so that its figures are others in each run.
    Measurement,
    /// It kills the server that was started last.
    Kill,
    Other,
}

impl Kind {
    pub(crate) fn of(command: &str) -> Self {
        let begins = |words: &[&str]| words.iter().any(|words| command.starts_with(words));
        if begins(&["prony serve", "prony example", EXAMPLE]) && !command.contains("--explain-role") {
            Self::Server
        } else if begins(&["curl -N", "curl -sN"]) {
            Self::Stream
        } else if begins(&["prony worker"]) && !command.contains("--take-up") {
            Self::Background
        } else if begins(&MEASUREMENTS) && !command.contains("--explain") {
            Self::Measurement
        } else if begins(&["kill -9 $(pgrep"]) {
            Self::Kill
        } else {
            Self::Other
        }
    }
}

/// Begins a command that runs an example of `prony-server`.
pub(crate) const EXAMPLE: &str = "cargo run -p prony-server --example ";
const MEASUREMENTS: [&str; 9] = [
    "prony run",
    "prony find",
    "prony compare",
    "prony sweep",
    "prony lab",
    "prony report",
    "prony graph backup",
    "prony graph restore",
    "grep ^http_req_duration",
];
/// How commands that measure are made shorter: what they begin with, a flag, its value here, and whether it is added
/// where it is absent.
const FLAGS: [(&str, &str, &str, bool); 29] = [
    ("prony run http", "-d", "1s", true),
    ("prony run", "-d", "1s", false),
    ("prony run", "--duration", "1s", false),
    ("prony find", "--hold", "300ms", true),
    ("prony find", "--ramp", "100ms", true),
    ("prony find", "--repeats", "1", true),
    ("prony find", "--max", "100", true),
    ("prony compare", "--runs", "3", true),
    ("prony compare", "--duration", "500ms", true),
    ("prony sweep", "--ramp", "100ms", true),
    ("prony sweep", "--warm-up", "100ms", true),
    ("prony sweep", "--hold", "300ms", true),
    ("prony lab relational", "--rows", "300", true),
    ("prony lab relational", "--limits", "10", true),
    ("prony lab relational", "--ramp", "200ms", true),
    ("prony lab relational", "--hold", "300ms", true),
    ("prony lab relational", "--steps", "1", true),
    ("prony lab graph", "--nodes", "500", true),
    ("prony lab graph", "--step", "200ms", true),
    ("prony lab graph", "--hold", "200ms", true),
    ("prony lab graph", "--sustained", "300ms", true),
    ("prony lab gateway", "--warm-up", "100ms", true),
    ("prony lab gateway", "--hold", "300ms", true),
    ("prony lab gateway", "--layer", "300ms", true),
    ("prony lab gateway", "--rounds", "1", true),
    ("prony lab resolvers", "--step", "200ms", true),
    ("prony lab resolvers", "--rounds", "1", true),
    ("prony lab series", "--write", "300ms", true),
    ("prony lab series", "--published", "300ms", true),
];
/// Each with its line's end: a command goes on while a quote, a here-document, `\` or an operator wants more.
pub(crate) fn commands(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = Open::default();
    for line in text.split_inclusive('\n') {
        match found.last_mut() {
            Some(command) if open.wants_more() => *command += line,
            _ => found.push(line.to_owned()),
        }
        open.read(line.trim_end_matches('\n'));
    }
    found
}

/// What a command that has not ended waits for.
#[derive(Debug, Default)]
struct Open {
    quote: Option<char>,
    here_document: Option<String>,
    is_continued: bool,
}

impl Open {
    fn wants_more(&self) -> bool {
        self.quote.is_some() || self.here_document.is_some() || self.is_continued
    }

    fn read(&mut self, line: &str) {
        if let Some(end) = &self.here_document {
            if line == end {
                self.here_document = None;
            }
            return;
        }
        let mut before = ' ';
        for (at, letter) in line.char_indices() {
            match (letter, self.quote) {
                _ if before == '\\' && self.quote != Some('\'') => {
                    before = ' ';
                    continue;
                }
                ('\'' | '"', None) => self.quote = Some(letter),
                (letter, Some(quote)) if letter == quote => self.quote = None,
                ('#', None) if before == ' ' => break,
                ('<', None)
                    if before == '<'
                        && !line[at + 1..].starts_with('<')
                        && !line[..at - 1].ends_with('<') =>
                {
                    let word = line[at + 1..].split_whitespace().next().unwrap_or_default();
                    self.here_document = Some(word.trim_matches(['\'', '"']).to_owned());
                }
                _ => {}
            }
            before = letter;
        }
        let end = line.trim_end();
        self.is_continued =
            self.quote.is_none() && (end.ends_with('\\') || end.ends_with('|') || end.ends_with("&&"));
    }
}

/// What stands behind it for readers alone, and whether it goes to the background, taken away.
pub(crate) fn bare(command: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in command.char_indices() {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            ('#', None) if before == ' ' => return bare(&command[..at]),
            _ => {}
        }
        before = letter;
    }
    command.trim_end().trim_end_matches('&').trim_end()
}

/// The same command, for as long as a test has.
pub(crate) fn shortened(command: &str) -> String {
    let mut short = command.to_owned();
    for (_, flag, value, is_added) in FLAGS.iter().filter(|(begin, ..)| command.starts_with(begin)) {
        if let Some((before, after)) = short.clone().split_once(&format!(" {flag} ")) {
            let rest = after.find(char::is_whitespace).map_or("", |at| &after[at..]);
            short = format!("{before} {flag} {value}{rest}");
        } else if *is_added
            && !is_of_saved_results(command)
            && !(*flag == "--max" && command.contains("--from"))
        {
            short = format!("{} {flag} {value}\n", bare(&short));
        }
    }
    short
}

fn is_of_saved_results(command: &str) -> bool {
    ["results/", "baseline"].iter().any(|saved| command.contains(saved))
}

#[test]
fn commands_end_where_the_shell_says_so() {
    let text = "curl a -d '{\"query\":\n  \"x\"}'\ncat > a <<'END'\nit's\nEND\nls \\\n  -l # a reader's\nprony serve a & # b\ncat <<< 'x'\n";
    let expected = [
        "curl a -d '{\"query\":\n  \"x\"}'\n",
        "cat > a <<'END'\nit's\nEND\n",
        "ls \\\n  -l # a reader's\n",
        "prony serve a & # b\n",
        "cat <<< 'x'\n",
    ];
    assert_eq!(commands(text), expected);
    assert_eq!(bare(expected[3]), "prony serve a");
    assert_eq!(bare("curl '#a' # b\n"), "curl '#a'");
}

#[test]
fn what_measures_is_made_shorter() {
    assert_eq!(
        shortened("prony run http://a/ -c 64 -d 10s -R 5\n"),
        "prony run http://a/ -c 64 -d 1s -R 5\n"
    );
    assert_eq!(
        shortened("prony find a.toml --hold 10s # a\n"),
        "prony find a.toml --hold 300ms --ramp 100ms --repeats 1 --max 100\n"
    );
    assert_eq!(shortened("curl a -d 10s\n"), "curl a -d 10s\n");
}
