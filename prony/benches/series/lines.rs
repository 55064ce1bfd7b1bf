//! Bodies of 1,000 rows: notified, and sent as lines, to the engine and to a QuestDB with its defaults. Both have all processors, which the
//! load shares with them. QuestDB acknowledges what is in its log; the engine what is on the disk, too.

use prony_testkit::QuestServer;

use crate::{
    ROUNDS,
    bodies::{lines, notification},
    statistics::{median, median_ratio, print_table},
    subject::Subject,
    wrk::{Posts, Run, TimeForm},
};

const ROWS: u32 = 1_000;
const CONNECTIONS: u32 = 4;

pub(crate) fn beside_questdb() {
    let questdb = QuestServer::start_with_defaults().expect("Java runs QuestDB");
    let questdb_url = format!("http://127.0.0.1:{}", questdb.http_port());
    let engine = |durability: &str| {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target's folder");
        let source = format!("series:{}", directory.path().display());
        (Subject::start(&source, &["--durability", durability], None), directory)
    };
    let (sync, off) = (engine("sync"), engine("off"));
    let size = (ROWS, CONNECTIONS);
    let notified = Posts::new(("/v2/notify", TimeForm::Iso), size, |variant| notification(ROWS, variant));
    let sent = Posts::new(("/write", TimeForm::Nanoseconds), size, |variant| lines(ROWS, variant));
    let measure = |posts: &Posts, (subject, _): &(Subject, tempfile::TempDir)| {
        posts.measure_beside(&subject.url, subject.pid())
    };
    let mut found: [Vec<Run>; 5] = Default::default();
    // The first round warms Java up, and is not counted.
    for round in 0..=ROUNDS {
        let runs = [
            sent.measure_beside(&questdb_url, questdb.pid()),
            measure(&notified, &sync),
            measure(&sent, &sync),
            measure(&notified, &off),
            measure(&sent, &off),
        ];
        if round > 0 {
            found.iter_mut().zip(runs).for_each(|(found, run)| found.push(run));
        }
    }
    let names = ["QuestDB, lines", "notified, sync", "lines, sync", "notified, off", "lines, off"];
    let head = ["1,000 rows a body, 4 connections", "rows/s", "to QuestDB", "server, µs CPU a row"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let rates = |runs: &[Run]| runs.iter().map(|run| run.rows_per_s).collect::<Vec<_>>();
    for (name, runs) in names.iter().zip(&found) {
        let cpu: Vec<f64> = runs.iter().map(|run| run.cpu_us / f64::from(ROWS)).collect();
        rows.push(vec![
            (*name).to_owned(),
            format!("{:.0}", median(&rates(runs))),
            format!("{:.2}", median_ratio(&rates(runs), &rates(&found[0]))),
            format!("{:.2}", median(&cpu)),
        ]);
    }
    print_table(&rows);
}
