//! A disk without room while a chain of backups is gone on with, as a limit on the length of files. The limit is the whole process's, so
//! nothing else is here.

#![expect(unsafe_code, reason = "the signal of a file that grew too long is turned off")]
#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{
    CHAIN_MANIFEST, Durability, Options, Side, Store, Taken, Until, restore, take_backup,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;

/// How long files of this process may become.
fn limit_files(bytes: Option<u64>) {
    let before = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: bytes.or(before.maximum), ..before }).unwrap();
}

#[test]
fn a_full_disk_leaves_the_chain_as_it_was() {
    // SAFETY: ignoring a signal touches no memory.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let (directory, chains) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (chain, target) = (chains.path().join("chain"), chains.path().join("restored"));
    let options = Options { snapshot_at_log_bytes: None, ..Options::new(Durability::Sync) };
    let store = Store::open(directory.path(), options).unwrap();
    let put = |key: &str| store.write_and_wait(|write| write.create_node("N", key, &[])).unwrap();
    put("first");
    take_backup(directory.path(), &chain).unwrap();
    let long = "x".repeat(60_000);
    for number in 0..10 {
        put(&format!("{number}{long}"));
    }
    let manifest = fs::read(chain.join(CHAIN_MANIFEST)).unwrap();
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(&chain).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    for limit in [0, 10, 300_000] {
        limit_files(Some(limit));
        let error = take_backup(directory.path(), &chain).unwrap_err();
        limit_files(None);
        assert!(error.to_string().contains("cannot write"), "{error}");
        assert_eq!(fs::read(chain.join(CHAIN_MANIFEST)).unwrap(), manifest);
        assert_eq!(names(), before, "nothing is left of it");
    }
    assert!(matches!(take_backup(directory.path(), &chain).unwrap(), Taken::Link { .. }));
    // The other way round, nothing of a graph is left.
    limit_files(Some(300_000));
    let error = restore(&chain, &target, Until::End).unwrap_err();
    limit_files(None);
    assert!(error.to_string().contains("cannot write"), "{error}");
    assert_eq!(fs::read_dir(chains.path()).unwrap().count(), 1);
    let made = restore(&chain, &target, Until::End).unwrap();
    assert_eq!(made.report.nodes, store.read().count(Side::Nodes, None));
}
