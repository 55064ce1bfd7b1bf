//! `--workers`: the flags of a run on several machines, and the run.

use super::warning::warn;
use crate::nats::{NATS_VARIABLE, NatsFlags};
use crate::terminal::tell;
use anyhow::{Context as _, bail};
use prony_load::RunOptions;
use prony_model::program::StopFlag;
use prony_model::{Plan, ResultFile};
use prony_workers::{
    Bundle, CoordinatorSettings, LocalServer, NatsSettings, OnWorkerLost, Recruited, RequestsAlone, Terms,
    UserState, WorkersError,
};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What a run on one machine does not need.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "On several machines")]
pub(crate) struct WorkersFlags {
    /// Share the load out over so many workers, which wait with `prony worker`; `local:COUNT` starts a NATS server and workers on this machine, for trying it. docs/workers.md describes it.
    #[arg(long, value_name = "COUNT|local:COUNT", value_parser = Workers::parse)]
    workers: Option<Workers>,
    #[command(flatten)]
    nats: NatsFlags,
    /// How long workers are waited for.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = super::quantity::time)]
    worker_wait: prony_model::Nanos,
    /// What becomes of a run that loses a worker: `continue` goes on without its share, `respread` has the others take it over, `end` ends it.
    #[arg(long, value_name = "WHAT", default_value = "continue", value_parser = on_lost)]
    on_worker_lost: OnWorkerLost,
    /// The NATS server that `--workers local:COUNT` starts.
    #[arg(long, value_name = "PROGRAM", default_value = "nats-server")]
    nats_server: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Workers {
    Elsewhere(u32),
    Local(u32),
}

impl Workers {
    fn parse(text: &str) -> Result<Self, String> {
        let (of, count) = match text.strip_prefix("local:") {
            Some(count) => (Self::Local as fn(u32) -> Self, count),
            None => (Self::Elsewhere as fn(u32) -> Self, text),
        };
        let max = prony_workers::WORKERS_MAX;
        let count = count.parse().ok().filter(|count| (1..=max).contains(count));
        count
            .map(of)
            .ok_or_else(|| format!("`{text}` is not a number from 1 to {max}, nor `local:` with one"))
    }
}

fn on_lost(text: &str) -> Result<OnWorkerLost, String> {
    match text {
        "continue" => Ok(OnWorkerLost::Continue),
        "end" => Ok(OnWorkerLost::End),
        "respread" => Ok(OnWorkerLost::Respread),
        _ => Err(format!("`{text}` is none of `continue`, `respread` and `end`")),
    }
}

impl WorkersFlags {
    pub(crate) const fn is_given(&self) -> bool {
        self.workers.is_some()
    }

    /// Runs what counts nothing but requests on several machines.
    pub(crate) fn run(
        &self,
        bundle: &Bundle,
        plan: &Plan,
        options: RunOptions,
    ) -> anyhow::Result<ResultFile> {
        if options.records.is_some() {
            bail!(SAMPLES_STAY);
        }
        let Waiting { mut recruited, local } = self.recruit(plan, UserState::OfPlan, &options.stop)?;
        let result = recruited.run(plan, bundle, &RequestsAlone, options);
        drop(recruited);
        drop(local);
        Ok(result?)
    }

    /// Refuses what cannot be run on the workers that the flags ask for, before anything is started.
    pub(crate) fn check(&self, plan: &Plan, users: UserState) -> anyhow::Result<()> {
        self.check_server()?;
        if self.is_given() {
            self.terms(users)?.check(plan)?;
        }
        Ok(())
    }

    /// The same of all that is of a kind.
    pub(crate) fn check_kind(&self, users: UserState) -> anyhow::Result<()> {
        self.check_server()?;
        if self.is_given() {
            self.terms(users)?.check_kind()?;
        }
        Ok(())
    }

    /// Refuses a server that nobody would be asked for at: the load would be made here, without a word.
    fn check_server(&self) -> anyhow::Result<()> {
        match self.workers {
            None if self.nats.is_given() => {
                bail!(
                    "--nats names the server that workers wait at; say with --workers COUNT how many of them make the load"
                )
            }
            Some(Workers::Local(_)) if self.nats.is_given() => {
                bail!(
                    "--workers local:COUNT starts a NATS server of its own; leave --nats out, or ask with --workers COUNT for workers that wait there"
                )
            }
            _ => Ok(()),
        }
    }

    /// As many workers as the flags ask for, for one run.
    pub(crate) fn recruit(&self, plan: &Plan, users: UserState, stop: &StopFlag) -> anyhow::Result<Waiting> {
        self.recruit_with(self.terms(users)?, |settings| Recruited::of(plan, settings, stop.clone()))
    }

