//! The gateway beside nginx as a plain proxy, on the same processor in turn: the study's operations, each answered at once with what
//! `prony example starwars` answers; plain, and with TLS to the client. The gateway asks for a token, and has limits of rate, depth
//! and complexity; nginx only passes on.

use prony_testkit::free_port;

use crate::{
    ROUNDS, SECONDS, TARGET_CORE,
    gateway::{OPERATIONS, percentile_ms, run_with},
    nginx::Nginx,
    statistics::{median, print_table},
    study::{CONNECTIONS, Constant, Run, Study, head, http, measure, row},
};

pub(crate) fn beside_nginx() {
    let study = Study::new();
    let mut rows = vec![head("nginx")];
    let mut latencies = vec![["operation", "rate/s", "", "p50", "p99"].map(str::to_owned).to_vec()];
    for (name, query) in OPERATIONS {
        let body = study.answer(query);
        let upstream = Constant::start(&body);
        let proxy = start_proxy(upstream.port);
        let (certificate, key) = (proxy.path("cert.pem"), proxy.path("key.pem"));
        let plain = study.serve(&upstream.url(), &[]);
        let secure = study.serve(&upstream.url(), &["--tls-certificate", &certificate, "--tls-key", &key]);
        let script = study.script(query);
        let mut limit = f64::NAN;
        for (is_secure, gateway) in [(false, &plain), (true, &secure)] {
            let theirs = if is_secure { proxy.tls_url("") } else { proxy.url("") };
            let mut rounds: [Vec<Run>; 2] = Default::default();
            for _ in 0..ROUNDS {
                rounds[0].push(measure(&theirs, proxy.pid(), &script));
                rounds[1].push(measure(&gateway.url, gateway.pid(), &script));
            }
            let label = format!("{name}, {} bytes{}", body.len(), if is_secure { ", TLS" } else { "" });
            if !is_secure {
                limit = median(&rounds[1].iter().map(|run| run.per_s).collect::<Vec<_>>());
            }
            rows.push(row(label, &rounds));
        }
        let load = format!("users = {CONNECTIONS}\nrate = {:.0}\nduration = \"{SECONDS}s\"", limit / 2.0);
        let header = format!("authorization = \"Bearer {}\"", study.credentials.token);
        let targets =
            [("the upstream alone", upstream.url()), ("nginx", proxy.url("")), ("Prony", plain.url.clone())];
        let mut found: [Vec<[f64; 2]>; 3] = Default::default();
        for _ in 0..ROUNDS {
            for ((_, url), found) in targets.iter().zip(&mut found) {
                let result = run_with(url, query, &header, &load);
                found.push([50.0, 99.0].map(|percentile| percentile_ms(&result, percentile)));
            }
        }
        for ((target, _), found) in targets.iter().zip(&found) {
            let of =
                |at: usize| format!("{:.3} ms", median(&found.iter().map(|run| run[at]).collect::<Vec<_>>()));
            latencies.push(vec![
                name.to_owned(),
                format!("{:.0}", limit / 2.0),
                (*target).to_owned(),
                of(0),
                of(1),
            ]);
        }
    }
    print_table(&rows);
    print_table(&latencies);
}

/// With connections to the upstream that are kept, and buffers that hold a whole response.
fn start_proxy(upstream: u16) -> Nginx {
    let ports = [free_port(), free_port()];
    Nginx::start_configured(TARGET_CORE, ports, |folder| {
        let [plain, secure] = ports;
        let server = format!(
            "upstream backend {{ server 127.0.0.1:{upstream}; keepalive 64; keepalive_requests 1000000000; }}\n\
             server {{ listen 127.0.0.1:{plain} backlog=4096; listen 127.0.0.1:{secure} ssl backlog=4096;\n\
             location / {{ proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection \"\";\n\
             proxy_buffer_size 32k; proxy_buffers 8 32k; proxy_busy_buffers_size 64k; }} }}"
        );
        http(folder, &server)
    })
}
