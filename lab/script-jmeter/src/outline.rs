//! What a plan would run, in lines: groups, controllers and samplers with what is in force for them.

use crate::plan::{Child, ControllerKind, Group, GroupKind, SamplerKind};
use std::fmt::Write as _;
use std::sync::Arc;

pub(crate) fn outline(groups: &[Arc<Group>]) -> String {
    let mut text = String::new();
    for group in groups {
        let kind = match group.kind {
            GroupKind::Setup => "setUp thread group",
            GroupKind::Main => "thread group",
            GroupKind::Teardown => "tearDown thread group",
        };
        let _ = writeln!(text, "\n{kind} {}", group.name);
        children(group, 0, 1, &mut text);
    }
    text
}

fn children(group: &Group, controller: usize, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for child in &group.controllers[controller].children {
        match child {
            Child::Controller(index) => {
                let kind = controller_name(&group.controllers[*index].kind);
                let _ = writeln!(text, "{indent}{kind}: {}", group.controllers[*index].name.source());
                children(group, *index, depth + 1, text);
            }
            Child::Sampler(index) => {
                let sampler = &group.samplers[*index];
                let kind = match &sampler.kind {
                    SamplerKind::Http(_) => "HTTP request",
                    SamplerKind::WebSocket(_) => "WebSocket",
                    SamplerKind::Action { .. } => "action",
                    SamplerKind::Debug { .. } => "debug",
                    SamplerKind::Dummy(_) => "dummy",
                    SamplerKind::Script(_) => "script",
                };
                let counts = [
                    (sampler.before.len(), "pre-processor"),
                    (sampler.timers.len(), "timer"),
                    (sampler.after.len(), "post-processor"),
                    (sampler.assertions.len(), "assertion"),
                ];
                let counts = counts.iter().filter(|(count, _)| *count > 0);
                let counts: Vec<_> = counts
                    .map(|(count, what)| format!("{count} {what}{}", if *count == 1 { "" } else { "s" }))
                    .collect();
                let counts =
                    if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
                let _ = writeln!(text, "{indent}{kind}: {}{counts}", sampler.name.source());
            }
        }
    }
}

const fn controller_name(kind: &ControllerKind) -> &'static str {
    match kind {
        ControllerKind::Root | ControllerKind::Simple => "controller",
        ControllerKind::Loop { .. } => "loop",
        ControllerKind::If { .. } => "if",
        ControllerKind::While { .. } => "while",
        ControllerKind::ForEach { .. } => "for each",
        ControllerKind::OnceOnly => "once only",
        ControllerKind::Interleave { .. } => "interleave",
        ControllerKind::Random => "random",
        ControllerKind::RandomOrder => "random order",
        ControllerKind::Switch { .. } => "switch",
        ControllerKind::Runtime { .. } => "runtime",
        ControllerKind::Throughput { .. } => "throughput",
        ControllerKind::Transaction { .. } => "transaction",
    }
}
