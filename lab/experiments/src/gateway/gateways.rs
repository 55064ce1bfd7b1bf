//! The gateways that are measured: a configuration each, written beside the results, and a process each.

use std::{collections::BTreeMap, fs, path::PathBuf};

use prony_model::{Target, plan::wire::TlsOptions};
use serde_json::Value;

use super::{
    credentials::Credentials,
    layers::Layer,
    study::{GatewayRequests, Query},
};
use crate::{
    ask::AnswerError, engine::Engine, error::LabError, frame::Ground, processors::Assignment, runs::Measured,
};

/// A running gateway and how it is asked.
#[derive(Debug)]
pub(super) struct Gateway<'a> {
    engine: Engine,
    assignment: &'a Assignment,
    target: Target,
    tls: TlsOptions,
    tokens: &'a [Value],
    seed: u64,
}

impl<'a> Gateway<'a> {
    fn start(
        layer: Layer,
        backend: &Engine,
        ground: &Ground<'_>,
        assignment: &'a Assignment,
        credentials: &'a Credentials,
        seed: u64,
    ) -> Result<Self, LabError> {
        let path = ground.folder.path().join(format!("gateway-{}.toml", layer.name()));
        let configuration = layer.configuration(backend.address(), credentials);
        fs::write(&path, configuration).map_err(LabError::io(format!("write {}", path.display())))?;
        let arguments = vec!["serve".to_owned(), "--config".to_owned(), path.display().to_string()];
        let engine = ground.start(arguments, assignment)?;
        let scheme = if layer.has_tls() { "https" } else { "http" };
        let target =
            Target::parse(&format!("{scheme}://{}", engine.address())).expect("an engine's address is one");
        let tls = TlsOptions { ca: ca_of(layer, credentials), ..TlsOptions::default() };
        let tokens = if layer.has_tokens() { credentials.tokens.as_slice() } else { &[] };
        Ok(Self { engine, assignment, target, tls, tokens, seed })
    }

    pub(super) fn requests(&self) -> GatewayRequests<'a> {
        GatewayRequests {
            target: self.target.clone(),
            tls: self.tls.clone(),
            tokens: self.tokens,
            seed: self.seed,
        }
    }

    pub(super) fn measured(&self) -> Measured<'_> {
        Measured { process: self.engine.process(), processors: &self.assignment.server }
    }

    pub(super) fn stop(self) {
        self.engine.stop();
    }
}

fn ca_of(layer: Layer, credentials: &Credentials) -> Vec<PathBuf> {
    if layer.has_tls() { vec![credentials.certificate.clone()] } else { Vec::new() }
}

/// Starts a gateway for each of these layers, all in front of the same backend.
pub(super) fn start<'a>(
    layers: impl IntoIterator<Item = Layer>,
    backend: &Engine,
    ground: &Ground<'_>,
    assignment: &'a Assignment,
    credentials: &'a Credentials,
    seed: u64,
) -> Result<BTreeMap<Layer, Gateway<'a>>, LabError> {
    let start = |layer| Ok((layer, Gateway::start(layer, backend, ground, assignment, credentials, seed)?));
    layers.into_iter().map(start).collect()
}

/// Asks the backend each operation once, so that figures are not of wrong responses.
pub(super) fn check(address: &str) -> Result<(), AnswerError> {
    for query in Query::ALL {
        let body = serde_json::json!({ "query": query.text() }).to_string();
        crate::ask::look(address, ("POST", "/graphql", Some(&body)), query.label(), |json| {
            let roots = json.pointer("/data").and_then(Value::as_object).map_or(0, serde_json::Map::len);
            (roots != query.root_fields())
                .then(|| format!("it has {roots} root fields, not {}", query.root_fields()))
        })?;
    }
    Ok(())
}
