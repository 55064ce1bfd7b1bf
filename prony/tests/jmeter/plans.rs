//! Plans in the shape in which JMeter 5.6.3 saves them, made of their elements.

/// XML of one property.
pub(crate) fn text(name: &str, value: &str) -> String {
    format!("<stringProp name=\"{name}\">{}</stringProp>\n", escaped(value))
}

pub(crate) fn flag(name: &str, value: bool) -> String {
    format!("<boolProp name=\"{name}\">{value}</boolProp>\n")
}

pub(crate) fn number(name: &str, value: i64) -> String {
    format!("<intProp name=\"{name}\">{value}</intProp>\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// An element with its properties and what stands below it.
pub(crate) fn element(tag: &str, name: &str, props: &str, below: &str) -> String {
    let name = escaped(name);
    format!(
        "<{tag} guiclass=\"{tag}Gui\" testclass=\"{tag}\" testname=\"{name}\" enabled=\"true\">\n{props}</{tag}>\n<hashTree>\n{below}</hashTree>\n"
    )
}

pub(crate) fn plan(below: &str) -> String {
    plan_with("", "", below)
}

/// With variables (`name=value` lines) and further properties.
pub(crate) fn plan_with(variables: &str, props: &str, below: &str) -> String {
    let arguments = arguments("TestPlan.user_defined_variables", "Argument", variables);
    let plan = element("TestPlan", "Test Plan", &(arguments + props), below);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<jmeterTestPlan version=\"1.2\" properties=\"5.0\" jmeter=\"5.6.3\">\n<hashTree>\n{plan}</hashTree>\n</jmeterTestPlan>\n"
    )
}

/// A list of arguments of `name=value` lines.
pub(crate) fn arguments(property: &str, kind: &str, lines: &str) -> String {
    let all = lines.lines().map(|line| {
        let (name, value) = line.split_once('=').unwrap_or(("", line));
        let inner =
            text("Argument.name", name) + &text("Argument.value", value) + &text("Argument.metadata", "=");
        format!("<elementProp name=\"{}\" elementType=\"{kind}\">\n{inner}</elementProp>\n", escaped(name))
    });
    let all: String = all.collect();
    format!(
        "<elementProp name=\"{property}\" elementType=\"Arguments\">\n<collectionProp name=\"Arguments.arguments\">\n{all}</collectionProp>\n</elementProp>\n"
    )
}

/// A Thread Group; `threads` and `loops` may be functions.
pub(crate) fn group(name: &str, threads: &str, loops: &str, below: &str) -> String {
    group_with("ThreadGroup", name, threads, loops, "", below)
}

pub(crate) fn group_with(
    tag: &str,
    name: &str,
    threads: &str,
    loops: &str,
    props: &str,
    below: &str,
) -> String {
    let controller = text("LoopController.loops", loops) + &flag("LoopController.continue_forever", false);
    let controller = format!(
        "<elementProp name=\"ThreadGroup.main_controller\" elementType=\"LoopController\">\n{controller}</elementProp>\n"
    );
    let all =
        text("ThreadGroup.num_threads", threads) + &text("ThreadGroup.ramp_time", "0") + &controller + props;
    element(tag, name, &all, below)
}

/// HTTP Request Defaults for a port of this machine.
pub(crate) fn defaults(port: &str) -> String {
    let props = text("HTTPSampler.domain", "127.0.0.1")
        + &text("HTTPSampler.port", port)
        + &text("HTTPSampler.protocol", "http")
        + &arguments("HTTPsampler.Arguments", "HTTPArgument", "");
    let name = "HTTP Request Defaults";
    format!(
        "<ConfigTestElement guiclass=\"HttpDefaultsGui\" testclass=\"ConfigTestElement\" testname=\"{name}\" enabled=\"true\">\n{props}</ConfigTestElement>\n<hashTree/>\n"
    )
}

pub(crate) fn get(name: &str, path: &str, below: &str) -> String {
    request(name, "GET", path, "", "", below)
}

/// A request with arguments (`name=value` lines) and further properties.
pub(crate) fn request(name: &str, method: &str, path: &str, lines: &str, props: &str, below: &str) -> String {
    let all = arguments("HTTPsampler.Arguments", "HTTPArgument", lines)
        + &text("HTTPSampler.path", path)
        + &text("HTTPSampler.method", method)
        + &flag("HTTPSampler.follow_redirects", true)
        + &flag("HTTPSampler.use_keepalive", true)
        + props;
    element("HTTPSamplerProxy", name, &all, below)
}

/// A body as it is.
pub(crate) fn post(name: &str, path: &str, body: &str, below: &str) -> String {
    let props = flag("HTTPSampler.postBodyRaw", true);
    request(name, "POST", path, &format!("={body}"), &props, below)
}

/// `test_type`: 1 matches, 2 contains, 4 not, 8 equals, 16 substring, 32 or.
pub(crate) fn response_assertion(patterns: &[&str], field: &str, test_type: i64) -> String {
    let list: String = patterns.iter().map(|pattern| text("pattern", pattern)).collect();
    let props = format!("<collectionProp name=\"Asserion.test_strings\">\n{list}</collectionProp>\n")
        + &text("Assertion.custom_message", "")
        + &text("Assertion.test_field", &format!("Assertion.{field}"))
        + &flag("Assertion.assume_success", false)
        + &number("Assertion.test_type", test_type);
    element("ResponseAssertion", "Response Assertion", &props, "")
}

pub(crate) fn json_extractor(names: &str, paths: &str, numbers: &str, defaults: &str) -> String {
    let props = text("JSONPostProcessor.referenceNames", names)
        + &text("JSONPostProcessor.jsonPathExprs", paths)
        + &text("JSONPostProcessor.match_numbers", numbers)
        + &text("JSONPostProcessor.defaultValues", defaults)
        + &flag("JSONPostProcessor.compute_concat", true);
    element("JSONPostProcessor", "JSON Extractor", &props, "")
}

pub(crate) fn regex_extractor(name: &str, expression: &str, template: &str, number: &str) -> String {
    let props = text("RegexExtractor.useHeaders", "false")
        + &text("RegexExtractor.refname", name)
        + &text("RegexExtractor.regex", expression)
        + &text("RegexExtractor.template", template)
        + &text("RegexExtractor.default", "none")
        + &text("RegexExtractor.match_number", number);
    element("RegexExtractor", "Regular Expression Extractor", &props, "")
}

pub(crate) fn transaction(name: &str, is_parent: bool, below: &str) -> String {
    let props =
        flag("TransactionController.includeTimers", false) + &flag("TransactionController.parent", is_parent);
    element("TransactionController", name, &props, below)
}

pub(crate) fn headers(lines: &str) -> String {
    let all = lines.lines().map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        format!(
            "<elementProp name=\"\" elementType=\"Header\">\n{}{}</elementProp>\n",
            text("Header.name", name),
            text("Header.value", value)
        )
    });
    let all: String = all.collect();
    element(
        "HeaderManager",
        "HTTP Header Manager",
        &format!("<collectionProp name=\"HeaderManager.headers\">\n{all}</collectionProp>\n"),
        "",
    )
}

