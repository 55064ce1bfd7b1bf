//! Flags of k6, hey, oha, ab and curl on the command line of a plan or a URL: what has another name there is said with the line to type.

/// Known so that they can be named; none of them does anything.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct OtherNames {
    #[arg(short = 'u', long, alias = "users", hide = true)]
    vus: Option<String>,
    #[arg(short, long, hide = true)]
    iterations: Option<String>,
    #[arg(long, hide = true)]
    rps: Option<String>,
    #[arg(long, hide = true)]
    stage: Vec<String>,
    #[arg(short = 'm', hide = true)]
    short_method: Option<String>,
    #[arg(short = 'X', long = "request", hide = true)]
    curl_method: Option<String>,
    #[arg(short = 'b', hide = true)]
    short_body: Option<String>,
    #[arg(short = 'D', hide = true)]
    body_file: Option<String>,
    #[arg(short = 'z', hide = true)]
    short_duration: Option<String>,
    #[arg(short = 'q', hide = true)]
    is_quiet_or_rate: bool,
    #[arg(short = 'k', hide = true)]
    is_insecure_or_kept: bool,
}

/// A flag as others have it, and what it is called here.
#[derive(Debug)]
struct Renamed {
    /// The first one is said.
    names: &'static [&'static str],
    whose: &'static str,
    value: String,
    /// Of a URL; none where a plan alone has it.
    flag: Option<&'static str>,
    /// In a plan.
    key: &'static str,
}

const K6: &str = "k6 scripts";

impl OtherNames {
    /// What is said of switches that have several meanings elsewhere.
    pub(crate) fn switch(&self) -> Option<&'static str> {
        if self.is_quiet_or_rate {
            return Some(
                "-q is no flag here: write --quiet to see nothing while the run goes, or --rate for requests a second, as -q of hey and \
                 oha has them",
            );
        }
        self.is_insecure_or_kept.then_some(
            "-k is no flag here: write --insecure to take any certificate, as -k of curl does; connections are kept anyway, as by -k of ab",
        )
    }

    /// What to write instead, where one of them was given; `target` is the plan or the URL, `line` the whole command line.
    pub(crate) fn instead(&self, is_url: bool, target: &str, line: &[String]) -> Option<String> {
        let given = self.given();
        let first = given.first()?;
        if !is_url {
            return Some(format!("{}, and {target} is a plan: write `{}` in it", first.said(), first.key));
        }
        if let Some(of_plans) = given.iter().find(|renamed| renamed.flag.is_none()) {
            return Some(format!(
                "{}; for a URL write a plan with `{}` (docs/plans.md), or how long with --duration",
                of_plans.said(),
                of_plans.key
            ));
        }
        let others = given.iter().skip(1);
        let others: Vec<_> =
            others.map(|renamed| format!(", {} of {}", renamed.names[0], renamed.whose)).collect();
        Some(format!("{}{}; for a URL write: {}", first.said(), others.concat(), with_flags(line, &given)))
    }

    fn given(&self) -> Vec<Renamed> {
        let stage = self.stage.first().cloned();
        let body_file = self.body_file.as_ref().map(|path| format!("@{path}"));
        let all = [
            Renamed::of(&["--vus", "--users", "-u"], K6, self.vus.clone(), Some("--connections"), "users"),
            Renamed::of(&["--rps"], K6, self.rps.clone(), Some("--rate"), "rate"),
            Renamed::of(
                &["--iterations", "-i"],
                K6,
                self.iterations.clone(),
                Some("--requests"),
                "iterations",
            ),
            Renamed::of(&["--stage"], K6, stage, None, "stages"),
            Renamed::of(&["-m"], "hey, oha and ab", self.short_method.clone(), Some("--method"), "method"),
            Renamed::of(&["-X", "--request"], "curl", self.curl_method.clone(), Some("--method"), "method"),
            Renamed::of(&["-b"], "bombardier", self.short_body.clone(), Some("--body"), "body"),
            Renamed::of(&["-D"], "hey and oha", body_file, Some("--body"), "body"),
            Renamed::of(&["-z"], "hey and oha", self.short_duration.clone(), Some("--duration"), "duration"),
        ];
        all.into_iter().flatten().collect()
    }
}

