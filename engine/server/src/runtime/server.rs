//! Starting and stopping the whole: listeners first, then the sources, then the cores, then the acceptor.

use std::{
    cell::Cell,
    convert::Infallible,
    io,
    net::{SocketAddr, TcpListener},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use prony_source::threads::lower_priority;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::LocalSet,
};

use super::{
    accept::Acceptor,
    connections::Entrance,
    core::{self, CoreThread},
    cpus,
    crowd::Crowd,
    descriptors,
    heartbeat::Heartbeats,
    listen::{self, InheritedError, ListenError},
    load::{ConnectionLimits, Load},
    reload,
    stop::{self, StopPhase, Stopper, Stopping},
};
use crate::{
    access::quota_file,
    config::{ServiceManager, Settings},
    graphql::{self, Engine, OpenError},
    memory,
    service_manager::LifeNotice,
    site::Site,
    tls::{Tls, TlsError},
};

/// For the last traces, also where requests have needed all of the grace.
const LAST_TRACES_MIN: Duration = Duration::from_secs(1);

/// Why the server is not there.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Inherited(#[from] InheritedError),
    #[error(
        "the socket at {0} can be reached from other machines, and nothing says who may ask: add [auth] to the configuration, or let everybody do \
         everything with --open (`auth = \"open\"` in the file)"
    )]
    Exposed(SocketAddr),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot serve TLS: {0}")]
    Tls(#[from] TlsError),
    #[error("cannot use the processors {wanted}: {source}")]
    Processors { wanted: String, source: io::Error },
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    #[error("the server ended while it started; its log says why")]
    Ended,
}

/// A server that serves. Dropping it stops it at once.
#[derive(Debug)]
pub struct Running {
    addresses: Vec<SocketAddr>,
    admin_addresses: Vec<SocketAddr>,
    scheme: &'static str,
    stopper: Stopper,
    shutdown_delay: Duration,
    grace: Duration,
    service_manager: Option<ServiceManager>,
    thread: Option<thread::JoinHandle<()>>,
}

/// Binds, opens the sources, starts the cores; returns when requests are answered.
pub fn start(settings: Settings) -> Result<Running, StartError> {
    let running = begin(settings, Vec::new())?;
    running.announce();
    Ok(running)
}

/// Starts, and serves until SIGINT or SIGTERM, then stops as [`Running::stop`] does; a second signal ends it at once. Signals
/// are waited for before the log says that it listens: who reads that may stop it in the next moment. Sockets that a service manager has
/// opened for this process take the place of those to listen on.
pub fn serve(settings: Settings) -> Result<(), StartError> {
    let inherited = listen::inherited()?;
    begin(settings, inherited)?.serve_until_signal().map_err(StartError::Thread)
}

fn begin(mut settings: Settings, inherited: Vec<TcpListener>) -> Result<Running, StartError> {
    for note in &settings.notes {
        tracing::warn!("{note}");
    }
    let tls = Tls::load(&settings.tls)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let cpus = cpus::apply(&settings.cores)
        .map_err(|source| StartError::Processors { wanted: settings.cores.to_string(), source })?;
    let listeners = listeners(&settings, inherited)?;
    let addresses_of = |of: Entrance| {
        let listeners = listeners.iter().filter(move |(_, entrance)| *entrance == of);
        listeners
            .map(|(listener, _)| listener.local_addr())
            .collect::<io::Result<_>>()
            .map_err(StartError::Thread)
    };
    let (addresses, admin_addresses) = (addresses_of(Entrance::Public)?, addresses_of(Entrance::Admin)?);
    // By which names it may be asked for is told by where it really listens.
    settings.listen.clone_from(&addresses);
    let (stopper, stopping) = stop::channel();
    let (ready, is_ready) = mpsc::channel();
    let (shutdown_delay, grace) = (settings.shutdown_delay, settings.grace);
    let service_manager = settings.service_manager.clone();
    let thread = thread::Builder::new()
        .name("control".to_owned())
        .spawn(move || control(settings, tls, &cpus, listeners, &stopping, &ready))
        .map_err(StartError::Thread)?;
    is_ready.recv().unwrap_or(Err(StartError::Ended))?;
    let thread = Some(thread);
    Ok(Running {
        addresses,
        admin_addresses,
        scheme,
        stopper,
        shutdown_delay,
        grace,
        service_manager,
        thread,
    })
}

