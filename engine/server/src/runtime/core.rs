//! One core: a thread with its own single-threaded runtime, which owns its connections from their first byte
//! to their last and its handles on the sources. Nothing of it is shared on the hot path.

use std::{io, rc::Rc, sync::Arc, thread};

use prony_source::threads::lower_priority;
use tokio::{sync::mpsc, task::LocalSet};

use super::{
    connection,
    connections::{Arrival, Connections},
    cpus,
    heartbeat::Heartbeats,
    load::Load,
    stop::{StopPhase, Stopping},
};
use crate::{
    graphql::{CoreEngine, ExecutionContext as _},
    site::Site,
};

/// The acceptor's end of a core.
#[derive(Debug)]
pub(crate) struct CoreThread {
    pub(crate) load: Arc<Load>,
    /// Unbounded, because the limit on connections bounds what can be in it.
    pub(crate) inbox: mpsc::UnboundedSender<Arrival>,
    pub(crate) thread: thread::JoinHandle<()>,
}

/// Starts the thread of core number `index`, which counts where a service manager watches.
pub(crate) fn spawn(
    index: usize,
    cpu: Option<usize>,
    site: Arc<Site>,
    stopping: Stopping,
    heartbeats: Option<Arc<Heartbeats>>,
) -> io::Result<CoreThread> {
    let (inbox, arrivals) = mpsc::unbounded_channel();
    let load = site.metrics.core(index).load();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().on_thread_start(lower_priority).build()?;
    let thread = thread::Builder::new().name(format!("core-{index}")).spawn(move || {
        if let Some(Err(error)) = cpu.map(cpus::hold) {
            tracing::warn!(%error, index, "cannot hold the core's thread on its processor");
        }
        let local = LocalSet::new();
        if let Some(heartbeats) = heartbeats {
            local.spawn_local(heartbeats.count(index));
        }
        local.block_on(&runtime, run(index, site, arrivals, stopping));
    })?;
    Ok(CoreThread { load, inbox, thread })
}

async fn run(
    index: usize,
    site: Arc<Site>,
    mut arrivals: mpsc::UnboundedReceiver<Arrival>,
    mut stopping: Stopping,
) {
    let connections = Rc::new(Connections::default());
    let engine = CoreEngine::attach(index, site);
    let protocol = connection::protocol(engine.settings());
    tokio::task::spawn_local(follow_access(Rc::clone(&engine)));
    while let Some(arrival) = arrivals.recv().await {
        let (entry, engine) = (connections.enter(), Rc::clone(&engine));
        let task = connection::serve(arrival, entry, protocol.clone(), engine, Rc::clone(&connections));
        tokio::task::spawn_local(task);
    }
    engine.hub.stop();
    // Before the grace ends, so that they are closed and not dropped.
    let idle_kept = engine.settings().idle_grace.min(engine.settings().grace / 2);
    tokio::select! {
        () = connections.drain(idle_kept) => {}
        () = stopping.reached(StopPhase::Now) => {}
    }
}

