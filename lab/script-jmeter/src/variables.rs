//! What is known before the first user: the variables of a plan, wherever they are defined, and the loads of its groups.

use crate::error::{ElementFault, JmeterError};
use crate::js::Engine;
use crate::loads::GroupSchedule;
use crate::plan::Group;
use crate::run::context::{Context, ThreadState};
use crate::run::shared::{Shared, Variables};
use crate::text::{self, Text};
use crate::tree::{Element, Props};
use compact_str::CompactString;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Evaluates with what is known before the first user: these variables, and no sample.
pub(crate) fn evaluate_first<T>(
    vars: &mut Variables,
    shared: &Arc<Shared>,
    evaluate: impl FnOnce(&mut Context<'_>) -> T,
) -> T {
    let (engine, mut thread) = (Engine::default(), first_thread());
    let mut context =
        Context { vars, thread: &mut thread, shared, engine: &engine, evaluate_text: text::evaluate };
    evaluate(&mut context)
}

/// Whoever evaluates what is known before the first user.
fn first_thread() -> ThreadState {
    ThreadState {
        group: "".into(),
        number: 1,
        name: "".into(),
        random: ChaCha8Rng::seed_from_u64(1),
        counters: FxHashMap::default(),
        counts: FxHashMap::default(),
        rows: FxHashMap::default(),
        previous: None,
        sampler: CompactString::default(),
        index_name: String::new(),
        iteration: 0,
    }
}

/// Variables of the plan, wherever they are defined, and the groups' loads.
pub(crate) fn prepare(
    path: &Path,
    plan: &Element,
    included: &[(PathBuf, Element)],
    groups: &[Group],
    shared: &Arc<Shared>,
) -> Result<(Variables, Vec<GroupSchedule>), JmeterError> {
    let (mut vars, mut schedules, mut faults) = (Variables::default(), Vec::new(), Vec::new());
    evaluate_first(&mut vars, shared, |context| {
        if let Some(arguments) = plan.props.element("TestPlan.user_defined_variables") {
            define(path, plan, arguments, context, &mut faults);
        }
        define_all(path, &plan.children, context, &mut faults);
        for (file, element) in included {
            define(file, element, &element.props, context, &mut faults);
        }
        for group in groups {
            match GroupSchedule::of(group, context) {
                Ok(schedule) => schedules.push(schedule),
                Err(message) => {
                    let place = format!("{} / {}", plan.name, group.name);
                    let named = plan.children.iter().find(|child| *child.name == *group.name);
                    let line = named.map_or(1, |child| child.line);
                    faults.push(ElementFault::new(path, line, &place, "Thread Group", message));
                }
            }
        }
    });
    if faults.is_empty() { Ok((vars, schedules)) } else { Err(JmeterError::Elements(faults)) }
}

/// The files that functions read of which variables are made.
pub(crate) fn variable_files(plan: &Element) -> Vec<Text> {
    let own = plan.props.element("TestPlan.user_defined_variables");
    let own = own.or_else(|| Some(&plan.props).filter(|_| plan.tag == "Arguments"));
    let raw = own.into_iter().flat_map(|arguments| arguments.elements("Arguments.arguments"));
    let texts = raw.filter_map(|argument| text::read(argument.text("Argument.value"), &mut 0).ok());
    let below = plan.children.iter().flat_map(variable_files);
    texts.flat_map(|text| text::functions::file_names(&text)).chain(below).collect()
}

fn define_all(path: &Path, elements: &[Element], context: &mut Context<'_>, faults: &mut Vec<ElementFault>) {
    for element in elements {
        if element.tag == "Arguments" {
            define(path, element, &element.props, context, faults);
        }
        define_all(path, &element.children, context, faults);
    }
}

fn define(
    path: &Path,
    element: &Element,
    arguments: &Props,
    context: &mut Context<'_>,
    faults: &mut Vec<ElementFault>,
) {
    // Their places are counted apart from those of the groups.
    let (mut site, mut values) = (u32::MAX / 2, Vec::new());
    for argument in arguments.elements("Arguments.arguments") {
        let (name, raw) = (argument.text("Argument.name"), argument.text("Argument.value"));
        match text::read(raw, &mut site) {
            Ok(text) => values.push((name, text.value(context))),
            Err(error) => {
                let message = format!("the variable `{name}`: {error}");
                let (line, place) = (element.line, &element.name);
                faults.push(ElementFault::new(path, line, place, "User Defined Variables", message));
            }
        }
    }
    // As in JMeter, the variables of one element do not see each other.
    for (name, value) in &values {
        context.vars.set(name, value);
    }
}
