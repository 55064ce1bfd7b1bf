//! A plan of commands of curl, as documentation prints them and browsers copy them.

mod body;
mod options;
mod words;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::{Position, Url};

use self::{
    body::{Part, Parts},
    options::{CurlOption, Meaning},
};
use crate::{
    DraftError,
    draft::{Body, Draft, Request, Step, credential_headers, escaped, set_header},
    names::Names,
};

/// Written where a command has none.
const FORM: &str = "application/x-www-form-urlencoded";

const SEVERAL_HEADERS: &str = "headers of one name are left out but for the last: a plan has each name once; write several values with commas between them";

/// Left as they are in the name of a file behind an address (RFC 3986, 2.3).
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Drafts a plan of a command: its words as a shell has parted them, or one text that is parted here. Files that it names are read.
pub fn from_curl(arguments: &[String]) -> Result<Draft, DraftError> {
    let words = match arguments {
        [text] => words::words(text)?,
        parted => parted.to_vec(),
    };
    let words = words.strip_prefix(&["curl".to_owned()]).unwrap_or(&words);
    let mut draft = Draft::default();
    let mut names = Names::default();
    let mut commands = Commands::default();
    commands.read(words)?;
    for command in commands.done {
        command.add_to(&mut draft, &mut names)?;
    }
    if draft.requests.is_empty() {
        let why = "no address is given".to_owned();
        return Err(DraftError::Nothing { what: "the command".to_owned(), why });
    }
    if draft.requests.len() > 1 {
        draft.steps = (0..draft.requests.len()).map(|request| Step { request, think_time_ms: 0 }).collect();
    }
    let credentials = credential_headers(&draft.requests);
    if !credentials.is_empty() {
        draft.notes.push(format!(
            "Credentials are in it ({}): put a variable in their place before you give this file to others.",
            credentials.join(", ")
        ));
    }
    draft.name = draft.targets.first().map(|(name, _)| name.clone()).unwrap_or_default();
    Ok(draft)
}

/// What one command says, up to `--next`.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command")]
struct Command {
    urls: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    /// Names of headers that are not to be sent.
    without: Vec<String>,
    data: Parts,
    form: Vec<(String, Part)>,
    /// A file's name and text.
    upload: Option<(String, String)>,
    is_get: bool,
    is_head: bool,
    /// Braces and brackets in addresses are no patterns.
    is_glob_off: bool,
    unix_socket: Option<String>,
    max_time: Option<String>,
    is_http2: bool,
    tls: Vec<(&'static str, String)>,
    notes: Vec<&'static str>,
}

#[derive(Debug, Default)]
struct Commands {
    done: Vec<Command>,
}

impl Commands {
    fn read(&mut self, words: &[String]) -> Result<(), DraftError> {
        let mut command = Command::default();
        let mut words = words.iter();
        let mut only_urls = false;
        while let Some(word) = words.next() {
            if only_urls || !word.starts_with('-') || word == "-" {
                command.urls.push(word.clone());
                continue;
            }
            if word == "--" {
                only_urls = true;
                continue;
            }
            if let Some(name) = word.strip_prefix("--") {
                let option = options::long(name).or_else(|| negated(name));
                let option = option.ok_or_else(|| DraftError::UnknownOption { flag: word.clone() })?;
                let value = if option.takes_value { words.next().cloned() } else { Some(String::new()) };
                self.apply(&mut command, option, word, value)?;
                continue;
            }
            let mut letters = word[1..].chars();
            while let Some(letter) = letters.next() {
                let flag = format!("-{letter}");
                let option = options::short(letter);
                let option = option.ok_or_else(|| DraftError::UnknownOption { flag: flag.clone() })?;
                if option.takes_value {
                    let rest = letters.as_str().to_owned();
                    let value = if rest.is_empty() { words.next().cloned() } else { Some(rest) };
                    self.apply(&mut command, option, &flag, value)?;
                    break;
                }
                self.apply(&mut command, option, &flag, Some(String::new()))?;
            }
        }
        self.done.push(command);
        Ok(())
    }

