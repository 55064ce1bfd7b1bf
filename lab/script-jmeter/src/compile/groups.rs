//! Groups of threads: who runs, how many, when, and what they do after an error.

use super::names::{self, Role};
use super::{Compiler, GroupParts};
use crate::plan::{Concurrency, ControllerKind, Group, GroupKind, GroupLoad, OnError, Stepping};
use crate::text::Text;
use crate::tree::{Element, Value};

impl Compiler<'_> {
    /// The group that an element right below the plan is; none where it is something else.
    pub(super) fn group(&mut self, plan: &Element, element: &Element) -> Option<Group> {
        match names::role(&element.tag) {
            Role::Group => {}
            // Those are read for each group.
            Role::Scoped | Role::Passed => return None,
            Role::Refused => {
                self.refuse(element);
                return None;
            }
            Role::Controller | Role::Sampler => {
                self.fault(
                    element,
                    "it stands outside of any Thread Group and would never run; move it into one".to_owned(),
                );
                return None;
            }
        }
        self.path.push(element.name.clone());
        let load = self.load(element);
        let mut parts = GroupParts::default();
        let root = self.add_controller(&mut parts, None, element, ControllerKind::Root);
        // What belongs to the whole plan belongs to each group, which goes on with its configs.
        let level = self.level(&mut parts, root, &plan.children);
        parts.levels.push(level);
        self.children(&mut parts, root, &element.children);
        self.path.pop();
        if std::mem::take(&mut self.looks_back) {
            parts.keep_bodies();
        }
        let GroupParts { controllers, samplers, cookies, caches, iteration_configs, listeners, .. } = parts;
        Some(Group {
            name: element.name.as_str().into(),
            kind: match element.tag.as_str() {
                "SetupThreadGroup" => GroupKind::Setup,
                "PostThreadGroup" => GroupKind::Teardown,
                _ => GroupKind::Main,
            },
            on_error: on_error(element.props.text("ThreadGroup.on_sample_error")),
            is_same_user: element.props.flag("ThreadGroup.same_user_on_next_iteration").unwrap_or(true),
            load: load?,
            controllers,
            samplers,
            cookies,
            caches,
            iteration_configs,
            listeners,
        })
    }

    fn load(&mut self, element: &Element) -> Option<GroupLoad> {
        Some(match element.tag.rsplit('.').next().unwrap_or_default() {
            "OpenModelThreadGroup" => {
                GroupLoad::Open { schedule: self.prop(element, "OpenModelThreadGroup.schedule") }
            }
            "UltimateThreadGroup" => GroupLoad::Ultimate(self.rows(element, "ultimatethreadgroupdata")?),
            "SteppingThreadGroup" => self.stepping(element),
            "ConcurrencyThreadGroup" => self.concurrency(element),
            _ => self.threads(element),
        })
    }

    fn threads(&mut self, element: &Element) -> GroupLoad {
        let main = element.props.element("ThreadGroup.main_controller");
        let loops = main.map_or("1", |main| main.text("LoopController.loops"));
        let is_for_ever =
            loops.trim() == "-1" || main.is_some_and(|main| main.is("LoopController.continue_forever"));
        let is_scheduled = element.props.is("ThreadGroup.scheduler");
        let mut scheduled =
            |name| is_scheduled.then(|| self.prop(element, name)).filter(|text| !text.is_empty());
        let (duration_s, delay_s) = (scheduled("ThreadGroup.duration"), scheduled("ThreadGroup.delay"));
        GroupLoad::Threads {
            threads: self.prop(element, "ThreadGroup.num_threads"),
            ramp_s: self.prop(element, "ThreadGroup.ramp_time"),
            loops: (!is_for_ever).then(|| self.text(element, loops)),
            duration_s,
            delay_s,
        }
    }

    /// The rows of a schedule as plug-ins save them, with so many cells each; none where a row has another number.
    pub(super) fn rows<const CELLS: usize>(
        &mut self,
        element: &Element,
        property: &str,
    ) -> Option<Vec<[Text; CELLS]>> {
        let rows = element.props.list(property).iter().filter_map(|row| match row {
            Value::List(cells) => Some(cells),
            _ => None,
        });
        let mut read = Vec::new();
        for cells in rows {
            let texts: Vec<Text> = cells
                .iter()
                .map(|cell| match cell {
                    Value::Text(text) => self.text(element, text),
                    _ => Text::default(),
                })
                .collect();
            let Ok(row) = <[Text; CELLS]>::try_from(texts) else {
                let message = format!(
                    "a row of its schedule has not {CELLS} numbers; open it in JMeter and save it again"
                );
                self.fault(element, message);
                return None;
            };
            read.push(row);
        }
        Some(read)
    }

    fn stepping(&mut self, element: &Element) -> GroupLoad {
        let mut prop = |name: &str| self.prop(element, name);
        GroupLoad::Stepping(Box::new(Stepping {
            threads: prop("ThreadGroup.num_threads"),
            delay: prop("Threads initial delay"),
            first: prop("Start users count burst"),
            step: prop("Start users count"),
            every: prop("Start users period"),
            ramp: prop("rampUp"),
            hold: prop("flighttime"),
            stop_count: prop("Stop users count"),
            stop_every: prop("Stop users period"),
        }))
    }

    fn concurrency(&mut self, element: &Element) -> GroupLoad {
        let in_minutes = element.props.text("Unit") != "S";
        let mut prop = |name: &str| self.prop(element, name);
        GroupLoad::Concurrency(Box::new(Concurrency {
            target: prop("TargetLevel"),
            ramp: prop("RampUp"),
            steps: prop("Steps"),
            hold: prop("Hold"),
            in_minutes,
        }))
    }
}

fn on_error(text: &str) -> OnError {
    match text {
        "startnextloop" => OnError::StartNextLoop,
        "stopthread" => OnError::StopThread,
        "stoptest" => OnError::StopTest,
        "stoptestnow" => OnError::StopTestNow,
        _ => OnError::Continue,
    }
}
