//! The groups of one run, and what their users share.

use crate::plan::Group;
use crate::run::data::DataSets;
use crate::run::shared::{Shared, Variables};
use crate::run::sink::Sink;
use crate::run::timers::Rhythms;
use crate::run::turns::Turns;
use prony_model::plan::hosts::Hosts;
use prony_model::program::table::Tables;
use prony_model::{LoadModel, Nanos};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};

/// What the users of one run do: some of a plan's groups.
#[derive(Debug)]
pub(crate) struct GroupsWorkload {
    pub(crate) groups: Vec<GroupRun>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) tables: Tables,
    pub(crate) hosts: Hosts,
    pub(crate) data: DataSets,
    pub(crate) rhythms: Rhythms,
    pub(crate) sink: Arc<Sink>,
    /// What each user's variables are at first.
    pub(crate) variables: Variables,
    pub(crate) seed: u64,
    /// One group after the other.
    pub(crate) is_serial: bool,
    /// Of all users of the run.
    pub(crate) turns: Turns,
    pub(crate) all_active: AtomicU32,
    /// Users end after their sample.
    pub(crate) is_ending: Arc<AtomicBool>,
    /// Users end at once.
    pub(crate) is_stopping: AtomicBool,
}

/// One group while it runs.
#[derive(Debug)]
pub(crate) struct GroupRun {
    pub(crate) group: Arc<Group>,
    /// Among the plan's groups.
    pub(crate) index: usize,
    /// From 1, as threads are named.
    pub(crate) number: usize,
    /// The number of its first user in the run.
    pub(crate) first_user: u32,
    pub(crate) users: u32,
    /// Those of them that run here, where others run on other machines.
    pub(crate) own_users: u32,
    /// Whose turn it is at what the group counts together.
    pub(crate) turns: Turns,
    pub(crate) load: LoadModel,
    /// Each start is a user of its own.
    pub(crate) is_open: bool,
    /// Passes of each user; none: for ever.
    pub(crate) loops: Option<u64>,
    /// How long it lasts from its start.
    pub(crate) duration: Option<Nanos>,
    /// When it starts in the run, where groups do not wait for each other.
    pub(crate) start: Nanos,
    /// From its start to that of its last user.
    pub(crate) ramp: Nanos,
    pub(crate) active: AtomicU32,
    pub(crate) done: AtomicU32,
    /// When it began, where it waited for others.
    pub(crate) began: OnceLock<Nanos>,
    /// By controller: what Throughput controllers count together.
    pub(crate) counts: Vec<[AtomicU64; 2]>,
}
