//! One connection with its prepared statements: runs root fields, levels and mutations to the end on the
//! thread that it lives on.

use std::{collections::HashMap, rc::Rc, sync::Arc};

use prony_graphql::{error::GraphqlError, response::FieldResult};
use prony_source::dialect::row_refused;
use rusqlite::{Connection, ffi};

use crate::{
    error::{self, LooksAt, Stop, unavailable},
    file::{
        functions,
        open::{Identity, Opener},
        raw::{SqliteError, Statement, Stored},
    },
    read::watch::{INSTRUCTIONS_PER_CHECK, Interruption, Watch},
    rows::{write_level, write_rows},
    statement::{
        bind::{self, Values},
        program::{LevelProgram, MutationAnswer, MutationProgram, ProgramId, ProgramStatements, RowsProgram},
    },
    write::capture::Capture,
};
use prony_sql::{
    levels::{Key, LevelRows},
    model::{Model, TableId},
    settings::RelationalSettings,
};

/// Prepared statements that one connection keeps; each takes some kilobytes.
const MAX_STATEMENTS: usize = 512;

/// Why a session did not finish.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// The inline budget is used up, or another connection holds a lock: a thread that may block can finish.
    Later,
    Failed(GraphqlError),
}

impl Unfinished {
    /// Where nobody else can finish.
    pub(crate) fn into_error(self) -> GraphqlError {
        match self {
            Self::Failed(error) => error,
            Self::Later => unavailable("the database is locked by another program: try again"),
        }
    }
}

pub(crate) struct Session {
    // Before the connection, which they keep open anyway.
    statements: Cache,
    connection: Rc<Connection>,
    watch: Arc<Watch>,
    identity: Option<Identity>,
    capture: Capture,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Session").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn new(mut connection: Connection, opener: &Opener) -> Result<Self, rusqlite::Error> {
        let watch = Arc::new(Watch::new());
        functions::register(&connection, &watch)?;
        let asked = Arc::clone(&watch);
        connection.progress_handler(INSTRUCTIONS_PER_CHECK, Some(move || asked.expired()))?;
        Ok(Self {
            statements: Cache::default(),
            connection: Rc::new(connection),
            watch,
            identity: Identity::of(&opener.path),
            capture: Capture::default(),
        })
    }

    /// What was opened, to be compared with what is there.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.identity
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// What is seen of the changes that it makes.
    pub(crate) fn capture(&self) -> &Capture {
        &self.capture
    }

    /// Has changes of these tables seen, and of no others.
    pub(crate) fn turn_capture(&mut self, model: &Arc<Model>, wanted: &[TableId]) -> Result<(), SqliteError> {
        self.capture.turn(&self.connection, model, wanted)
    }

    /// Answers a root field of the `subquery` model.
    pub(crate) fn rows(
        &mut self,
        program: &RowsProgram,
        values: Values<'_>,
    ) -> Result<FieldResult, Unfinished> {
        let meter = values.meter();
        self.run(&program.statements, values, |statements, _, watch| {
            write_rows::write(program, statements, watch, meter)
        })
    }

    /// Answers one level for these keys.
    pub(crate) fn level(
        &mut self,
        program: &LevelProgram,
        keys: &[Key],
        values: Values<'_>,
    ) -> Result<LevelRows, Unfinished> {
        let meter = values.meter();
        self.run(&program.statements, values, |statements, _, watch| {
            if let Some(number) = program.text().keys_parameter {
                statements[0].bind(number, Stored::Text(&bind::keys_text(keys)))?;
            }
            write_level::read(program, &mut statements[0], watch, meter)
        })
    }

    /// Runs one mutation within the open transaction.
    pub(crate) fn mutate(
        &mut self,
        program: &MutationProgram,
        values: Values<'_>,
    ) -> Result<FieldResult, Unfinished> {
        let done = self.run(&program.statements, values, |statements, connection, watch| {
            let result = run_mutation(program, statements, connection, watch);
            statements.iter_mut().for_each(Statement::reset);
            match result {
                Err(Stop::Sqlite(error)) if LooksAt::of(&error).is_some() => Ok(Err(error)),
                other => other.map(Ok),
            }
        })?;
        match done {
            Ok(result) => Ok(result),
            Err(error) => Err(Unfinished::Failed(self.violation(program, values, &error)?)),
        }
    }

    /// What is told of a constraint that refuses a row. A restricted writer is not told by it that there are rows which cannot be
    /// seen: such a row is refused as one that does not pass its check.
    fn violation(
        &mut self,
        program: &MutationProgram,
        values: Values<'_>,
        error: &SqliteError,
    ) -> Result<GraphqlError, Unfinished> {
        let Some(writer) = &program.restricted else { return Ok(error::of_sqlite(error)) };
        let is_told = match (LooksAt::of(error), &writer.collision) {
            (Some(LooksAt::Alike), _) if writer.sees_whole_table => true,
            // A conflict clause of the schema may have ended the transaction.
            (Some(LooksAt::Alike), Some(collision)) if self.in_transaction() => {
                self.run(collision, values, |statements, _, _| {
                    let is_found = statements[0].step();
                    statements[0].reset();
                    Ok(is_found?)
                })?
            }
            (Some(LooksAt::Alike), _) => false,
            (Some(LooksAt::Referred), _) => program.check.is_none(),
            _ => true,
        };
        Ok(if is_told { error::of_restricted(error, &writer.columns) } else { row_refused() })
    }

    /// Gives a program's statements their values and has them run.
    fn run<T>(
        &mut self,
        program: &ProgramStatements,
        values: Values<'_>,
        run: impl FnOnce(&mut [Statement], &Connection, &Watch) -> Result<T, Stop>,
    ) -> Result<T, Unfinished> {
        let prepared = self.statements.get(&self.connection, program).map_err(Stop::Sqlite);
        let done = prepared.and_then(|statements| {
            for (statement, text) in statements.iter_mut().zip(&program.texts) {
                bind::bind(statement, text, values)?;
            }
            run(statements, &self.connection, &self.watch)
        });
        self.finish(done, values.settings)
    }

    /// Rows that the statements of a program have given since this was last asked, of all that are nested in each other.
    pub(crate) fn take_rows(&mut self, program: ProgramId) -> u64 {
        let cached = self.statements.programs.get_mut(&program);
        cached.map_or(0, |cached| cached.statements.iter_mut().map(Statement::take_rows).sum())
    }

    /// Runs a statement without parameters and rows: BEGIN, COMMIT, ROLLBACK.
    pub(crate) fn execute(&mut self, sql: &str) -> Result<(), SqliteError> {
        self.connection.execute_batch(sql).map_err(SqliteError::from)
    }

    /// Whether a transaction is open.
    pub(crate) fn in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Has the rows of a statement without values read, which is not kept.
    pub(crate) fn rows_of<T>(
        &mut self,
        sql: &str,
        settings: &RelationalSettings,
        read: impl FnOnce(&mut Statement) -> Result<T, SqliteError>,
    ) -> Result<T, Unfinished> {
        let prepared = Statement::prepare(&self.connection, sql);
        let done = prepared.and_then(|mut statement| read(&mut statement)).map_err(Stop::Sqlite);
        self.finish(done, settings)
    }

    fn finish<T>(&self, done: Result<T, Stop>, settings: &RelationalSettings) -> Result<T, Unfinished> {
        let sqlite_error = match done {
            Ok(value) => return Ok(value),
            Err(Stop::Failed(error)) => return Err(Unfinished::Failed(error)),
            Err(Stop::Interrupted) => None,
            Err(Stop::Sqlite(error)) if error.code() == ffi::SQLITE_INTERRUPT => None,
            Err(Stop::Sqlite(error)) => Some(error),
        };
        match (sqlite_error, self.watch.reason()) {
            (None, Some(Interruption::Budget)) => Err(Unfinished::Later),
            (None, reason) => {
                let reason = reason.unwrap_or(Interruption::Cancelled);
                Err(Unfinished::Failed(error::of_interruption(reason, settings)))
            }
            (Some(error), _) if self.may_wait(&error) => Err(Unfinished::Later),
            (Some(error), _) => Err(Unfinished::Failed(error::of_sqlite(&error))),
        }
    }

    /// A lock that a core must not wait for; sessions that may block have waited already.
    fn may_wait(&self, error: &SqliteError) -> bool {
        error.code() == ffi::SQLITE_BUSY && self.watch.is_inline()
    }
}

