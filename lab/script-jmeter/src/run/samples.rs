//! A sample that is over: what comes after it, how it is judged, counted and written, and what a failure leads to.

use crate::plan::{Assertion, AssertionKind, OnError, PostProcessor, SampleScope};
use crate::run::context::Context;
use crate::run::position::{LAST_SAMPLE_OK, Leave};
use crate::run::result::{AssertionResult, RowPlace, SampleResult};
use crate::run::transaction::Transaction;
use crate::run::user::{Flow, Runner, SampleOrigin, User};
use crate::run::{assertions, extract, scripts, xpath};
use crate::text;
use prony_model::Nanos;
use prony_model::measurement::record::{Outcome, Record, TransportError};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What JMeter says of a sample whose parts did not all pass an assertion.
const PARTS_FAILED: &str = "One or more sub-samples failed";

impl Runner<'_, '_> {
    /// Post-processors, then assertions; then the sample is counted and written. Requests over HTTP are counted in the figures of the run too.
    pub(super) fn finish(
        &mut self,
        user: &mut User,
        index: usize,
        mut sample: SampleResult,
        mut parts: Vec<SampleResult>,
        made: SampleOrigin,
    ) -> Flow {
        let run = &self.workload.groups[user.group];
        let mut context = Context {
            vars: &mut user.vars,
            thread: &mut user.thread,
            shared: &self.workload.shared,
            engine: self.engine,
            evaluate_text: text::evaluate,
        };
        let sampler = &run.group.samplers[index];
        let status_ok = sample.is_success;
        for processor in &sampler.after {
            process(processor, &mut sample, &parts, &mut context);
        }
        for assertion in &sampler.assertions {
            check(assertion, &mut sample, &mut parts, &mut context);
        }
        context.vars.set(LAST_SAMPLE_OK, if sample.is_success { "true" } else { "false" });
        match made {
            SampleOrigin::Here => {}
            SampleOrigin::Requested => self.record(&sample, None, status_ok),
            SampleOrigin::Failing(error) => self.record(&sample, Some(error), status_ok),
        }
        let (is_success, then) = (sample.is_success, sample.then);
        let kept = Arc::new(sample);
        user.thread.previous = Some(Arc::clone(&kept));
        user.position.take(&kept);
        let listeners = Arc::clone(&sampler.listeners);
        self.write(user, &listeners, &kept, parts);
        let then = match then {
            OnError::Continue if !is_success => self.run_of(user).group.on_error,
            then => then,
        };
        self.flow_after(user, then)
    }

    fn flow_after(&mut self, user: &mut User, then: OnError) -> Flow {
        match then {
            OnError::Continue => Flow::On,
            OnError::StopThread => Flow::Leave,
            OnError::StopTest => self.stop_test(false),
            OnError::StopTestNow => self.stop_test(true),
            OnError::StartNextLoop => {
                let group = Arc::clone(&self.run_of(user).group);
                let left = user.position.leave(&group, Leave::All);
                self.end_left(user, left);
                Flow::EndPass
            }
        }
    }

    /// The request in the figures of the run.
    fn record(&mut self, sample: &SampleResult, transport: Option<TransportError>, status_ok: bool) {
        let outcome = match (transport, sample.is_success) {
            (_, true) => Outcome::Success,
            (Some(error), false) => Outcome::Transport(error),
            (None, false) => match sample.code.parse::<u16>() {
                Ok(status) if !status_ok => Outcome::Status(status),
                Ok(_) => Outcome::FailedCheck,
                // No request could be made of what the plan says.
                Err(_) => Outcome::Transport(TransportError::Protocol),
            },
        };
        let status = sample.code.parse::<u16>().ok().filter(|_| transport.is_none());
        let known = self.names.get(sample.label.as_str()).copied();
        let request = known.unwrap_or_else(|| {
            let index = self.workload.tables.name(&sample.label);
            self.names.insert(sample.label.to_string(), index);
            index
        });
        self.out.records.push(Record {
            request,
            scheduled: sample.start,
            started: sample.start,
            first_byte: (sample.latency > Nanos::ZERO).then(|| sample.start.plus(sample.latency)),
            ended: sample.end,
            outcome,
            status,
            bytes_sent: sample.sent_bytes,
            bytes_received: sample.bytes,
        });
    }

    /// Ends transactions that were left before their end, the innermost first, and a parent last. A parent within another is one of
    /// its samples. What comes next begins as if all were well.
    pub(super) fn end_left(&mut self, user: &mut User, mut left: Vec<Transaction>) {
        let is_success = user.vars.get(LAST_SAMPLE_OK) == Some("true");
        let mut parent = None;
        left.reverse();
        while let Some(transaction) = left.pop() {
            if !transaction.is_parent {
                let listeners = Arc::clone(&transaction.listeners);
                let sample = transaction.interrupted(self.now(), is_success);
                self.write(user, &listeners, &sample, Vec::new());
                continue;
            }
            match left.iter_mut().rev().find(|around| around.is_parent) {
                Some(around) => {
                    let (sample, parts) = transaction.end(self.now());
                    around.take(&sample);
                    around.keep(sample, parts);
                }
                None => parent = Some(transaction),
            }
        }
        if let Some(parent) = parent {
            self.end_transaction(user, parent);
        }
        user.vars.set(LAST_SAMPLE_OK, "true");
    }

