//! Where a user is in its group's tree: controllers that it is in, and which sampler is next.

use crate::condition;
use crate::plan::{Child, Condition, Controller, ControllerKind, Group, ThroughputStyle};
use crate::run::context::Context;
use crate::run::data::{DataSets, Going};
use crate::run::result::SampleResult;
use crate::run::transaction::Transaction;
use crate::run::turns::Turns;
use crate::text::Text;
use prony_model::Nanos;
use rand::RngExt as _;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable in which JMeter says how the last sample went.
pub(crate) const LAST_SAMPLE_OK: &str = "JMeterThread.last_sample_ok";
/// Controllers that are looked at without a sampler: a loop without one must give way to others.
const STEPS_MAX: u32 = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Position {
    frames: Vec<Frame>,
    /// By controller, for the user's whole life.
    states: Vec<State>,
}

#[derive(Debug, Default, Clone)]
struct State {
    /// How often it was entered.
    entered: u64,
    /// The child that is next in turn.
    turn: usize,
    /// Of a Throughput controller, where each user counts for itself.
    executions: u64,
    /// One without children that was over once: JMeter has taken it out of its tree.
    is_gone: bool,
}

/// A controller that the user is in.
#[derive(Debug)]
struct Frame {
    controller: usize,
    order: Order,
    at: usize,
    /// From 1.
    pass: i64,
    /// Of loops that count; none: for ever.
    passes: Option<i64>,
    began: Nanos,
    transaction: Option<Box<Transaction>>,
}

#[derive(Debug)]
enum Order {
    All,
    One(usize),
    Choice(ChildChoice),
    List(Vec<usize>),
}

/// One child, next in turn or by chance; where that has no sampler to run, another one, until the first is come to again.
#[derive(Debug, Default)]
struct ChildChoice {
    first: Option<usize>,
    has_run: bool,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Next {
    Sampler(usize),
    /// One that is over.
    Transaction(Box<Transaction>),
    /// The pass of the group's loop is over.
    End,
    /// Nothing was found in a long time: others come first.
    GiveWay,
    StopThread,
    Fail(String),
}

/// What is looked at to find it.
pub(crate) struct Surroundings<'a> {
    pub(crate) group: &'a Group,
    pub(crate) data: &'a DataSets,
    /// The user's number in the run, from 0.
    pub(crate) user: u32,
    /// By controller: executions of Throughput controllers that all users share, and how often they were reached.
    pub(crate) shared_counts: &'a [[AtomicU64; 2]],
    /// Whose turn it is at what the group counts together.
    pub(crate) turns: &'a Turns,
}

impl Position {
    pub(crate) fn new(group: &Group) -> Self {
        Self { frames: Vec::new(), states: vec![State::default(); group.controllers.len()] }
    }

    /// Begins a pass of the group's loop.
    pub(crate) fn begin(&mut self, around: &Surroundings<'_>, context: &mut Context<'_>) -> Option<Next> {
        self.frames.clear();
        self.push(0, Order::All, None, context);
        self.begin_pass(around, context)
    }

    pub(crate) fn next(&mut self, around: &Surroundings<'_>, context: &mut Context<'_>) -> Next {
        for _ in 0..STEPS_MAX {
            match self.pick(around, context) {
                Some(Child::Sampler(index)) => {
                    self.note_run();
                    return Next::Sampler(index);
                }
                Some(Child::Controller(index)) => {
                    if let Some(next) = self.enter(index, around, context) {
                        return next;
                    }
                }
                None if self.frames.is_empty() => return Next::End,
                None if self.is_again(around, context) => {
                    if let Some(frame) = self.frames.last_mut() {
                        frame.at = 0;
                    }
                    if let Some(next) = self.begin_pass(around, context) {
                        return next;
                    }
                }
                None => {
                    let Some(over) = self.frames.pop() else { return Next::End };
                    self.note_child_over(over.controller, around.group);
                    if let Some(transaction) = over.transaction {
                        return Next::Transaction(transaction);
                    }
                }
            }
        }
        Next::GiveWay
    }

