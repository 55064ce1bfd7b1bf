//! One run of the experiment, from the backend's start to the written tables.

use std::{collections::BTreeMap, path::PathBuf};

use prony_load::StopFlag;
use prony_model::Nanos;

use super::{
    credentials::Credentials,
    gateways::{self, Gateway},
    layer_runs,
    layers::Layer,
    outcome::{GatewayOutcome, SCHEMA_VERSION},
    steps,
    study::{GatewayPace, GatewayPart, Query, USERS},
};
use crate::{
    display::StepCount,
    engine::Engine,
    error::LabError,
    frame::{Frame, Ground, Report},
    processors::Assignment,
};

/// What the user asked for.
#[derive(Debug)]
pub struct GatewayOptions {
    /// The `prony` program that is gateway and backend.
    pub program: PathBuf,
    pub pace: GatewayPace,
    pub parts: Vec<GatewayPart>,
    pub queries: Vec<Query>,
    /// Numbers of users; empty stands for the study's.
    pub users: Vec<u32>,
    /// For the gateway.
    pub processors: usize,
    pub seed: u64,
    /// Results go below it.
    pub output: PathBuf,
    pub command_line: Vec<String>,
    pub stop: StopFlag,
}

/// Runs the experiment. Binds the calling thread to the lab's processors while it lasts.
pub fn run(options: &GatewayOptions) -> Result<Report<GatewayOutcome>, LabError> {
    let frame = Frame {
        name: "gateway",
        schema_version: SCHEMA_VERSION,
        program: &options.program,
        is_full: options.pace.name == GatewayPace::FULL.name,
        processors: &[options.processors],
        output: &options.output,
        command_line: &options.command_line,
        stop: &options.stop,
    };
    frame.run(|ground| {
        let assignment = ground.assignments[0].clone();
        let credentials = Credentials::make(ground.folder.path())?;
        let backend = ground.start_backend(["example", "starwars"].map(str::to_owned).into(), &assignment)?;
        gateways::check(backend.address())?;
        let measured = GatewayRun { options, ground, assignment, credentials, backend: &backend }.measure();
        backend.stop();
        measured
    })
}

/// A run under way.
struct GatewayRun<'a> {
    options: &'a GatewayOptions,
    ground: &'a Ground<'a>,
    assignment: Assignment,
    credentials: Credentials,
    backend: &'a Engine,
}

impl GatewayRun<'_> {
    fn measure(&self) -> Result<GatewayOutcome, LabError> {
        let mut outcome = GatewayOutcome {
            head: self.ground.head.clone(),
            pace: self.options.pace,
            seed: self.options.seed,
            parts: self.options.parts.clone(),
            assignment: self.assignment.clone(),
            steps: Vec::new(),
            layers: Vec::new(),
            stopped: false,
        };
        let has = |part| self.options.parts.contains(&part);
        self.ground.display.set_later(if has(GatewayPart::Layers) {
            self.time_of_layers()
        } else {
            Nanos::ZERO
        });
        let layers = self.layer_queries() * self.options.pace.rounds as usize * Layer::EACH.len();
        let users = self.options.queries.len() * self.users().len();
        let parts = [(GatewayPart::Users, users), (GatewayPart::Layers, layers)];
        let steps: usize = parts.iter().filter(|(part, _)| has(*part)).map(|(_, steps)| steps).sum();
        self.ground.display.set_steps(StepCount::Exactly(steps as u32));
        if has(GatewayPart::Users) {
            self.measure_users(&mut outcome)?;
        }
        if has(GatewayPart::Layers) && !self.ground.is_stopped() {
            self.measure_layers(&mut outcome)?;
        }
        outcome.stopped = self.ground.is_stopped();
        Ok(outcome)
    }

    fn measure_users(&self, outcome: &mut GatewayOutcome) -> Result<(), LabError> {
        let mut gateways = self.gateways([Layer::Study])?;
        let Some(gateway) = gateways.remove(&Layer::Study) else { return Ok(()) };
        let runs = self.ground.runs(&self.assignment);
        let display = &self.ground.display;
        let what = (self.options.queries.as_slice(), self.users());
        steps::measure(&gateway, what, &self.options.pace, &runs, display, &mut outcome.steps)?;
        gateway.stop();
        Ok(())
    }

    fn measure_layers(&self, outcome: &mut GatewayOutcome) -> Result<(), LabError> {
        let gateways = self.gateways(Layer::EACH)?;
        let runs = self.ground.runs(&self.assignment);
        let (pace, display) = (&self.options.pace, &self.ground.display);
        let queries = self.options.queries.iter().take(pace.layer_queries);
        let mut left = self.time_of_layers().0;
        for query in queries {
            left -= self.time_of_query().0;
            display.set_later(Nanos(left));
            layer_runs::measure(&gateways, *query, pace, &runs, display, &mut outcome.layers)?;
        }
        gateways.into_values().for_each(Gateway::stop);
        Ok(())
    }

    fn gateways(
        &self,
        layers: impl IntoIterator<Item = Layer>,
    ) -> Result<BTreeMap<Layer, Gateway<'_>>, LabError> {
        let (ground, seed) = (self.ground, self.options.seed);
        gateways::start(layers, self.backend, ground, &self.assignment, &self.credentials, seed)
    }

    fn time_of_layers(&self) -> Nanos {
        Nanos(self.time_of_query().0 * self.layer_queries() as u64)
    }

    /// Operations with which layers are compared.
    fn layer_queries(&self) -> usize {
        self.options.queries.len().min(self.options.pace.layer_queries)
    }

    /// Of each step of an operation.
    fn users(&self) -> &[u32] {
        if self.options.users.is_empty() { &USERS } else { &self.options.users }
    }

    /// All layers with one operation.
    fn time_of_query(&self) -> Nanos {
        let pace = &self.options.pace;
        Nanos(pace.layer.0 * u64::from(pace.rounds) * Layer::EACH.len() as u64)
    }
}
