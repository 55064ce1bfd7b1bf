//! Reading and checking all modules at once, each with what it imports.

use std::{collections::BTreeMap, io, path::Path, sync::Arc};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, ready},
};
use prony_source::{
    config::Faults,
    interceptors::{
        InterceptorCall, InterceptorLimits, InterceptorLoader, InterceptorModule, InterceptorPhase,
        InterceptorResult, Interceptors, ModuleId, RequestedModule,
    },
};

use crate::{
    machine::Machine,
    program::{self, Program, origin},
    workers::Workers,
};

/// Reads modules in JavaScript and TypeScript.
#[derive(Debug, Clone, Copy, Default)]
pub struct JavaScriptLoader;

impl InterceptorLoader for JavaScriptLoader {
    fn load(
        &self,
        modules: &[RequestedModule<'_>],
        limits: &InterceptorLimits,
        read: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
        faults: &mut Faults,
    ) -> Option<Box<dyn Interceptors>> {
        let before = faults.0.len();
        let (mut programs, mut known) = (Vec::new(), BTreeMap::new());
        for RequestedModule { path, origin } in modules {
            let Some(program) = program::read(path, origin, read, faults) else { continue };
            let program = Arc::new(program);
            let Some(module) = checked(&program, ModuleId(programs.len() as u32), limits, faults) else {
                continue;
            };
            known.insert((*path).to_owned(), module);
            programs.push(program);
        }
        // What several modules import is told once.
        let mut told = Vec::new();
        faults.0.retain(|fault| {
            let is_new = !told.contains(fault);
            if is_new {
                told.push(fault.clone());
            }
            is_new
        });
        if faults.0.len() > before {
            return None;
        }
        Some(Box::new(Loaded { known, workers: Workers::new(programs.into(), limits.clone()) }))
    }
}

/// Evaluates a module once, to see what it exports.
fn checked(
    program: &Arc<Program>,
    id: ModuleId,
    limits: &InterceptorLimits,
    faults: &mut Faults,
) -> Option<InterceptorModule> {
    match Machine::new(program, limits) {
        Ok(machine) => Some(InterceptorModule {
            id,
            has_before: machine.has(InterceptorPhase::Before),
            has_after: machine.has(InterceptorPhase::After),
        }),
        Err(fault) => {
            let start = crate::position::Place { line: 1, column: 1 };
            let (file, place) = fault.place.unwrap_or_else(|| (program.name().to_owned(), start));
            faults.push(origin(&file, place), fault.message);
            None
        }
    }
}

#[derive(Debug)]
struct Loaded {
    known: BTreeMap<String, InterceptorModule>,
    workers: Workers,
}

impl Interceptors for Loaded {
    fn module(&self, path: &str) -> Option<InterceptorModule> {
        self.known.get(path).copied()
    }

    fn call(&self, call: InterceptorCall) -> BoxFuture<'static, InterceptorResult> {
        match self.workers.send(call) {
            Ok(result) => result.boxed(),
            Err(error) => ready(Err(error)).boxed(),
        }
    }
}
