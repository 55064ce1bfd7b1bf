//! What the options of a script say of connections, in the runner's settings: names, certificates, and what is kept.

use super::options::{Options, OptionsError, Span, TlsAuth};
use prony_model::plan::hosts::{HostAddress, Hosts};
use prony_model::plan::network::Sources;
use prony_model::plan::wire::{Connections, Dns, Protocol, TlsOptions};
use prony_model::{Nanos, WireOptions};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;

/// How the users of a script reach their targets.
#[derive(Debug, Clone, Default)]
pub struct Wire {
    pub options: WireOptions,
    pub hosts: Hosts,
    /// What [`Wire::options`] names is there while this is.
    _identity: Option<Arc<[File; 2]>>,
}

impl Wire {
    /// What is not done as the options ask for it is told as warnings.
    pub fn new(options: &Options, warnings: &mut Vec<String>) -> Result<Self, OptionsError> {
        let mut faults = Vec::new();
        let hosts = hosts(options, &mut faults);
        let identity = identity(options, warnings).unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        let is_renewed = is_renewed(options, &mut faults);
        if !faults.is_empty() {
            return Err(OptionsError { faults });
        }
        tell_missing(options, warnings);
        let path = |file: usize| identity.as_deref().map(|files| path_of(&files[file]));
        let tls = TlsOptions {
            insecure: options.insecure_skip_tls_verify,
            cert: path(0),
            key: path(1),
            version: options.tls_version,
            cipher_suites: options.tls_cipher_suites.clone(),
            ..TlsOptions::default()
        };
        let connections = if options.no_connection_reuse { Connections::Fresh } else { Connections::Kept };
        let dns = if is_renewed { Dns::PerConnection } else { Dns::Once };
        let options =
            WireOptions { protocol: Protocol::Auto, connections, dns, tls, ..WireOptions::default() };
        Ok(Self { options, hosts, _identity: identity })
    }
}

fn tell_missing(options: &Options, warnings: &mut Vec<String>) {
    if options.dns.select != "random" && options.dns.select != "roundRobin" {
        warnings.push("`dns.select` has no effect: connections take turns at a name's addresses".to_owned());
    }
    if options.dns.policy != "preferIPv4" {
        warnings.push(format!(
            "`dns.policy` `{}` has no effect: names are reached by IPv4 where they have it, else by IPv6",
            options.dns.policy
        ));
    }
}

/// Whether names are asked for again as connections are opened.
fn is_renewed(options: &Options, faults: &mut Vec<String>) -> bool {
    let text = options.dns.ttl.as_str();
    let ttl = Span::parse(text).and_then(Span::nanos);
    if ttl.is_none() && text != "inf" {
        faults.push(format!("`dns.ttl` must be `inf` or a time such as `5m` or `0`, and is `{text}`"));
    }
    ttl == Some(Nanos::ZERO)
}

fn hosts(options: &Options, faults: &mut Vec<String>) -> Hosts {
    let mut hosts = Hosts::default();
    for (name, text) in &options.hosts {
        let with_port = text.parse::<SocketAddr>().map(|full| (full.ip(), Some(full.port())));
        match with_port.or_else(|_| text.parse::<IpAddr>().map(|address| (address, None))) {
            Ok((address, port)) => hosts.insert(name, HostAddress { address, port }),
            Err(_) => faults.push(format!(
                "`hosts` gives `{name}` the address `{text}`; write an IP address, with a port or without, such as `127.0.0.1:8080`"
            )),
        }
    }
    add_rules(&mut hosts, options, faults);
    hosts
}

/// Where connections must not go, and where they come from.
fn add_rules(hosts: &mut Hosts, options: &Options, faults: &mut Vec<String>) {
    for text in &options.blacklist_ips {
        match text.parse() {
            Ok(network) => hosts.blocked_networks.push(network),
            Err(error) => faults.push(format!("`blacklistIPs`: {error}")),
        }
    }
    for pattern in &options.block_hostnames {
        let name = pattern.strip_prefix("*.").or_else(|| pattern.strip_prefix('*')).unwrap_or(pattern);
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let labels = name.split('.');
        let is_name = labels.clone().all(|label| !label.is_empty() && label.chars().all(is_letter));
        if is_name || (name.is_empty() && !pattern.is_empty()) {
            hosts.block_name(pattern);
        } else {
            faults.push(format!(
                "`blockHostnames` has `{pattern}`; write a host name, with an asterisk at its beginning or without"
            ));
        }
    }
    if let Some(text) = &options.local_ips {
        match Sources::parse(text) {
            Ok(sources) => hosts.sources = sources,
            Err(error) => faults.push(format!("`localIPs`: {error}")),
        }
    }
}

/// The certificate and its key as files in memory alone: a key is never written to a disk.
fn identity(options: &Options, warnings: &mut Vec<String>) -> Result<Option<Arc<[File; 2]>>, String> {
    let Some(TlsAuth { cert, key, password, domains }) = options.tls_auth.first() else { return Ok(None) };
    if options.tls_auth.len() > 1 {
        warnings.push(format!(
            "of the {} certificates of `tlsAuth` the first is shown to all targets that ask for one; the others have no effect",
            options.tls_auth.len()
        ));
    } else if !domains.is_empty() {
        warnings.push(format!(
            "the certificate of `tlsAuth` is shown to all targets that ask for one, not to {} alone",
            domains.join(", ")
        ));
    }
    if password.as_ref().is_some_and(|password| !password.is_empty()) {
        return Err(
            "the key of `tlsAuth` has a `password`, which is not supported; give the key without one \
                    (`openssl pkey -in KEY -out PLAIN`)"
                .to_owned(),
        );
    }
    let keep = |text: &str| in_memory(text).map_err(|error| format!("cannot keep `tlsAuth`: {error}"));
    Ok(Some(Arc::new([keep(cert)?, keep(key)?])))
}

fn in_memory(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("prony-identity", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    Ok(file)
}

fn path_of(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