    /// The same for many runs, some of whose plans are given, where the flags ask for workers at all.
    pub(crate) fn recruit_for_many(
        &self,
        users: UserState,
        plans: &[&Plan],
        stop: &StopFlag,
    ) -> anyhow::Result<Option<Waiting>> {
        self.check_server()?;
        if !self.is_given() {
            return Ok(None);
        }
        let terms = self.terms(users)?;
        terms.check_kind()?;
        plans.iter().try_for_each(|plan| terms.check_each(plan))?;
        self.recruit_with(terms, |settings| Recruited::of_many(settings, stop.clone())).map(Some)
    }

    fn terms(&self, users: UserState) -> anyhow::Result<Terms> {
        let Some(Workers::Local(workers) | Workers::Elsewhere(workers)) = self.workers else {
            bail!("--workers is not given");
        };
        Ok(Terms { workers, on_lost: self.on_worker_lost, users })
    }

    fn recruit_with(
        &self,
        terms: Terms,
        recruit: impl FnOnce(CoordinatorSettings) -> Result<Recruited, WorkersError>,
    ) -> anyhow::Result<Waiting> {
        let local = match self.workers {
            Some(Workers::Local(workers)) => Some(LocalWorkers::start(&self.nats_server, workers)?),
            _ => None,
        };
        let nats = match &local {
            Some(local) => local.settings(),
            None => self.nats.settings("--workers COUNT needs the NATS server that the workers wait at; name it with --nats or in `PRONY_NATS` of the environment, or try `--workers local:4`")?,
        };
        let settings = CoordinatorSettings {
            nats,
            terms,
            wait: Duration::from_nanos(self.worker_wait.0),
            tell: Box::new(tell),
        };
        Ok(Waiting { recruited: recruit(settings)?, local })
    }
}

/// Why samples one by one are not written.
pub(crate) const SAMPLES_STAY: &str = "--out json:FILE and csv:FILE write requests one by one, which stay on the workers; outputs for dashboards take the merged seconds";
/// Why a number of threads is not taken.
pub(crate) const THREADS_ARE_THE_WORKERS: &str =
    "--threads is of one machine; each worker has its own: `prony worker --threads`";

/// Workers that wait for their shares, and those of them that this command has started.
pub(crate) struct Waiting {
    pub(crate) recruited: Recruited,
    /// They end when this is dropped.
    pub(crate) local: Option<LocalWorkers>,
}

/// A server and workers on this machine; all end with this.
pub(crate) struct LocalWorkers {
    workers: Vec<Child>,
    server: LocalServer,
    /// In the server's folder: what they keep is gone with it, for the coordinator is on the same machine.
    kept: PathBuf,
}

impl LocalWorkers {
    fn start(server: &Path, count: u32) -> anyhow::Result<Self> {
        let server = LocalServer::start(server)?;
        let kept = server.folder().join("kept");
        let program = std::env::current_exe().context("cannot find the program that runs")?;
        let mut local = Self { workers: Vec::new(), server, kept };
        // Together they have as many threads as one run on this machine.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (processors / count as usize).max(1).to_string();
        for number in 1..=count {
            let worker = Command::new(&program)
                .args(["worker", "--once", "--quiet"])
                // It has the server's token, which nobody else is to see.
                .env(NATS_VARIABLE, local.server.url())
                .args(["--name", &format!("local-{number}"), "--threads", &threads, "--output"])
                .arg(&local.kept)
                .stdin(Stdio::null())
                // Out of the terminal's process group: at Ctrl-C the coordinator ends the run.
                .process_group(0)
                .spawn()
                .context("cannot start a worker")?;
            local.workers.push(worker);
        }
        Ok(local)
    }

    fn settings(&self) -> NatsSettings {
        NatsSettings { url: self.server.url().to_owned(), ..NatsSettings::default() }
    }
}

impl Drop for LocalWorkers {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            // They end by themselves after a run; one that has not begun one has nothing to lose.
            if !matches!(worker.try_wait(), Ok(Some(_))) {
                std::thread::sleep(Duration::from_millis(200));
                let _ = worker.kill();
            }
            let _ = worker.wait();
        }
        if let Err(cause) = std::fs::remove_dir_all(&self.kept)
            && cause.kind() != std::io::ErrorKind::NotFound
        {
            warn(&format!("cannot remove {}: {cause}", self.kept.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_a_number_here_or_elsewhere() {
        assert_eq!(Workers::parse("8"), Ok(Workers::Elsewhere(8)));
        assert_eq!(Workers::parse("local:4"), Ok(Workers::Local(4)));
        for text in ["0", "local:", "local:0", "-1", "1001", "four"] {
            assert!(Workers::parse(text).unwrap_err().contains(text), "{text}");
        }
        assert!(on_lost("spread").unwrap_err().contains("none of `continue`"));
    }
}
