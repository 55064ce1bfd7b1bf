//! What `done` gets: the summary table and the objects `latency` and `requests`.

use mlua::{Lua, MetaMethod, Table, UserData, UserDataFields, UserDataMethods};
use prony_model::ResultFile;
use prony_model::measurement::statistics::{Statistics, WrkTotals};

#[derive(Debug)]
pub(super) struct Reported {
    totals: WrkTotals,
    /// In microseconds.
    pub latency: StatisticsHandle,
    /// Requests a second and thread.
    pub rates: StatisticsHandle,
}

impl Reported {
    pub(super) fn of(result: &ResultFile) -> Self {
        let whole = result.windows.last();
        let latency = whole.map(|whole| Statistics::of_response(&whole.all).unwrap_or_default());
        Self {
            totals: WrkTotals::of(result),
            latency: StatisticsHandle(latency.unwrap_or_default()),
            rates: StatisticsHandle(Statistics::of_rates(result)),
        }
    }

    pub(super) fn summary(&self, lua: &Lua) -> mlua::Result<Table> {
        let totals = &self.totals;
        let errors = lua.create_table_from([
            ("connect", totals.connect_errors),
            ("read", totals.read_errors),
            ("write", totals.write_errors),
            ("status", totals.status_errors),
            ("timeout", totals.timeouts),
        ])?;
        let summary = lua.create_table_from([
            ("duration", totals.duration_us),
            ("requests", totals.requests),
            ("bytes", totals.bytes),
        ])?;
        summary.set("errors", errors)?;
        Ok(summary)
    }
}

#[derive(Debug)]
pub(super) struct StatisticsHandle(Statistics);

impl UserData for StatisticsHandle {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("min", |_, handle| Ok(handle.0.min()));
        fields.add_field_method_get("max", |_, handle| Ok(handle.0.max()));
        fields.add_field_method_get("mean", |_, handle| Ok(handle.0.mean()));
        fields.add_field_method_get("stdev", |_, handle| Ok(handle.0.deviation()));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, handle, percentile: f64| Ok(handle.0.percentile(percentile)));
        methods.add_meta_method(MetaMethod::Len, |_, handle, ()| Ok(handle.0.values().len()));
        // Counted from 1; past the end there is neither a value nor a count.
        methods.add_meta_method(MetaMethod::Call, |_, handle, index: usize| {
            let value = index.checked_sub(1).and_then(|index| handle.0.values().get(index));
            Ok(value.copied().unwrap_or_default())
        });
    }
}
