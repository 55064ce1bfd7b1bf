//! The libraries as modules of the virtual machine, and what they reach in Rust.

#![expect(clippy::needless_pass_by_value, reason = "functions of JavaScript own their arguments")]

use super::{addresses, csv_rows, html_report, junit};
use crate::metrics::summary::{self, LegacyOptions, RateStyle};
use crate::vm::{Builtin, Native};
use rquickjs::{Ctx, Exception, Function, Object};

pub(crate) const MODULES: &[Builtin] = &[
    Builtin { specifier: "jslib:k6-utils", text: include_str!("text/k6-utils.js") },
    Builtin { specifier: "jslib:papaparse", text: include_str!("text/papaparse.js") },
    Builtin { specifier: "jslib:uuid", text: include_str!("text/uuid.js") },
    Builtin { specifier: "jslib:url", text: include_str!("text/url.js") },
    Builtin { specifier: "jslib:formdata", text: include_str!("text/formdata.js") },
    Builtin { specifier: "jslib:totp", text: include_str!("text/totp.js") },
    Builtin { specifier: "jslib:k6-reporter", text: include_str!("text/k6-reporter.js") },
    Builtin { specifier: "jslib:k6-summary", text: include_str!("text/k6-summary.js") },
    Builtin { specifier: "jslib:k6-summary@0.0", text: include_str!("text/k6-summary-0.0.js") },
];

pub(crate) const NATIVES: &[Native] = &[Native { name: "prony:jslib", install }];

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("csvRows", Function::new(ctx.clone(), csv_rows)?)?;
    exports.set("parseUrl", Function::new(ctx.clone(), parse_url)?)?;
    exports.set("urlPart", Function::new(ctx.clone(), url_part)?)?;
    exports.set("setUrlPart", Function::new(ctx.clone(), set_url_part)?)?;
    exports.set("queryPairs", Function::new(ctx.clone(), query_pairs)?)?;
    exports.set("htmlReport", Function::new(ctx.clone(), html_report)?)?;
    exports.set("textSummary", Function::new(ctx.clone(), text_summary)?)?;
    exports.set("junit", Function::new(ctx.clone(), junit)?)
}

/// JSON that a library of ours wrote.
fn json<T: serde::de::DeserializeOwned>(ctx: &Ctx<'_>, text: &str) -> rquickjs::Result<T> {
    serde_json::from_str(text).map_err(|error| Exception::throw_type(ctx, &error.to_string()))
}

fn csv_rows(ctx: Ctx<'_>, text: String, config: String) -> rquickjs::Result<String> {
    let config: csv_rows::Config = json(&ctx, &config)?;
    Ok(serde_json::to_string(&csv_rows::rows(&text, &config)).expect("rows are texts"))
}

fn parse_url(
    ctx: Ctx<'_>,
    text: String,
    base: rquickjs::function::Opt<Option<String>>,
) -> rquickjs::Result<String> {
    let base = base.0.flatten();
    addresses::parse(&text, base.as_deref()).map_err(|message| Exception::throw_type(&ctx, &message))
}

fn url_part(address: String, name: String) -> Option<String> {
    addresses::part(&address, &name)
}

fn set_url_part(address: String, name: String, value: String) -> String {
    addresses::with_part(&address, &name, &value)
}

fn query_pairs(query: String) -> Vec<Vec<String>> {
    addresses::query_pairs(&query)
}

fn html_report(ctx: Ctx<'_>, data: String, options: String) -> rquickjs::Result<String> {
    Ok(html_report::html_report(&json(&ctx, &data)?, &json(&ctx, &options)?))
}

fn junit(ctx: Ctx<'_>, data: String, options: String) -> rquickjs::Result<String> {
    Ok(junit::junit(&json(&ctx, &data)?, &json(&ctx, &options)?))
}

fn text_summary(ctx: Ctx<'_>, data: String, options: String, has_marks: bool) -> rquickjs::Result<String> {
    let rates = if has_marks { RateStyle::Marks } else { RateStyle::OutOf };
    let options = LegacyOptions::from_json(&json(&ctx, &options)?, rates);
    Ok(summary::text_summary(&json(&ctx, &data)?, &options))
}
