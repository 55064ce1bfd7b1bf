//! From a catalog and the user's settings to a model: which tables, then columns, names, relations.

use crate::model::{
    Model, Table, choose, columns, enums, faults::Faults, naming, relations, served::ServedTable,
};
use crate::{
    catalog::Catalog,
    settings::{RelationalSettings, SettingsFault},
};

impl Model {
    /// Decides what is served of `catalog` and under which names. The result depends on nothing but the
    /// arguments.
    ///
    /// # Errors
    /// Every setting that does not fit the database or another setting, all at once.
    pub fn build(catalog: &Catalog, settings: &RelationalSettings) -> Result<Self, Vec<SettingsFault>> {
        let mut faults = Faults::default();
        let mut notes = catalog.notes.clone();
        check_limits(settings, &mut faults);
        let mut served = choose::tables(catalog, settings, &mut faults, &mut notes);
        let mut tables: Vec<Table> =
            served.iter_mut().map(|table| columns::table(table, &mut faults, &mut notes)).collect();
        leave_out_empty(&mut served, &mut tables, &mut notes);
        let enums =
            naming::name_types(catalog, &settings.name_prefix, &served, &mut tables, &mut faults, &mut notes);
        let enums = enums::settle(enums, &mut tables);
        relations::connect(catalog, &settings.name_prefix, &served, &mut tables, &mut faults, &mut notes);
        faults.into_result(Self { tables, enums, notes, ids: Vec::new(), places: Vec::new() })
    }
}

fn check_limits(settings: &RelationalSettings, faults: &mut Faults) {
    if settings.common.default_limit > settings.common.max_limit {
        faults.add(
            &["default_limit"],
            format!(
                "{} rows are more than `max_limit` allows ({}); lower it or raise `max_limit`",
                settings.common.default_limit, settings.common.max_limit
            ),
        );
    }
}

/// A type without fields is no GraphQL type.
fn leave_out_empty(served: &mut Vec<ServedTable<'_>>, tables: &mut Vec<Table>, notes: &mut Vec<String>) {
    let mut index = 0;
    served.retain(|table| {
        if tables[index].columns.is_empty() {
            notes
                .push(format!("{} has no columns to serve and is left out", naming::described(table.source)));
            tables.remove(index);
            return false;
        }
        index += 1;
        true
    });
}