    /// Leaves what the user is in, down to the loop that is nearest or to the group's; the transactions that end so.
    pub(crate) fn leave(&mut self, group: &Group, down_to: Leave) -> Vec<Transaction> {
        let mut ended = Vec::new();
        while let Some(frame) = self.frames.last_mut() {
            let kind = &group.controllers[frame.controller].kind;
            let is_loop = matches!(
                kind,
                ControllerKind::Loop { .. }
                    | ControllerKind::While { .. }
                    | ControllerKind::ForEach { .. }
                    | ControllerKind::Root
            );
            if is_loop && down_to != Leave::All {
                // What is left of this pass is passed over, and the passes too where it is broken off.
                frame.at = usize::MAX;
                if down_to == Leave::Break {
                    frame.passes = Some(0);
                }
                break;
            }
            if matches!(kind, ControllerKind::OnceOnly) {
                // It was not done, so that its time is still to come.
                self.states[frame.controller].entered = 0;
            }
            ended.extend(
                self.frames.pop().and_then(|frame| frame.transaction).map(|transaction| *transaction),
            );
        }
        ended
    }

    /// True where the user is in no controller of its group.
    pub(crate) fn is_outside(&self) -> bool {
        self.frames.len() <= 1
    }

    /// The transactions that the user is in, the outermost first.
    pub(crate) fn transactions(&mut self) -> impl Iterator<Item = &mut Transaction> {
        self.frames.iter_mut().filter_map(|frame| frame.transaction.as_deref_mut())
    }

    /// Of the transactions that are the parent of their samples, the innermost.
    pub(crate) fn parent(&mut self) -> Option<&mut Transaction> {
        let mut inner_first =
            self.frames.iter_mut().rev().filter_map(|frame| frame.transaction.as_deref_mut());
        inner_first.find(|transaction| transaction.is_parent)
    }

    /// A sample is over. The parent that is nearest has it alone of those around, and is itself one sample of the others.
    pub(crate) fn take(&mut self, sample: &SampleResult) {
        let inner_first = self.frames.iter_mut().rev().filter_map(|frame| frame.transaction.as_deref_mut());
        for around in inner_first {
            around.take(sample);
            if around.is_parent {
                break;
            }
        }
    }

    /// The controllers that the user is in have run a sampler, and choose no other child in this pass.
    fn note_run(&mut self) {
        for frame in &mut self.frames {
            if let Order::Choice(choice) = &mut frame.order {
                choice.has_run = true;
            }
            if let Some(transaction) = &mut frame.transaction {
                transaction.note_sampler();
            }
        }
    }

    /// A child of the controller that the user is in is over, or was passed over.
    fn note_child_over(&mut self, child: usize, group: &Group) {
        let is_empty = group.controllers[child].children.is_empty();
        if is_empty && mem::replace(&mut self.states[child].is_gone, true) {
            return;
        }
        if let Some(transaction) = self.frames.last_mut().and_then(|frame| frame.transaction.as_deref_mut()) {
            transaction.note_child_over();
        }
    }

    fn push(&mut self, controller: usize, order: Order, passes: Option<i64>, context: &Context<'_>) {
        self.states[controller].entered += 1;
        let began = context.shared.clock.now();
        let frame = Frame { controller, order, at: 0, pass: 1, passes, began, transaction: None };
        self.frames.push(frame);
    }

    // ---- within a controller

    /// The child that is next in this pass.
    fn pick(&mut self, around: &Surroundings<'_>, context: &mut Context<'_>) -> Option<Child> {
        let frame = self.frames.last_mut()?;
        let controller = &around.group.controllers[frame.controller];
        let place = match &mut frame.order {
            Order::All => frame.at,
            Order::One(place) => {
                if frame.at == 0 {
                    *place
                } else {
                    usize::MAX
                }
            }
            Order::Choice(choice) => choice.next(&mut self.states[frame.controller], controller, context)?,
            Order::List(list) => list.get(frame.at).copied().unwrap_or(usize::MAX),
        };
        let child = *controller.children.get(place)?;
        match &controller.kind {
            ControllerKind::If { condition, for_all_children: true }
                if frame.at > 0 && !is_met(condition, context) =>
            {
                return None;
            }
            ControllerKind::Runtime { seconds } if is_over(frame.began, seconds, context) => return None,
            _ => {}
        }
        frame.at += 1;
        Some(child)
    }

