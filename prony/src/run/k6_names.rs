//! Flags of k6 on the command line of a plan or a URL: what has another name there is said with the line to type.

/// Known so that they can be named; none of them does anything.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct K6Names {
    #[arg(short = 'u', long, alias = "users", hide = true)]
    vus: Option<String>,
    #[arg(short, long, hide = true)]
    iterations: Option<String>,
    #[arg(long, hide = true)]
    rps: Option<String>,
    #[arg(long, hide = true)]
    stage: Vec<String>,
}

impl K6Names {
    /// What to write instead, where one of them was given; `target` is the plan or the URL, `line` the whole command line.
    pub(crate) fn instead(&self, is_url: bool, target: &str, line: &[String]) -> Option<String> {
        let (names, value, flag, key): (&[&str], _, _, _) = if let Some(vus) = &self.vus {
            (&["--vus", "--users", "-u"], vus.as_str(), Some("--connections"), "users")
        } else if let Some(rps) = &self.rps {
            (&["--rps"], rps.as_str(), Some("--rate"), "rate")
        } else if let Some(iterations) = &self.iterations {
            (&["--iterations", "-i"], iterations.as_str(), None, "iterations")
        } else {
            (&["--stage"], self.stage.first()?.as_str(), None, "stages")
        };
        let name = names[0];
        if !is_url {
            return Some(format!(
                "{name} is a flag of k6 scripts, and {target} is a plan: write `{key}` in it"
            ));
        }
        Some(match flag {
            Some(flag) => {
                let line = with_flag(line, names, flag, value);
                format!("{name} is a flag of k6 scripts; for a URL write: {line}")
            }
            None => format!(
                "{name} is a flag of k6 scripts; for a URL write a plan with `{key}` (docs/plans.md), or how long with --duration"
            ),
        })
    }
}

/// The command line with another flag in the place of one of `names`.
fn with_flag(line: &[String], names: &[&str], flag: &str, value: &str) -> String {
    let is_named = |argument: &str| {
        let name = argument.split('=').next().unwrap_or_default();
        names.iter().any(|known| name == *known || known.len() == 2 && argument.starts_with(known))
    };
    let mut shown = vec!["prony".to_owned()];
    let mut rest = line.iter().skip(1);
    while let Some(argument) = rest.next() {
        if is_named(argument) {
            // Its value follows where it is not part of it.
            if names.contains(&argument.as_str()) {
                rest.next();
            }
            shown.extend([flag.to_owned(), value.to_owned()]);
        } else {
            shown.push(argument.clone());
        }
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        target: String,
        #[command(flatten)]
        names: K6Names,
    }

    fn check(line: &str, is_url: bool, expected: &str) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let parsed = Line::parse_from(words.iter().skip(1));
        assert_eq!(
            parsed.names.instead(is_url, &parsed.target, &words).unwrap_or_default(),
            expected,
            "{line}"
        );
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
}
