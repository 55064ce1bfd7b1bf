//! GraphQL beside REST in the same process, over the same table, and both beside nginx with a constant answer.

use crate::nginx::Nginx;
use crate::requests::{Request, Run, column};
use crate::statistics::{median, median_ratio, print_table};
use crate::subject::Subject;
use crate::{CONNECTIONS, ROUNDS, SECONDS, TARGET_CORE};

const QUERY: &str = "{ retrieveDonut(id: \"1\") { id name flavor } }";
const QUERY_WITH_VARIABLE: &str = "query Donut($id: String!) { retrieveDonut(id: $id) { id name flavor } }";
const REST: &str = "/api/donuts/1";

/// In the order of a round.
const GRAPHQL: usize = 0;
const REST_AT: usize = 2;
const NGINX_AT: usize = 3;

pub(crate) fn beside_rest_and_nginx() {
    let donuts = Subject::example("donuts", &["--cpus", "1"], Some(TARGET_CORE));
    let requests = [
        Request::graphql("GraphQL", QUERY, "{}"),
        Request::graphql("GraphQL, the id as a variable", QUERY_WITH_VARIABLE, "{\"id\":\"1\"}"),
        Request::get("REST", REST),
        Request::get("nginx, REST's answer as a constant", REST),
    ];
    let body = requests[REST_AT].answer(&donuts.url);
    println!("GraphQL: {}\nREST:    {body}", requests[GRAPHQL].answer(&donuts.url));
    println!("wrk, {CONNECTIONS} connections, {ROUNDS} rounds of {SECONDS} s in turn; a processor each\n");
    let nginx = Nginx::start_answering_below("/api/", 200, &body);
    let nginx_url = nginx.url("");
    let target = |index: usize| {
        if index == NGINX_AT { (&*nginx_url, nginx.pid()) } else { (&*donuts.url, donuts.pid()) }
    };
    let mut runs: [Vec<Run>; 4] = Default::default();
    for _ in 0..ROUNDS {
        for (index, request) in requests.iter().enumerate() {
            let (url, process) = target(index);
            runs[index].push(request.run(url, process));
        }
    }
    print(&requests, &runs);
}

fn print(requests: &[Request], runs: &[Vec<Run>; 4]) {
    let head = ["", "requests/s", "of REST", "of nginx", "server, µs CPU", "of REST", "wrk, µs CPU"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let rates = runs.each_ref().map(|runs| column(runs, |run| run.per_s));
    let costs = runs.each_ref().map(|runs| column(runs, |run| run.server_us));
    for (index, request) in requests.iter().enumerate() {
        rows.push(vec![
            request.name.to_owned(),
            format!("{:.0}", median(&rates[index])),
            format!("{:.3}", median_ratio(&rates[index], &rates[REST_AT])),
            format!("{:.3}", median_ratio(&rates[index], &rates[NGINX_AT])),
            format!("{:.2}", median(&costs[index])),
            format!("{:.2}", median_ratio(&costs[index], &costs[REST_AT])),
            format!("{:.2}", median(&column(&runs[index], |run| run.tool_us))),
        ]);
    }
    print_table(&rows);
}
