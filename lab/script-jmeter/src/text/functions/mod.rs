//! The functions of texts, in one table: name, how many arguments, and what it does.

mod files;
mod strings;
mod values;

pub(crate) use strings::form_encoded;

use super::expression::{Call, Function, Text};

const fn function(name: &'static str, arguments: (usize, usize), call: Call) -> Function {
    Function { name, arguments, call }
}

/// More arguments than any function needs.
const MANY: usize = 1_000;

static FUNCTIONS: &[Function] = &[
    function("__P", (1, 2), values::p),
    function("__property", (1, 3), values::property),
    function("__setProperty", (2, 3), values::set_property),
    function("__isPropDefined", (1, 1), values::is_property_defined),
    function("__isVarDefined", (1, 1), values::is_variable_defined),
    function("__V", (1, 2), values::v),
    function("__eval", (1, 1), values::eval),
    function("__evalVar", (1, 1), values::eval_var),
    function("__counter", (1, 2), values::counter),
    function("__Random", (2, 3), values::random),
    function("__RandomString", (1, 3), values::random_string),
    function("__RandomFromMultipleVars", (1, 2), values::random_from_variables),
    function("__UUID", (0, 1), values::uuid),
    function("__intSum", (2, MANY), values::int_sum),
    function("__longSum", (2, MANY), values::long_sum),
    function("__threadNum", (0, 1), values::thread_number),
    function("__threadGroupName", (0, 1), values::group_name),
    function("__samplerName", (0, 1), values::sampler_name),
    function("__TestPlanName", (0, 1), values::plan_name),
    function("__machineName", (0, 1), values::machine_name),
    function("__log", (1, 4), values::log),
    function("__logn", (1, 3), values::log_nothing),
    function("__env", (1, 3), values::environment),
    function("__javaScript", (1, 2), values::java_script),
    function("__jexl3", (1, 2), values::comparison),
    function("__time", (0, 2), super::dates::time),
    function("__timeShift", (1, 5), super::dates::time_shift),
    function("__RandomDate", (3, 5), super::dates::random_date),
    function("__dateTimeConvert", (3, 4), super::dates::convert),
    function("__digest", (2, 5), super::digest::digest),
    function("__CSVRead", (2, 2), files::csv_read),
    function("__FileToString", (1, 3), files::file_to_string),
    function("__StringFromFile", (1, 4), files::string_from_file),
    function("__char", (1, MANY), strings::characters),
    function("__unescape", (1, 1), strings::unescape),
    function("__escapeHtml", (1, 1), strings::escape_html),
    function("__unescapeHtml", (1, 1), strings::unescape_html),
    function("__escapeXml", (1, 1), strings::escape_xml),
    function("__urlencode", (1, 1), strings::url_encode),
    function("__urldecode", (1, 1), strings::url_decode),
    function("__changeCase", (1, 3), strings::change_case),
    function("__lowercase", (1, 2), strings::lower_case),
    function("__uppercase", (1, 2), strings::upper_case),
    function("__base64Encode", (1, 2), strings::base64_encode),
    function("__base64Decode", (1, 2), strings::base64_decode),
    function("__strLen", (1, 2), strings::length),
    function("__split", (2, 3), strings::split),
    function("__regexFunction", (2, 7), strings::regex_function),
];

/// The names of files that functions of a text read.
pub(crate) fn file_names(text: &Text) -> Vec<Text> {
    let mut names = Vec::new();
    for call in text.calls() {
        if ["__CSVRead", "__FileToString", "__StringFromFile"].contains(&call.function.name) {
            names.extend(call.arguments.first().cloned());
        }
        names.extend(call.arguments.iter().flat_map(file_names));
    }
    names
}

/// Whether functions of a text may look at the last response: those that evaluate what is only known then may do everything.
pub(crate) fn looks_back(text: &Text) -> bool {
    text.calls().any(|call| {
        let looks = match call.function.name {
            "__regexFunction" | "__eval" | "__evalVar" => true,
            "__javaScript" => {
                call.arguments.first().is_some_and(|source| names_last_sample(&source.example()))
            }
            _ => false,
        };
        looks || call.arguments.iter().any(looks_back)
    })
}

/// Whether a script names what it finds the last sample by.
pub(crate) fn names_last_sample(source: &str) -> bool {
    source.contains("prev") || source.contains("ctx")
}

/// By name, as written: JMeter's functions keep their case.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}
