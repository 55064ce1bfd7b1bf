//! Prepared root fields: what a request's plan becomes once, for all cores and connections.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use prony_graphql::error::{GraphqlError, Position};
use prony_source::dialect::{ResultOutput, result_object};

use crate::{
    read::session::ProgramId,
    statement::{
        compile::{self, PieceWriter},
        compile_levels,
        dialect::Sqlite,
        program::{
            LevelsProgram, MutationAnswer, MutationProgram, Piece, RowsProgram, StatementText, pieces_weight,
        },
    },
};
use prony_sql::{
    builder::{SqlBuilder, push_identifier},
    model::{Model, Table},
    nest::NestPlan,
    plan::{CreatePlan, ListPlan, Output, OutputKind, Root, RootPlan},
    settings::ResolverModel,
};

/// A root field with its statements; shared by all cores.
#[derive(Clone)]
pub struct Prepared(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) first_id: ProgramId,
    pub(crate) model: Arc<Model>,
    pub(crate) response_key: Box<str>,
    pub(crate) position: Position,
    pub(crate) program: Program,
    /// Its last run took longer than a core's thread may be held up.
    pub(crate) is_slow: AtomicBool,
}

pub(crate) enum Program {
    Rows(RowsProgram),
    Levels { program: LevelsProgram, gathers: bool },
    Mutation(MutationProgram),
}

impl fmt::Debug for Prepared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Prepared")
            .field("response_key", &self.0.response_key)
            .field("statements", &self.statements())
            .finish_non_exhaustive()
    }
}

impl Prepared {
    pub(crate) fn new(model: &Arc<Model>, plan: &RootPlan, resolver: ResolverModel) -> Self {
        Self::of(model, plan, program(model, plan, resolver))
    }

    /// A list of the one row that the variables give.
    pub(crate) fn given(model: &Arc<Model>, plan: &RootPlan, list: &ListPlan) -> Self {
        Self::of(model, plan, Program::Rows(compile::given(model, list)))
    }

    fn of(model: &Arc<Model>, plan: &RootPlan, program: Program) -> Self {
        let ids = match &program {
            Program::Levels { program, .. } => program.levels.len() as u64,
            Program::Rows(_) | Program::Mutation(_) => 1,
        };
        Self(Arc::new(Shared {
            first_id: next_ids(ids),
            model: Arc::clone(model),
            response_key: plan.response_key.clone(),
            position: plan.position,
            program,
            is_slow: AtomicBool::new(false),
        }))
    }

    /// The SQL texts, for logs and tests.
    pub fn statements(&self) -> Vec<&str> {
        match &self.0.program {
            Program::Rows(program) => program.statements.iter().map(|text| &*text.sql).collect(),
            Program::Levels { program, .. } => {
                program.levels.iter().map(|level| &*level.statement.sql).collect()
            }
            Program::Mutation(program) => vec![&program.statement.sql],
        }
    }

    /// Bytes that the plan cache accounts for it.
    pub fn weight_bytes(&self) -> usize {
        let inside = match &self.0.program {
            Program::Rows(program) => {
                let statements = program.statements.iter().map(StatementText::weight_bytes).sum::<usize>();
                statements + pieces_weight(&program.root.pieces)
            }
            Program::Levels { program, .. } => program
                .levels
                .iter()
                .map(|level| 2 * (level.statement.weight_bytes() + pieces_weight(&level.pieces)))
                .sum(),
            Program::Mutation(program) => program.statement.weight_bytes(),
        };
        size_of::<Shared>() + self.0.response_key.len() + inside
    }
}

impl Shared {
    /// The id of a level's statement.
    pub(crate) fn level_id(&self, level: usize) -> ProgramId {
        ProgramId(self.first_id.0 + level as u64)
    }

    pub(crate) fn fail(&self, error: GraphqlError) -> GraphqlError {
        crate::error::at_root(error, &self.response_key, self.position)
    }
}

fn next_ids(count: u64) -> ProgramId {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    ProgramId(NEXT.fetch_add(count, Relaxed))
}

fn program(model: &Model, plan: &RootPlan, resolver: ResolverModel) -> Program {
    match &plan.root {
        Root::Create(create) => return Program::Mutation(insert(model, create)),
        Root::Update(update) => {
            let mut builder = SqlBuilder::new(&Sqlite);
            builder.update(model, update);
            return Program::Mutation(changing(builder, &update.outputs));
        }
        Root::Delete(delete) => {
            let mut builder = SqlBuilder::new(&Sqlite);
            builder.delete(model, delete);
            return Program::Mutation(changing(builder, &delete.outputs));
        }
        Root::List(_) | Root::Aggregate(_) => {}
    }
    if resolver != ResolverModel::Subquery
        && let Some(nest) = NestPlan::new(model, plan)
    {
        let levels = nest.levels.iter().map(|level| compile_levels::level(model, level)).collect();
        let program = LevelsProgram { plan: Arc::new(nest), levels };
        return Program::Levels { program, gathers: resolver == ResolverModel::Bucket };
    }
    Program::Rows(match &plan.root {
        Root::Aggregate(aggregate) => compile::aggregate(model, aggregate),
        Root::List(list) => compile::list(model, list),
        Root::Create(_) | Root::Update(_) | Root::Delete(_) => unreachable!("returned above"),
    })
}

/// INSERT with the key that it answers.
fn insert(model: &Model, plan: &CreatePlan) -> MutationProgram {
    let table = model.table(plan.table);
    let mut builder = SqlBuilder::new(&Sqlite);
    builder.insert(model, plan);
    let (columns, pieces) = returned(table, &plan.outputs);
    builder.push(" RETURNING ");
    builder.push(if columns.is_empty() { "1" } else { &columns });
    mutation(builder, MutationAnswer::Key(pieces))
}

fn returned(table: &Table, outputs: &[Output]) -> (String, Vec<Piece>) {
    let mut columns = String::new();
    let mut count = 0;
    let mut writer = PieceWriter::new();
    for output in outputs {
        match &output.kind {
            OutputKind::Column(id) => {
                let column = table.column(*id);
                columns.push_str(if count == 0 { "" } else { ", " });
                push_identifier(&mut columns, &column.name);
                writer.member(&output.response_key);
                writer.column(table, column, count, output);
                count += 1;
            }
            OutputKind::Typename(name) => {
                writer.member(&output.response_key);
                writer.string(name);
            }
            // The schema's key types have columns only.
            OutputKind::One(..) | OutputKind::Many(..) | OutputKind::Aggregate(..) => {}
        }
    }
    (columns, writer.finish())
}

fn changing(builder: SqlBuilder<'static, Sqlite>, outputs: &[ResultOutput]) -> MutationProgram {
    let answer =
        MutationAnswer::Changed { yes: result_object(outputs, true), no: result_object(outputs, false) };
    mutation(builder, answer)
}

fn mutation(builder: SqlBuilder<'static, Sqlite>, answer: MutationAnswer) -> MutationProgram {
    let SqlBuilder { text, parameters, .. } = builder;
    let statement = StatementText { sql: text, parameters, keys_parameter: None };
    MutationProgram { statement, answer }
}
