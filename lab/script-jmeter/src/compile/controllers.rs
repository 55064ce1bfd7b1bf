//! Controllers: which of the samplers below them is next. Includes and modules are read in their place.

use super::names::{self, Role};
use super::{Compiler, GroupParts, INCLUDES_MAX};
use crate::plan::{Condition, ControllerKind, ThroughputStyle};
use crate::text::functions;
use crate::tree::{self, Element};

impl Compiler<'_> {
    pub(super) fn controller(&mut self, parts: &mut GroupParts, parent: usize, element: &Element) {
        match element.tag.as_str() {
            "IncludeController" => return self.include(parts, parent, element),
            "ModuleController" => return self.module(parts, parent, element),
            _ => {}
        }
        let kind = self.controller_kind(element);
        let index = self.add_controller(parts, Some(parent), element, kind);
        self.children(parts, index, &element.children);
    }

    /// One sampler at a time of each controller below it is not done where that would be less than all of it.
    fn check_style(&mut self, element: &Element) {
        let ignores_blocks = element.props.text("InterleaveControl.style").trim() == "0";
        let is_block = |child: &Element| {
            names::role(&child.tag) == Role::Controller
                && !matches!(child.tag.as_str(), "InterleaveControl" | "RandomController")
        };
        if ignores_blocks && element.children.iter().any(is_block) {
            let message = "it takes controllers below it apart, which is not done here; leave `Ignore sub-controller blocks` empty, or \
                           put their samplers right below it";
            self.fault(element, message.to_owned());
        }
    }

    fn controller_kind(&mut self, element: &Element) -> ControllerKind {
        if matches!(element.tag.as_str(), "InterleaveControl" | "RandomController") {
            self.check_style(element);
        }
        let props = &element.props;
        match element.tag.as_str() {
            "LoopController" => {
                let is_for_ever = props.text("LoopController.loops").trim() == "-1";
                let count = (!is_for_ever).then(|| self.prop(element, "LoopController.loops"));
                // Written so, JMeter is done with the loop once it has been through it.
                let is_only_once = props.flag("LoopController.continue_forever") == Some(false);
                ControllerKind::Loop { count, is_only_once }
            }
            "IfController" => self.if_controller(element),
            "WhileController" => {
                ControllerKind::While { condition: self.prop(element, "WhileController.condition") }
            }
            "ForeachController" => ControllerKind::ForEach {
                input: self.prop(element, "ForeachController.inputVal"),
                output: self.prop(element, "ForeachController.returnVal"),
                from: self.prop(element, "ForeachController.startIndex"),
                to: props
                    .get("ForeachController.endIndex")
                    .is_some()
                    .then(|| self.prop(element, "ForeachController.endIndex")),
                has_separator: props.flag("ForeachController.useSeparator").unwrap_or(true),
            },
            "OnceOnlyController" => ControllerKind::OnceOnly,
            "InterleaveControl" => {
                ControllerKind::Interleave { is_across_threads: props.is("InterleaveControl.accrossThreads") }
            }
            "RandomController" => ControllerKind::Random,
            "RandomOrderController" => ControllerKind::RandomOrder,
            "SwitchController" => {
                ControllerKind::Switch { selection: self.prop(element, "SwitchController.value") }
            }
            "RunTime" => ControllerKind::Runtime { seconds: self.prop(element, "RunTime.seconds") },
            "ThroughputController" => self.throughput(element),
            "TransactionController" => ControllerKind::Transaction {
                is_parent: props.is("TransactionController.parent"),
                // As in JMeter, where it was so before there was a choice.
                includes_timers: props.flag("TransactionController.includeTimers").unwrap_or(true),
            },
            _ => ControllerKind::Simple,
        }
    }

    fn if_controller(&mut self, element: &Element) -> ControllerKind {
        let raw = element.props.text("IfController.condition").trim();
        let text = self.text(element, raw);
        // Without the flag the condition is JavaScript, in which a function's value may stand as well.
        let condition = if element.props.flag("IfController.useExpression").unwrap_or(false) {
            Condition::IsTrue(text)
        } else {
            self.looks_back |= functions::names_last_sample(raw);
            Condition::Script(text)
        };
        ControllerKind::If { condition, for_all_children: element.props.is("IfController.evaluateAll") }
    }

    fn throughput(&mut self, element: &Element) -> ControllerKind {
        let is_percent = element.props.text("ThroughputController.style").trim() == "1";
        let (style, name) = if is_percent {
            (ThroughputStyle::Percent, "ThroughputController.percentThroughput")
        } else {
            (ThroughputStyle::Executions, "ThroughputController.maxThroughput")
        };
        let by_user = element.props.is("ThroughputController.perThread");
        ControllerKind::Throughput { style, value: self.prop(element, name), by_user }
    }

    // ---- other trees

    /// What stands in another file, in the place of the element that names it.
    fn include(&mut self, parts: &mut GroupParts, parent: usize, element: &Element) {
        let name = element.props.text("IncludeController.includepath").trim().to_owned();
        if self.files.len() > INCLUDES_MAX {
            let message = format!(
                "files include each other more than {INCLUDES_MAX} deep; look for one that includes itself"
            );
            return self.fault(element, message);
        }
        let folder = self.files.last().and_then(|file| file.parent()).unwrap_or(std::path::Path::new("."));
        let path = self.places.get(&name).cloned().unwrap_or_else(|| folder.join(&name));
        let read = match tree::read_file(&path) {
            Ok(read) => read,
            Err(error) => return self.fault(element, format!("cannot include {name}: {error}")),
        };
        let Some(plan) = read.into_iter().find(|root| root.tag == "TestPlan") else {
            return self
                .fault(element, format!("{name} has no Test Plan; include a plan with a Test Fragment"));
        };
        self.included.insert(name, path.clone());
        self.files.push(path);
        let index = self.add_controller(parts, Some(parent), element, ControllerKind::Simple);
        // Its first fragment is included, as JMeter does; a file without one is included whole.
        let fragment = plan.children.iter().find(|child| child.tag == "TestFragmentController");
        let elements = fragment.map_or(&plan.children, |fragment| &fragment.children);
        self.note_variables(elements);
        self.children(parts, index, elements);
        self.files.pop();
    }

    /// Notes what is included of variables: they are set before the first user, as those of the plan itself are.
    fn note_variables(&mut self, elements: &[Element]) {
        for element in elements {
            if element.tag == "Arguments" {
                let file = self.files.last().cloned().unwrap_or_default();
                self.variables.push((file, element.clone()));
            }
            self.note_variables(&element.children);
        }
    }

    /// What stands elsewhere in the plan, in the place of the element that names it.
    fn module(&mut self, parts: &mut GroupParts, parent: usize, element: &Element) {
        let names: Vec<&str> = element.props.texts("ModuleController.node_path").collect();
        let place = names.join(" / ");
        if self.modules.contains(&place) {
            let message = format!(
                "Module controllers lead in a circle: {} / {place}; let one of them name something else",
                self.modules.join(", then ")
            );
            return self.fault(element, message);
        }
        let Some(target) = find(self.roots, &names) else {
            let message =
                format!("it names `{place}`, which is not there or is disabled; choose the module again");
            return self.fault(element, message);
        };
        let is_module = matches!(names::role(&target.tag), Role::Controller | Role::Group)
            || target.tag == "TestFragmentController";
        if !is_module {
            let message = format!("it names `{place}`, a {}; choose a controller", names::name_of(target));
            return self.fault(element, message);
        }
        self.modules.push(place);
        if names::role(&target.tag) == Role::Controller {
            // The module stands for the controller with its own rules.
            self.controller(parts, parent, target);
        } else {
            let index = self.add_controller(parts, Some(parent), target, ControllerKind::Simple);
            self.children(parts, index, &target.children);
        }
        self.modules.pop();
    }
}

/// The element at a path of names, which begins with the tree's own name and the plan's.
fn find<'a>(roots: &'a [Element], names: &[&str]) -> Option<&'a Element> {
    let plan = roots.first()?;
    let own = names
        .iter()
        .take(2)
        .take_while(|name| **name == plan.name || **name == "Test Plan" || **name == "WorkBench");
    let skipped = own.count();
    (0..=skipped).rev().find_map(|skip| descend(plan, &names[skip..]))
}

fn descend<'a>(element: &'a Element, names: &[&str]) -> Option<&'a Element> {
    let Some((first, rest)) = names.split_first() else { return Some(element) };
    let mut found = element.children.iter().filter(|child| child.name == *first);
    found.find_map(|child| descend(child, rest))
}
