//! Where the secrets of a script come from, as `--secret-source` says it: `mock=…` with values, `file=…` with a file of them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The sources of a run; the order is that in which they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretSources(Vec<SecretSource>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SecretSource {
    name: String,
    is_default: bool,
    values: BTreeMap<String, String>,
}

/// Why a source cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretSourceError {
    #[error("--secret-source {0}: write mock=KEY=VALUE,… or file=PATH")]
    Form(String),
    #[error("--secret-source {0}: there is no source of this kind; there are mock and file")]
    Kind(String),
    #[error("--secret-source {spec}: cannot read {path}: {cause}")]
    File { spec: String, path: String, cause: std::io::Error },
    #[error("--secret-source: {path}, line {line}: a line must be KEY=VALUE")]
    Line { path: String, line: usize },
    #[error("--secret-source: two sources are called `{0}`; give one of them another name=")]
    Twice(String),
    #[error("--secret-source: two sources are the default")]
    Defaults,
    #[error("--secret-source: of several sources one must be the default; write `default` into it")]
    NoDefault,
}

/// Why a script gets no secret; k6's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SecretError {
    #[error("no secret sources are configured")]
    Unconfigured,
    #[error("no source with name \"{0}\"")]
    UnknownSource(String),
    #[error("no value")]
    Missing,
}

impl SecretSources {
    /// Reads the files that the flags name.
    pub fn parse(specs: &[String]) -> Result<Self, SecretSourceError> {
        let mut sources: Vec<SecretSource> = Vec::new();
        for spec in specs {
            let source = source(spec)?;
            if sources.iter().any(|known| known.name == source.name) {
                return Err(SecretSourceError::Twice(source.name));
            }
            sources.push(source);
        }
        if let [only] = &mut sources[..] {
            only.is_default = true;
        }
        match sources.iter().filter(|source| source.is_default).count() {
            0 if !sources.is_empty() => Err(SecretSourceError::NoDefault),
            0 | 1 => Ok(Self(sources)),
            _ => Err(SecretSourceError::Defaults),
        }
    }

    /// The source of this name, or the default.
    pub(super) fn get(&self, source: Option<&str>, key: &str) -> Result<&str, SecretError> {
        self.source(source)?.values.get(key).map(String::as_str).ok_or(SecretError::Missing)
    }

    pub(super) fn check(&self, source: &str) -> Result<(), SecretError> {
        self.source(Some(source)).map(drop)
    }

    fn source(&self, name: Option<&str>) -> Result<&SecretSource, SecretError> {
        if self.0.is_empty() {
            return Err(SecretError::Unconfigured);
        }
        let is_meant = |source: &&SecretSource| match name {
            // The default has this name beside its own.
            Some("default") if source.is_default => true,
            Some(name) => source.name == name,
            None => source.is_default,
        };
        let no_source = || SecretError::UnknownSource(name.unwrap_or("default").to_owned());
        self.0.iter().find(is_meant).ok_or_else(no_source)
    }
}

fn source(spec: &str) -> Result<SecretSource, SecretSourceError> {
    let (kind, rest) = spec.split_once('=').ok_or_else(|| SecretSourceError::Form(spec.to_owned()))?;
    if !["mock", "file"].contains(&kind) {
        return Err(SecretSourceError::Kind(spec.to_owned()));
    }
    let mut source = SecretSource { name: kind.to_owned(), is_default: false, values: BTreeMap::new() };
    let mut file = None;
    for part in parts(rest) {
        match part.split_once('=') {
            None if part == "default" => source.is_default = true,
            Some(("name", name)) => name.clone_into(&mut source.name),
            Some(("filename", path)) if kind == "file" => file = Some(path.to_owned()),
            None if kind == "file" && file.is_none() => file = Some(part),
            Some((key, value)) if kind == "mock" => {
                source.values.insert(key.to_owned(), value.to_owned());
            }
            _ => return Err(SecretSourceError::Form(spec.to_owned())),
        }
    }
    match file {
        None if kind == "mock" => Ok(source),
        Some(path) => {
            let text = std::fs::read_to_string(&path);
            let unreadable =
                |cause| SecretSourceError::File { spec: spec.to_owned(), path: path.clone(), cause };
            source.values = lines(&path, &text.map_err(unreadable)?)?;
            Ok(source)
        }
        None => Err(SecretSourceError::Form(spec.to_owned())),
    }
}

/// Separated by commas, but for those between double quotes.
fn parts(text: &str) -> Vec<String> {
    let (mut parts, mut is_quoted) = (vec![String::new()], false);
    for character in text.chars() {
        let last = parts.last_mut().expect("there is always one");
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => parts.push(String::new()),
            other => last.push(other),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn lines(path: &str, text: &str) -> Result<BTreeMap<String, String>, SecretSourceError> {
    let used = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let pair = |(index, line): (usize, &str)| {
        let fault = || SecretSourceError::Line { path: path.to_owned(), line: index + 1 };
        let (key, value) = line.split_once('=').ok_or_else(fault)?;
        Ok((key.trim().to_owned(), value.trim().to_owned()))
    };
    used.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(specs: &[&str]) -> Result<SecretSources, String> {
        let specs: Vec<_> = specs.iter().map(|spec| (*spec).to_owned()).collect();
        SecretSources::parse(&specs).map_err(|error| error.to_string())
    }

    #[test]
    fn sources_are_read_as_k6_reads_them() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "token=a=b\n\n key = spaced \n").expect("a file");
        let path = file.path().display();
        let mock = "mock=default,cool=\"not, cool\",x=1";
        let sources = parsed(&[mock, &format!("file=name=disk,filename={path}")]).expect("sources");
        assert_eq!(sources.get(None, "cool"), Ok("not, cool"));
        assert_eq!(sources.get(Some("disk"), "token"), Ok("a=b"));
        assert_eq!(sources.get(Some("disk"), "key"), Ok("spaced"));
        assert_eq!(sources.get(Some("default"), "x"), Ok("1"));
        assert_eq!(sources.get(None, "token"), Err(SecretError::Missing));
        assert_eq!(
            sources.get(Some("web"), "x").map_err(|error| error.to_string()),
            Err("no source with name \"web\"".to_owned())
        );
        assert_eq!(parsed(&[&format!("file={path}")]).expect("one").get(None, "token"), Ok("a=b"));
        assert_eq!(parsed(&[]).expect("none").get(None, "x"), Err(SecretError::Unconfigured));
    }

    #[test]
    fn what_is_no_source_is_said() {
        let fault = |specs: &[&str]| parsed(specs).expect_err("a fault");
        assert!(fault(&["url=https://x"]).contains("there is no source of this kind"));
        assert!(fault(&["mock"]).contains("write mock=KEY=VALUE"));
        assert!(fault(&["file=/nowhere/at/all"]).contains("cannot read /nowhere/at/all"));
        assert!(fault(&["mock=a=1", "mock=name=two,b=1"]).contains("one must be the default"));
        assert!(fault(&["mock=a=1", "mock=b=1"]).contains("two sources are called `mock`"));
        assert!(fault(&["mock=default", "mock=default,name=b"]).contains("two sources are the default"));
    }
}