    pub(super) fn end_transaction(&mut self, user: &mut User, transaction: Transaction) {
        let listeners = Arc::clone(&transaction.listeners);
        let assertions = Arc::clone(&transaction.assertions);
        let is_parent = transaction.is_parent;
        let (mut sample, mut parts) = transaction.end(self.now());
        if is_parent {
            self.judge_parent(user, &assertions, &mut sample, &mut parts);
        } else {
            parts.clear();
        }
        if is_parent {
            let arounds = user.position.transactions().filter(|around| !around.is_parent);
            arounds.for_each(Transaction::note_parent_over);
            user.position.take(&sample);
        }
        self.write(user, &listeners, &sample, parts);
    }

    /// The user goes before the end of transactions: a parent ends with the samples that it has, others are no samples.
    pub(super) fn cut_transactions(&mut self, user: &mut User) {
        let group = Arc::clone(&self.run_of(user).group);
        let mut inner: Option<(Arc<[usize]>, SampleResult, Vec<SampleResult>)> = None;
        for mut transaction in user.position.leave(&group, Leave::All) {
            if !transaction.is_parent {
                continue;
            }
            if let Some((_, sample, parts)) = inner.take() {
                transaction.take(&sample);
                transaction.keep(sample, parts);
            }
            if !transaction.is_empty() {
                let listeners = Arc::clone(&transaction.listeners);
                let assertions = Arc::clone(&transaction.assertions);
                let (mut sample, mut parts) = transaction.cut();
                self.judge_parent(user, &assertions, &mut sample, &mut parts);
                inner = Some((listeners, sample, parts));
            }
        }
        if let Some((listeners, sample, parts)) = inner {
            self.write(user, &listeners, &sample, parts);
        }
    }

    fn judge_parent(
        &self,
        user: &mut User,
        assertions: &[Arc<Assertion>],
        sample: &mut SampleResult,
        parts: &mut [SampleResult],
    ) {
        let mut context = Context {
            vars: &mut user.vars,
            thread: &mut user.thread,
            shared: &self.workload.shared,
            engine: self.engine,
            evaluate_text: text::evaluate,
        };
        for assertion in assertions {
            check(assertion, sample, parts, &mut context);
        }
        context.vars.set(LAST_SAMPLE_OK, if sample.is_success { "true" } else { "false" });
    }

    /// Writes a sample, or keeps it for the transaction that it is part of.
    fn write(
        &mut self,
        user: &mut User,
        listeners: &[usize],
        sample: &SampleResult,
        parts: Vec<SampleResult>,
    ) {
        if let Some(parent) = user.position.parent() {
            return parent.keep(sample.clone(), parts);
        }
        let run = &self.workload.groups[user.group];
        let (group_threads, all_threads) =
            (run.active.load(Ordering::Relaxed), self.workload.all_active.load(Ordering::Relaxed));
        let place = RowPlace {
            clock: &self.workload.shared.clock,
            thread_name: &user.thread.name,
            group_threads,
            all_threads,
        };
        self.sink.take(run.index, listeners, sample, &parts, &place);
    }
}

fn process(
    processor: &PostProcessor,
    sample: &mut SampleResult,
    parts: &[SampleResult],
    context: &mut Context<'_>,
) {
    match processor {
        PostProcessor::Regex(extractor) => extract::regex(extractor, sample, parts, context),
        PostProcessor::Json(extractor) => extract::json(extractor, sample, parts, context),
        PostProcessor::Boundary(extractor) => extract::boundary(extractor, sample, parts, context),
        PostProcessor::Css(extractor) => extract::css(extractor, sample, parts, context),
        PostProcessor::XPath(extractor) => xpath::extract(extractor, sample, parts, context),
        PostProcessor::Script(script) => {
            let (_, changes) = context.run_script(script, Some(Arc::new(sample.clone())));
            scripts::apply(changes, sample);
        }
    }
}

/// Judges the sample, its parts, or both, as the assertion's scope says. Where a part has failed so has the sample.
fn check(
    assertion: &Assertion,
    sample: &mut SampleResult,
    parts: &mut [SampleResult],
    context: &mut Context<'_>,
) {
    if assertion.scope != SampleScope::Parts {
        let result = judge(assertion, sample, context);
        sample.take_assertion(result);
    }
    if assertion.scope == SampleScope::Main {
        return;
    }
    for part in &mut *parts {
        let result = judge(assertion, part, context);
        part.take_assertion(result);
    }
    if sample.is_success && parts.iter().any(|part| !part.is_success) {
        let (name, failure) = (assertion.name.text(context).into(), PARTS_FAILED.to_owned());
        sample.take_assertion(AssertionResult { name, failure });
    }
}

fn judge(assertion: &Assertion, sample: &mut SampleResult, context: &mut Context<'_>) -> AssertionResult {
    let name = assertion.name.text(context).into();
    let failure = match &assertion.kind {
        AssertionKind::Script(script) => {
            let (value, changes) = context.run_script(script, Some(Arc::new(sample.clone())));
            let failure = scripts::apply(changes, sample);
            let failure =
                failure.map(|said| if said.is_empty() { "the script says so".to_owned() } else { said });
            value.err().map(|message| scripts::exception(&message)).or(failure)
        }
        kind => Some(assertions::judge(kind, sample, context)),
    };
    AssertionResult { name, failure: failure.unwrap_or_default() }
}
