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
            LevelsProgram, MutationAnswer, MutationProgram, Piece, RowCheck, RowsProgram, StatementText,
            pieces_weight,
        },
    },
};
use prony_sql::{
    builder::{Dialect as _, SqlBuilder, push_identifier},
    model::{Column, Model, Table, TableId},
    nest::NestPlan,
    plan::{CreatePlan, DeletePlan, Filter, ListPlan, Output, OutputKind, Root, RootPlan, UpdatePlan},
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
            Program::Mutation(program) => program.statements.iter().map(|text| &*text.sql).collect(),
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
            Program::Mutation(program) => program.statements.iter().map(StatementText::weight_bytes).sum(),
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
        Root::Update(update) => return Program::Mutation(self::update(model, update)),
        Root::Delete(delete) => return Program::Mutation(self::delete(model, delete)),
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
    let mut builder = SqlBuilder::new(&Sqlite);
    builder.insert(model, plan);
    let mut returning = Returning::default();
    let pieces = returning.outputs(model.table(plan.table), &plan.outputs);
    if returning.columns.is_empty() {
        // Whether there is a row says whether a trigger or a conflict clause of the schema left it out.
        returning.columns.push("1".into());
    }
    mutation(model, builder, returning, MutationAnswer::Key(pieces), (plan.table, &plan.check))
}

fn update(model: &Model, plan: &UpdatePlan) -> MutationProgram {
    let mut builder = SqlBuilder::new(&Sqlite);
    builder.update(model, plan);
    let check = (plan.table, &plan.check);
    mutation(model, builder, Returning::default(), changed(&plan.outputs), check)
}

fn delete(model: &Model, plan: &DeletePlan) -> MutationProgram {
    let mut builder = SqlBuilder::new(&Sqlite);
    builder.delete(model, plan);
    let nothing_to_check = (plan.table, &Filter::everything());
    mutation(model, builder, Returning::default(), changed(&plan.outputs), nothing_to_check)
}

fn changed(outputs: &[ResultOutput]) -> MutationAnswer {
    MutationAnswer::Changed { yes: result_object(outputs, true), no: result_object(outputs, false) }
}

/// The list of a RETURNING clause.
#[derive(Debug, Default)]
struct Returning {
    columns: Vec<String>,
}

impl Returning {
    /// The place of a column of the table, which is there once.
    fn column(&mut self, column: &Column) -> usize {
        let mut name = String::new();
        push_identifier(&mut name, &column.name);
        self.columns.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.columns.push(name);
            self.columns.len() - 1
        })
    }

    fn outputs(&mut self, table: &Table, outputs: &[Output]) -> Vec<Piece> {
        let mut writer = PieceWriter::new();
        for output in outputs {
            match &output.kind {
                OutputKind::Column(id) => {
                    let column = table.column(*id);
                    writer.member(&output.response_key);
                    writer.column(table, column, self.column(column), output);
                }
                OutputKind::Typename(name) => {
                    writer.member(&output.response_key);
                    writer.string(name);
                }
                // The schema's key types have columns only.
                OutputKind::One(..) | OutputKind::Many(..) | OutputKind::Aggregate(..) => {}
            }
        }
        writer.finish()
    }
}

/// `check` is the table and what the row must pass once it is written.
fn mutation(
    model: &Model,
    mut builder: SqlBuilder<'static, Sqlite>,
    mut returning: Returning,
    answer: MutationAnswer,
    check: (TableId, &Filter),
) -> MutationProgram {
    let check = row_check(model, &mut returning, check);
    if !returning.columns.is_empty() {
        builder.push(" RETURNING ");
        builder.push(&returning.columns.join(", "));
    }
    let mut statements = vec![statement(builder)];
    let check = check.map(|(text, check)| {
        statements.push(text);
        check
    });
    MutationProgram { statements, answer, check }
}

fn row_check(
    model: &Model,
    returning: &mut Returning,
    (id, filter): (TableId, &Filter),
) -> Option<(StatementText, RowCheck)> {
    if filter.is_everything() {
        return None;
    }
    let table = model.table(id);
    let key_columns = table.primary_key.iter().map(|&id| returning.column(table.column(id))).collect();
    if returning.columns.is_empty() {
        returning.columns.push("1".into());
    }
    let mut builder = SqlBuilder::new(&Sqlite);
    builder.row_check(model, id, filter, |text, number, column| Sqlite.placeholder(text, number, column));
    Some((statement(builder), RowCheck { key_columns }))
}

fn statement(builder: SqlBuilder<'static, Sqlite>) -> StatementText {
    let SqlBuilder { text, parameters, .. } = builder;
    StatementText { sql: text, parameters, keys_parameter: None }
}
