//! One entity a notification, always durable, beside nginx that answers the same POST with what the engine answers; on the same processor in
//! turn.

use crate::{
    ROUNDS, TARGET_CORE,
    bodies::notification,
    nginx::Nginx,
    statistics::{median, median_ratio, print_table},
    subject::Subject,
    wrk::{Posts, Run, TimeForm},
};

const ANSWER: &str = r#""Notification successfully processed""#;
const PATH: &str = "/v2/notify";
const CONNECTIONS: u32 = 64;

pub(crate) fn beside_nginx() {
    let nginx = Nginx::start_answering_below(PATH, 200, ANSWER);
    let posts = Posts::new((PATH, TimeForm::Iso), (1, CONNECTIONS), |variant| notification(1, variant));
    let head = ["durability", "nginx/s", "Prony/s", "ratio", "nginx, µs CPU", "Prony, µs CPU", "ratio"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for durability in ["sync", "off"] {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target's folder");
        let source = format!("series:{}", directory.path().display());
        let engine = Subject::start(&source, &["--cpus", "1", "--durability", durability], Some(TARGET_CORE));
        let rounds = (0..ROUNDS).map(|_| {
            let theirs = posts.measure(&nginx.url(""), nginx.pid());
            (theirs, posts.measure(&engine.url, engine.pid()))
        });
        let (theirs, ours): (Vec<Run>, Vec<Run>) = rounds.unzip();
        let column = |runs: &[Run], pick: fn(&Run) -> f64| runs.iter().map(pick).collect::<Vec<_>>();
        let ratio = |pick| format!("{:.2}", median_ratio(&column(&ours, pick), &column(&theirs, pick)));
        let middle = |runs: &[Run], pick| median(&column(runs, pick));
        rows.push(vec![
            durability.to_owned(),
            format!("{:.0}", middle(&theirs, |run| run.rows_per_s)),
            format!("{:.0}", middle(&ours, |run| run.rows_per_s)),
            ratio(|run| run.rows_per_s),
            format!("{:.1}", middle(&theirs, |run| run.cpu_us)),
            format!("{:.1}", middle(&ours, |run| run.cpu_us)),
            ratio(|run| run.cpu_us),
        ]);
    }
    print_table(&rows);
}
