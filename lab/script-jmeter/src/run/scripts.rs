//! Scripts of elements: evaluated with what the user knows, and what they change of a sample.

use crate::js::{Changes, Facts};
use crate::plan::{OnError, Script};
use crate::run::context::Context;
use crate::run::result::SampleResult;
use compact_str::CompactString;
use std::sync::Arc;

impl Context<'_> {
    fn facts(&self, label: &str, parameters: String, sample: Option<Arc<SampleResult>>) -> Facts {
        Facts {
            thread_number: self.thread.number,
            thread_name: Arc::clone(&self.thread.name),
            group: Arc::clone(&self.thread.group),
            label: label.to_owned(),
            parameters,
            sampler: self.thread.sampler.to_string(),
            previous: sample.or_else(|| self.thread.previous.clone()),
        }
    }

    /// The value of a script's last expression.
    pub(crate) fn evaluate(&mut self, source: &str) -> Result<String, String> {
        let facts = self.facts("", String::new(), None);
        self.engine.evaluate(source, facts, self.vars, self.shared).0
    }

    /// Runs an element's script; `sample` is what it sees as `prev`, else the last one. What goes wrong is logged.
    pub(crate) fn run_script(
        &mut self,
        script: &Script,
        sample: Option<Arc<SampleResult>>,
    ) -> (Result<String, String>, Changes) {
        let file = script.file.value(self);
        let source = match file.trim() {
            "" => Ok(script.source.value(self)),
            file => self.shared.files.text(file).map(|text| text.to_string()),
        };
        let parameters = script.parameters.value(self);
        let facts = self.facts(&script.name, parameters, sample);
        let (value, changes) = match source {
            Ok(source) => self.engine.evaluate(&source, facts, self.vars, self.shared),
            Err(message) => (Err(message), Changes::new()),
        };
        if let Err(message) = &value {
            self.shared.log(&format!("{}: {message}", script.name));
        }
        (value, changes)
    }
}

/// The sample that a JSR223 Sampler's script is.
pub(crate) fn sample(script: &Script, label: CompactString, context: &mut Context<'_>) -> SampleResult {
    let start = context.shared.clock.now();
    let (value, changes) = context.run_script(script, None);
    let mut sample = SampleResult {
        label,
        code: "200".into(),
        message: "OK".into(),
        is_success: true,
        body: value.as_deref().unwrap_or_default().into(),
        start,
        end: context.shared.clock.now(),
        data_type: "text",
        ..SampleResult::default()
    };
    apply(changes, &mut sample);
    if let Err(message) = value {
        sample.code = "500".into();
        sample.message = exception(&message).into();
        sample.is_success = false;
    }
    sample.bytes = sample.body.len() as u64;
    sample
}

/// What JMeter says of a script that has thrown.
pub(crate) fn exception(message: &str) -> String {
    format!("javax.script.ScriptException: {message}")
}

/// Makes a script's changes of a sample; what it said of an assertion.
pub(crate) fn apply(changes: Changes, result: &mut SampleResult) -> Option<String> {
    let (mut has_failed, mut message) = (false, String::new());
    for (name, value) in changes {
        match name.as_str() {
            "success" => result.is_success = value == "true",
            "code" => result.code = value.into(),
            "message" => result.message = value.into(),
            "label" => result.label = value.into(),
            "data" => result.body = value.into_bytes(),
            "dataType" => result.data_type = if value == "bin" { "bin" } else { "text" },
            "ignore" => result.is_ignored = true,
            "stopThread" if value == "true" => result.then = OnError::StopThread,
            "stopTest" if value == "true" => result.then = OnError::StopTest,
            "stopTestNow" if value == "true" => result.then = OnError::StopTestNow,
            "startNextLoop" if value == "true" => result.then = OnError::StartNextLoop,
            "failure" => has_failed = value == "true",
            "failureMessage" => message = value,
            _ => {}
        }
    }
    has_failed.then_some(message)
}
