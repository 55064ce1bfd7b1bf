//! Which processors the server runs on: how many core threads there are, and where each is held.

use std::{io, thread};

use crate::config::CoreChoice;

/// Restricts this thread, and with it all threads started from it later, to the chosen processors. The answer
/// has one element for each core thread: the processor that it is held on, if any.
pub(super) fn apply(choice: &CoreChoice) -> io::Result<Vec<Option<usize>>> {
    match choice {
        CoreChoice::All => Ok(vec![None; thread::available_parallelism()?.get()]),
        CoreChoice::Count(count) => {
            let chosen: Vec<usize> = allowed()?.into_iter().take(*count).collect();
            // More threads than processors is the user's wish; they share what there is.
            if chosen.len() == *count {
                restrict(&chosen)?;
            }
            Ok(vec![None; *count])
        }
        CoreChoice::List(list) => {
            restrict(list)?;
            Ok(list.iter().copied().map(Some).collect())
        }
    }
}

/// Holds the calling thread on one processor.
pub(super) fn hold(cpu: usize) -> io::Result<()> {
    restrict(&[cpu])
}

#[cfg(target_os = "linux")]
fn allowed() -> io::Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

#[cfg(target_os = "linux")]
fn restrict(cpus: &[usize]) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    for &cpu in cpus {
        set.set(cpu);
    }
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Elsewhere the number of core threads is all that can be chosen.
#[cfg(not(target_os = "linux"))]
fn allowed() -> io::Result<Vec<usize>> {
    Ok(Vec::new())
}

#[cfg(not(target_os = "linux"))]
fn restrict(_cpus: &[usize]) -> io::Result<()> {
    Ok(())
}
