//! Resident memory over ten million requests, and over a hundred thousand subscriptions opened and closed.

use crate::process::resident_kib;
use crate::requests::Request;
use crate::socket::Socket;
use crate::statistics::print_table;
use crate::subject::Subject;
use crate::{SECONDS, TARGET_CORE};

const REQUESTS: f64 = 10e6;
const SUBSCRIPTIONS: usize = 100_000;
/// Open at a time.
const CLIENTS: usize = 100;
const EACH: usize = 10;
/// Lines of each table, at most.
const LINES: usize = 10;

const QUERY: &str = "query Donut($id: String!) { retrieveDonut(id: $id) { id name flavor } }";
const MUTATION: &str =
    "mutation { addOrUpdateDonut(donut: { id: \"2\", name: \"Glazed\", flavor: VANILLA }) { id } }";

pub(crate) fn flat() {
    let donuts = Subject::example("donuts", &["--cpus", "1"], Some(TARGET_CORE));
    let requests = [
        Request::graphql("query", QUERY, "{\"id\":\"3\"}"),
        Request::graphql("mutation", MUTATION, "{}"),
        Request::get("REST", "/api/donuts/3"),
    ];
    let mut figures = Figures::new(&donuts);
    let (mut done, mut next) = (0.0, 0.0);
    for request in requests.iter().cycle() {
        done += request.run(&donuts.url, donuts.pid()).per_s * f64::from(SECONDS);
        if done >= next || done >= REQUESTS {
            figures.note(&format!("{done:.0} requests"));
            next += REQUESTS / LINES as f64;
        }
        if done >= REQUESTS {
            break;
        }
    }
    figures.finish();
    let mut figures = Figures::new(&donuts);
    for opened in (0..SUBSCRIPTIONS).step_by(CLIENTS * EACH) {
        if opened % (SUBSCRIPTIONS / LINES) == 0 {
            figures.note(&format!("{opened} subscriptions opened and closed"));
        }
        open_and_close(&donuts.url, opened);
    }
    figures.note(&format!("{SUBSCRIPTIONS} subscriptions opened and closed"));
    figures.finish();
}

/// Half of them end with their connection, half before it; all are of donuts that nobody has asked for before.
fn open_and_close(url: &str, number: usize) {
    let mut clients: Vec<Socket> = (0..CLIENTS).map(|_| Socket::open(url)).collect();
    for (index, client) in clients.iter_mut().enumerate() {
        for id in 0..EACH {
            let donut = number + index * EACH + id;
            client.subscribe(id, &format!("of {donut}"));
        }
        (0..EACH / 2).for_each(|id| client.complete(id));
        client.settle();
    }
}

/// Resident memory along the way.
struct Figures<'a> {
    donuts: &'a Subject,
    rows: Vec<Vec<String>>,
    resident_kib: Vec<u64>,
}

impl<'a> Figures<'a> {
    fn new(donuts: &'a Subject) -> Self {
        let rows = vec![["", "resident MB"].map(str::to_owned).to_vec()];
        let mut figures = Self { donuts, rows, resident_kib: Vec::new() };
        figures.note("before");
        figures
    }

    fn note(&mut self, what: &str) {
        let kib = resident_kib(self.donuts.pid());
        eprintln!("{what}: {kib} KiB");
        self.rows.push(vec![what.to_owned(), format!("{:.2}", kib as f64 * 1024.0 / 1e6)]);
        self.resident_kib.push(kib);
    }

    /// Warm is a fifth of the way.
    fn finish(&self) {
        print_table(&self.rows);
        let warm = self.resident_kib[1 + LINES / 5] as f64;
        let last = *self.resident_kib.last().expect("the first figure is taken at once") as f64;
        println!("the last is {:+.1} % of what a fifth of the way had\n", (last / warm - 1.0) * 100.0);
    }
}
