//! Whether a graph is what it must be: files that can be read, and in memory every invariant on which the rest relies.
//! Changes nothing.

use crate::format::STORE;
use crate::index::property_index::is_indexed;
use crate::memory::Memory;
use crate::memory::free::{FreeSlots, WriterState};
use crate::memory::links::{Direction, Link};
use crate::options::Options;
use crate::snapshot::recover;
use crate::types::change::Side;
use crate::types::id::Ref;
use crate::types::value::Properties;
use crate::{Durability, Kind};
use crossbeam_epoch::Guard;
use prony_log::error::OpenError;
use prony_log::lock::lock_for_reading;
use prony_log::recover::Recovery;
use std::collections::HashSet;
use std::fmt;
use std::path::Path;

/// Problems that are told one by one; the rest is counted.
const TOLD_MAX: usize = 100;

/// What a check has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// What was read. Bytes at the log's end that were being written are no problem.
    pub recovery: Recovery,
    pub nodes: u64,
    pub relationships: u64,
    /// How many invariants do not hold, and the first hundred of them.
    pub problem_count: u64,
    pub problems: Vec<String>,
}

/// Reads the graph in a directory as a start would, and checks it. An error says that a start would be refused.
pub fn check(directory: &Path) -> Result<CheckReport, OpenError> {
    let _lock = lock_for_reading(directory, STORE)?;
    check_files(directory)
}

/// As [`check`], of a directory that nobody changes.
pub(crate) fn check_files(directory: &Path) -> Result<CheckReport, OpenError> {
    let loaded = recover::load(directory, Options::new(Durability::Sync))?;
    let mut report = CheckReport { recovery: loaded.recovery, ..CheckReport::default() };
    check_memory(&loaded.memory, &loaded.state, &mut report);
    Ok(report)
}

/// Nobody may write meanwhile.
pub(crate) fn check_memory(memory: &Memory, state: &WriterState, report: &mut CheckReport) {
    let guard = &crossbeam_epoch::pin();
    let mut links = 0;
    for side in [Side::Nodes, Side::Relationships] {
        check_slots(memory, state, side, guard, report);
    }
    for at in memory.slots(Side::Nodes) {
        if let Some((key, properties)) = memory.node(at, guard) {
            report.nodes += 1;
            check_key(memory, at, key, guard, report);
            check_properties(memory, Side::Nodes, at, properties, report);
            links += check_links(memory, at, guard, report);
        }
        if memory.detaching.contains(at) {
            links += check_links(memory, at, guard, report);
        }
    }
    for at in memory.slots(Side::Relationships) {
        if let Some(ends) = memory.relationship(at, guard) {
            report.relationships += 1;
            check_properties(memory, Side::Relationships, at, ends.properties, report);
            for end in [ends.from, ends.to] {
                let is_there = memory.node(end, guard).is_some() || memory.detaching.contains(end);
                report.expect(is_there, format_args!("relationship {} has lost node {}", at.id(), end.id()));
            }
            let is_beside_start = at.shard() == ends.from.shard();
            report.expect(
                is_beside_start,
                format_args!("relationship {} is not on its start's shard", at.id()),
            );
        }
    }
    for side in [Side::Nodes, Side::Relationships] {
        check_indexes(memory, side, guard, report);
    }
    // Each link was found to be one of a living relationship, and none twice: so none is missing if there are as many.
    let wanted = report.relationships * 2;
    report.expect(links == wanted, format_args!("nodes have {links} links, and relationships {wanted} ends"));
}

/// Slots are counted right, and the empty ones are known to be free.
fn check_slots(memory: &Memory, state: &WriterState, side: Side, guard: &Guard, report: &mut CheckReport) {
    let schema = memory.schema.load();
    for (number, of) in schema.side(side).all() {
        let (mut living, mut known) = (0, None);
        for at in memory.slots_of(side, number) {
            let is_there = match side {
                Side::Nodes => {
                    if memory.detaching.contains(at) {
                        continue;
                    }
                    memory.node(at, guard).is_some()
                }
                Side::Relationships => memory.relationship(at, guard).is_some(),
            };
            if is_there {
                living += 1;
                continue;
            }
            let place = (number, at.shard());
            if !matches!(&known, Some((of, _)) if *of == place) {
                let single = state.free(side, place).into_iter().flat_map(FreeSlots::iter_single);
                known = Some((place, single.collect::<HashSet<u32>>()));
            }
            let is_known = known.as_ref().is_some_and(|(_, single)| single.contains(&at.index()))
                || state.free(side, place).is_some_and(|free| free.is_in_gap(at.index()));
            report
                .expect(is_known, format_args!("the empty slot {at:?} of {side:?} is not known to be free"));
        }
        let counted = memory.living(side, number);
        let is_right = living == counted;
        report.expect(is_right, format_args!("{living} of {:?} `{}`, counted {counted}", side, of.name));
    }
}

