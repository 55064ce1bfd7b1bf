//! The samples of a plan, a URL, a wrk script or a JMeter plan, in k6's words, for outputs. k6 scripts make theirs themselves.
//!
//! Each request gives `http_reqs`, `http_req_failed`, `http_req_duration` (from when work on it began), `http_req_blocked`
//! (from when it was due until work began), `http_req_waiting`, `http_req_receiving`, `data_sent` and `data_received`; each
//! second `vus`, `vus_max` and `dropped_iterations`. Tags are the request's `name`, `expected_response`, and, where it
//! failed, `status` or `error`.

use prony_load::{RecordBatch, RunOptions};
use prony_metrics::outputs::{FileOutput, OutputContext, OutputEnd, OutputError, OutputSpec};
use prony_metrics::{
    Engine, Recorder, RecorderOptions, Registry, SystemTag, SystemTags, TagSetId, Tags, Thresholds, builtin,
};
use prony_model::measurement::snapshot::{IntervalSnapshot, RequestNames};
use prony_model::{Nanos, Outcome, Plan, Record};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// All samples come from the thread that gathers.
const THREAD: u32 = 0;

/// The outputs of a run, open from before it begins until they are finished.
#[derive(Debug)]
pub struct SampleOutputs {
    engine: Arc<Engine>,
    outputs: Vec<FileOutput>,
    recorder: RecorderOptions,
    opened: Instant,
}

impl SampleOutputs {
    /// Opens all of them.
    pub fn open(specs: &[OutputSpec]) -> Result<Self, OutputError> {
        let registry = Arc::new(Registry::new());
        let system_tags = SystemTags::default();
        let (mut outputs, mut sinks) = (Vec::new(), Vec::new());
        let (opened, started_at) = (Instant::now(), SystemTime::now());
        for spec in specs {
            let registry = Arc::clone(&registry);
            let context = OutputContext { registry, system_tags, thresholds: Vec::new(), started_at };
            let (output, sink) = FileOutput::open(spec, context)?;
            outputs.push(output);
            sinks.push(sink);
        }
        let recorder = RecorderOptions { registry, system_tags, run_tags: Vec::new(), has_outputs: true };
        let engine = Arc::new(Engine::new(&recorder, Thresholds::default(), sinks));
        Ok(Self { engine, outputs, recorder, opened })
    }

    /// The options of a run that gives its samples to the outputs.
    #[must_use]
    pub fn listen(&self, plan: &Plan, mut options: RunOptions) -> RunOptions {
        if self.outputs.is_empty() {
            return options;
        }
        let stream = Rc::new(RefCell::new(Stream::new(self, plan)));
        let of_records = Rc::clone(&stream);
        options.records = Some(Box::new(move |batch| of_records.borrow_mut().requests(batch)));
        options.snapshots.push(Box::new(move |snapshot| stream.borrow_mut().second(snapshot)));
        options
    }

    /// Writes what is left, and says how each output has ended.
    pub fn finish(self) -> Vec<OutputEnd> {
        self.engine.close_outputs();
        self.outputs.into_iter().map(FileOutput::finish).collect()
    }
}

/// Makes samples of what a run tells.
struct Stream {
    engine: Arc<Engine>,
    recorder: Recorder,
    opened: Instant,
    /// The start of the run, since the outputs were opened.
    offset: Nanos,
    /// By request, as far as they were asked for: a JMeter plan finds its own while it goes.
    names: Vec<Option<String>>,
    users_made: u64,
    /// How long requests are started for.
    duration: Nanos,
}

impl Stream {
    fn new(outputs: &SampleOutputs, plan: &Plan) -> Self {
        Self {
            engine: Arc::clone(&outputs.engine),
            recorder: Recorder::new(&outputs.recorder),
            opened: outputs.opened,
            offset: Nanos::ZERO,
            names: Vec::new(),
            users_made: plan.users().into(),
            duration: plan.duration(),
        }
    }

    fn requests(&mut self, batch: &RecordBatch<'_>) {
        self.offset = Nanos(batch.epoch.saturating_duration_since(self.opened).as_nanos() as u64);
        // Tags of the request before are often those of this one.
        let mut last: Option<((usize, Outcome), Tags)> = None;
        for record in batch.records {
            let key = (record.request, record.outcome);
            let tags = match last {
                Some((known, tags)) if known == key => tags,
                _ => self.tags(record, batch.names),
            };
            last = Some((key, tags));
            self.request(record, tags);
        }
        self.engine.receive(THREAD, &mut self.recorder);
        self.engine.tick(Nanos::ZERO);
    }

    fn tags(&mut self, record: &Record, names: RequestNames<'_>) -> Tags {
        let root = self.recorder.root();
        if self.names.len() <= record.request {
            self.names.resize(record.request + 1, None);
        }
        let name = &mut self.names[record.request];
        let name = name.get_or_insert_with(|| names.name(record.request).unwrap_or_default());
        let sets = self.recorder.sets();
        let is_expected = if record.outcome == Outcome::Success { "true" } else { "false" };
        let set: TagSetId = sets.with_system(root.set, SystemTag::Name, name);
        let set = sets.with_system(set, SystemTag::ExpectedResponse, is_expected);
        let set = match record.outcome {
            Outcome::Success => set,
            Outcome::Status(status) => sets.with_system(set, SystemTag::Status, &status.to_string()),
            failed => sets.with_system(set, SystemTag::Error, failed.kind().label()),
        };
        Tags { set, ..root }
    }