/// Those that were handed over, or else those of the settings; and those of operators.
fn listeners(
    settings: &Settings,
    inherited: Vec<TcpListener>,
) -> Result<Vec<(TcpListener, Entrance)>, StartError> {
    let mut public = inherited;
    if public.is_empty() {
        public = settings.listen.iter().map(|address| listen::bind(*address)).collect::<Result<_, _>>()?;
    } else if settings.lets_only_this_machine_in() {
        for listener in &public {
            let address = listener.local_addr().map_err(StartError::Thread)?;
            if !address.ip().is_loopback() {
                return Err(StartError::Exposed(address));
            }
        }
    }
    let admin = settings.admin_listen.iter().map(|address| listen::bind_of("--admin-listen", *address));
    let admin = admin.collect::<Result<Vec<_>, _>>()?;
    let with = |entrance: Entrance| move |listener| (listener, entrance);
    Ok(public
        .into_iter()
        .map(with(Entrance::Public))
        .chain(admin.into_iter().map(with(Entrance::Admin)))
        .collect())
}

impl Running {
    /// Where it listens; a port 0 in the settings has become a real one.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where operators are listened to, likewise.
    pub fn admin_addresses(&self) -> &[SocketAddr] {
        &self.admin_addresses
    }

    /// Lets requests in flight finish, for at most the grace of the settings, and returns when all has ended.
    pub fn stop(mut self) {
        self.stopper.raise(StopPhase::Draining);
        let (stopper, grace) = (self.stopper.clone(), self.grace);
        // Outlives this call by at most the grace, when all has ended earlier: nobody waits for it then.
        let _ = thread::Builder::new().name("grace".to_owned()).spawn(move || {
            thread::sleep(grace);
            stopper.raise(StopPhase::Now);
        });
        self.join();
    }

    fn announce(&self) {
        let scheme = self.scheme;
        for address in &self.addresses {
            tracing::info!("listening on {scheme}://{address}");
        }
        for address in &self.admin_addresses {
            tracing::info!(
                "operators are listened to on http://{address}: /metrics, /health, /ready, /live, /debug/pprof/profile"
            );
        }
    }

    fn serve_until_signal(mut self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = runtime.block_on(async { Signals::new() })?;
        self.announce();
        self.tell(LifeNotice::Ready);
        let (ended, has_ended) = tokio::sync::oneshot::channel::<()>();
        let thread = self.thread.take();
        thread::Builder::new().name("end".to_owned()).spawn(move || {
            if let Some(thread) = thread {
                let _ = thread.join();
            }
            let _ = ended.send(());
        })?;
        runtime.block_on(async {
            tokio::select! {
                never = signals.follow(&self) => match never {},
                _ = has_ended => {}
            }
        });
        Ok(())
    }

    fn tell(&self, notice: LifeNotice) {
        if let Some(manager) = &self.service_manager {
            manager.tell(notice);
        }
    }

    /// The phases of stopping up to the end of the grace.
    async fn wind_down(&self) {
        if !self.shutdown_delay.is_zero() {
            let shutdown_delay_ms = self.shutdown_delay.as_millis() as u64;
            tracing::info!(
                shutdown_delay_ms,
                "/ready says that the server stops; connections are still taken"
            );
            tokio::time::sleep(self.shutdown_delay).await;
        }
        tracing::info!(grace_ms = self.grace.as_millis() as u64, "stopping; requests in flight finish");
        self.stopper.drain(self.grace).await;
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.raise(StopPhase::Now);
        self.join();
    }
}

/// Those that stop the server.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// A file that may not grow any more is a disk without room, as the write itself says; its signal would end the process.
    _file_size: Signal,
}

impl Signals {
    /// Waits for them from now on, in a runtime.
    fn new() -> io::Result<Self> {
        let of_file_size = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            _file_size: signal(of_file_size)?,
        })
    }

    async fn next(&mut self) {
        tokio::select! { _ = self.terminate.recv() => {}, _ = self.interrupt.recv() => {} }
    }

    /// Never returns: the end of the control thread ends the waiting.
    async fn follow(mut self, server: &Running) -> Infallible {
        self.next().await;
        server.stopper.raise(StopPhase::Announced);
        server.tell(LifeNotice::Stopping);
        tokio::select! {
            () = server.wind_down() => tracing::warn!("the grace is over; what is left is dropped"),
            () = self.next() => tracing::warn!("second signal; what is left is dropped"),
        }
        server.stopper.raise(StopPhase::Now);
        std::future::pending().await
    }
}

