//! Which processors a process may use (`sched_setaffinity`, Linux): the server gets some, the lab the others.

use std::{io, num::NonZeroUsize};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::display::count_of_processors;

/// More are asked for than there are, or none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{asked} processors for the engine, but this machine lets us use {available}; give --cpus from 1 to {available}"
)]
pub struct TooFewProcessors {
    pub asked: usize,
    pub available: usize,
}

/// How the machine's processors are shared out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Assignment {
    pub server: Vec<usize>,
    pub lab: Vec<usize>,
    /// Server and lab run on the same processors and slow each other down.
    pub shared: bool,
}

impl Assignment {
    /// The server gets the first `count` of `available`, the lab the rest, or all when there is no rest.
    /// `None` when there are fewer than `count`, or `count` is 0.
    pub fn new(available: &[usize], count: usize) -> Option<Self> {
        let server = available.get(..count).filter(|server| !server.is_empty())?.to_vec();
        let rest = &available[count..];
        let shared = rest.is_empty();
        let lab = if shared { available } else { rest }.to_vec();
        Some(Self { server, lab, shared })
    }

    /// What a reader of figures must know of it, if anything.
    pub(crate) fn note(&self) -> Option<String> {
        self.shared.then(|| {
            format!(
                "With {} for the engine the lab had none of its own: it took time from the engine, so these are lower bounds.",
                count_of_processors(self.server.len())
            )
        })
    }

    /// One for each of the lab's processors.
    pub fn lab_threads(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.lab.len()).unwrap_or(NonZeroUsize::MIN)
    }
}

/// An assignment for each of the `asked` numbers of processors; none asked for stands for one, and two as well where a
/// full run finds a machine on which the lab keeps as many for itself.
pub(crate) fn assign(
    asked: &[usize],
    is_full: bool,
    available: &[usize],
) -> Result<Vec<Assignment>, TooFewProcessors> {
    let usual: &[usize] = if is_full && available.len() >= 4 { &[1, 2] } else { &[1] };
    let counts = if asked.is_empty() { usual } else { asked };
    let assign = |count: &usize| {
        let error = TooFewProcessors { asked: *count, available: available.len() };
        Assignment::new(available, *count).ok_or(error)
    };
    counts.iter().map(assign).collect()
}

/// The processors that this thread may use now.
pub fn available() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|index| set.is_set(*index)).collect())
}

/// Binds the calling thread, and every thread and process that it starts from here on.
pub fn bind_thread(processors: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for index in processors {
        set.set(*index);
    }
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lab_gets_what_is_left() {
        let one = Assignment::new(&[0, 1, 4], 1).unwrap();
        assert_eq!((one.server, one.lab, one.shared), (vec![0], vec![1, 4], false));
        let all = Assignment::new(&[0, 1], 2).unwrap();
        assert_eq!((all.server, all.lab, all.shared), (vec![0, 1], vec![0, 1], true));
        assert_eq!(Assignment::new(&[0, 1], 3), None);
        assert_eq!(Assignment::new(&[0, 1], 0), None);
    }

    #[test]
    fn the_second_processor_is_used_where_there_is_room() {
        let counts = |asked: &[usize], is_full, available: &[usize]| {
            let assignments = assign(asked, is_full, available).map_err(|error| error.to_string())?;
            Ok::<_, String>(assignments.iter().map(|assignment| assignment.server.len()).collect::<Vec<_>>())
        };
        assert_eq!(counts(&[], false, &[0, 1, 2, 3]), Ok(vec![1]));
        assert_eq!(counts(&[], true, &[0, 1]), Ok(vec![1]));
        assert_eq!(counts(&[], true, &[0, 1, 2, 3]), Ok(vec![1, 2]));
        assert_eq!(counts(&[2], false, &[0, 1]), Ok(vec![2]));
        for asked in [0, 3] {
            assert_eq!(
                counts(&[asked], false, &[0, 1]).unwrap_err(),
                format!(
                    "{asked} processors for the engine, but this machine lets us use 2; give --cpus from 1 to 2"
                )
            );
        }
    }

    #[test]
    fn binding_is_seen_by_children() {
        std::thread::spawn(|| {
            let first = available().unwrap()[0];
            bind_thread(&[first]).unwrap();
            assert_eq!(available().unwrap(), [first]);
            assert_eq!(std::thread::spawn(|| available().unwrap()).join().unwrap(), [first]);
        })
        .join()
        .unwrap();
    }
}
