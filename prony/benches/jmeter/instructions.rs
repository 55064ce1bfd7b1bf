//! What one request of a plan takes in instructions, in user space: callgrind counts two runs that differ by their number of loops alone.

use crate::PRONY;
use crate::nginx::Nginx;
use crate::studies::{ANSWER, Length, STUDIES, Study, rows};
use std::fs;
use std::process::Command;

const USERS: u32 = 10;
/// Of each user in the two runs.
const LOOPS: [u32; 2] = [100, 600];

pub(crate) fn of_a_request() {
    let nginx = Nginx::start_answering(200, ANSWER);
    let port = nginx.port();
    for study in &STUDIES {
        let counted = LOOPS.map(|loops| instructions(study, port, loops));
        let requests = u64::from((LOOPS[1] - LOOPS[0]) * USERS * study.requests);
        println!("{}: {} instructions a request", study.name, (counted[1] - counted[0]) / requests);
    }
}

/// Of a whole run, as callgrind counts them.
fn instructions(study: &Study, port: u16, loops: u32) -> u64 {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let plan = (study.plan)(port, USERS, Length::Loops(loops));
    fs::write(folder.path().join("plan.jmx"), plan).expect("room for a plan");
    fs::write(folder.path().join("rows.csv"), rows()).expect("room for rows");
    let output = Command::new("valgrind")
        .current_dir(folder.path())
        .args(["--tool=callgrind", "--callgrind-out-file=counted", PRONY])
        .args(["run", "plan.jmx", "-l", "out.jtl", "--quiet", "-t", "1"])
        .output()
        .unwrap_or_else(|error| panic!("valgrind is needed (Debian: valgrind): {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    let counted = told.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    counted.unwrap_or_else(|| panic!("callgrind has counted nothing:\n{told}"))
}
