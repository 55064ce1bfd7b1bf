//! Reads Prometheus' text format 0.0.4, and of OpenMetrics what it shares with it. What samples mean is left to `mod`.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
    Summary,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample<'a> {
    pub(super) name: &'a str,
    /// As they stand between the braces; empty without any.
    pub(super) labels: &'a str,
    pub(super) value: f64,
}

#[derive(Debug, Default)]
pub(super) struct Exposition<'a> {
    kinds: BTreeMap<&'a str, Kind>,
    pub(super) samples: Vec<Sample<'a>>,
    /// Lines that are none of the format: how many, and the first.
    pub(super) unread: Option<(usize, &'a str)>,
}

impl<'a> Exposition<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let mut exposition = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(comment) = line.strip_prefix('#') {
                exposition.kinds.extend(declared(comment));
            } else if let Some(sample) = sample(line) {
                exposition.samples.push(sample);
            } else {
                let (count, first) = exposition.unread.unwrap_or((0, line));
                exposition.unread = Some((count + 1, first));
            }
        }
        exposition
    }

    /// The family that a sample is of, and its kind where that is said or its name tells it.
    pub(super) fn family_of(&self, name: &'a str) -> (&'a str, Option<Kind>) {
        if let Some(kind) = self.kinds.get(name) {
            return (name, Some(*kind));
        }
        let declared = ["_bucket", "_sum", "_count", "_total", "_created"].iter().find_map(|suffix| {
            let family = name.strip_suffix(suffix)?;
            Some((family, *self.kinds.get(family)?))
        });
        match declared {
            Some((family, kind)) => (family, Some(kind)),
            None if name.ends_with("_total") => (name, Some(Kind::Counter)),
            None => (name, None),
        }
    }
}

fn declared(comment: &str) -> Option<(&str, Kind)> {
    let mut words = comment.split_whitespace();
    if words.next() != Some("TYPE") {
        return None;
    }
    let name = words.next()?;
    let kind = match words.next()? {
        "counter" => Kind::Counter,
        "gauge" => Kind::Gauge,
        "histogram" => Kind::Histogram,
        "summary" => Kind::Summary,
        _ => return None,
    };
    Some((name, kind))
}

/// `name{labels} value [time]`, with blanks between any two of them.
fn sample(line: &str) -> Option<Sample<'_>> {
    let end = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.trim_start().strip_prefix('{') {
        None => ("", rest),
        Some(rest) => {
            let close = closing_brace(rest)?;
            (rest[..close].trim().trim_end_matches(',').trim_end(), &rest[close + 1..])
        }
    };
    let value = rest.split_whitespace().next()?.parse().ok()?;
    (!name.is_empty()).then_some(Sample { name, labels, value })
}

/// Values of labels stand in quotes, and may hold anything there.
fn closing_brace(text: &str) -> Option<usize> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'}' if !is_quoted => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;
    use std::fmt::Write as _;

    fn check(text: &str, expected: &Expect) {
        let exposition = Exposition::parse(text);
        let mut shown = String::new();
        for sample in &exposition.samples {
            let (family, kind) = exposition.family_of(sample.name);
            let Sample { name, labels, value } = sample;
            writeln!(shown, "{name} [{labels}] {value}, {kind:?} {family}").unwrap();
        }
        if let Some(unread) = exposition.unread {
            writeln!(shown, "unread: {unread:?}").unwrap();
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn samples_are_read_with_their_kinds() {
        check(
            concat!(
                "# HELP a_total Things. TYPE a gauge\n# TYPE a_total counter\na_total{x=\"1\",} 5 1395066363000\n",
                "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 2\nh_sum 1.5e-1\nh_count 2\n",
                "\n  # TYPE open counter\nopen_total{ p = \"}\\\"{\" } 3 # {trace=\"x\"} 1\n",
                "b{} +Inf\nc_total NaN\ne\t { y=\"2\" , }  4\nno value\n{x=\"1\"} 3\nd{x=\"1} 3\n# EOF\n"
            ),
            &expect![[r#"
                a_total [x="1"] 5, Some(Counter) a_total
                h_bucket [le="+Inf"] 2, Some(Histogram) h
                h_sum [] 0.15, Some(Histogram) h
                h_count [] 2, Some(Histogram) h
                open_total [p = "}\"{"] 3, Some(Counter) open
                b [] inf, None b
                c_total [] NaN, Some(Counter) c_total
                e [y="2"] 4, None e
                unread: (3, "no value")
            "#]],
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            samples in proptest::collection::vec(("[a-z_:][a-z0-9_:]{0,9}", "[^\r\n\\\\\"]{0,9}", -1e9..1e9_f64), 0..9)
        ) {
            let line = |(name, label, value): &(String, String, f64)| format!("{name}{{x=\"{label}\"}} {value}\n");
            let text: String = samples.iter().map(line).collect();
            let read = Exposition::parse(&text);
            prop_assert_eq!(read.unread, None);
            let labels: Vec<_> = samples.iter().map(|(_, label, _)| format!("x=\"{label}\"")).collect();
            let written = samples.iter().zip(&labels);
            let written = written.map(|((name, _, value), labels)| Sample { name, labels, value: *value });
            prop_assert_eq!(read.samples, written.collect::<Vec<_>>());
        }

        #[test]
        fn nothing_makes_it_panic(text in "\\PC{0,80}|[a{}\"\\\\ #=\n0-9]{0,80}") {
            Exposition::parse(&text);
        }
    }
}
