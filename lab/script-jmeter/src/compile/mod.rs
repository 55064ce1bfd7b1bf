//! From a plan's elements to groups that can be run: scopes resolved as JMeter's compiler does, everything that is not run
//! named with its place.
//!
//! [`controllers`] reads what decides which sampler is next, [`http`] HTTP requests with their defaults, [`scoped`] what
//! is in force for samplers, [`names`] says what is refused and what to write instead.

mod controllers;
mod groups;
mod http;
mod names;
mod scoped;
mod websocket;
mod xpath;

use crate::error::ElementFault;
use crate::js;
use crate::plan::websocket::FrameFilter;
use crate::plan::{
    Assertion, CacheManager, Child, Controller, ControllerKind, CookieManager, Credentials, Group,
    IterationConfig, Listener, PostProcessor, PreProcessor, Sampler, Script, Timer,
};
use crate::run::files::Places;
use crate::text::{self, Text, functions};
use crate::tree::{Element, Props};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that include each other.
const INCLUDES_MAX: usize = 16;

/// What a plan is compiled to.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) groups: Vec<Group>,
    /// The names of files that it may read.
    pub(crate) file_names: Vec<Text>,
    /// Files of which it is made beside its own, by the names in the elements that include them.
    pub(crate) included: Places,
    /// The variables that those files define, with the file of each.
    pub(crate) variables: Vec<(PathBuf, Element)>,
    /// Addresses of names that the system is not asked for.
    pub(crate) hosts: BTreeMap<String, IpAddr>,
}

/// The groups of a plan, or all that is wrong with them. Files that are not where their names say are in `places`.
pub(crate) fn compile(file: &Path, places: &Places, plan: &Element) -> Result<Compiled, Vec<ElementFault>> {
    let mut compiler = Compiler {
        roots: std::slice::from_ref(plan),
        files: vec![file.to_owned()],
        places,
        file_names: Vec::new(),
        included: Places::new(),
        variables: Vec::new(),
        hosts: BTreeMap::new(),
        sites: BTreeMap::new(),
        path: vec![plan.name.clone()],
        modules: Vec::new(),
        site: 0,
        looks_back: false,
        faults: Vec::new(),
    };
    let mut groups = Vec::new();
    for element in &plan.children {
        if let Some(group) = compiler.group(plan, element) {
            groups.push(group);
        }
    }
    if groups.is_empty() && compiler.faults.is_empty() {
        compiler.fault(
            plan,
            "the plan has no Thread Group that is enabled, so nothing would be sent; add one".to_owned(),
        );
    }
    let Compiler { faults, file_names, included, variables, hosts, .. } = compiler;
    if faults.is_empty() {
        Ok(Compiled { groups, file_names, included, variables, hosts })
    } else {
        Err(faults)
    }
}

struct Compiler<'a> {
    /// The plan itself: what Module controllers name stands below it.
    roots: &'a [Element],
    /// The file that is read, below those that include it.
    files: Vec<PathBuf>,
    places: &'a Places,
    /// What names files.
    file_names: Vec<Text>,
    included: Places,
    variables: Vec<(PathBuf, Element)>,
    /// By name in lower case.
    hosts: BTreeMap<String, IpAddr>,
    /// The places of elements right below the plan, by their place among them: they are read for each group, and count for all.
    sites: BTreeMap<usize, u32>,
    /// The names of the elements from the plan down.
    path: Vec<String>,
    /// The places of the modules that are being read.
    modules: Vec<String>,
    /// Numbers what counts by its place.
    site: u32,
    /// Something in the group that is read looks at the response before it.
    looks_back: bool,
    faults: Vec<ElementFault>,
}

/// What is compiled of one group.
#[derive(Default)]
struct GroupParts {
    controllers: Vec<Controller>,
    samplers: Vec<Sampler>,
    cookies: Vec<CookieManager>,
    caches: Vec<CacheManager>,
    iteration_configs: Vec<IterationConfig>,
    listeners: Vec<Listener>,
    /// From the plan's own level inwards: what is in force at each.
    levels: Vec<Vec<Scoped>>,
}