    fn apply(
        &mut self,
        command: &mut Command,
        option: &CurlOption,
        flag: &str,
        value: Option<String>,
    ) -> Result<(), DraftError> {
        let value = value.ok_or_else(|| DraftError::MissingValue { flag: flag.to_owned() })?;
        match option.meaning {
            Meaning::Next => self.done.push(std::mem::take(command)),
            Meaning::Refused(why) => return Err(DraftError::NotInPlans { flag: flag.to_owned(), why }),
            meaning => command.apply(meaning, flag, value)?,
        }
        Ok(())
    }
}

/// `--no-NAME` of a flag takes it back, which is as if it were not there.
fn negated(name: &str) -> Option<&'static CurlOption> {
    const IGNORED: CurlOption =
        CurlOption { short: None, long: "", takes_value: false, meaning: Meaning::Nothing };
    let option = options::long(name.strip_prefix("no-")?)?;
    (!option.takes_value).then_some(const { &IGNORED })
}

impl Command {
    fn apply(&mut self, meaning: Meaning, flag: &str, value: String) -> Result<(), DraftError> {
        match meaning {
            Meaning::Url => self.urls.push(value),
            Meaning::Method => self.method = Some(value),
            Meaning::Header => self.header(flag, &value)?,
            Meaning::Data(kind) => self.data.add(kind, &value)?,
            Meaning::Form => self.form.push(body::form_part(&value)?),
            Meaning::FormText => self.form.push(body::form_text(&value)?),
            Meaning::User => {
                let credentials = format!("Basic {}", STANDARD.encode(&value));
                self.set("Authorization", &credentials);
            }
            Meaning::Bearer => self.set("Authorization", &format!("Bearer {value}")),
            Meaning::UserAgent => self.set("User-Agent", &value),
            Meaning::Referer => self.set("Referer", value.trim_end_matches(";auto")),
            Meaning::Cookie if value.contains('=') => self.cookie(&value),
            Meaning::Cookie => {
                let why = "it names a file of cookies; write them as `name=value`";
                return Err(DraftError::NotInPlans { flag: flag.to_owned(), why });
            }
            Meaning::Get => self.is_get = true,
            Meaning::Head => self.is_head = true,
            Meaning::Insecure => self.tls.push(("insecure", "true".to_owned())),
            Meaning::MaxTime => {
                let seconds: f64 = value.parse().unwrap_or(0.0);
                if !(seconds.is_finite() && seconds > 0.0) {
                    let problem = format!("`{value}` is no number of seconds");
                    return Err(DraftError::malformed(&format!("the value of `{flag}`"), problem));
                }
                self.max_time = Some(format!("\"{:.0}ms\"", seconds * 1e3));
            }
            Meaning::Http2 => self.is_http2 = true,
            Meaning::UnixSocket => self.unix_socket = Some(value),
            Meaning::GlobOff => self.is_glob_off = true,
            Meaning::CaFile => self.tls.push(("ca", format!("[{}]", quoted(&value)))),
            Meaning::Certificate => self.tls.push(("cert", quoted(&value))),
            Meaning::Key => self.tls.push(("key", quoted(&value))),
            Meaning::Upload => self.upload = Some((body::file_name(&value), body::file_text(&value)?)),
            Meaning::Note(note) => self.notes.push(note),
            Meaning::Nothing | Meaning::Next | Meaning::Refused(_) => {}
        }
        Ok(())
    }

    /// One header, or `@file` with one on each line.
    fn header(&mut self, flag: &str, value: &str) -> Result<(), DraftError> {
        let Some(file) = value.strip_prefix('@') else { return self.header_line(flag, value) };
        let text = body::file_text(file)?;
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.try_for_each(|line| self.header_line(flag, line))
    }