    /// What goes on with each pass of the controller that the user is in.
    fn begin_pass(&mut self, around: &Surroundings<'_>, context: &mut Context<'_>) -> Option<Next> {
        let frame = self.frames.last()?;
        let controller = &around.group.controllers[frame.controller];
        let first = match &controller.kind {
            ControllerKind::ForEach { from, .. } => from.number(context).unwrap_or(0),
            _ => 0,
        };
        set_index(controller, first.saturating_add(frame.pass - 1), context);
        for config in &controller.iteration_configs {
            match around.data.go_on(&around.group.iteration_configs[*config], around.user, context) {
                Going::On => {}
                Going::StopThread => return Some(Next::StopThread),
                Going::Fail(message) => return Some(Next::Fail(message)),
            }
        }
        None
    }

    /// Whether the controller's children run once more.
    fn is_again(&mut self, around: &Surroundings<'_>, context: &mut Context<'_>) -> bool {
        let Some(frame) = self.frames.last_mut() else { return false };
        let controller = &around.group.controllers[frame.controller];
        let is_again = match &controller.kind {
            ControllerKind::Loop { .. } => frame.passes.is_none_or(|passes| frame.pass < passes),
            ControllerKind::While { condition } => {
                // JMeter asks again as the next pass begins: what counts with each question goes on by two.
                frame.passes != Some(0) && goes_on(condition, true, context) && {
                    set_index(controller, frame.pass, context);
                    goes_on(condition, false, context)
                }
            }
            ControllerKind::Runtime { seconds } => !is_over(frame.began, seconds, context),
            ControllerKind::ForEach { .. } => {
                frame.passes != Some(0) && set_each(&controller.kind, frame.pass, context)
            }
            _ => false,
        };
        if is_again {
            frame.pass += 1;
        } else {
            // Behind a loop the number is that of its first pass, except of one that is done for good.
            let is_done = matches!(controller.kind, ControllerKind::Loop { is_only_once: true, .. });
            set_index(controller, if is_done { frame.pass } else { 0 }, context);
            // So is the value of a ForEach controller.
            set_each(&controller.kind, 0, context);
        }
        is_again
    }

    // ---- enter

    /// Enters a controller where it is to be run.
    fn enter(&mut self, index: usize, around: &Surroundings<'_>, context: &mut Context<'_>) -> Option<Next> {
        let controller = &around.group.controllers[index];
        let Some((order, passes)) = self.order_of(index, controller, around, context) else {
            self.note_child_over(index, around.group);
            return None;
        };
        self.push(index, order, passes, context);
        if let ControllerKind::Transaction { is_parent, includes_timers } = controller.kind {
            let name = controller.name.text(context).into();
            let mut transaction =
                Transaction::new(name, context.shared.clock.now(), is_parent, includes_timers);
            transaction.listeners = Arc::clone(&controller.listeners);
            transaction.assertions = Arc::clone(&controller.assertions);
            if let Some(frame) = self.frames.last_mut() {
                frame.transaction = Some(Box::new(transaction));
            }
        }
        self.begin_pass(around, context)
    }

