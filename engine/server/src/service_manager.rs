//! What a service manager such as systemd is told of the server's life: datagrams to a socket that it names, as `sd_notify(3)` has
//! them. What asks for nothing is told nothing.

use std::{
    ffi::OsStr,
    io,
    os::unix::{
        ffi::OsStrExt as _,
        net::{SocketAddr, UnixDatagram},
    },
    time::Duration,
};

/// The server's life, in the manager's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LifeNotice {
    /// Requests are responded to.
    Ready,
    /// The signal to stop has come.
    Stopping,
    /// All is well since the last one.
    Watchdog,
}

impl LifeNotice {
    const fn text(self) -> &'static [u8] {
        match self {
            Self::Ready => b"READY=1",
            Self::Stopping => b"STOPPING=1",
            Self::Watchdog => b"WATCHDOG=1",
        }
    }
}

/// Whoever wants to be told more often than this is told so often: it would leave no time for anything else.
const SHORTEST_WATCHDOG: Duration = Duration::from_millis(10);

/// A service manager that wants to be told.
#[derive(Debug, Clone)]
pub struct ServiceManager {
    address: SocketAddr,
    /// It ends a server from which it hears nothing for so long; none where it does not.
    watchdog_interval: Option<Duration>,
}

impl ServiceManager {
    /// From the variables of the environment that `sd_notify(3)` and `sd_watchdog_enabled(3)` name; none where nobody wants to be told.
    /// A watchdog of another process than this one is not ours.
    pub fn from_environment(
        variable: &dyn Fn(&str) -> Option<String>,
        own_process: u32,
    ) -> Result<Option<Self>, String> {
        let Some(socket) = variable("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else {
            return Ok(None);
        };
        let address =
            address(&socket).map_err(|error| format!("NOTIFY_SOCKET `{socket}` is no socket: {error}"))?;
        let is_ours = variable("WATCHDOG_PID").is_none_or(|process| process == own_process.to_string());
        let microseconds = variable("WATCHDOG_USEC").filter(|_| is_ours).and_then(|text| text.parse().ok());
        let watchdog_interval = microseconds.filter(|&count| count > 0).map(Duration::from_micros);
        let watchdog_interval = watchdog_interval.map(|interval| interval.max(SHORTEST_WATCHDOG));
        Ok(Some(Self { address, watchdog_interval }))
    }

    pub(crate) const fn watchdog_interval(&self) -> Option<Duration> {
        self.watchdog_interval
    }

    /// A manager that is gone keeps nobody from serving.
    pub(crate) fn tell(&self, notice: LifeNotice) {
        let sent = UnixDatagram::unbound()
            .and_then(|socket| socket.send_to_addr(notice.text(), &self.address).map(drop));
        if let Err(error) = sent {
            tracing::warn!(%error, ?notice, "the service manager cannot be told");
        }
    }
}

/// A path, or behind `@` a name in Linux' abstract namespace (`unix(7)`).
fn address(socket: &str) -> io::Result<SocketAddr> {
    match socket.strip_prefix('@') {
        #[cfg(target_os = "linux")]
        Some(name) => {
            use std::os::linux::net::SocketAddrExt as _;
            SocketAddr::from_abstract_name(name)
        }
        _ if !socket.starts_with('/') => Err(io::ErrorKind::InvalidInput.into()),
        _ => SocketAddr::from_pathname(OsStr::from_bytes(socket.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manager(variables: &[(&str, &str)]) -> Result<Option<ServiceManager>, String> {
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        ServiceManager::from_environment(&find, 7)
    }

    #[test]
    fn who_names_no_socket_is_told_nothing() {
        assert!(manager(&[("WATCHDOG_USEC", "1000")]).unwrap().is_none());
        assert!(manager(&[("NOTIFY_SOCKET", "")]).unwrap().is_none());
        let fault = manager(&[("NOTIFY_SOCKET", "run/notify")]).unwrap_err();
        assert!(fault.starts_with("NOTIFY_SOCKET `run/notify` is no socket"), "{fault}");
    }

    #[test]
    fn a_watchdog_is_for_one_process() {
        let interval = |more: &[(&str, &str)]| {
            let variables =
                [&[("NOTIFY_SOCKET", "/run/notify"), ("WATCHDOG_USEC", "3000000")], more].concat();
            manager(&variables).unwrap().expect("a socket is named").watchdog_interval()
        };
        assert_eq!(interval(&[]), Some(Duration::from_secs(3)));
        assert_eq!(interval(&[("WATCHDOG_PID", "7")]), Some(Duration::from_secs(3)));
        assert_eq!(interval(&[("WATCHDOG_PID", "8")]), None);
    }

    /// With one of a microsecond the server did nothing else, and could not be stopped.
    #[test]
    fn a_watchdog_leaves_time_for_the_rest() {
        let variables = [("NOTIFY_SOCKET", "/run/notify"), ("WATCHDOG_USEC", "1")];
        let told = manager(&variables).unwrap().expect("a socket is named");
        assert_eq!(told.watchdog_interval(), Some(SHORTEST_WATCHDOG));
    }

    #[test]
    fn notices_reach_sockets_with_paths_and_abstract_names() {
        let folder = tempfile::tempdir().expect("a directory can be made");
        let path = folder.path().join("notify");
        let by_path = UnixDatagram::bind(&path).expect("it can be bound");
        let shown = path.display().to_string();
        let manager_of = |socket: &str| {
            let found = manager(&[("NOTIFY_SOCKET", socket)]).expect("it is a socket");
            found.expect("one is named")
        };
        let received = |socket: &UnixDatagram| {
            let mut text = [0; 32];
            let count = socket.recv(&mut text).expect("a notice comes");
            String::from_utf8_lossy(&text[..count]).into_owned()
        };
        manager_of(&shown).tell(LifeNotice::Ready);
        assert_eq!(received(&by_path), "READY=1");
        if cfg!(target_os = "linux") {
            let name = format!("prony-notify-{}", std::process::id());
            let abstract_name = format!("@{name}");
            let found = manager_of(&abstract_name);
            let by_name = UnixDatagram::bind_addr(&found.address).expect("it can be bound");
            found.tell(LifeNotice::Stopping);
            assert_eq!(received(&by_name), "STOPPING=1");
        }
    }
}
