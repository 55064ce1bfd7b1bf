//! Bodies that a command of curl sends: data, forms and files.

use std::{fmt::Write as _, fs, path::Path};

use url::form_urlencoded::byte_serialize;

use super::options::Data;
use crate::DraftError;

/// What `-d` and its kin have gathered.
#[derive(Debug, Default)]
pub(super) struct Parts {
    text: Option<String>,
    pub(super) is_json: bool,
}

impl Parts {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_none()
    }

    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Parts of data are joined by `&`, those of JSON by nothing.
    pub(super) fn add(&mut self, kind: Data, value: &str) -> Result<(), DraftError> {
        let part = match (kind, value.strip_prefix('@')) {
            (Data::Encoded, _) => encoded(value)?,
            (Data::Text, Some(file)) => file_text(file)?.replace(['\r', '\n'], ""),
            (Data::Binary | Data::Json, Some(file)) => file_text(file)?,
            (Data::Raw, _) | (_, None) => value.to_owned(),
        };
        self.is_json |= kind == Data::Json;
        match &mut self.text {
            Some(text) => {
                if kind != Data::Json {
                    text.push('&');
                }
                text.push_str(&part);
            }
            None => self.text = Some(part),
        }
        Ok(())
    }
}

/// `content`, `=content`, `name=content`, `@file` or `name@file`.
fn encoded(value: &str) -> Result<String, DraftError> {
    let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20");
    let Some(at) = value.find(['=', '@']) else { return Ok(encode(value)) };
    let (name, rest) = (&value[..at], &value[at + 1..]);
    let content = if value[at..].starts_with('@') { file_text(rest)? } else { rest.to_owned() };
    Ok(if name.is_empty() { encode(&content) } else { format!("{name}={}", encode(&content)) })
}

/// One value of a form.
#[derive(Debug)]
pub(super) struct Part {
    text: String,
    filename: Option<String>,
    content_type: Option<String>,
}

/// `name=content`, `name=@file` (a file) or `name=<file` (its text), with `;type=…` and `;filename=…` behind.
pub(super) fn form_part(value: &str) -> Result<(String, Part), DraftError> {
    let (name, rest) = named(value)?;
    let mut pieces = rest.split(';');
    let content = pieces.next().unwrap_or_default();
    let mut part = match (content.strip_prefix('@'), content.strip_prefix('<')) {
        (Some(file), _) => {
            let filename = file_name(file);
            let content_type = Some(content_type_of(&filename).to_owned());
            Part { text: file_text(file)?, filename: Some(filename), content_type }
        }
        (None, Some(file)) => Part { text: file_text(file)?, filename: None, content_type: None },
        (None, None) => Part { text: content.to_owned(), filename: None, content_type: None },
    };
    for piece in pieces {
        match piece.trim().split_once('=') {
            Some(("type", kind)) => part.content_type = Some(kind.to_owned()),
            Some(("filename", filename)) => part.filename = Some(filename.trim_matches('"').to_owned()),
            _ => {
                let problem = format!("`{}` is neither `type=…` nor `filename=…`", piece.trim());
                return Err(DraftError::malformed(&format!("the form's part `{value}`"), problem));
            }
        }
    }
    Ok((name, part))
}

pub(super) fn form_text(value: &str) -> Result<(String, Part), DraftError> {
    let (name, rest) = named(value)?;
    Ok((name, Part { text: rest.to_owned(), filename: None, content_type: None }))
}

fn named(value: &str) -> Result<(String, &str), DraftError> {
    let parted = value.split_once('=');
    let (name, rest) = parted
        .ok_or_else(|| DraftError::malformed(&format!("the form's part `{value}`"), "it has no `=`"))?;
    Ok((name.to_owned(), rest))
}

/// The content type with its boundary, and the body (RFC 7578).
pub(super) fn multipart(parts: &[(String, Part)]) -> Result<(String, String), DraftError> {
    const BOUNDARY: &str = "----prony-form-boundary";
    if parts.iter().any(|(_, part)| part.text.contains(BOUNDARY)) {
        return Err(DraftError::malformed("the form", format!("a value holds `{BOUNDARY}`")));
    }
    let quoted = |text: &str| text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    let mut body = String::new();
    for (name, part) in parts {
        let _ = write!(body, "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(name));
        if let Some(filename) = &part.filename {
            let _ = write!(body, "; filename=\"{}\"", quoted(filename));
        }
        if let Some(content_type) = &part.content_type {
            let _ = write!(body, "\r\nContent-Type: {content_type}");
        }
        let _ = write!(body, "\r\n\r\n{}\r\n", part.text);
    }
    let _ = write!(body, "--{BOUNDARY}--\r\n");
    Ok((format!("multipart/form-data; boundary={BOUNDARY}"), body))
}

/// By the ending of a file's name, as curl has it (curl(1), `--form`).
fn content_type_of(filename: &str) -> &'static str {
    const ENDINGS: [(&str, &str); 10] = [
        ("gif", "image/gif"),
        ("htm", "text/html"),
        ("html", "text/html"),
        ("jpeg", "image/jpeg"),
        ("jpg", "image/jpeg"),
        ("pdf", "application/pdf"),
        ("png", "image/png"),
        ("svg", "image/svg+xml"),
        ("txt", "text/plain"),
        ("xml", "application/xml"),
    ];
    let ending = filename.rsplit_once('.').map_or("", |(_, ending)| ending);
    ENDINGS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(ending))
        .map_or("application/octet-stream", |(_, content_type)| *content_type)
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

pub(super) fn file_text(path: &str) -> Result<String, DraftError> {
    let path = Path::new(path);
    let bytes = fs::read(path).map_err(|source| DraftError::Unreadable { path: path.to_owned(), source })?;
    String::from_utf8(bytes).map_err(|_| DraftError::NotText { path: path.to_owned() })
}
