//! What an argument of one kind is, and how it is made ready to be run.

use crate::k6::GivenError;
use crate::subject::Subject;
use prony_load::{PlanError, UrlError};
use prony_model::LoadModel;
use prony_model::plan::PlanFaults;
use prony_script_jmeter::JmeterError;
use prony_script_k6::SessionError;
use prony_script_wrk::ScriptError;
use prony_workers::UserState;
use std::path::PathBuf;

/// One kind of argument.
#[derive(Debug)]
pub struct Kind {
    /// With its article, for messages.
    pub name: &'static str,
    /// Whose flags `prony run` reads with it.
    pub flags: Flags,
    /// What its users lose with a worker that is lost.
    pub users: UserState,
    /// True where the address that is loaded is an argument of its own, after this one.
    pub needs_url: bool,
    /// Whether a text, such as the name of a file, means this kind.
    pub(crate) is_named: fn(&str) -> bool,
    pub(crate) open: Open,
}

/// Makes an argument of a kind ready to be run again and again.
pub(crate) type Open = fn(&Argument, &OpenSettings) -> Result<Subject, OpenError>;

/// Whose flags describe a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flags {
    /// The plan says all of it.
    Plan,
    /// wrk's and wrk2's.
    Wrk,
    K6,
    Jmeter,
}

/// One thing to run, and the address that it loads where that is not its own.
#[derive(Debug)]
pub struct Argument {
    pub text: String,
    pub kind: &'static Kind,
    /// Given exactly where the kind needs one.
    pub url: Option<String>,
}

/// Called when a script hangs in a way that cannot be cut: nothing but the end of the process ends it.
pub type OnStuck = fn(&ScriptError);

/// What is opened with defaults of its own.
#[derive(Debug, Clone)]
pub struct OpenSettings {
    /// Of an address, which says nothing of its load.
    pub load: LoadModel,
    /// Of k6 scripts: `NAME=VALUE` of `__ENV`.
    pub environment: Vec<String>,
    /// Of JMeter plans: names and values.
    pub properties: Vec<(String, String)>,
    /// Of wrk scripts.
    pub on_stuck: OnStuck,
    /// A message for requests to carry: the body of an address and of a wrk script, `payload` of plans, `PAYLOAD` of k6
    /// scripts, the property `payload` of JMeter plans.
    pub payload: Option<Payload>,
    /// Names and values: variables of plans, `__ENV` of k6 scripts, properties of JMeter plans.
    pub settings: Vec<(String, String)>,
}

/// A message of a certain size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    pub text: String,
    /// Where the same text stands, for scripts that read files.
    pub file: PathBuf,
}

/// Of a message whose own type is not known.
pub(crate) const PAYLOAD_TYPE: (&str, &str) = ("Content-Type", "application/json");

impl OpenSettings {
    /// Defaults of all but these.
    pub fn new(load: LoadModel, on_stuck: OnStuck) -> Self {
        let (environment, properties, settings) = (Vec::new(), Vec::new(), Vec::new());
        Self { load, environment, properties, on_stuck, payload: None, settings }
    }

    /// An error where something is set of what takes no settings.
    pub(crate) fn refuse_settings(&self, kind: &'static str) -> Result<(), OpenError> {
        match self.settings.first() {
            Some((name, _)) => Err(OpenError::TakesNoSettings { kind, name: name.clone() }),
            None => Ok(()),
        }
    }
}

/// Why an argument cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error(transparent)]
    Faults(#[from] PlanFaults),
    #[error(transparent)]
    Given(#[from] GivenError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Jmeter(#[from] JmeterError),
    #[error(transparent)]
    WrkScript(#[from] ScriptError),
    #[error(
        "`{name}` cannot be set: {kind} has nothing of that kind; a plan has variables, a k6 script `__ENV`, a JMeter plan \
         properties, and a command that starts the target has what begins with `target.`"
    )]
    TakesNoSettings { kind: &'static str, name: String },
    #[error("the plan has no variable `{name}` that could be set; {known}")]
    NoVariable { name: String, known: String },
    #[error(
        "the plan takes no message: it has neither a variable `payload` nor `payload_bytes`; write under [variables] \
         payload = {{ list = [\"\"] }} and use ${{payload}} in a body"
    )]
    NoPayload,
    #[error("{kind} {path} never reads `{name}`, so all of its values would be the same run; {example}")]
    NeverRead { kind: &'static str, path: String, name: String, example: String },
}

impl Argument {
    pub(crate) fn waits_for_url(&self) -> bool {
        self.kind.needs_url && self.url.is_none()
    }

    /// Makes it ready to be run again and again.
    pub fn open(&self, settings: &OpenSettings) -> Result<Subject, OpenError> {
        (self.kind.open)(self, settings)
    }
}