/// The control thread: everything that is not a request of a core.
fn control(
    settings: Settings,
    tls: Option<Arc<Tls>>,
    cpus: &[Option<usize>],
    listeners: Vec<(TcpListener, Entrance)>,
    stopping: &Stopping,
    ready: &mpsc::Sender<Result<(), StartError>>,
) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = match builder.enable_all().on_thread_start(lower_priority).build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(StartError::Thread(error)));
            return;
        }
    };
    let limits = ConnectionLimits::new(
        descriptors::connections(settings.max_connections),
        settings.max_connections_per_address,
    );
    let has_tls = tls.is_some();
    let of_acceptor = stopping.clone();
    let opened = LocalSet::new().block_on(&runtime, async {
        let (site, cores) = match open(settings, tls, cpus, stopping).await {
            Ok(opened) => opened,
            Err(error) => {
                let _ = ready.send(Err(error));
                return None;
            }
        };
        let _ = ready.send(Ok(()));
        let crowd = Crowd::default();
        let operators = Arc::new(Load::default());
        let acceptor = Acceptor {
            cores: &cores,
            limits,
            access: &site.access,
            has_tls,
            crowd: &crowd,
            operators,
            said: Cell::default(),
        };
        tokio::select! {
            outcome = acceptor.run(listeners, of_acceptor) => if let Err(error) = outcome {
                tracing::error!(%error, "the acceptor failed");
            },
            () = crowd.watch(&cores) => {}
        }
        Some((site, cores))
    });
    let Some((site, cores)) = opened else { return };
    let drained = Instant::now();
    site.begin_to_stop();
    // All are told before any is waited for: one connection that lingers must not keep the others' from hearing of it.
    let threads: Vec<_> = cores.into_iter().map(|core| core.thread).collect();
    for thread in threads {
        if thread.join().is_err() {
            tracing::error!("a core's thread has panicked");
        }
    }
    if let Some(shared) = site.access.shared() {
        shared.finish();
    }
    quota_file::save(site.access.counts(), &site.settings.operation_limits);
    site.audit.finish();
    site.access_log.finish();
    finish_traces(&site, stopping, drained);
    tracing::info!("stopped");
}

/// Sends what is left, in what is left of the grace; a moment at least, as the cores may have needed all of it.
fn finish_traces(site: &Site, stopping: &Stopping, drained: Instant) {
    let left = site.settings.grace.saturating_sub(drained.elapsed()).max(LAST_TRACES_MIN);
    let begun = Instant::now();
    // A second signal leaves no more than that moment.
    site.tracer.finish(left, || stopping.has_reached(StopPhase::Now) && begun.elapsed() >= LAST_TRACES_MIN);
}

async fn open(
    settings: Settings,
    tls: Option<Arc<Tls>>,
    cpus: &[Option<usize>],
    stopping: &Stopping,
) -> Result<(Arc<Site>, Vec<CoreThread>), StartError> {
    // Sources may take minutes to open, and a SIGHUP that comes meanwhile is heard after that.
    let hangups = [reload::hangups(), reload::hangups()];
    let engine = Engine::open(&settings).await?;
    // The texts of the configuration and of the database's catalog, and what they were read into.
    memory::give_back();
    let site = Arc::new(Site::new(settings, engine, cpus.len())?.with_tls(tls));
    tokio::task::spawn_local(graphql::follow(Arc::clone(&site)));
    let [of_configuration, of_certificates] = hangups;
    tokio::task::spawn_local(reload::follow(Arc::clone(&site), of_configuration));
    if let Some(tls) = &site.tls {
        tokio::task::spawn_local(reload::follow_certificates(Arc::clone(tls), of_certificates));
    }
    let at = Arc::clone(&site);
    tokio::task::spawn_local(async move { at.access.keep_keys_fresh(&at.tracer).await });
    let counts = Arc::clone(site.access.counts());
    tokio::task::spawn_local(quota_file::keep(counts, site.settings.operation_limits.clone()));
    for source in site.engine.sources() {
        let source = Arc::clone(&source.source);
        tokio::task::spawn_local(async move { source.run().await });
    }
    let (at, mut stops) = (Arc::clone(&site), stopping.clone());
    tokio::task::spawn_local(async move {
        stops.reached(StopPhase::Announced).await;
        at.begin_to_stop();
    });
    let watched = |manager: &ServiceManager| Heartbeats::watched_by(manager, cpus.len());
    let heartbeats = site.settings.service_manager.as_ref().map_or(Ok(None), watched);
    let heartbeats = heartbeats.map_err(StartError::Thread)?;
    let spawn = |(index, cpu): (usize, &Option<usize>)| {
        core::spawn(index, *cpu, Arc::clone(&site), stopping.clone(), heartbeats.clone())
    };
    let cores = cpus.iter().enumerate().map(spawn).collect::<io::Result<_>>().map_err(StartError::Thread)?;
    Ok((site, cores))
}