/// An element that is in force for the samplers beside and below it.
enum Scoped {
    /// HTTP Request Defaults.
    Defaults(Box<Props>),
    Headers(Vec<(Text, Text)>),
    /// Indices into the group's.
    Cookies(usize),
    Cache(usize),
    Credentials(Vec<Credentials>),
    Before(Arc<PreProcessor>),
    Timer(Arc<Timer>),
    After(Arc<PostProcessor>),
    Assertion(Arc<Assertion>),
    Listener(usize),
    FrameFilter(Arc<FrameFilter>),
}

impl Compiler<'_> {
    fn fault(&mut self, element: &Element, message: String) {
        let mut names = self.path.clone();
        if names.last() != Some(&element.name) {
            names.push(element.name.clone());
        }
        let fault = ElementFault {
            file: self.files.last().cloned().unwrap_or_default(),
            line: element.line,
            place: names.join(" / "),
            element: names::name_of(element),
            message,
        };
        // What belongs to all groups is read for each.
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    /// Reads a text of an element.
    fn text(&mut self, element: &Element, raw: &str) -> Text {
        let text = text::read(raw, &mut self.site).unwrap_or_else(|fault| {
            self.fault(element, fault.to_string());
            Text::default()
        });
        self.file_names.extend(functions::file_names(&text));
        self.looks_back |= functions::looks_back(&text);
        text
    }

    /// Reads a text that names a file.
    fn file_name(&mut self, element: &Element, raw: &str) -> Text {
        let text = self.text(element, raw);
        if !text.is_empty() {
            self.file_names.push(text.clone());
        }
        text
    }

    /// Reads the text of an element's property.
    fn prop(&mut self, element: &Element, name: &str) -> Text {
        self.text(element, element.props.text(name))
    }

    /// The place of an element whose users count together.
    fn site_of(&mut self, element: &Element) -> u32 {
        let of_plan = self.roots[0].children.iter().position(|child| std::ptr::eq(child, element));
        if let Some(known) = of_plan.and_then(|place| self.sites.get(&place)) {
            return *known;
        }
        self.site += 1;
        self.sites.extend(of_plan.map(|place| (place, self.site)));
        self.site
    }

    fn refuse(&mut self, element: &Element) {
        let message = names::refusal(element);
        self.fault(element, message);
    }

    /// A JSR223 element; none where its language is not run.
    fn script(&mut self, element: &Element) -> Option<Script> {
        let language = element.props.text("scriptLanguage").trim().to_ascii_lowercase();
        let is_java_script =
            ["javascript", "js", "ecmascript", "nashorn", "rhino", "graal.js"].contains(&&*language);
        if !is_java_script {
            let language = if language.is_empty() { "groovy" } else { &language };
            let message = format!(
                "scripts in {language} are not run; write it in JavaScript and set the language to `javascript`"
            );
            self.fault(element, message);
            return None;
        }
        let source = element.props.text("script").to_owned();
        if !source.contains("${")
            && let Err(message) = js::check(&source)
        {
            self.fault(element, format!("the script cannot be read: {message}"));
        }
        // What runs after a sample looks at that one.
        let is_before =
            matches!(element.tag.as_str(), "JSR223PreProcessor" | "JSR223Sampler" | "JSR223Timer");
        let is_elsewhere = !element.props.text("filename").is_empty();
        self.looks_back |= is_before && (is_elsewhere || functions::names_last_sample(&source));
        Some(Script {
            name: element.name.clone(),
            source: self.text(element, &source),
            file: self.file_name(element, element.props.text("filename")),
            parameters: self.prop(element, "parameters"),
        })
    }

    /// What stands below a controller, or below a group.
    fn children(&mut self, parts: &mut GroupParts, controller: usize, elements: &[Element]) {
        let level = self.level(parts, controller, elements);
        parts.levels.push(level);
        parts.controllers[controller].listeners = parts.listeners();
        if matches!(parts.controllers[controller].kind, ControllerKind::Transaction { is_parent: true, .. }) {
            parts.controllers[controller].assertions = parts.assertions();
        }
        for element in elements {
            self.path.push(element.name.clone());
            self.child(parts, controller, element);
            self.path.pop();
        }
        parts.levels.pop();
    }

    fn child(&mut self, parts: &mut GroupParts, controller: usize, element: &Element) {
        match names::role(&element.tag) {
            names::Role::Sampler => {
                if let Some(sampler) = self.sampler(parts, controller, element) {
                    parts.controllers[controller].children.push(Child::Sampler(parts.samplers.len()));
                    parts.samplers.push(sampler);
                }
            }
            names::Role::Controller => self.controller(parts, controller, element),
            names::Role::Scoped | names::Role::Passed => {}
            names::Role::Group => {
                self.fault(
                    element,
                    "a group of threads stands below the Test Plan itself; move it there".to_owned(),
                );
            }
            names::Role::Refused => self.refuse(element),
        }
    }

    /// Adds a controller below another; its place.
    fn add_controller(
        &mut self,
        parts: &mut GroupParts,
        parent: Option<usize>,
        element: &Element,
        kind: ControllerKind,
    ) -> usize {
        let index = parts.controllers.len();
        let name = self.text(element, &element.name);
        parts.controllers.push(Controller {
            name,
            kind,
            children: Vec::new(),
            iteration_configs: Vec::new(),
            listeners: Arc::default(),
            assertions: Arc::default(),
        });
        if let Some(parent) = parent {
            parts.controllers[parent].children.push(Child::Controller(index));
        }
        index
    }
}