    /// Which children run and how often; none where the controller is passed over.
    fn order_of(
        &mut self,
        index: usize,
        controller: &Controller,
        around: &Surroundings<'_>,
        context: &mut Context<'_>,
    ) -> Option<(Order, Option<i64>)> {
        let count = controller.children.len();
        let state = &mut self.states[index];
        match &controller.kind {
            ControllerKind::Root | ControllerKind::Simple | ControllerKind::Transaction { .. } => {
                Some((Order::All, None))
            }
            ControllerKind::Loop { is_only_once: true, .. } if state.entered > 0 => None,
            ControllerKind::Loop { count: None, .. } => Some((Order::All, None)),
            ControllerKind::Loop { count: Some(count), .. } => {
                let passes = count.number(context).unwrap_or(0);
                (passes != 0).then_some((Order::All, (passes > 0).then_some(passes)))
            }
            ControllerKind::If { condition, .. } => is_met(condition, context).then_some((Order::All, None)),
            ControllerKind::While { condition } => {
                // A condition may look at the number of the pass that it decides on.
                set_index(controller, 0, context);
                goes_on(condition, false, context).then_some((Order::All, None))
            }
            ControllerKind::ForEach { .. } => {
                set_each(&controller.kind, 0, context).then_some((Order::All, None))
            }
            // One that was never reached runs later, as in JMeter.
            ControllerKind::OnceOnly => {
                (state.entered == 0 || self.is_first_pass(around.group)).then_some((Order::All, None))
            }
            ControllerKind::Interleave { is_across_threads } => {
                if *is_across_threads && state.entered == 0 && count > 0 {
                    state.turn = (context.thread.number.max(1) as usize - 1) % count;
                }
                Some((Order::Choice(ChildChoice::default()), None))
            }
            ControllerKind::Random => Some((Order::Choice(ChildChoice::default()), None)),
            ControllerKind::RandomOrder => {
                let mut list: Vec<usize> = (0..count).collect();
                for at in (1..count).rev() {
                    list.swap(at, context.thread.random.random_range(0..=at));
                }
                Some((Order::List(list), None))
            }
            ControllerKind::Switch { selection } => {
                let selection = selection.value(context);
                selected(selection.trim(), controller, around.group, context)
                    .map(|place| (Order::One(place), None))
            }
            ControllerKind::Runtime { seconds } => {
                let seconds = seconds.number(context).unwrap_or(0);
                (seconds > 0).then_some((Order::All, None))
            }
            ControllerKind::Throughput { style, value, by_user } => {
                let value = value.value(context).trim().parse::<f64>().unwrap_or(0.0);
                let runs = if *by_user {
                    let (reached, executions) = (state.entered + state.turn as u64, state.executions);
                    let runs = is_due(*style, value, executions, reached);
                    state.executions += u64::from(runs);
                    state.turn += usize::from(!runs);
                    runs
                } else {
                    is_due_for_all(*style, value, index, around)
                };
                runs.then_some((Order::All, None))
            }
        }
    }

    /// True in the first pass of the controller that the user is in: of loops each time, of others the first time.
    fn is_first_pass(&self, group: &Group) -> bool {
        self.frames.last().is_some_and(|frame| match group.controllers[frame.controller].kind {
            ControllerKind::Loop { .. } | ControllerKind::While { .. } | ControllerKind::ForEach { .. } => {
                frame.pass == 1
            }
            _ => frame.pass == 1 && self.states[frame.controller].entered == 1,
        })
    }
}

impl ChildChoice {
    /// The place of the child to try; none once one has run, or none had anything to run.
    fn next(
        &mut self,
        state: &mut State,
        controller: &Controller,
        context: &mut Context<'_>,
    ) -> Option<usize> {
        let count = controller.children.len();
        if self.has_run || count == 0 {
            return None;
        }
        let is_by_chance = matches!(controller.kind, ControllerKind::Random);
        let place = if is_by_chance { context.thread.random.random_range(0..count) } else { state.turn };
        if self.first == Some(place) {
            return None;
        }
        self.first.get_or_insert(place);
        if !is_by_chance {
            state.turn = (place + 1) % count;
        }
        Some(place)
    }
}

/// How far is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// The rest of the pass of the nearest loop.
    Pass,
    /// The nearest loop.
    Break,
    /// The pass of the group's loop.
    All,
}

/// Whether a controller runs whose executions all users of the group share.
fn is_due_for_all(style: ThroughputStyle, value: f64, controller: usize, around: &Surroundings<'_>) -> bool {
    let [executions, reached] = &around.shared_counts[controller];
    let reached = reached.fetch_add(1, Ordering::Relaxed);
    let value = match style {
        // A part of an execution is one, and the users of other machines have the others.
        ThroughputStyle::Executions => around.turns.count(value.max(0.0).ceil() as u64) as f64,
        ThroughputStyle::Percent => value,
    };
    let due = |executions| is_due(style, value, executions, reached).then_some(executions + 1);
    executions.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due).is_ok()
}