/// `statements` are the program's.
fn run_mutation(
    program: &MutationProgram,
    statements: &mut [Statement],
    connection: &Connection,
    watch: &Watch,
) -> Result<FieldResult, Stop> {
    let (statement, check) = statements.split_first_mut().expect("a mutation has a statement");
    // All changes are made in the first step, also where rows are returned (https://sqlite.org/lang_returning.html).
    let is_returned = statement.step()?;
    let mut result = match &program.answer {
        // A trigger or a conflict clause of the schema left the row out.
        MutationAnswer::Key(_) if !is_returned => FieldResult::data(b"null".to_vec()),
        MutationAnswer::Key(pieces) => write_rows::write_object(pieces, statement, watch)?,
        MutationAnswer::Changed { .. } => FieldResult::default(),
    };
    if is_returned {
        let mut check = program.check.as_ref().zip(check.first_mut());
        if let Some((row_check, select)) = &mut check {
            for (place, &column) in row_check.key_columns.iter().enumerate() {
                select.bind_column(place + 1, statement, column)?;
            }
        }
        while statement.step()? {}
        if let Some((_, select)) = check
            && !select.step()?
        {
            return Err(Stop::Failed(row_refused()));
        }
    }
    if let MutationAnswer::Changed { yes, no } = &program.answer {
        let text = if connection.changes() > 0 { yes } else { no };
        result = FieldResult::data(text.to_vec());
    }
    Ok(result)
}

/// Prepared statements by program; the least recently used go first.
#[derive(Debug, Default)]
struct Cache {
    programs: HashMap<ProgramId, Cached>,
    /// Sum over `programs`.
    statements: usize,
    uses: u64,
}

#[derive(Debug)]
struct Cached {
    statements: Vec<Statement>,
    last_use: u64,
}

impl Cache {
    fn get(
        &mut self,
        connection: &Rc<Connection>,
        program: &ProgramStatements,
    ) -> Result<&mut [Statement], SqliteError> {
        let (id, texts) = (program.id, &program.texts);
        self.uses += 1;
        if !self.programs.contains_key(&id) {
            self.make_room(texts.len());
            let statements = texts
                .iter()
                .map(|text| Statement::prepare(connection, &text.sql))
                .collect::<Result<Vec<_>, _>>()?;
            self.statements += statements.len();
            self.programs.insert(id, Cached { statements, last_use: 0 });
        }
        let cached = self.programs.get_mut(&id).expect("inserted where it was missing");
        cached.last_use = self.uses;
        Ok(&mut cached.statements)
    }

    fn make_room(&mut self, wanted: usize) {
        while self.statements + wanted > MAX_STATEMENTS && !self.programs.is_empty() {
            let oldest = self.programs.iter().min_by_key(|(_, cached)| cached.last_use).map(|(&id, _)| id);
            let Some(removed) = oldest.and_then(|id| self.programs.remove(&id)) else { return };
            self.statements -= removed.statements.len();
        }
    }
}
