//! Which processors a process may use (`sched_setaffinity`, Linux): the server gets some, the lab the others.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

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
