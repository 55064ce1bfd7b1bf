//! Threads for what stays open in another program's server: each has a core's part of the engine, as the threads of our
//! own server have. They start with the first connection that stays, and end with the service.

use std::{
    io,
    pin::Pin,
    rc::Rc,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use tokio::{
    sync::mpsc,
    task::{JoinSet, LocalSet},
};

use crate::{
    graphql::{CoreEngine, ExecutionContext as _},
    site::Site,
};

type Work = Pin<Box<dyn Future<Output = ()>>>;
type Job = Box<dyn FnOnce(Rc<CoreEngine>) -> Work + Send>;

/// Unbounded, because each job is a connection of the host, which bounds them.
type Inbox = mpsc::UnboundedSender<Job>;

pub(super) struct Threads {
    site: Arc<Site>,
    count: usize,
    inboxes: OnceLock<Vec<Inbox>>,
    next: AtomicUsize,
}

impl Threads {
    pub(super) fn new(site: Arc<Site>, count: usize) -> Self {
        Self { site, count, inboxes: OnceLock::new(), next: AtomicUsize::new(0) }
    }

    /// Has work done by the thread whose turn it is; whether there is one.
    pub(super) fn run(&self, job: impl FnOnce(Rc<CoreEngine>) -> Work + Send + 'static) -> bool {
        let inboxes = self.inboxes.get_or_init(|| self.start());
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % inboxes.len().max(1);
        inboxes.get(turn).is_some_and(|inbox| inbox.send(Box::new(job)).is_ok())
    }

    /// Ends what stays, now and later.
    pub(super) fn stop(&self) {
        for inbox in self.inboxes.get_or_init(|| self.start()) {
            let _ = inbox.send(Box::new(|core| {
                core.hub.stop();
                Box::pin(std::future::ready(()))
            }));
        }
    }

    fn start(&self) -> Vec<Inbox> {
        let start = |index| {
            let started = spawn(index, Arc::clone(&self.site));
            started
                .inspect_err(|error| tracing::error!(%error, "cannot start a thread for subscriptions"))
                .ok()
        };
        // The first place among the metrics is that of requests with one answer.
        (1..=self.count).filter_map(start).collect()
    }
}

fn spawn(index: usize, site: Arc<Site>) -> io::Result<Inbox> {
    let (inbox, jobs) = mpsc::unbounded_channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name(format!("graphql-{index}")).spawn(move || {
        LocalSet::new().block_on(&runtime, work(index, site, jobs));
    })?;
    Ok(inbox)
}

async fn work(index: usize, site: Arc<Site>, mut jobs: mpsc::UnboundedReceiver<Job>) {
    let core = CoreEngine::attach(index, site);
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            job = jobs.recv() => match job {
                Some(job) => drop(tasks.spawn_local(job(Rc::clone(&core)))),
                None => break,
            },
            Some(ended) = tasks.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection has panicked");
                }
            }
        }
    }
    core.hub.stop();
    let _ = tokio::time::timeout(core.settings().grace, async { while tasks.join_next().await.is_some() {} })
        .await;
}
