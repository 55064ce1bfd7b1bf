//! Options of curl (curl(1)), as far as they can be said in a plan.

/// What an option does to a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Url,
    Method,
    Header,
    Data(Data),
    Form,
    FormText,
    User,
    Bearer,
    UserAgent,
    Referer,
    Cookie,
    Get,
    Head,
    Insecure,
    MaxTime,
    Http2,
    UnixSocket,
    GlobOff,
    CaFile,
    Certificate,
    Key,
    Upload,
    Next,
    /// It changes nothing of what is sent.
    Nothing,
    /// It changes something that plans do not; the note says so.
    Note(&'static str),
    /// A request without it would be another one.
    Refused(&'static str),
}

/// Kinds of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// `@FILE` without its ends of lines.
    Text,
    /// `@FILE` as it is.
    Binary,
    /// No file.
    Raw,
    /// Percent-encoded.
    Encoded,
    /// As `Binary`, with the headers of JSON.
    Json,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct CurlOption {
    pub(super) short: Option<char>,
    pub(super) long: &'static str,
    pub(super) takes_value: bool,
    pub(super) meaning: Meaning,
}

const fn with(short: Option<char>, long: &'static str, meaning: Meaning) -> CurlOption {
    CurlOption { short, long, takes_value: true, meaning }
}

const fn flag(short: Option<char>, long: &'static str, meaning: Meaning) -> CurlOption {
    CurlOption { short, long, takes_value: false, meaning }
}

const COMPRESSED: &str = "`--compressed` is left out: answers are looked at as they were sent; add the header Accept-Encoding to have them compressed";
const REDIRECTS: &str = "`--location` is left out: redirects are not followed; write a request for where each leads to, and `expect_status`";
const PATH_AS_IS: &str = "`--path-as-is` is left out: dots in paths are resolved; write the path into the plan as it is to be sent";
const RESOLVE: &str = "it says to which address a name leads; write that address as `target`, the name as header `Host`, and `server_name` in `tls`";
const PROXY: &str = "requests go to the target itself";
const OTHER_CREDENTIALS: &str = "plans send no credentials that need a challenge; use a k6 script or a token";

pub(super) const OPTIONS: &[CurlOption] = &[
    with(None, "url", Meaning::Url),
    with(Some('X'), "request", Meaning::Method),
    with(Some('H'), "header", Meaning::Header),
    with(Some('d'), "data", Meaning::Data(Data::Text)),
    with(None, "data-ascii", Meaning::Data(Data::Text)),
    with(None, "data-binary", Meaning::Data(Data::Binary)),
    with(None, "data-raw", Meaning::Data(Data::Raw)),
    with(None, "data-urlencode", Meaning::Data(Data::Encoded)),
    with(None, "json", Meaning::Data(Data::Json)),
    with(Some('F'), "form", Meaning::Form),
    with(None, "form-string", Meaning::FormText),
    with(Some('u'), "user", Meaning::User),
    with(None, "oauth2-bearer", Meaning::Bearer),
    with(Some('A'), "user-agent", Meaning::UserAgent),
    with(Some('e'), "referer", Meaning::Referer),
    with(Some('b'), "cookie", Meaning::Cookie),
    flag(Some('G'), "get", Meaning::Get),
    flag(Some('I'), "head", Meaning::Head),
    flag(Some('k'), "insecure", Meaning::Insecure),
    with(Some('m'), "max-time", Meaning::MaxTime),
    flag(None, "http2", Meaning::Http2),
    flag(None, "http2-prior-knowledge", Meaning::Http2),
    with(None, "unix-socket", Meaning::UnixSocket),
    with(None, "cacert", Meaning::CaFile),
    with(Some('E'), "cert", Meaning::Certificate),
    with(None, "key", Meaning::Key),
    with(Some('T'), "upload-file", Meaning::Upload),
    flag(Some(':'), "next", Meaning::Next),
    flag(None, "compressed", Meaning::Note(COMPRESSED)),
    flag(Some('L'), "location", Meaning::Note(REDIRECTS)),
    flag(None, "location-trusted", Meaning::Note(REDIRECTS)),
    flag(None, "basic", Meaning::Nothing),
    flag(Some('s'), "silent", Meaning::Nothing),
    flag(Some('S'), "show-error", Meaning::Nothing),
    flag(Some('v'), "verbose", Meaning::Nothing),
    flag(Some('i'), "include", Meaning::Nothing),
    flag(None, "show-headers", Meaning::Nothing),
    flag(Some('f'), "fail", Meaning::Nothing),
    flag(None, "fail-with-body", Meaning::Nothing),
    flag(Some('#'), "progress-bar", Meaning::Nothing),
    flag(None, "no-progress-meter", Meaning::Nothing),
    flag(Some('N'), "no-buffer", Meaning::Nothing),
    flag(Some('g'), "globoff", Meaning::GlobOff),
    flag(Some('O'), "remote-name", Meaning::Nothing),
    flag(Some('J'), "remote-header-name", Meaning::Nothing),
    flag(None, "http1.1", Meaning::Nothing),
    flag(None, "path-as-is", Meaning::Note(PATH_AS_IS)),
    flag(None, "tcp-nodelay", Meaning::Nothing),
    flag(Some('q'), "disable", Meaning::Nothing),
    flag(Some('Z'), "parallel", Meaning::Nothing),
    with(Some('o'), "output", Meaning::Nothing),
    with(Some('D'), "dump-header", Meaning::Nothing),
    with(Some('w'), "write-out", Meaning::Nothing),
    with(Some('c'), "cookie-jar", Meaning::Nothing),
    with(None, "connect-timeout", Meaning::Nothing),
    with(None, "max-redirs", Meaning::Nothing),
    with(None, "retry", Meaning::Nothing),
    with(None, "retry-delay", Meaning::Nothing),
    with(None, "retry-max-time", Meaning::Nothing),
    with(None, "limit-rate", Meaning::Nothing),
    with(None, "stderr", Meaning::Nothing),
    with(None, "trace", Meaning::Nothing),
    with(None, "trace-ascii", Meaning::Nothing),
    with(None, "keepalive-time", Meaning::Nothing),
    with(None, "resolve", Meaning::Refused(RESOLVE)),
    with(None, "connect-to", Meaning::Refused(RESOLVE)),
    with(Some('x'), "proxy", Meaning::Refused(PROXY)),
    with(None, "socks5", Meaning::Refused(PROXY)),
    with(None, "socks5-hostname", Meaning::Refused(PROXY)),
    with(Some('K'), "config", Meaning::Refused("its options are in a file; write them on the line")),
    with(Some('r'), "range", Meaning::Refused("write it as the header `Range: bytes=…`")),
    flag(None, "digest", Meaning::Refused(OTHER_CREDENTIALS)),
    flag(None, "ntlm", Meaning::Refused(OTHER_CREDENTIALS)),
    flag(None, "negotiate", Meaning::Refused(OTHER_CREDENTIALS)),
    with(
        None,
        "aws-sigv4",
        Meaning::Refused("each request would need a signature of its own; use a k6 script"),
    ),
    flag(Some('0'), "http1.0", Meaning::Refused("requests are of HTTP/1.1 or HTTP/2")),
    flag(None, "http3", Meaning::Refused("requests are of HTTP/1.1 or HTTP/2")),
];

pub(super) fn long(name: &str) -> Option<&'static CurlOption> {
    OPTIONS.iter().find(|option| option.long == name)
}

pub(super) fn short(letter: char) -> Option<&'static CurlOption> {
    OPTIONS.iter().find(|option| option.short == Some(letter))
}
