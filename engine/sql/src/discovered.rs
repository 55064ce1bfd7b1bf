//! What is served of a catalog: its tables as a model, what can change in them, and by what another catalog is told from it.

use std::sync::Arc;

use crate::{
    catalog::Catalog,
    changes::names::ChangeIndex,
    follow::fingerprint,
    model::{Model, TableNumbers},
    settings::{RelationalSettings, SettingsFaults},
};

/// What is served of a catalog.
#[derive(Debug)]
pub struct Discovered {
    pub model: Arc<Model>,
    /// Empty where the source has no subscriptions.
    pub(crate) changes: ChangeIndex,
    pub(crate) numbers: TableNumbers,
    pub(crate) fingerprint: u64,
}

impl Discovered {
    /// `notes` come after those of the model.
    ///
    /// # Errors
    /// Settings that do not fit the catalog, all of them.
    pub fn new(
        catalog: &Catalog,
        settings: &RelationalSettings,
        notes: impl IntoIterator<Item = String>,
    ) -> Result<Self, SettingsFaults> {
        let mut model = Model::build(catalog, settings).map_err(SettingsFaults)?;
        let mut numbers = TableNumbers::default();
        numbers.number(&mut model);
        Ok(Self::of(model, numbers, catalog, settings, notes))
    }

    /// What is served of a catalog that comes after another one, whose tables have these numbers.
    pub(crate) fn after(
        mut numbers: TableNumbers,
        catalog: &Catalog,
        settings: &RelationalSettings,
    ) -> Result<Self, String> {
        let model = Model::build(catalog, settings).map_err(SettingsFaults);
        let mut model = model.map_err(|faults| faults.to_string())?;
        numbers.number(&mut model);
        numbers.check()?;
        Ok(Self::of(model, numbers, catalog, settings, None))
    }

    fn of(
        mut model: Model,
        numbers: TableNumbers,
        catalog: &Catalog,
        settings: &RelationalSettings,
        notes: impl IntoIterator<Item = String>,
    ) -> Self {
        let mut of_changes = Vec::new();
        // The row of an event has passed no policy of the database, and a live query has.
        let changes = if settings.common.subscriptions && settings.session.is_none() {
            ChangeIndex::new(&model, &mut of_changes)
        } else {
            ChangeIndex::default()
        };
        if settings.common.subscriptions && settings.session.is_some() {
            of_changes
                .push("with [source.session] there are live queries, and no events of changes".to_owned());
        }
        model.notes.extend(notes);
        model.notes.extend(of_changes);
        Self { model: Arc::new(model), changes, numbers, fingerprint: fingerprint(catalog) }
    }
}
