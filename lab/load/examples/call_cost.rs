//! What a call of a waiting program costs beside a request of a plan: one GET an iteration against a target, by either
//! road. Usage: `call_cost URL plan|calls [USERS] [SECONDS]`.

#![allow(clippy::print_stdout, reason = "it is there to print")]

use prony_load::{RunOptions, run, run_workload};
use prony_model::program::call::{Ask, Call, WaitEvent};
use prony_model::program::table::Tables;
use prony_model::program::{
    Event, Keep, Outgoing, Program, ProgramError, Step, ThreadPlace, UserPlace, Workload,
};
use prony_model::{FlowDraft, LoadModel, Nanos, PlanDraft, RequestDraft, ResultFile, Target, WindowKind};
use std::num::NonZeroUsize;

struct OneGet {
    tables: Tables,
    text: Vec<u8>,
}

struct OneGetOnThread<'a> {
    work: &'a OneGet,
    next_id: u64,
}

impl Workload for OneGet {
    fn program(&self, _: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        Ok(Box::new(OneGetOnThread { work: self, next_id: 0 }))
    }

    fn tables(&self) -> Option<&Tables> {
        Some(&self.tables)
    }
}

impl Program for OneGetOnThread<'_> {
    fn next(&mut self, _: UserPlace, event: Event<'_>, out: &mut Outgoing) -> Result<Step, ProgramError> {
        match event {
            Event::Begin => {}
            Event::Waited(WaitEvent::Failed { fault, .. }) => {
                return Err(ProgramError::Script(fault.message));
            }
            _ => return Ok(Step::EndIteration),
        }
        self.next_id += 1;
        out.text.extend_from_slice(&self.work.text);
        out.asks.push(Ask::Call(Call {
            id: self.next_id,
            target: 0,
            request: Some(1),
            text: 0..out.text.len(),
            is_head: false,
            keep: Keep::Whole,
            timeout: Nanos::from_secs(60),
            is_fresh: false,
            expects: None,
        }));
        Ok(Step::Wait(None))
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let url = arguments.get(1).expect("the first argument is the URL");
    let road = arguments.get(2).map_or("calls", String::as_str);
    let number =
        |at: usize, default: u32| arguments.get(at).map_or(default, |text| text.parse().expect("a number"));
    let load = LoadModel::constant(number(3, 64), Nanos::from_secs(u64::from(number(4, 3))));
    let target = Target::parse(url).expect("a URL");
    let options = RunOptions { threads: NonZeroUsize::MIN, ..RunOptions::default() };
    let mut draft = PlanDraft::new("cost", target.clone(), load);
    let result = if road == "plan" {
        draft.requests = vec![RequestDraft::get("get", "/")];
        run(&draft.check().expect("a plan"), options)
    } else {
        draft.targets.clear();
        draft.scenarios[0].flow = FlowDraft::Script;
        let text = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", target.authority()).into_bytes();
        let work = OneGet { tables: Tables::default(), text };
        work.tables.targets.index_of(target);
        work.tables.name("get");
        run_workload(&draft.check().expect("a plan"), &work, options)
    };
    show(road, &result.expect("the run works"));
}

fn show(road: &str, result: &ResultFile) {
    let whole = result.window(WindowKind::Whole).expect("there is a whole window");
    let requests = whole.all.requests as f64;
    let cpu_us = result.lab.processor_time_ns.as_secs_f64() * 1e6 / requests;
    let rate = requests / whole.window.length().as_secs_f64();
    println!(
        "{road}: {rate:.0} requests/s, {cpu_us:.2} µs of processor time a request, {} failed",
        whole.all.failures
    );
}
