//! A root field turned into statements, once per plan; shared by all cores and freed with the plan cache.

use std::sync::Arc;

use prony_graphql::error::{GraphqlError, PathSegment, Position};

use crate::{
    connect::config::PlanMode,
    run::rows::RowShape,
    statement::{
        levels::{KeyWire, LevelShape, level_select},
        mutation::Mutation,
        select::{Select, SelectWriter},
        text::Statement,
    },
};
use prony_sql::{
    model::Model,
    nest::NestPlan,
    plan::{ListPlan, Root, RootPlan},
    settings::{RelationalSettings, ResolverModel},
};

/// A root field, ready to be run on any core.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) model: Arc<Model>,
    pub(crate) response_key: Box<str>,
    pub(crate) position: Position,
    pub(crate) work: Work,
}

/// What running a root field means.
#[derive(Debug)]
pub(crate) enum Work {
    /// The whole field in one statement.
    Read(Read),
    /// One statement per level.
    Levels(Arc<Levels>),
    Write(Arc<Mutation>),
}

#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) statement: Arc<Statement>,
    pub(crate) shape: Arc<RowShape>,
    pub(crate) is_list: bool,
}

/// The statements of the per-nest and bucket models.
#[derive(Debug)]
pub(crate) struct Levels {
    pub(crate) plan: Arc<NestPlan>,
    /// One for each level of the plan.
    pub(crate) statements: Vec<LevelStatement>,
}

#[derive(Debug)]
pub(crate) struct LevelStatement {
    pub(crate) statement: Arc<Statement>,
    pub(crate) shape: Arc<LevelShape>,
    pub(crate) key_wires: Vec<KeyWire>,
}

impl Prepared {
    pub(crate) fn new(
        model: &Arc<Model>,
        settings: &RelationalSettings,
        plan: RootPlan,
    ) -> Result<Self, GraphqlError> {
        let work =
            work(model, settings, &plan).map_err(|error| at(error, &plan.response_key, plan.position))?;
        Ok(Self { model: Arc::clone(model), response_key: plan.response_key, position: plan.position, work })
    }

    /// A list of the one row that the variables give.
    pub(crate) fn given(
        model: &Arc<Model>,
        settings: &RelationalSettings,
        plan: &RootPlan,
        list: &ListPlan,
    ) -> Result<Self, GraphqlError> {
        let select = SelectWriter::new(model, settings).given(list);
        let select = select.map_err(|error| at(error, &plan.response_key, plan.position))?;
        let work = Work::Read(Read::new(model, select, true));
        let response_key = plan.response_key.clone();
        Ok(Self { model: Arc::clone(model), response_key, position: plan.position, work })
    }

    /// Bytes that the plan cache accounts for it.
    pub fn weight_bytes(&self) -> usize {
        let work = match &self.work {
            Work::Read(read) => read.statement.weight_bytes() + read.shape.weight_bytes(),
            Work::Levels(levels) => levels.weight_bytes(),
            Work::Write(mutation) => mutation.weight_bytes(),
        };
        work + size_of::<Self>()
    }

    /// The statements' texts, for logs and for looking at plans.
    pub fn statements(&self) -> Vec<&str> {
        self.all_statements().into_iter().map(|statement| &*statement.text.sql).collect()
    }

    /// How many of its statements are planned for each execution's values at present, because the plan that
    /// is held for all values was measured to be clearly slower.
    pub fn custom_plans(&self) -> usize {
        let statements = self.all_statements().into_iter();
        statements.filter(|statement| statement.preferred_mode() == PlanMode::Custom).count()
    }

    fn all_statements(&self) -> Vec<&Statement> {
        match &self.work {
            Work::Read(read) => vec![&*read.statement],
            Work::Levels(levels) => levels.statements.iter().map(|level| &*level.statement).collect(),
            Work::Write(mutation) => {
                let check = mutation.check.as_ref().map(|check| &*check.select);
                [&*mutation.statement].into_iter().chain(check).collect()
            }
        }
    }

    /// Gives an error of the whole field its place and path.
    pub(crate) fn at_root(&self, error: GraphqlError) -> GraphqlError {
        at(error, &self.response_key, self.position)
    }
}

fn at(mut error: GraphqlError, response_key: &str, position: Position) -> GraphqlError {
    if error.path.is_empty() {
        error.path.push(PathSegment::Key(response_key.into()));
    }
    if error.positions.is_empty() {
        error.positions.push(position);
    }
    error
}

fn work(model: &Model, settings: &RelationalSettings, plan: &RootPlan) -> Result<Work, GraphqlError> {
    let mutation = match &plan.root {
        Root::List(_) | Root::Aggregate(_) => return read(model, settings, plan),
        Root::Create(create) => Mutation::create(model, create),
        Root::Update(update) => Mutation::update(model, update),
        Root::Delete(delete) => Mutation::delete(model, delete),
    };
    Ok(Work::Write(Arc::new(mutation)))
}

fn read(model: &Model, settings: &RelationalSettings, plan: &RootPlan) -> Result<Work, GraphqlError> {
    if settings.resolver != ResolverModel::Subquery
        && let Some(plan) = NestPlan::new(model, plan)
    {
        return Levels::new(model, settings, plan).map(|levels| Work::Levels(Arc::new(levels)));
    }
    let writer = SelectWriter::new(model, settings);
    let (select, is_list) = match &plan.root {
        Root::Aggregate(aggregate) => (writer.aggregate(aggregate), false),
        Root::List(list) => (writer.list(list)?, true),
        Root::Create(_) | Root::Update(_) | Root::Delete(_) => unreachable!("mutations are not read"),
    };
    Ok(Work::Read(Read::new(model, select, is_list)))
}

impl Read {
    fn new(model: &Model, select: Select, is_list: bool) -> Self {
        let Select { sql, parameters, shape } = select;
        Self { statement: Statement::new(model, sql, parameters), shape: Arc::new(shape), is_list }
    }
}

impl Levels {
    fn new(model: &Model, settings: &RelationalSettings, plan: NestPlan) -> Result<Self, GraphqlError> {
        let statements = plan.levels.iter().map(|level| {
            let select = level_select(model, settings, level)?;
            let key_types = select.key_wires.iter().map(|wire| wire.array_type());
            let statement = Statement::with_key(model, select.sql, select.parameters, key_types);
            Ok(LevelStatement { statement, shape: Arc::new(select.shape), key_wires: select.key_wires })
        });
        let statements = statements.collect::<Result<_, GraphqlError>>()?;
        Ok(Self { plan: Arc::new(plan), statements })
    }

    fn weight_bytes(&self) -> usize {
        let statements = self.statements.iter();
        statements.map(|level| level.statement.weight_bytes() + level.shape.weight_bytes() + 512).sum()
    }
}
