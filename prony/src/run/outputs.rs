//! `--out`: samples one by one in files, and the seconds of the run for dashboards; open from before a run until its end.

use super::warning::warn;
use anyhow::bail;
use prony_load::RunOptions;
use prony_metrics::outputs::{OutputEnd, OutputSpec};
use prony_model::Plan;
use prony_model::result::Progress;
use prony_outputs::{KINDS, SinkSpec, Sinks};
use prony_runs::samples::SampleOutputs;

/// Outputs that k6 has under other names or that are no outputs here, with what to write instead.
const OF_K6: [(&str, &str); 6] = [
    ("experimental-prometheus-rw", "it is called prometheus here; write --out prometheus:URL"),
    ("experimental-opentelemetry", "it is called otlp here; write --out otlp:URL"),
    ("opentelemetry", "it is called otlp here; write --out otlp:URL"),
    ("output-statsd", "it is called statsd here; write --out statsd:HOST:PORT"),
    (
        "web-dashboard",
        "--live serves a page while the run goes, and `prony report RESULT --html FILE` writes it afterwards",
    ),
    ("cloud", "nothing is sent to a cloud; `prony report RESULT --html FILE` writes a page"),
];

/// What a command line asks for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) files: Vec<OutputSpec>,
    pub(crate) sinks: Vec<SinkSpec>,
}

impl Asked {
    /// `KIND=TARGET` or `KIND:TARGET`; `file` reads what is none of the kinds for dashboards.
    pub(crate) fn parse<E: Into<anyhow::Error>>(
        texts: &[String],
        file: impl Fn(&str) -> Result<OutputSpec, E>,
    ) -> anyhow::Result<Self> {
        let mut asked = Self { files: Vec::new(), sinks: Vec::new() };
        for text in texts {
            if let Some(sink) = SinkSpec::parse(text) {
                asked.sinks.push(sink);
                continue;
            }
            // The first of the two that stands there separates: names of files may have both.
            let with_equals = match text.find([':', '=']) {
                Some(at) if text[at..].starts_with(':') => format!("{}={}", &text[..at], &text[at + 1..]),
                _ => text.clone(),
            };
            match file(&with_equals) {
                Ok(spec) => asked.files.push(spec),
                Err(error) => {
                    let kind = text.split([':', '=']).next().unwrap_or_default();
                    if let Some((_, instead)) = OF_K6.iter().find(|(known, _)| *known == kind) {
                        bail!("--out {kind}: {instead}");
                    }
                    let error: anyhow::Error = error.into();
                    let kinds: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
                    bail!("{error}; for dashboards there are {}", kinds.join(", "));
                }
            }
        }
        Ok(asked)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let sinks = self.sinks.iter().map(|sink| sink.name().to_owned());
        self.files.iter().map(OutputSpec::name).chain(sinks).collect()
    }

    pub(crate) fn open_sinks(&self) -> anyhow::Result<Sinks> {
        Ok(Sinks::open(&self.sinks)?)
    }
}

/// The outputs of a plan, a URL, a wrk script or a JMeter plan. Those of k6 scripts write the scripts' own samples to files.
#[derive(Debug)]
pub(crate) struct Outputs {
    samples: SampleOutputs,
    sinks: Sinks,
}

impl Outputs {
    pub(crate) fn open(texts: &[String]) -> anyhow::Result<Self> {
        let asked = Asked::parse(texts, |text| OutputSpec::parse(text, None, None))?;
        Ok(Self { samples: SampleOutputs::open(&asked.files)?, sinks: asked.open_sinks()? })
    }

    /// The options of a run that gives them its samples and seconds.
    pub(crate) fn listen(&self, plan: &Plan, options: RunOptions) -> RunOptions {
        listen(&self.sinks, plan, self.samples.listen(plan, options))
    }

    /// Writes and sends what is left, and says what is missing.
    pub(crate) fn finish(self) {
        warn_of_outputs(&self.samples.finish());
        finish(self.sinks);
    }
}

/// The options of a run that gives its seconds to dashboards; what they have to say is shown as the run's own warnings are.
pub(crate) fn listen(sinks: &Sinks, plan: &Plan, mut options: RunOptions) -> RunOptions {
    if sinks.is_empty() {
        return options;
    }
    options.snapshots.push(sinks.listener(plan.name()));
    let (warnings, mut show) = (sinks.warnings(), options.progress);
    options.progress = Box::new(move |progress: &Progress| {
        let said = warnings.take();
        if said.is_empty() {
            return show(progress);
        }
        let all = progress.warning.iter().chain(&said).cloned().collect::<Vec<_>>().join("; ");
        show(&Progress { warning: Some(all), ..progress.clone() });
    });
    options
}

pub(crate) fn finish(sinks: Sinks) {
    let warnings = sinks.warnings();
    let ends = sinks.finish();
    warnings.take().iter().for_each(|warning| warn(warning));
    ends.iter().filter(|end| end.lost > 0).for_each(|end| warn(&end.to_string()));
}

/// Samples that outputs could not write.
pub(crate) fn warn_of_outputs(ends: &[OutputEnd]) {
    let missing = ends.iter().filter(|end| end.lost > 0 || end.error.is_some());
    missing.for_each(|end| warn(&end.to_string()));
}
