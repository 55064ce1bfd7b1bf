//! The memory of users that sleep: 19,000 users (descriptors permitting), each thinking 2 s.

use crate::nginx::{Nginx, SIZES};
use crate::statistics::print_table;
use crate::tool::prony_result;

const USERS: [u32; 2] = [1_000, 17_000];

pub(crate) fn memory_of_sleepers() {
    let nginx = Nginx::start();
    let mut rows = vec![["users", "memory peak, MB"].map(str::to_owned).to_vec()];
    let mut peaks = Vec::new();
    for users in USERS {
        let plan = tempfile::NamedTempFile::with_suffix(".toml").expect("a temporary file");
        let text = format!(
            "target = \"{}\"\nthink_time = \"2s\"\nstages = [{{ duration = \"5s\", users = {users} }}, \
             {{ duration = \"10s\", users = {users} }}]\n[[requests]]\npath = \"{}\"\n",
            nginx.url(""),
            SIZES[0].0
        );
        std::fs::write(plan.path(), text).expect("room for a small file");
        let (result, _) = prony_result(&[plan.path().display().to_string()]);
        peaks.push(result.lab.memory_peak_bytes as f64);
        rows.push(vec![users.to_string(), format!("{:.1}", result.lab.memory_peak_bytes as f64 / 1e6)]);
    }
    print_table(&rows);
    let each = (peaks[1] - peaks[0]) / f64::from(USERS[1] - USERS[0]);
    println!("{each:.0} bytes a user");
}
