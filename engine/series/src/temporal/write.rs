//! Entities with their instances as JSON: normalized, by values, aggregated (ETSI GS CIM 009, clauses 4.5.7 to 4.5.9 and 4.5.19).

use prony_graphql::json::write_string;
use prony_series_store::{Kind, TimeMs, Value};

use super::{
    aggregate::{AggregateValue, Periods},
    find::{EntityType, FoundEntity},
    holds::summary_of,
    instances::ShownRows,
    metadata,
    method::AggregateMethod,
    parameters::TimeProperty,
};
use crate::{
    ngsi::{attribute_type::AttributeType, json::write_double, time},
    query::{
        entity::{AskedAttribute, Chosen, member_name},
        shape::{Output, Stopped, full, list, put, text_member},
        value::write_value,
    },
};

/// The context in which the names of the interface itself are explained.
const CORE_CONTEXT: &str = "https://uri.etsi.org/ngsi-ld/v1/ngsi-ld-core-context-v1.6.jsonld";

/// Members of an entity that are no attributes.
const MEMBERS: [&str; 3] = ["id", "type", "@context"];

type Written = Result<(), Stopped>;

/// How instances are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct InstanceWriter {
    pub(super) time_property: TimeProperty,
    /// Whether values stand with their times, in one member of the attribute.
    pub(super) only_values: bool,
    pub(super) shows_metadata: bool,
    /// Whether attributes all of whose instances were left out are there without any.
    pub(super) is_cut: bool,
}

fn write_time(out: &mut dyn Output, time_ms: TimeMs) {
    put(out, "\"");
    time::write_utc(out.part(), time_ms);
    put(out, "\"");
}

/// `{"id": …, "type": …` with the context where it is asked for.
pub(super) fn begin(out: &mut dyn Output, id: &str, type_name: &str, has_context: bool) {
    text_member(out, "{\"id\":", id);
    text_member(out, ",\"type\":", type_name);
    if has_context {
        text_member(out, ",\"@context\":", CORE_CONTEXT);
    }
}

/// A value as a member of an instance: times are typed.
fn write_instance_value(out: &mut dyn Output, kind: Kind, value: Value<'_>) {
    if let (Kind::Time, Value::Integer(time)) = (kind, value) {
        put(out, "{\"@type\":\"DateTime\",\"@value\":");
        write_time(out, time);
        put(out, "}");
    } else {
        write_value(out.part(), kind, value);
    }
}

impl InstanceWriter {
    /// The attributes of an entity that have instances.
    pub(super) fn write(
        self,
        out: &mut dyn Output,
        of: &EntityType,
        found: &mut FoundEntity,
        rows: &ShownRows,
    ) -> Written {
        for (place, attribute) in of.attributes.iter().enumerate() {
            let begins = rows.begins.as_ref().map(|begins| &begins[place]);
            for (at, (_, chosen)) in found.entity.series.iter_mut().enumerate() {
                let range = &rows.ranges[at];
                let from = begins.map_or(range.start, |begins| begins[at].min(range.end));
                *chosen = Chosen::Range(from..range.end);
            }
            let (mut count, mut written) = (0_u64, Ok(()));
            let metadata = attribute.metadata.filter(|_| self.shows_metadata);
            let wanted: Vec<_> = [attribute.id].into_iter().chain(metadata).collect();
            let name = member_name(&attribute.name, &MEMBERS, &of.attributes);
            found.entity.visit(&wanted, |part, row| {
                let value = part.get(row, attribute.id);
                if value != Value::Null {
                    count += 1;
                    self.begin_attribute(out, (&name, attribute), count == 1);
                    let kept = metadata.map_or(Value::Null, |of| part.get(row, of));
                    self.write_instance(out, attribute, part.times[row], (value, kept));
                    written = full(out);
                }
                written.is_ok()
            })?;
            written?;
            if count > 0 {
                put(out, if self.only_values { "]}" } else { "]" });
            } else if self.is_cut && summary_of(&mut found.entity, attribute.id)?.count > 0 {
                self.begin_attribute(out, (&name, attribute), true);
                put(out, if self.only_values { "]}" } else { "]" });
            }
        }
        Ok(())
    }

    fn begin_attribute(self, out: &mut dyn Output, (name, of): (&str, &AskedAttribute), is_first: bool) {
        if !is_first {
            put(out, ",");
            return;
        }
        text_member(out, ",", name);
        if self.only_values {
            let kept = AttributeType::of_kept(&of.declared, of.kind);
            text_member(out, ":{\"type\":", kept.name);
            text_member(out, ",", kept.values);
        }
        put(out, ":[");
    }

    fn write_instance(
        self,
        out: &mut dyn Output,
        of: &AskedAttribute,
        time_ms: TimeMs,
        (value, kept): (Value<'_>, Value<'_>),
    ) {
        if self.only_values {
            put(out, "[");
            write_instance_value(out, of.kind, value);
            put(out, ",");
            write_time(out, time_ms);
            put(out, "]");
            return;
        }
        let AttributeType { name, member, .. } = AttributeType::of_kept(&of.declared, of.kind);
        text_member(out, "{\"type\":", name);
        text_member(out, ",", member);
        put(out, ":");
        write_instance_value(out, of.kind, value);
        text_member(out, ",", self.time_property.name());
        put(out, ":");
        write_time(out, time_ms);
        if let Value::Text(kept) = kept {
            metadata::write(out, kept, self.time_property.name());
        }
        put(out, "}");
    }
}

/// `"temperature": {"type": "Property", "avg": [[21.5, FROM, TO]]}` where there are periods; `all` are the entity's attributes.
pub(super) fn write_periods(
    out: &mut dyn Output,
    (of, all): (&AskedAttribute, &[AskedAttribute]),
    methods: &[AggregateMethod],
    periods: &Periods,
) -> Written {
    if periods.is_empty() || methods.is_empty() {
        return Ok(());
    }
    text_member(out, ",", &member_name(&of.name, &MEMBERS, all));
    text_member(out, ":{\"type\":", AttributeType::of_kept(&of.declared, of.kind).name);
    for method in methods {
        text_member(out, ",", method.name());
        put(out, ":");
        list(out, periods, |out, (begin, values)| {
            put(out, "[");
            write_aggregate(out, of.kind, &values.value(*method));
            put(out, ",");
            write_time(out, *begin);
            put(out, ",");
            write_time(out, values.end_ms);
            put(out, "]");
            full(out)
        })?;
    }
    put(out, "}");
    Ok(())
}

fn write_aggregate(out: &mut dyn Output, kind: Kind, value: &AggregateValue<'_>) {
    match (value, kind) {
        (AggregateValue::Count(count), _) => out.part().extend_from_slice(count.to_string().as_bytes()),
        (AggregateValue::Text(text), _) => write_string(out.part(), text),
        (AggregateValue::Number(None), _) => put(out, "null"),
        (AggregateValue::OfKind(number, exact), Kind::Time) => {
            let exact = exact.and_then(|exact| i64::try_from(exact).ok());
            write_instance_value(out, kind, Value::Integer(exact.unwrap_or(*number as i64)));
        }
        (AggregateValue::OfKind(number, exact), Kind::Integer | Kind::Boolean) => {
            let digits = exact.unwrap_or(*number as i128).to_string();
            out.part().extend_from_slice(digits.as_bytes());
        }
        (AggregateValue::Number(Some(number)) | AggregateValue::OfKind(number, _), _) => {
            write_double(out.part(), *number);
        }
    }
}