/// Has a core's connections look again at who may go on whenever that was read anew.
async fn follow_access(engine: Rc<CoreEngine>) {
    let mut replacements = engine.site().access.replacements();
    while replacements.changed().await.is_ok() {
        engine.hub.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Read as _, Write as _},
        net::{TcpListener, TcpStream as StandardTcpStream},
        path::Path,
        sync::{Mutex, mpsc as channel},
        time::Duration,
    };

    use futures_util::FutureExt as _;
    use prony_graph::{GraphSettings, GraphSource, Reads, databases::Databases};
    use prony_graph_store::{Kind, Registration, Side, Store, Value};
    use prony_source::CommonSettings;

    use super::*;
    use crate::{
        config::{GivenSource, Settings},
        graphql::Engine,
        runtime::{
            connections::Entrance,
            stop::{self, Stopper},
        },
    };

    /// Long enough for a loaded machine; only a failing test waits for it.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// One core that serves a graph.
    struct Core {
        databases: Arc<Databases>,
        thread: CoreThread,
        stopper: Stopper,
        listener: TcpListener,
    }

    impl Core {
        fn serve(directory: &Path) -> Self {
            // Reads are responded to also while the log's thread stands still.
            let settings = GraphSettings { reads: Reads::Latest, ..GraphSettings::default() };
            let databases = Databases::open(directory, &settings);
            let databases = Arc::new(databases.expect("the graph can be made"));
            let source = Arc::new(GraphSource::new(Arc::clone(&databases), CommonSettings::default()));
            let mut settings = Settings::default();
            settings.functions.sources.push(GivenSource { name: "graph".to_owned(), source });
            let engine = Engine::open(&settings).now_or_never().expect("a graph is not waited for");
            let site = Arc::new(
                Site::new(settings, engine.expect("the graph can be served"), 1).expect("nothing is traced"),
            );
            let (stopper, stopping) = stop::channel();
            let thread = spawn(0, None, site, stopping, None).expect("a thread can be started");
            let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
            Self { databases, thread, stopper, listener }
        }

        fn store(&self) -> Arc<Store> {
            Arc::clone(&self.databases.default().store)
        }

        fn send(&self, request: &str, headers: &str) -> StandardTcpStream {
            let address = self.listener.local_addr().expect("it is bound");
            let mut stream = StandardTcpStream::connect(address).expect("it listens");
            stream.set_read_timeout(Some(PATIENCE)).expect("the timeout is not zero");
            let (socket, _) = self.listener.accept().expect("somebody connects");
            socket.set_nonblocking(true).expect("sockets have it");
            let arrival =
                Arrival { socket, entrance: Entrance::Public, place: self.thread.load.take_place(None) };
            self.thread.inbox.send(arrival).expect("the core runs");
            write!(stream, "{request} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n").expect("the core reads");
            stream
        }

        fn until_in_flight(&self, requests: u64) {
            let wanted = format!("prony_requests_in_flight{{}} {requests}.0");
            let mut metrics = String::new();
            while !metrics.lines().any(|line| line == wanted) {
                metrics.clear();
                let mut stream = self.send("GET /metrics", "connection: close\r\n");
                stream.read_to_string(&mut metrics).expect("the core answers and closes");
            }
        }

        fn stop(self) {
            self.stopper.raise(StopPhase::Now);
            drop(self.thread.inbox);
            self.thread.thread.join().expect("the core has not panicked");
        }
    }

    /// What comes at once, in one piece.
    fn answer(stream: &mut StandardTcpStream) -> String {
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).expect("the core answers");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }

    fn create(store: &Store, key: &str, text: &str) {
        let given = [("text", Value::String(text.into()))];
        let written = store.try_write_ticket(|write| write.create_node("N", key, &given));
        assert!(written.is_ok(), "there is room for {key}");
    }

    /// Has the log's thread stand still until the sender goes, and so much wait for it that there is no room.
    fn take_room(store: &Store) -> (Registration, channel::Sender<()>) {
        let (begun, has_begun) = channel::channel();
        let (go_on, may_go_on) = channel::channel::<()>();
        let may_go_on = Mutex::new(may_go_on);
        let listening = store.listen(move |_| {
            let _ = begun.send(());
            let _ = may_go_on.lock().map(|may_go_on| may_go_on.recv());
        });
        create(store, "told", "");
        has_begun.recv_timeout(PATIENCE).expect("what is changed is told");
        let text = "x".repeat(33 << 20);
        create(store, "large", &text);
        create(store, "larger", &text);
        assert!(store.room().now_or_never().is_none(), "there is no room");
        (listening, go_on)
    }

    /// Those whose tasks had not begun when stopping did were dropped.
    #[test]
    fn who_has_come_before_stopping_begins_is_responded_to() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let core = Core::serve(directory.path());
        let mut streams: Vec<_> = (0..100).map(|_| core.send("GET /live", "")).collect();
        let Core { thread: CoreThread { inbox, thread, .. }, stopper: _stopper, .. } = core;
        drop(inbox);
        for stream in &mut streams {
            let answer = answer(stream);
            assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        }
        drop(streams);
        thread.join().expect("the core has not panicked");
    }

    #[test]
    fn a_write_without_room_is_answered_in_the_end_and_holds_up_no_other_call() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let core = Core::serve(directory.path());
        let store = core.store();
        let declared = store.write_and_wait(|write| {
            write.make_type(Side::Nodes, "N")?;
            write.declare(Side::Nodes, "N", "text", Kind::String)?;
            write.create_node("N", "first", &[])
        });
        declared.expect("the graph can be written");
        // The sender goes first, also where the test fails.
        let (_listening, go_on) = take_room(&store);
        // Beside hyper, and with a header that is hyper's.
        let paths = [("simple", ""), ("hyper", "connection: any\r\n")];
        let mut waiting =
            paths.map(|(key, headers)| core.send(&format!("POST /db/rage/node/N/{key}"), headers));
        // Both, and the one that asks.
        core.until_in_flight(3);
        for (key, status) in [("first", "200 OK"), ("simple", "404 Not Found"), ("hyper", "404 Not Found")] {
            let answer = answer(&mut core.send(&format!("GET /db/rage/node/N/{key}"), ""));
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{key}: {answer}");
        }
        for stream in &mut waiting {
            stream.set_nonblocking(true).expect("sockets have it");
            let nothing = stream.read(&mut [0]).map_err(|error| error.kind());
            assert_eq!(nothing, Err(ErrorKind::WouldBlock));
            stream.set_nonblocking(false).expect("sockets have it");
        }
        drop(go_on);
        for (stream, (key, _)) in waiting.iter_mut().zip(paths) {
            let answer = answer(stream);
            assert!(
                answer.starts_with("HTTP/1.1 201 Created") && answer.contains(&format!("\"key\": \"{key}\""))
            );
        }
        core.stop();
    }
}
