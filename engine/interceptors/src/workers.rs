//! Threads that call functions of modules, and the bounded queue before them. A thread has its own copy of each module that it has
//! called; one that has run out of time or memory begins anew.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
};

use prony_source::interceptors::{
    InterceptorCall, InterceptorError, InterceptorLimits, InterceptorResult, ModuleId,
};
use tokio::sync::oneshot;

use crate::{machine::Machine, program::Program};

/// By [`ModuleId`].
pub(crate) type Programs = Arc<[Arc<Program>]>;

/// The threads; they begin with the first call and end when this is dropped.
pub(crate) struct Workers {
    programs: Programs,
    limits: InterceptorLimits,
    sender: OnceLock<SyncSender<Job>>,
}

struct Job {
    call: InterceptorCall,
    done: oneshot::Sender<InterceptorResult>,
}

impl Workers {
    pub(crate) fn new(programs: Programs, limits: InterceptorLimits) -> Self {
        Self { programs, limits, sender: OnceLock::new() }
    }

    /// Has a call made; what it comes to is received.
    ///
    /// # Errors
    /// `Overloaded` where too many wait.
    pub(crate) fn send(
        &self,
        call: InterceptorCall,
    ) -> Result<oneshot::Receiver<InterceptorResult>, InterceptorError> {
        let (done, result) = oneshot::channel();
        let sender = self.sender.get_or_init(|| start(&self.programs, &self.limits));
        match sender.try_send(Job { call, done }) {
            Ok(()) => Ok(result),
            Err(TrySendError::Full(_)) => Err(InterceptorError::Overloaded { limit: self.limits.queue }),
            Err(TrySendError::Disconnected(_)) => Err(gone()),
        }
    }
}

/// A thread could not be started, or has panicked.
pub(crate) fn gone() -> InterceptorError {
    InterceptorError::Failed("no thread is there that calls interceptors".to_owned())
}

impl fmt::Debug for Workers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Workers").field("modules", &self.programs.len()).finish_non_exhaustive()
    }
}

fn start(programs: &Programs, limits: &InterceptorLimits) -> SyncSender<Job> {
    let (sender, receiver) = sync_channel(limits.queue);
    let receiver = Arc::new(Mutex::new(receiver));
    for number in 0..limits.threads {
        let (programs, limits, receiver) = (Arc::clone(programs), limits.clone(), Arc::clone(&receiver));
        let thread = thread::Builder::new().name(format!("interceptors-{number}"));
        let started = thread.spawn(move || work(&programs, &limits, &receiver));
        if let Err(error) = started {
            tracing::error!(%error, "a thread for interceptors cannot be started");
        }
    }
    sender
}

fn work(programs: &Programs, limits: &InterceptorLimits, receiver: &Mutex<Receiver<Job>>) {
    let mut machines: HashMap<ModuleId, Machine> = HashMap::new();
    loop {
        let job = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { call, done }) = job else { return };
        // Nobody waits for it any more.
        if done.is_closed() {
            continue;
        }
        let result = answer(programs, limits, &mut machines, call);
        // The client may have gone meanwhile.
        let _ = done.send(result);
    }
}

fn answer(
    programs: &Programs,
    limits: &InterceptorLimits,
    machines: &mut HashMap<ModuleId, Machine>,
    call: InterceptorCall,
) -> InterceptorResult {
    let InterceptorCall { module, phase, values, context } = call;
    let machine = match machines.entry(module) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(vacant) => {
            let program = &programs[module.0 as usize];
            let made = Machine::new(program, limits);
            vacant.insert(made.map_err(|fault| {
                InterceptorError::Failed(format!("{}: {}", program.name(), fault.message))
            })?)
        }
    };
    let (result, is_spoilt) = machine.call(phase, values, context);
    if is_spoilt {
        machines.remove(&module);
    }
    result
}