    fn request(&mut self, record: &Record, tags: Tags) {
        let at = self.offset.plus(record.ended);
        let failed = f64::from(u8::from(record.outcome != Outcome::Success));
        let mut sample = |metric, value| self.recorder.record_at(metric, tags, at, value);
        sample(builtin::HTTP_REQS, 1.0);
        sample(builtin::HTTP_REQ_DURATION, record.service_time().as_millis_f64());
        sample(builtin::HTTP_REQ_BLOCKED, record.started.since(record.scheduled).as_millis_f64());
        if let Some(first) = record.first_byte {
            sample(builtin::HTTP_REQ_WAITING, first.since(record.started).as_millis_f64());
            sample(builtin::HTTP_REQ_RECEIVING, record.ended.since(first).as_millis_f64());
        }
        sample(builtin::HTTP_REQ_FAILED, failed);
        sample(builtin::DATA_SENT, record.bytes_sent as f64);
        sample(builtin::DATA_RECEIVED, record.bytes_received as f64);
    }

    fn second(&mut self, snapshot: &IntervalSnapshot) {
        let end = Nanos::from_secs(snapshot.second + 1);
        let at = self.offset.plus(end);
        // At the end of a second that the load does not reach nobody is left, which is not said of it.
        if end <= self.duration {
            self.engine.record_vus(at, snapshot.users_active.into(), self.users_made);
        }
        if snapshot.dropped > 0 {
            let root = self.recorder.root();
            self.recorder.record_dropped(root, at, snapshot.dropped);
            self.engine.receive(THREAD, &mut self.recorder);
        }
        self.engine.tick(Nanos::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use prony_model::{LoadModel, PlanDraft, RequestDraft, Target, TransportError};

    fn record(ended_ms: u64, outcome: Outcome) -> Record {
        let at = Nanos::from_millis;
        Record {
            request: 0,
            scheduled: at(1),
            started: at(2),
            first_byte: (outcome != Outcome::Transport(TransportError::Connect)).then_some(at(5)),
            ended: at(ended_ms),
            outcome,
            status: None,
            bytes_sent: 10,
            bytes_received: 20,
        }
    }

    #[test]
    fn requests_of_a_plan_are_written_in_k6s_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        let spec = OutputSpec::parse(&format!("csv={}", path.display()), None, None).unwrap();
        let mut draft =
            PlanDraft::new("p", Target::new("h", 80), LoadModel::constant(3, Nanos::from_secs(1)));
        draft.requests = vec![RequestDraft::get("front page", "/")];
        let plan = draft.check().unwrap();
        let outputs = SampleOutputs::open(&[spec]).unwrap();
        let mut options = outputs.listen(&plan, RunOptions::default());
        let records = [
            record(9, Outcome::Success),
            record(9, Outcome::Status(503)),
            record(3, Outcome::Transport(TransportError::Connect)),
        ];
        let names = RequestNames { plan: &plan, found: None };
        let batch = RecordBatch { epoch: Instant::now(), records: &records, names };
        (options.records.as_mut().unwrap())(&batch);
        drop(options);
        let ends = outputs.finish();
        assert!(ends.iter().all(|end| end.error.is_none() && end.lost == 0), "{ends:?}");
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let head = lines.next().unwrap();
        let columns = ["metric_name", "metric_value", "name", "expected_response", "status", "error"];
        let at = columns.map(|name| head.iter().position(|column| *column == name).unwrap());
        let shown: Vec<_> =
            lines.map(|cells| at.map(|index| cells[index]).join(" ").trim_end().to_owned()).collect();
        expect![[r"
            http_reqs 1.000000 front page true
            http_req_duration 7.000000 front page true
            http_req_blocked 1.000000 front page true
            http_req_waiting 3.000000 front page true
            http_req_receiving 4.000000 front page true
            http_req_failed 0.000000 front page true
            data_sent 10.000000 front page true
            data_received 20.000000 front page true
            http_reqs 1.000000 front page false 503
            http_req_duration 7.000000 front page false 503
            http_req_blocked 1.000000 front page false 503
            http_req_waiting 3.000000 front page false 503
            http_req_receiving 4.000000 front page false 503
            http_req_failed 1.000000 front page false 503
            data_sent 10.000000 front page false 503
            data_received 20.000000 front page false 503
            http_reqs 1.000000 front page false  connect failed
            http_req_duration 1.000000 front page false  connect failed
            http_req_blocked 1.000000 front page false  connect failed
            http_req_failed 1.000000 front page false  connect failed
            data_sent 10.000000 front page false  connect failed
            data_received 20.000000 front page false  connect failed
        "]]
        .assert_eq(&(shown.join("\n") + "\n"));
    }
}