impl Renamed {
    /// Something where it was given.
    fn of(
        names: &'static [&'static str],
        whose: &'static str,
        value: Option<String>,
        flag: Option<&'static str>,
        key: &'static str,
    ) -> Option<Self> {
        value.map(|value| Self { names, whose, value, flag, key })
    }

    fn said(&self) -> String {
        format!("{} is a flag of {}", self.names[0], self.whose)
    }

    /// Whether an argument is this flag, with its value or without.
    fn is_in(&self, argument: &str) -> bool {
        let name = argument.split('=').next().unwrap_or_default();
        self.names.iter().any(|known| name == *known || known.len() == 2 && argument.starts_with(known))
    }
}

/// The command line with our flags in the place of others', as a shell takes it.
fn with_flags(line: &[String], given: &[Renamed]) -> String {
    let mut shown = vec!["prony".to_owned()];
    let mut rest = line.iter().skip(1);
    while let Some(argument) = rest.next() {
        match given.iter().find(|renamed| renamed.is_in(argument)) {
            Some(renamed) => {
                // Its value follows where it is not part of it.
                if renamed.names.contains(&argument.as_str()) {
                    rest.next();
                }
                shown.extend(renamed.flag.map(str::to_owned));
                shown.push(shell_word(&renamed.value));
            }
            None => shown.push(shell_word(argument)),
        }
    }
    shown.join(" ")
}

/// In quotes where a shell would read more than a word in it.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        target: String,
        /// As `prony run` has it.
        #[arg(short = 'H')]
        headers: Vec<String>,
        #[command(flatten)]
        names: OtherNames,
    }

    fn check_words(words: &[&str], is_url: bool, expected: &str) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let parsed = Line::parse_from(words.iter().skip(1));
        assert_eq!(
            parsed.names.instead(is_url, &parsed.target, &words).unwrap_or_default(),
            expected,
            "{words:?}, {:?}",
            parsed.headers
        );
    }

    fn check(line: &str, is_url: bool, expected: &str) {
        check_words(&line.split(' ').collect::<Vec<_>>(), is_url, expected);
    }

    #[test]
    fn the_line_to_type_is_said() {
        let typed = "--vus is a flag of k6 scripts; for a URL write: prony run http://a/ --connections 10";
        for flag in ["--vus 10", "--vus=10", "-u 10", "-u10", "--users 10"] {
            check(&format!("/bin/prony run http://a/ {flag}"), true, typed);
        }
        check(
            "prony run --rps 50 http://a/",
            true,
            "--rps is a flag of k6 scripts; for a URL write: prony run --rate 50 http://a/",
        );
        check(
            "prony run shop.toml --vus 10",
            false,
            "--vus is a flag of k6 scripts, and shop.toml is a plan: write `users` in it",
        );
        check("prony run http://a/", true, "");
    }

    /// There was a word of plans alone, from before addresses had a number of requests.
    #[test]
    fn iterations_of_an_address_are_requests() {
        for flag in ["-i 200", "--iterations=200"] {
            check(
                &format!("prony run http://a/ {flag}"),
                true,
                "--iterations is a flag of k6 scripts; for a URL write: prony run http://a/ --requests 200",
            );
        }
    }

    #[test]
    fn flags_of_hey_oha_ab_and_curl_are_named_all_at_once() {
        check(
            "prony run http://a/ -m PUT",
            true,
            "-m is a flag of hey, oha and ab; for a URL write: prony run http://a/ --method PUT",
        );
        check(
            "prony run -z 30s -XPOST -D body.json http://a/",
            true,
            "-X is a flag of curl, -D of hey and oha, -z of hey and oha; for a URL write: \
             prony run --duration 30s --method POST --body @body.json http://a/",
        );
        check(
            "prony run shop.toml -z 30s",
            false,
            "-z is a flag of hey and oha, and shop.toml is a plan: write `duration` in it",
        );
    }

    #[test]
    fn the_line_to_type_is_one_for_a_shell() {
        check_words(
            &["prony", "run", "http://a/?b=c&d=e", "-H", "Accept: a", "-b", "{\"it's\": 1}"],
            true,
            r#"-b is a flag of bombardier; for a URL write: prony run 'http://a/?b=c&d=e' -H 'Accept: a' --body '{"it'\''s": 1}'"#,
        );
    }

    #[test]
    fn switches_of_several_meanings_are_told_with_both() {
        for (flag, parts) in [("-q", ["--quiet", "--rate"]), ("-k", ["--insecure", "kept anyway"])] {
            let said = Line::parse_from(["run", "http://a/", flag]).names.switch().unwrap_or_default();
            assert!(parts.iter().all(|part| said.contains(part)), "{flag}: {said}");
        }
        assert_eq!(Line::parse_from(["run", "http://a/"]).names.switch(), None);
    }
}
