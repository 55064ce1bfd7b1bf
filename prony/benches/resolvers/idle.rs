//! What connections and subscriptions that nothing happens on take of the server's memory: resident, so without what
//! the kernel keeps for each socket.

use std::time::{Duration, Instant};

use crate::process::resident_kib;
use crate::socket::Socket;
use crate::statistics::print_table;
use crate::subject::Subject;

/// One a client; with what the server needs itself this stays below the limit of 20,000 descriptors a process.
const CLIENTS: usize = 19_500;
/// Subscriptions in all where each client has several.
const SUBSCRIPTIONS: usize = 20_000;
/// What a connection may have open, by default.
const EACH: usize = 100;

pub(crate) fn subscriptions() {
    println!("Clients of `prony example donuts` over WebSocket: {CLIENTS}, as many as descriptors allow\n");
    let columns = ["", "resident MB", "connections", "subscriptions", "kB for each one more"];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    one_each(&mut rows, "the same donut", |_| "1".to_owned());
    one_each(&mut rows, "a donut of its own each", |client| format!("of {client}"));
    many_each(&mut rows);
    print_table(&rows);
}

/// Clients with one subscription each.
fn one_each(rows: &mut Vec<Vec<String>>, name: &str, id: impl Fn(usize) -> String) {
    let donuts = Subject::example("donuts", &[], None);
    let mut before = settled_kib(&donuts);
    let mut add = |what: &str, count: usize, subscriptions: usize| {
        let after = settled_kib(&donuts);
        rows.push(row(&format!("{name}: {what}"), after, count, subscriptions, after - before));
        before = after;
    };
    let mut clients: Vec<Socket> = (0..CLIENTS).map(|_| Socket::open(&donuts.url)).collect();
    add("connected", CLIENTS, 0);
    for (number, client) in clients.iter_mut().enumerate() {
        client.subscribe(1, &id(number));
        client.settle();
    }
    add("subscribed", CLIENTS, CLIENTS);
}

/// Few clients with many subscriptions each.
fn many_each(rows: &mut Vec<Vec<String>>) {
    let donuts = Subject::example("donuts", &[], None);
    let mut clients: Vec<Socket> = (0..SUBSCRIPTIONS / EACH).map(|_| Socket::open(&donuts.url)).collect();
    let before = settled_kib(&donuts);
    for client in &mut clients {
        for number in 0..EACH {
            client.subscribe(number, "1");
        }
        client.settle();
    }
    let after = settled_kib(&donuts);
    let name = format!("the same donut: subscribed {EACH} times each");
    rows.push(row(&name, after, clients.len(), SUBSCRIPTIONS, after - before));
}

fn row(name: &str, kib: f64, connections: usize, subscriptions: usize, more_kib: f64) -> Vec<String> {
    let count = connections.max(subscriptions);
    vec![
        name.to_owned(),
        format!("{:.1}", kib * 1024.0 / 1e6),
        connections.to_string(),
        subscriptions.to_string(),
        format!("{:.2}", more_kib * 1.024 / count as f64),
    ]
}

/// Resident memory once it has stopped changing.
fn settled_kib(donuts: &Subject) -> f64 {
    const QUIET: Duration = Duration::from_secs(1);
    let (mut last, mut since) = (resident_kib(donuts.pid()), Instant::now());
    while since.elapsed() < QUIET {
        std::thread::sleep(Duration::from_millis(50));
        let now = resident_kib(donuts.pid());
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    last as f64
}
