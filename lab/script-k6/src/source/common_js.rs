//! `CommonJS` as ES modules: which names a file exports, and the text around it that makes it one.

use oxc::ast::ast::{
    Argument, AssignmentExpression, AssignmentTarget, CallExpression, Expression, ObjectExpression,
    ObjectPropertyKind, Program,
};
use oxc::ast_visit::{Visit, walk};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The built-in module that runs `CommonJS`.
pub(crate) const RUNNER: &str = "source:commonjs";

/// The export under which the whole of `module.exports` is found, as in Node.js.
pub(crate) const WHOLE: &str = "module.exports";

/// The names that a file gives `exports` and `module.exports` in plain sight.
pub(super) fn exported_names(program: &Program<'_>) -> Vec<String> {
    let mut finder = ExportFinder::default();
    finder.visit_program(program);
    finder.names.into_iter().collect()
}

#[derive(Default)]
struct ExportFinder {
    names: BTreeSet<String>,
}

impl ExportFinder {
    fn add_keys(&mut self, object: &ObjectExpression<'_>) {
        for property in &object.properties {
            if let ObjectPropertyKind::ObjectProperty(property) = property
                && let Some(name) = property.key.static_name()
            {
                self.names.insert(name.into_owned());
            }
        }
    }
}

impl<'a> Visit<'a> for ExportFinder {
    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        if let AssignmentTarget::StaticMemberExpression(target) = &assignment.left {
            if is_exports(&target.object) {
                self.names.insert(target.property.name.to_string());
            } else if is_module(&target.object)
                && target.property.name == "exports"
                && let Expression::ObjectExpression(object) = &assignment.right
            {
                self.add_keys(object);
            }
        }
        walk::walk_assignment_expression(self, assignment);
    }

    /// `Object.defineProperty(exports, "name", …)`, as compilers write it.
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        let defines = matches!(&call.callee, Expression::StaticMemberExpression(callee)
            if callee.property.name == "defineProperty");
        if let ([Argument::Identifier(target), Argument::StringLiteral(name), ..], true) =
            (&call.arguments[..], defines)
            && target.name == "exports"
        {
            self.names.insert(name.value.to_string());
        }
        walk::walk_call_expression(self, call);
    }
}

fn is_module(expression: &Expression<'_>) -> bool {
    matches!(expression, Expression::Identifier(name) if name.name == "module")
}

/// `exports` or `module.exports`.
fn is_exports(expression: &Expression<'_>) -> bool {
    match expression {
        Expression::Identifier(name) => name.name == "exports",
        Expression::StaticMemberExpression(member) => {
            member.property.name == "exports" && is_module(&member.object)
        }
        _ => false,
    }
}

/// An ES module that runs a `CommonJS` text as a function, as k6 does: in strict mode, once for each user. `names` are
/// what it exports beside `default` and [`WHOLE`]. The number says how many bytes stand before the first line.
pub(super) fn wrapped<'a>(name: &str, text: &str, names: impl Iterator<Item = &'a str>) -> (String, u32) {
    let before = format!(
        "import{{run as $run}}from\"{RUNNER}\";const $all=$run({},function(module,exports,require){{",
        quoted(name)
    );
    // The end of a line ends a comment on the last one.
    let mut module = format!("{before}{text}\n}});export{{$all as {}}};", quoted(WHOLE));
    module.push_str("const $default=$all.default;export default $default===void 0?$all:$default;");
    for (index, name) in names.filter(|name| !["default", WHOLE].contains(name)).enumerate() {
        let name = quoted(name);
        write!(module, "const ${index}=$all[{name}];export{{${index} as {name}}};")
            .expect("texts take everything that is written");
    }
    (module, before.len() as u32)
}

/// What stands before the first line of an ES module that calls `require`.
pub(super) fn require_for(name: &str) -> String {
    format!("import{{requireFrom as $require}}from\"{RUNNER}\";const require=$require({});", quoted(name))
}

/// What stands before the first line of an ES module that looks at `import.meta`, which has the function `resolve`.
pub(super) fn meta_for(name: &str) -> String {
    format!(
        "import{{resolveFrom as $resolve}}from\"{RUNNER}\";import.meta.resolve=$resolve({});",
        quoted(name)
    )
}

/// A text as a literal of JavaScript.
fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\u{2028}' | '\u{2029}' => {
                write!(literal, "\\u{:04x}", c as u32).expect("texts take everything that is written");
            }
            _ => literal.push(c),
        }
    }
    literal.push('"');
    literal
}
