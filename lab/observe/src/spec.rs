//! The grammar of `--observe`: which kind, and of what. Making first contact is left to each kind's own module.

use crate::error::{Problem, SpecError};
use crate::gc::GcLogObserver;
use crate::host::HostObserver;
use crate::observer::{OBSERVERS_MAX, Observer};
use crate::postgres::PostgresObserver;
use crate::process::ProcessObserver;
use crate::prometheus::PrometheusObserver;
use crate::secret::without_password;

/// What is to be watched, read from text but not yet looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObserverSpecs(Vec<(String, Spec)>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Spec {
    Process(u32),
    Named(String),
    Metrics { url: String, selected: Vec<String> },
    Database(String),
    GcLog(String),
    Host,
}

type Opened = Vec<(String, Box<dyn Observer>)>;

impl ObserverSpecs {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As they were written.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(text, _)| text.as_str())
    }

    /// An observer for each, and one for the lab itself; or all that cannot be reached.
    pub(crate) fn open(&self) -> Result<Opened, Vec<SpecError>> {
        let (mut opened, mut errors) = (Opened::new(), Vec::new());
        for (text, spec) in &self.0 {
            match spec.open() {
                Ok(observer) => opened.push((text.clone(), observer)),
                Err(problem) => errors.push(problem.of(text)),
            }
        }
        opened.push(("lab".to_owned(), Box::new(ProcessObserver::own())));
        if errors.is_empty() { Ok(opened) } else { Err(errors) }
    }
}

impl Spec {
    fn open(&self) -> Result<Box<dyn Observer>, Problem> {
        Ok(match self {
            Self::Process(id) => Box::new(ProcessObserver::of(*id)?),
            Self::Named(name) => Box::new(ProcessObserver::named(name)?),
            Self::Metrics { url, selected } => Box::new(PrometheusObserver::of(url, selected.clone())?),
            Self::Database(url) => Box::new(PostgresObserver::of(url)?),
            Self::GcLog(path) => Box::new(GcLogObserver::open(path)?),
            Self::Host => Box::new(HostObserver::open()?),
        })
    }

    fn parse(text: &str) -> Result<Self, Problem> {
        let (kind, rest) = text.split_once(':').ok_or(Problem::UnknownKind)?;
        match kind {
            "pid" => parse_process_id(rest),
            "prom" => parse_metrics(rest),
            "pg" => parse_database(rest),
            "name" => Ok(Self::Named(filled(rest, "name:nginx")?)),
            "gc" => Ok(Self::GcLog(filled(rest, "gc:/var/log/shop/gc.log")?)),
            "host" if rest == "local" => Ok(Self::Host),
            "host" => Err(Problem::OtherHost(rest.to_owned())),
            _ => Err(Problem::UnknownKind),
        }
    }
}

fn parse_process_id(text: &str) -> Result<Spec, Problem> {
    let id = text.parse().ok().filter(|id| *id > 0);
    id.map(Spec::Process).ok_or_else(|| Problem::NotAProcessId(text.to_owned()))
}

fn parse_metrics(text: &str) -> Result<Spec, Problem> {
    let example = "prom:http://127.0.0.1:9187/metrics#METRIC,METRIC";
    let text = filled(text, example)?;
    let (url, names) = text.split_once('#').unwrap_or((&text, ""));
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(Problem::NotAUrl { url: without_password(url), example });
    }
    let selected = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    Ok(Spec::Metrics { url: url.to_owned(), selected: selected.map(str::to_owned).collect() })
}

fn parse_database(text: &str) -> Result<Spec, Problem> {
    let example = "pg:postgres://USER@127.0.0.1:5432/DATABASE";
    let url = filled(text, example)?;
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        let shown = without_password(&format!("pg:{url}"));
        return Err(Problem::NotAUrl { url: shown.replacen("pg:", "", 1), example });
    }
    Ok(Spec::Database(url))
}

fn filled(text: &str, example: &'static str) -> Result<String, Problem> {
    if text.is_empty() { Err(Problem::Empty(example)) } else { Ok(text.to_owned()) }
}

pub(crate) fn parse_all(texts: &[String]) -> Result<ObserverSpecs, Vec<SpecError>> {
    let (mut specs, mut errors) = (Vec::new(), Vec::new());
    for (index, text) in texts.iter().enumerate() {
        match Spec::parse(text) {
            _ if index >= OBSERVERS_MAX => errors.push(Problem::TooMany.of(text)),
            // The same thing watched twice would be two equal columns.
            Ok(spec) if specs.iter().any(|(_, known)| *known == spec) => {}
            Ok(spec) => specs.push((text.clone(), spec)),
            Err(problem) => errors.push(problem.of(text)),
        }
    }
    if errors.is_empty() { Ok(ObserverSpecs(specs)) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(texts: &[&str], expected: &Expect) {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        let text = match parse_all(&texts) {
            Ok(specs) => specs.0.iter().map(|(_, spec)| format!("{spec:?}")).collect::<Vec<_>>(),
            Err(errors) => errors.iter().map(ToString::to_string).collect(),
        };
        expected.assert_eq(&(text.join("\n") + "\n"));
    }

    #[test]
    fn specs_are_read() {
        check(
            &[
                "pid:4711",
                "name:nginx",
                "pid:4711",
                "gc:logs/gc.log",
                "host:local",
                "pg:postgresql://bob@db/shop",
            ],
            &expect![[r#"
                Process(4711)
                Named("nginx")
                GcLog("logs/gc.log")
                Host
                Database("postgresql://bob@db/shop")
            "#]],
        );
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        check(
            &["nginx", "pod:1", "pid:x", "pid:0", "name:", "pid:1", "pg:bob:x@db/shop", "pg:", "host:db1"],
            &expect![[r#"
                observer `nginx`: no such kind of observer; write pid:NUMBER, name:NAME, prom:URL, pg:URL, gc:FILE or host:local
                observer `pod:1`: no such kind of observer; write pid:NUMBER, name:NAME, prom:URL, pg:URL, gc:FILE or host:local
                observer `pid:x`: `x` is not a process id; write for example pid:4711, or name:NAME
                observer `pid:0`: `0` is not a process id; write for example pid:4711, or name:NAME
                observer `name:`: nothing stands after the colon; write for example name:nginx
                observer `pg:bob:***@db/shop`: `bob:***@db/shop` is not a URL that can be asked; write for example pg:postgres://USER@127.0.0.1:5432/DATABASE
                observer `pg:`: nothing stands after the colon; write for example pg:postgres://USER@127.0.0.1:5432/DATABASE
                observer `host:db1`: `db1` cannot be watched from here: only this machine can, with host:local; for others ask their node exporter with prom:URL
            "#]],
        );
    }

    #[test]
    fn observers_are_bounded() {
        let texts: Vec<String> = (1..=OBSERVERS_MAX + 1).map(|id| format!("pid:{id}")).collect();
        let errors = parse_all(&texts).unwrap_err();
        assert_eq!((errors.len(), &errors[0].problem), (1, &Problem::TooMany));
    }
}
