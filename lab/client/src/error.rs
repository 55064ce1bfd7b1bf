//! Why targets cannot be used at all. Failures of single requests are outcomes, not errors.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot resolve the host name `{host}`: {cause}; check its spelling, or write an address")]
    Resolve { host: String, cause: io::Error },
    #[error(
        "{needed} descriptors are needed for {connections} connections, and the limit is {limit}; \
         raise it (`ulimit -Hn {needed}` as root, or LimitNOFILE=), or use fewer users or subscribers"
    )]
    Descriptors { connections: u32, needed: u64, limit: u64 },
    #[error(
        "{users} connections need as many ports, and one source address has {available} \
         (net.ipv4.ip_local_port_range); widen the range, or use fewer users and subscribers, or several machines"
    )]
    Ports { users: u32, available: u32 },
    #[error("cannot reach the target {target}: {cause}; is it running, and is the address right?")]
    Unreachable { target: String, cause: io::Error },
    #[error("cannot speak TLS with the target {target}: {reason}")]
    Handshake { target: String, reason: String },
    #[error(
        "cannot speak HTTP/2 with the target {target}: {reason}; use `protocol = \"http1\"` (--protocol http1), or leave it to the target with \"auto\""
    )]
    NotHttp2 { target: String, reason: String },
    #[error("cannot set up TLS: {message}")]
    TlsSettings { message: String },
    #[error("the file {path} {message}", path = path.display())]
    TlsFile { path: PathBuf, message: String },
    #[error("cannot {what}: {cause}")]
    System { what: &'static str, cause: io::Error },
}

impl ClientError {
    pub(crate) fn system(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |cause| Self::System { what, cause }
    }

    pub(crate) fn tls_file(path: &Path) -> impl Fn(String) -> Self {
        move |message| Self::TlsFile { path: path.to_owned(), message }
    }
}