pub(crate) fn csv(file: &str, names: &str, props: &str) -> String {
    let all = text("filename", file) + &text("variableNames", names) + &text("delimiter", ",") + props;
    element("CSVDataSet", "CSV Data Set Config", &all, "")
}

/// A JSR223 element of any kind.
pub(crate) fn script(tag: &str, name: &str, language: &str, source: &str) -> String {
    let props = text("scriptLanguage", language)
        + &text("script", source)
        + &text("parameters", "")
        + &text("filename", "");
    element(tag, name, &props, "")
}

pub(crate) fn timer(delay_ms: &str) -> String {
    element("ConstantTimer", "Constant Timer", &text("ConstantTimer.delay", delay_ms), "")
}

/// A DNS Cache Manager with a static host table.
pub(crate) fn host_table(hosts: &[(&str, &str)], props: &str) -> String {
    let all = hosts.iter().map(|(name, address)| {
        let inner = text("StaticHost.Name", name) + &text("StaticHost.Address", address);
        format!("<elementProp name=\"{name}\" elementType=\"StaticHost\">\n{inner}</elementProp>\n")
    });
    let all: String = all.collect();
    let list = format!("<collectionProp name=\"DNSCacheManager.hosts\">\n{all}</collectionProp>\n");
    element("DNSCacheManager", "DNS Cache Manager", &(list + props), "")
}