fn check_key(memory: &Memory, at: Ref, key: &str, guard: &Guard, report: &mut CheckReport) {
    let schema = memory.schema.load();
    let Some(of) = schema.side(Side::Nodes).get(at.type_number()) else {
        return report.expect(false, format_args!("node {} has no type", at.id()));
    };
    let found = memory.find(of, at.type_number(), key, guard);
    report.expect(found == Some(at), format_args!("the key of node {} leads to {found:?}", at.id()));
    let shard = Memory::shard_of(of, key);
    report.expect(shard == at.shard(), format_args!("the key of node {} belongs on shard {shard}", at.id()));
}

/// How many there are.
fn check_links(memory: &Memory, node: Ref, guard: &Guard, report: &mut CheckReport) -> u64 {
    let mut links: Vec<(Direction, Ref)> = Vec::new();
    memory.links_of(node, None, guard, |Link { direction, relationship }| {
        links.push((direction, relationship));
    });
    links.sort_unstable();
    let is_unique = links.is_sorted_by(|a, b| a < b);
    report.expect(is_unique, format_args!("node {} has a relationship twice", node.id()));
    for (direction, relationship) in &links {
        let ends = memory.relationship(*relationship, guard);
        let own = ends.map(|ends| if *direction == Direction::Outgoing { ends.from } else { ends.to });
        let id = relationship.id();
        report.expect(
            own == Some(node),
            format_args!("node {} has relationship {id}, which is not its own", node.id()),
        );
    }
    for group in links.chunk_by(|a, b| (a.0, a.1.type_number()) == (b.0, b.1.type_number())) {
        let (direction, number) = (group[0].0, group[0].1.type_number());
        let degree = memory.degree(node, direction, Some(number), guard);
        let is_right = degree == group.len() as u64;
        report
            .expect(is_right, format_args!("node {} has {} of a degree of {degree}", node.id(), group.len()));
    }
    let degree: u64 = [Direction::Outgoing, Direction::Incoming]
        .map(|of| memory.degree(node, of, None, guard))
        .iter()
        .sum();
    let is_right = degree == links.len() as u64;
    report.expect(is_right, format_args!("node {} has {} of a degree of {degree}", node.id(), links.len()));
    links.len() as u64
}

fn check_properties(memory: &Memory, side: Side, at: Ref, properties: &[u8], report: &mut CheckReport) {
    if properties.is_empty() {
        return;
    }
    let schema = memory.schema.load();
    let Some(of) = schema.side(side).get(at.type_number()) else {
        return report.expect(false, format_args!("{side:?} {} has no type", at.id()));
    };
    let mut before: Option<&str> = None;
    for (number, value) in Properties::new(properties) {
        // One that is declared no more stays where it is until the others are written.
        let Some((name, kind)) = of.property(number) else { continue };
        let is_right = value.kind() == kind;
        report.expect(is_right, format_args!("`{name}` of {side:?} {} is no {}", at.id(), Kind::name(kind)));
        let is_sorted = before.is_none_or(|before| before < &**name);
        report.expect(is_sorted, format_args!("`{name}` of {side:?} {} stands in the wrong place", at.id()));
        before = Some(name);
    }
}

/// Every value has its entry, and there are no others.
fn check_indexes(memory: &Memory, side: Side, guard: &Guard, report: &mut CheckReport) {
    let schema = memory.schema.load();
    for (of_number, of) in schema.side(side).all() {
        for (number, _, index) in of.indexes() {
            let name = of.property(number).map_or("", |(name, _)| name);
            let mut count = 0;
            for at in memory.slots_of(side, of_number) {
                let value = memory.property(side, at, number, guard).filter(is_indexed);
                if let Some(value) = value {
                    count += 1;
                    let is_there = index.has(&value, at, guard);
                    report.expect(is_there, format_args!("the index of `{name}` lacks {side:?} {}", at.id()));
                }
            }
            let entries = index.len();
            let is_right = entries == count;
            report.expect(
                is_right,
                format_args!("the index of `{name}` has {entries} entries for {count} values"),
            );
        }
    }
}

impl CheckReport {
    fn expect(&mut self, holds: bool, problem: fmt::Arguments<'_>) {
        if holds {
            return;
        }
        self.problem_count += 1;
        if self.problems.len() < TOLD_MAX {
            self.problems.push(problem.to_string());
        }
    }
}
