//! Functions of variables, properties, counters, chance and of what runs.

use super::super::expression::FunctionCall;
use crate::condition;
use crate::run::context::Context;
use rand::{Rng as _, RngExt as _};

pub(super) fn p(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let name = call.argument(0, context);
    let known = context.shared.properties.get(name.trim());
    known.unwrap_or_else(|| call.written(1, context).unwrap_or_else(|| "1".to_owned()))
}

pub(super) fn property(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let name = call.argument(0, context);
    let known = context.shared.properties.get(name.trim());
    let value = known.unwrap_or_else(|| call.written(2, context).unwrap_or(name));
    call.keep(1, &value, context);
    value
}

pub(super) fn set_property(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let (name, value) = (call.argument(0, context), call.argument(1, context));
    let returns_old = call.argument(2, context).trim().eq_ignore_ascii_case("true");
    let old = context.shared.properties.set(name.trim(), &value);
    if returns_old { old.unwrap_or_default() } else { String::new() }
}

pub(super) fn is_property_defined(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let name = call.argument(0, context);
    context.shared.properties.get(name.trim()).is_some().to_string()
}

pub(super) fn is_variable_defined(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let name = call.argument(0, context);
    context.vars.get(name.trim()).is_some().to_string()
}

pub(super) fn v(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let name = call.argument(0, context);
    match context.vars.get(&name) {
        Some(value) => value.to_owned(),
        None => call.written(1, context).unwrap_or(name),
    }
}

pub(super) fn eval(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let text = call.argument(0, context);
    (context.evaluate_text)(&text, call.site, context)
}

pub(super) fn eval_var(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let name = call.argument(0, context);
    let text = context.vars.get(&name).map(str::to_owned).unwrap_or_default();
    (context.evaluate_text)(&text, call.site, context)
}

pub(super) fn counter(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let is_own = call.argument(0, context).trim().eq_ignore_ascii_case("true");
    let value = if is_own {
        let count = context.thread.counters.entry(call.site).or_insert(0);
        *count += 1;
        *count
    } else {
        context.shared.count(call.site)
    };
    let value = value.to_string();
    call.keep(1, &value, context);
    value
}

pub(super) fn random(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let bound = |text: String| text.trim().parse::<i64>().unwrap_or(0);
    let (low, high) = (bound(call.argument(0, context)), bound(call.argument(1, context)));
    let value = context.thread.random.random_range(low.min(high)..=low.max(high)).to_string();
    call.keep(2, &value, context);
    value
}

pub(super) fn random_string(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let length = call.argument(0, context).trim().parse::<usize>().unwrap_or(0).min(LENGTH_MAX);
    let letters: Vec<char> = match call.given(1, context) {
        Some(letters) => letters.chars().collect(),
        // As in JMeter any character may come; those that every protocol carries are taken.
        None => ('0'..='9').chain('A'..='Z').chain('a'..='z').collect(),
    };
    let random = &mut context.thread.random;
    let value: String = (0..length).map(|_| letters[random.random_range(0..letters.len())]).collect();
    call.keep(2, &value, context);
    value
}

/// A longer text is a slip of the keyboard.
const LENGTH_MAX: usize = 10_000_000;

pub(super) fn random_from_variables(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let names = call.argument(0, context);
    let mut values: Vec<String> = Vec::new();
    for name in names.split('|') {
        let count = context.vars.get(&format!("{name}_matchNr")).and_then(|text| text.parse::<u32>().ok());
        match count {
            Some(count) => {
                let numbered = (1..=count).filter_map(|at| context.vars.get(&format!("{name}_{at}")));
                values.extend(numbered.map(str::to_owned));
            }
            None => values.extend(context.vars.get(name).map(str::to_owned)),
        }
    }
    let value = match values.len() {
        0 => String::new(),
        count => values.swap_remove(context.thread.random.random_range(0..count)),
    };
    call.keep(1, &value, context);
    value
}

/// Version 4 (RFC 9562).
pub(super) fn uuid(_call: &FunctionCall, context: &mut Context<'_>) -> String {
    let mut bytes = [0; 16];
    context.thread.random.fill_bytes(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            text.push('-');
        }
        text.push(char::from(b"0123456789abcdef"[usize::from(byte >> 4)]));
        text.push(char::from(b"0123456789abcdef"[usize::from(byte & 15)]));
    }
    text
}

/// In 32 bits, as Java's integers are.
pub(super) fn int_sum(call: &FunctionCall, context: &mut Context<'_>) -> String {
    sum(call, context, |sum| i64::from(sum as i32))
}

pub(super) fn long_sum(call: &FunctionCall, context: &mut Context<'_>) -> String {
    sum(call, context, |sum| sum)
}

/// The last argument names a variable where it is no number.
fn sum(call: &FunctionCall, context: &mut Context<'_>, fit: fn(i64) -> i64) -> String {
    let mut sum = 0_i64;
    let last = call.arguments.len() - 1;
    for at in 0..=last {
        let text = call.argument(at, context);
        match text.trim().parse::<i64>() {
            Ok(number) => sum = fit(sum.wrapping_add(number)),
            Err(_) if at == last => call.keep(at, &sum.to_string(), context),
            Err(_) => {}
        }
    }
    sum.to_string()
}

pub(super) fn thread_number(_call: &FunctionCall, context: &mut Context<'_>) -> String {
    context.thread.number.to_string()
}

pub(super) fn group_name(_call: &FunctionCall, context: &mut Context<'_>) -> String {
    context.thread.group.to_string()
}

pub(super) fn sampler_name(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let value = context.thread.sampler.to_string();
    call.keep(0, &value, context);
    value
}

pub(super) fn plan_name(_call: &FunctionCall, context: &mut Context<'_>) -> String {
    context.shared.plan_name.clone()
}

pub(super) fn machine_name(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim().to_owned();
    call.keep(0, &name, context);
    name
}

pub(super) fn log(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let text = call.argument(0, context);
    context.shared.log(&text);
    text
}

pub(super) fn log_nothing(call: &FunctionCall, context: &mut Context<'_>) -> String {
    log(call, context);
    String::new()
}

pub(super) fn environment(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let name = call.argument(0, context);
    let value = std::env::var(name.trim());
    let value = value.unwrap_or_else(|_| call.written(2, context).unwrap_or(name));
    call.keep(1, &value, context);
    value
}

pub(super) fn java_script(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let source = call.argument(0, context);
    let value = match context.evaluate(&source) {
        Ok(value) => value,
        Err(message) => {
            context.shared.log(&format!("__javaScript: {message}: {source}"));
            String::new()
        }
    };
    call.keep(1, &value, context);
    value
}

/// A plain comparison; what is none was refused before the run, where it could be seen then.
pub(super) fn comparison(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let source = call.argument(0, context);
    let value = match condition::evaluate(&source, context) {
        Ok(value) => value.to_string(),
        Err(fault) => {
            context.shared.log(&format!("__jexl3: {fault}: {source}"));
            String::new()
        }
    };
    call.keep(1, &value, context);
    value
}