/// As JMeter's controller decides, without chance.
fn is_due(style: ThroughputStyle, value: f64, executions: u64, reached: u64) -> bool {
    match style {
        ThroughputStyle::Executions => (executions as f64) < value,
        ThroughputStyle::Percent => (100.0 * executions as f64 + 50.0) / ((reached + 1) as f64) < value,
    }
}

fn is_over(began: Nanos, seconds: &Text, context: &mut Context<'_>) -> bool {
    let seconds = u64::try_from(seconds.number(context).unwrap_or(0)).unwrap_or(0);
    context.shared.clock.now().since(began) >= Nanos::from_secs(seconds)
}

/// Whether an If controller's children run.
fn is_met(condition: &Condition, context: &mut Context<'_>) -> bool {
    match condition {
        Condition::IsTrue(text) => text.value(context).trim().eq_ignore_ascii_case("true"),
        Condition::Script(text) => {
            let source = text.value(context);
            let plain = condition::evaluate(&source, context).map(|value| value.to_string());
            let value = plain.or_else(|_| context.evaluate(&source));
            match value {
                Ok(value) => value == "true",
                Err(message) => {
                    context.shared.log(&format!("If Controller: {message}: {source}"));
                    false
                }
            }
        }
    }
}

/// Sets the variable that has the number of a loop's pass, from 0.
fn set_index(controller: &Controller, number: i64, context: &mut Context<'_>) {
    if matches!(
        controller.kind,
        ControllerKind::Loop { .. } | ControllerKind::While { .. } | ControllerKind::ForEach { .. }
    ) {
        let name = format!("__jm__{}__idx", controller.name.value(context));
        context.vars.set(&name, itoa::Buffer::new().format(number));
    }
}

/// Whether a While controller goes on; without a condition as long as samples succeed.
fn goes_on(condition: &Text, is_end_of_pass: bool, context: &mut Context<'_>) -> bool {
    let text = condition.value(context);
    let has_failed = || context.vars.get(LAST_SAMPLE_OK) == Some("false");
    match text.trim() {
        "" => !(is_end_of_pass && has_failed()),
        text if text.eq_ignore_ascii_case("LAST") => !has_failed(),
        text => !text.eq_ignore_ascii_case("false"),
    }
}

/// Sets a `ForEach` controller's variable for a pass from 0; false where there is no value.
fn set_each(kind: &ControllerKind, pass: i64, context: &mut Context<'_>) -> bool {
    let ControllerKind::ForEach { input, output, from, to, has_separator } = kind else { return false };
    let from = from.number(context).unwrap_or(0);
    // One that is there and is no number is 0, as JMeter reads it.
    let to = to.as_ref().map_or(i64::MAX, |to| to.number(context).unwrap_or(0));
    let number = from.saturating_add(pass).saturating_add(1);
    if number > to {
        return false;
    }
    let separator = if *has_separator { "_" } else { "" };
    let name = format!("{}{separator}{number}", input.value(context));
    let Some(value) = context.vars.get(&name).map(str::to_owned) else { return false };
    let output = output.value(context);
    context.vars.set(&output, &value);
    true
}

/// The child of a Switch controller: by its place, by its name, or the one called `default`.
fn selected(
    selection: &str,
    controller: &Controller,
    group: &Group,
    context: &mut Context<'_>,
) -> Option<usize> {
    let count = controller.children.len();
    if let Ok(place) = selection.parse::<usize>() {
        return Some(if place < count { place } else { 0 }).filter(|_| count > 0);
    }
    if selection.is_empty() {
        return (count > 0).then_some(0);
    }
    let mut named = |is_wanted: &dyn Fn(&str) -> bool| {
        controller.children.iter().position(|child| {
            let name = match child {
                Child::Controller(index) => &group.controllers[*index].name,
                Child::Sampler(index) => &group.samplers[*index].name,
            };
            is_wanted(&name.value(context))
        })
    };
    // Names are told apart by their case, but not the one that stands for all others.
    named(&|name: &str| name == selection)
        .or_else(|| named(&|name: &str| name.eq_ignore_ascii_case("default")))
}