    /// `Name: value`, `Name;` for an empty one, `Name:` for none.
    fn header_line(&mut self, flag: &str, line: &str) -> Result<(), DraftError> {
        if let Some((name, value)) = line.split_once(':') {
            let name = name.trim();
            if self.has(name) {
                self.notes.push(SEVERAL_HEADERS);
            }
            match value.trim() {
                "" => self.without.push(name.to_owned()),
                value => self.set(name, value),
            }
        } else if let Some(name) = line.trim().strip_suffix(';') {
            self.set(name, "");
        } else {
            let problem = format!("`{line}` is no `Name: value`");
            return Err(DraftError::malformed(&format!("the value of `{flag}`"), problem));
        }
        Ok(())
    }

    /// Several are sent together.
    fn cookie(&mut self, value: &str) {
        match self.headers.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
            Some((_, known)) => *known = format!("{known}; {value}"),
            None => self.set("Cookie", value),
        }
    }

    /// A later one of a name replaces it: a plan has each name once.
    fn set(&mut self, name: &str, value: &str) {
        set_header(&mut self.headers, name, value);
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    fn add_to(mut self, draft: &mut Draft, names: &mut Names) -> Result<(), DraftError> {
        let body = self.body()?;
        let method = self.method(&body);
        if matches!(&body, Body::Json(_) | Body::Graphql { .. }) {
            self.headers.retain(|(name, value)| {
                !(name.eq_ignore_ascii_case("content-type") && value == "application/json")
            });
        }
        let without = [self.without.as_slice(), &["content-length".to_owned()]].concat();
        self.headers.retain(|(name, _)| !without.iter().any(|left_out| left_out.eq_ignore_ascii_case(name)));
        for note in &self.notes {
            if !draft.notes.iter().any(|known| known == note) {
                draft.notes.push((*note).to_owned());
            }
        }
        for text in &self.urls {
            let text = if self.is_glob_off { text.clone() } else { unglobbed(text)? };
            let address = address(&text, self.unix_socket.as_deref())?;
            let path = self.path(&address.path);
            let target = draft.target(&address.target);
            let plain = path.split('?').next().unwrap_or_default();
            let headers = self.headers_for(&address);
            draft.requests.push(Request {
                name: names.request(&format!("{method} {plain}")),
                target,
                method: method.clone(),
                path: escaped(&path),
                headers,
                body: body.clone(),
                ..Request::default()
            });
        }
        self.settings(draft);
        Ok(())
    }

    /// Data of `-G` are a query, and a file gets its name where the address ends in `/`.
    fn path(&self, path: &str) -> String {
        match (&self.upload, self.data.text()) {
            (Some((name, _)), _) if path.ends_with('/') && !path.contains('?') => {
                format!("{path}{}", utf8_percent_encode(name, &UNRESERVED))
            }
            (_, data) if self.is_get && !data.is_empty() => {
                format!("{path}{}{data}", if path.contains('?') { '&' } else { '?' })
            }
            _ => path.to_owned(),
        }
    }

    /// A host that the address has itself is left out.
    fn headers_for(&self, address: &Address) -> Vec<(String, String)> {
        let is_sent = |name: &str, value: &str| !name.eq_ignore_ascii_case("host") || value != address.host;
        let sent = self.headers.iter().filter(|(name, value)| is_sent(name, value));
        let mut headers: Vec<_> = sent.map(|(name, value)| (name.clone(), escaped(value))).collect();
        if let Some(credentials) = address.credentials.as_ref().filter(|_| !self.has("Authorization")) {
            set_header(&mut headers, "Authorization", credentials);
        }
        headers
    }

    fn method(&self, body: &Body) -> String {
        match &self.method {
            Some(method) => method.clone(),
            None if self.is_head => "HEAD".to_owned(),
            None if self.upload.is_some() => "PUT".to_owned(),
            None if *body == Body::None => "GET".to_owned(),
            None => "POST".to_owned(),
        }
    }

    fn body(&mut self) -> Result<Body, DraftError> {
        if let Some((_, upload)) = &self.upload {
            return Ok(Body::Text(escaped(upload)));
        }
        if !self.form.is_empty() {
            let (content_type, body) = body::multipart(&self.form)?;
            self.set("Content-Type", &content_type);
            return Ok(Body::Text(escaped(&body)));
        }
        if self.is_get || self.data.is_empty() {
            return Ok(Body::None);
        }
        if self.data.is_json {
            for name in ["Content-Type", "Accept"] {
                if !self.has(name) {
                    self.set(name, "application/json");
                }
            }
        }
        if !self.has("Content-Type")
            && !self.without.iter().any(|name| name.eq_ignore_ascii_case("content-type"))
        {
            self.set("Content-Type", FORM);
        }
        let is_json = self.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("content-type") && value.split(';').next() == Some("application/json")
        });
        let text = self.data.text();
        let path = self.urls.first().map_or("", String::as_str);
        let json = if is_json { Body::of_json(text, path) } else { None };
        Ok(json.unwrap_or_else(|| Body::Text(escaped(text))))
    }

    fn settings(&self, draft: &mut Draft) {
        // curl passes over what is said of certificates where nothing is encrypted, and a plan refuses it.
        let is_encrypted = draft.targets.iter().any(|(_, url)| url.starts_with("https://"));
        let mut put = |key: &'static str, value: String| {
            draft.settings.retain(|(known, _)| *known != key);
            draft.settings.push((key, value));
        };
        if let Some(timeout) = &self.max_time {
            put("timeout", timeout.clone());
        }
        if self.is_http2 {
            put("protocol", "\"http2\"".to_owned());
        }
        if is_encrypted && !self.tls.is_empty() {
            let mut members: Vec<&(&str, String)> = Vec::new();
            for member in &self.tls {
                members.retain(|(known, _)| *known != member.0);
                members.push(member);
            }
            // As curl has it, any certificate is taken then.
            let is_insecure = members.iter().any(|(key, _)| *key == "insecure");
            members.retain(|(key, _)| !(is_insecure && *key == "ca"));
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            put("tls", format!("{{ {} }}", members.join(", ")));
        }
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// An address as curl reads it where it is one alone: behind a backslash, as browsers copy them, braces and brackets are no patterns
/// (curl(1), "GLOBBING"). Brackets around the host are its own.
fn unglobbed(text: &str) -> Result<String, DraftError> {
    let host = text.find("://").map_or(0, |at| at + "://".len());
    let end = text[host..].find(['/', '?', '#']).map_or(text.len(), |at| host + at);
    let mut plain = text[..end].to_owned();
    let mut is_pattern = plain.contains(['{', '}']);
    let mut letters = text[end..].chars().peekable();
    while let Some(letter) = letters.next() {
        let escaped = letters.next_if(|next| letter == '\\' && "{}[]".contains(*next));
        is_pattern |= escaped.is_none() && "{}[]".contains(letter);
        plain.push(escaped.unwrap_or(letter));
    }
    if is_pattern {
        let why =
            "curl makes several addresses of braces and brackets; write one, or a variable into the plan";
        return Err(DraftError::Address { text: text.to_owned(), why: why.to_owned() });
    }
    Ok(plain)
}

struct Address {
    target: String,
    /// With the query.
    path: String,
    /// With its port, as `Host` has it.
    host: String,
    /// A value of `Authorization`.
    credentials: Option<String>,
}

fn address(text: &str, unix_socket: Option<&str>) -> Result<Address, DraftError> {
    let fault = |why: &str| DraftError::Address { text: text.to_owned(), why: why.to_owned() };
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&whole).map_err(|error| fault(&error.to_string()))?;
    if !["http", "https"].contains(&url.scheme()) {
        return Err(fault("it begins with neither http:// nor https://"));
    }
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let target = match unix_socket {
        Some(socket) => format!("http://unix:{socket}"),
        None => url.origin().ascii_serialization(),
    };
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let (user, password) = (decoded(url.username()), url.password().map(decoded));
    let credentials = (!user.is_empty() || password.is_some())
        .then(|| format!("Basic {}", STANDARD.encode(format!("{user}:{}", password.unwrap_or_default()))));
    let host = url[Position::BeforeHost..Position::AfterPort].to_owned();
    Ok(Address { target, path, host, credentials })
}

#[cfg(test)]
mod tests;
