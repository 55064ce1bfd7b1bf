//! Messages from JSON and as JSON, by the mapping of protobuf (<https://protobuf.dev/programming-guides/json/>).

use super::status::Status;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage as _,
    SerializeOptions, Syntax, Value as FieldValue,
};
use serde_json::{Map, Value as Json, json};

/// Their JSON is no object of their fields.
const WELL_KNOWN: &str = "google.protobuf";

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// The bytes of a message.
pub(super) fn encode(descriptor: &MessageDescriptor, json: &str) -> Result<Vec<u8>, String> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let message = DynamicMessage::deserialize(descriptor.clone(), &mut deserializer);
    Ok(message.map_err(|error| error.to_string())?.encode_to_vec())
}

/// A message as JSON, with the fields that it does not have, as k6 gives them.
pub(super) fn decode(descriptor: &MessageDescriptor, bytes: &[u8]) -> Result<Json, String> {
    let message = DynamicMessage::decode(descriptor.clone(), bytes).map_err(|error| error.to_string())?;
    as_json(&message)
}

fn as_json(message: &DynamicMessage) -> Result<Json, String> {
    // As text first, so that a `float` has its own digits.
    let mut text = Vec::new();
    let options = SerializeOptions::new().skip_default_fields(false);
    let written = message.serialize_with_options(&mut serde_json::Serializer::new(&mut text), &options);
    written.map_err(|error| error.to_string())?;
    let mut json = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    complete(message, &mut json);
    Ok(json)
}

/// Adds what stands for fields that are not set: those of a `oneof` have nothing.
fn complete(message: &DynamicMessage, json: &mut Json) {
    let descriptor = message.descriptor();
    if descriptor.package_name() == WELL_KNOWN {
        return;
    }
    let Json::Object(members) = json else { return };
    let is_proto2 = descriptor.parent_file().syntax() == Syntax::Proto2;
    for field in descriptor.fields() {
        if message.has_field(&field) {
            if let Some(member) = members.get_mut(field.json_name()) {
                complete_value(&message.get_field(&field), member);
            }
        } else if field.containing_oneof().is_some() {
            members.remove(field.json_name());
        } else {
            complete_absent(&field, is_proto2, members);
        }
    }
}

fn complete_absent(field: &FieldDescriptor, is_proto2: bool, members: &mut Map<String, Json>) {
    let is_message = matches!(field.kind(), Kind::Message(_));
    let value = if field.is_list() {
        json!([])
    } else if field.is_map() {
        json!({})
    } else if is_message || is_proto2 {
        Json::Null
    } else {
        return;
    };
    members.insert(field.json_name().to_owned(), value);
}

fn complete_value(value: &FieldValue, json: &mut Json) {
    match (value, json) {
        (FieldValue::Message(message), json) => complete(message, json),
        (FieldValue::List(values), Json::Array(items)) => {
            values.iter().zip(items).for_each(|(value, item)| complete_value(value, item));
        }
        (FieldValue::Map(values), Json::Object(members)) => {
            for (key, value) in values {
                let name = match key {
                    prost_reflect::MapKey::String(text) => text.clone(),
                    prost_reflect::MapKey::Bool(flag) => flag.to_string(),
                    prost_reflect::MapKey::I32(number) => number.to_string(),
                    prost_reflect::MapKey::I64(number) => number.to_string(),
                    prost_reflect::MapKey::U32(number) => number.to_string(),
                    prost_reflect::MapKey::U64(number) => number.to_string(),
                };
                if let Some(member) = members.get_mut(&name) {
                    complete_value(value, member);
                }
            }
        }
        _ => {}
    }
}

/// `response.error`: null where the call ended well.
pub(super) fn error(status: &Status, pool: &DescriptorPool) -> Json {
    if status.is_ok() {
        return Json::Null;
    }
    // As grpc-go reads it, the message of the details counts.
    let sent = RpcStatus::decode(status.details.as_slice()).unwrap_or_default();
    let message = if sent.message.is_empty() { &status.message } else { &sent.message };
    json!({ "code": status.code.0, "message": message, "details": details(status, pool) })
}

/// The details of an error; of those whose message is not loaded, their bytes.
pub(super) fn details(status: &Status, pool: &DescriptorPool) -> Vec<Json> {
    let sent = RpcStatus::decode(status.details.as_slice()).unwrap_or_default();
    sent.details.iter().map(|detail| any(detail, pool)).collect()
}

fn any(detail: &prost_types::Any, pool: &DescriptorPool) -> Json {
    let name = detail.type_url.rsplit('/').next().unwrap_or_default();
    let descriptor = pool.get_message_by_name(name);
    let value = descriptor.and_then(|descriptor| decode(&descriptor, &detail.value).ok());
    match value {
        Some(Json::Object(mut members)) => {
            members.insert("@type".to_owned(), detail.type_url.clone().into());
            Json::Object(members)
        }
        Some(value) => json!({ "@type": detail.type_url, "value": value }),
        None => json!({ "@type": detail.type_url, "value": STANDARD.encode(&detail.value) }),
    }
}
