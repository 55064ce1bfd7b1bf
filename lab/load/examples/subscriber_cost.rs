//! What subscribers cost the lab: runs a plan and prints events, processor time for each, and memory for each subscription.
//!
//! `cargo run --release -p prony-load --example subscriber_cost -- PLAN.toml`

#![expect(clippy::print_stdout, reason = "its figures are what it is for")]

use prony_load::{RunOptions, read_plan, run};
use std::num::NonZeroUsize;
use std::path::Path;

fn main() {
    let path = std::env::args().nth(1).expect("the path of a plan");
    let plan = read_plan(Path::new(&path)).unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions { threads: NonZeroUsize::MIN, ..RunOptions::default() };
    let result = run(&plan, options).unwrap_or_else(|error| panic!("{error}"));
    let (lab, subscribers) = (&result.lab, &result.subscribers);
    for group in &subscribers.groups {
        let Some(window) = group.headline() else { continue };
        let times = &window.fan_out_latency;
        println!("{}: {} of {} in force", group.name, group.links.subscribed, group.subscriptions());
        println!("  refused {:?}, lost {:?}", group.links.refused, group.links.lost);
        println!("  connections a second: {:?}", group.links.made_per_s());
        println!("  events a second: {:.0}, counts {:?}", window.events_per_s, window.counts);
        println!(
            "  fan-out p50 {:?}, p99 {:?}, max {:?}",
            times.percentile(50.0),
            times.percentile(99.0),
            times.max_ns
        );
    }
    println!("requests a second: {:.0}", result.headline().all.rate_per_s);
    println!("reads late by p99 {:?}", subscribers.read_lateness.percentile(99.0));
    let events: u64 =
        subscribers.groups.iter().filter_map(|g| g.whole()).map(|window| window.counts.events).sum();
    let each = lab.processor_time_ns.0 as f64 / events.max(1) as f64;
    println!(
        "busiest thread {:.0} %, processor time {} in all, {each:.0} ns an event",
        lab.busiest_thread_share * 100.0,
        lab.processor_time_ns
    );
    println!("memory at most {:.1} MB", lab.memory_peak_bytes as f64 / 1e6);
    let findings: Vec<_> = result.findings.iter().map(|finding| finding.seen.as_str()).collect();
    println!("findings: {findings:?}");
}
