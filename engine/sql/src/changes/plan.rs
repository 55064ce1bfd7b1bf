//! From a subscription field to what each of its events needs: which changes pass, what is known from the change itself,
//! and what the database is asked for.

use std::sync::Arc;

use prony_graphql::{
    error::{GraphqlError, Position},
    selection::{Field, Value},
};

use crate::changes::{
    Operation,
    asked::AskedNames,
    columns::NeededColumns,
    names::{ChangeNames, KEY, OPERATION, PREVIOUS_KEY},
};
use crate::{
    lower::{row_outputs, unknown_field},
    lower_filter,
    model::{ColumnId, Model, TableId},
    plan::{Filter, ListPlan, Output, OutputKind, RowsPlan},
    restrict::Restrictions,
};

/// One subscription field; `P` is a prepared statement.
#[derive(Debug)]
pub struct ChangesPlan<P> {
    pub table: TableId,
    pub response_key: Box<str>,
    pub position: Position,
    /// By [`Operation`].
    operations: [bool; 3],
    pub outputs: Vec<ChangeOutput<P>>,
    /// Answers with a row where the change's row passes the filter; `None` where another statement says so, or nothing
    /// has to.
    pub filter: Option<P>,
    /// Answers with a row where the row before an update could be seen; `None` where all can.
    pub visible: Option<P>,
    /// Columns of the row that its events need.
    pub needed: Box<[ColumnId]>,
    /// What the client asks for.
    pub(crate) asked: AskedNames,
}

/// One member of an event.
#[derive(Debug)]
pub struct ChangeOutput<P> {
    pub response_key: Box<str>,
    pub kind: ChangeKind<P>,
}

#[derive(Debug)]
pub enum ChangeKind<P> {
    Typename(Box<str>),
    Operation,
    /// Columns of the primary key.
    Key(Vec<Output>),
    PreviousKey(Vec<Output>),
    /// Columns of the row, which the change holds.
    Row(Vec<Output>),
    /// What a statement makes of the change's row; no row where the filter does not let it pass.
    Asked(P),
}

impl<P> ChangesPlan<P> {
    pub fn wants(&self, operation: Operation) -> bool {
        self.operations[operation as usize]
    }

    /// All statements.
    pub fn statements(&self) -> impl Iterator<Item = &P> {
        let asked = self.outputs.iter().filter_map(|output| match &output.kind {
            ChangeKind::Asked(statement) => Some(statement),
            _ => None,
        });
        self.filter.iter().chain(&self.visible).chain(asked)
    }

    /// Lowers a field of a valid operation; only changes of rows that pass the restrictions are told of. `prepare` makes a statement of a list of the one row that is given.
    pub fn lower(
        model: &Arc<Model>,
        names: &ChangeNames,
        field: &Field,
        restrictions: Option<&Restrictions>,
        prepare: impl Fn((&str, Position), &RowsPlan) -> Result<P, GraphqlError>,
    ) -> Result<Self, GraphqlError> {
        let given = lower_filter::clauses(model, model.table(names.table), field)?;
        let list_of = |position: Position, outputs: Vec<Output>| {
            let (filter, order) = (given.clone(), Vec::new());
            let mut list = ListPlan { table: names.table, outputs, filter, order, limit: None, offset: None };
            if let Some(restrictions) = restrictions {
                restrictions.apply_to_change(model, &mut list, position);
            }
            list
        };
        let filter = list_of(field.position, Vec::new()).filter;
        let table = model.table(names.table);
        let mut needed = NeededColumns::of(table, &filter);
        let mut asked = AskedNames::of_changes(model, names);
        asked.add_filter(names.table, &given);
        let ask = |response_key: &str, position: Position, outputs: Vec<Output>| {
            prepare((response_key, position), &RowsPlan::List(list_of(position, outputs)))
        };
        let mut outputs = Vec::with_capacity(field.selections.len());
        for selected in &field.selections {
            let mut below = || {
                let outputs = row_outputs(model, names.table, &selected.selections)?;
                needed.add_outputs(table, &outputs);
                asked.add_outputs(names.table, &outputs);
                Ok::<_, GraphqlError>(outputs)
            };
            let kind = match selected.name.as_str() {
                "__typename" => ChangeKind::Typename(selected.parent_type.as_str().into()),
                OPERATION => ChangeKind::Operation,
                KEY => ChangeKind::Key(below()?),
                PREVIOUS_KEY => ChangeKind::PreviousKey(below()?),
                row if *row == *names.row => {
                    let outputs = below()?;
                    if filter.is_everything() && outputs.iter().all(is_in_the_change) {
                        ChangeKind::Row(outputs)
                    } else {
                        ChangeKind::Asked(ask(&selected.response_key, selected.position, outputs)?)
                    }
                }
                _ => return Err(unknown_field(selected)),
            };
            outputs.push(ChangeOutput { response_key: selected.response_key.as_str().into(), kind });
        }
        let is_filtered = outputs.iter().any(|output| matches!(output.kind, ChangeKind::Asked(_)));
        let is_asked = !is_filtered && !filter.is_everything();
        let asks = || ask(&field.response_key, field.position, Vec::new());
        let filter = is_asked.then(asks).transpose()?;
        let visible = restrictions.and_then(|restrictions| visible_rows(model, names, field, restrictions));
        needed.add_filter(table, visible.as_ref().map_or(&Filter::everything(), |list| &list.filter));
        let visible = visible
            .map(|list| prepare((&*field.response_key, field.position), &RowsPlan::List(list)))
            .transpose()?;
        Ok(Self {
            visible,
            needed: needed.0.into_iter().collect(),
            asked,
            table: names.table,
            response_key: field.response_key.as_str().into(),
            position: field.position,
            operations: operations(field.argument("operations")),
            outputs,
            filter,
        })
    }
}

/// Asks whether the row that is given can be seen; none where all can.
fn visible_rows(
    model: &Model,
    names: &ChangeNames,
    field: &Field,
    restrictions: &Restrictions,
) -> Option<ListPlan> {
    let (outputs, order) = (Vec::new(), Vec::new());
    let filter = Filter::everything();
    let mut list = ListPlan { table: names.table, outputs, filter, order, limit: None, offset: None };
    restrictions.apply_to_change(model, &mut list, field.position);
    Some(list).filter(|list| !list.filter.is_everything())
}

fn is_in_the_change(output: &Output) -> bool {
    matches!(output.kind, OutputKind::Typename(_) | OutputKind::Column(_))
}

/// All of them where none are named.
fn operations(argument: Option<&Value>) -> [bool; 3] {
    let named = |value: &Value| match value {
        Value::Enum(name) => match name.as_str() {
            "INSERT" => Some(Operation::Insert),
            "UPDATE" => Some(Operation::Update),
            "DELETE" => Some(Operation::Delete),
            _ => None,
        },
        _ => None,
    };
    let items = match argument {
        None | Some(Value::Null) => return [true; 3],
        Some(Value::List(items)) => items.as_slice(),
        Some(item) => std::slice::from_ref(item),
    };
    let mut wanted = [false; 3];
    for operation in items.iter().filter_map(named) {
        wanted[operation as usize] = true;
    }
    wanted
}