impl GroupParts {
    /// All that is in force, the innermost level first.
    fn inner_first(&self) -> impl Iterator<Item = &Scoped> {
        self.levels.iter().rev().flatten()
    }

    /// All that is in force, the outermost level first.
    fn outer_first(&self) -> impl Iterator<Item = &Scoped> {
        self.levels.iter().flatten()
    }

    /// Of headers the innermost manager's of a name count; that one may have several of a name.
    fn headers_in_force(&self) -> Vec<(Text, Text)> {
        let mut all: Vec<(Text, Text)> = Vec::new();
        for scoped in self.inner_first() {
            let Scoped::Headers(headers) = scoped else { continue };
            let is_innermost = all.is_empty();
            for (name, value) in headers {
                let is_same = |known: &Text| {
                    known.as_literal().zip(name.as_literal()).is_some_and(|(a, b)| a.eq_ignore_ascii_case(b))
                };
                let is_host = name.as_literal().is_some_and(|name| name.eq_ignore_ascii_case("host"));
                if is_innermost && !is_host || !all.iter().any(|(known, _)| is_same(known)) {
                    all.push((name.clone(), value.clone()));
                }
            }
        }
        all
    }

    /// The cookie manager's index.
    fn cookies_in_force(&self) -> Option<usize> {
        let managers = self.inner_first().filter_map(|scoped| match scoped {
            Scoped::Cookies(index) => Some(*index),
            _ => None,
        });
        managers.last()
    }

    fn listeners(&self) -> Arc<[usize]> {
        let listeners = self.outer_first().filter_map(|scoped| match scoped {
            Scoped::Listener(index) => Some(*index),
            _ => None,
        });
        listeners.collect()
    }

    /// The innermost first, as JMeter has them for transactions.
    fn assertions(&self) -> Arc<[Arc<Assertion>]> {
        let assertions = self.inner_first().filter_map(|scoped| match scoped {
            Scoped::Assertion(assertion) => Some(Arc::clone(assertion)),
            _ => None,
        });
        assertions.collect()
    }
}
