//! `@authenticated`, `@requiresScopes` and `@policy`: what must be known of who asks, with the meaning that these directives have
//! in Apollo Federation. One at a type holds for all fields that return it and for its own.

use apollo_compiler::{
    Name, Node, Schema as Compiled,
    ast::{self, Definition, Directive, Document},
    collections::HashMap,
    schema::ExtendedType,
};

use crate::{
    error::{ErrorCode, GraphqlError},
    variables::{Authority, Variables},
};

const AUTHENTICATED: &str = "authenticated";
const REQUIRES_SCOPES: &str = "requiresScopes";
const POLICY: &str = "policy";

/// What a schema gets that uses one of them and does not define it.
const DEFINITIONS: [(&str, &str); 3] = [
    (AUTHENTICATED, "directive @authenticated on FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM"),
    (
        REQUIRES_SCOPES,
        "directive @requiresScopes(scopes: [[String!]!]!) on FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM",
    ),
    (
        POLICY,
        "directive @policy(policies: [[String!]!]!) on FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM",
    ),
];

/// One thing that must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    Authenticated,
    /// All scopes of one of the lists.
    Scopes(Vec<Vec<String>>),
    /// All policies of one of the lists.
    Policies(Vec<Vec<String>>),
}

/// One of [`Requirements`], by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequirementId(usize);

/// All that a schema wants to know of who asks; each once.
#[derive(Debug, Default)]
pub struct Requirements {
    all: Vec<Requirement>,
    /// At types; sorted.
    types: HashMap<Name, Vec<RequirementId>>,
    /// At fields; sorted.
    fields: HashMap<(Name, Name), Vec<RequirementId>>,
}

/// Which requirements are not met, by their ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unmet(Box<[bool]>);

/// The text of a schema with the definitions of those that it uses.
pub fn with_definitions(sdl: &str) -> String {
    let mut text = sdl.to_owned();
    if DEFINITIONS.iter().all(|(name, _)| !sdl.contains(&format!("@{name}"))) {
        return text;
    }
    // What is wrong with the text is told by who parses the whole.
    let document = match Document::parse(sdl, "schema") {
        Ok(document) => document,
        Err(broken) => broken.partial,
    };
    let is_defined = |name: &str| {
        let mut definitions = document.definitions.iter();
        definitions.any(
            |definition| matches!(definition, Definition::DirectiveDefinition(known) if known.name == name),
        )
    };
    for (name, definition) in DEFINITIONS {
        if sdl.contains(&format!("@{name}")) && !is_defined(name) {
            text.push('\n');
            text.push_str(definition);
        }
    }
    text
}

impl Requirements {
    /// `applies` says which directives have functions of the program's own, and mean what those do.
    pub fn of(schema: &Compiled, applies: impl Fn(&str) -> bool) -> Self {
        let mut found = Self::default();
        for (name, definition) in &schema.types {
            if definition.is_built_in() {
                continue;
            }
            let directives: Vec<&Node<Directive>> =
                definition.directives().iter().map(|one| &one.node).collect();
            let of_type = found.read(&directives, &applies);
            if !of_type.is_empty() {
                found.types.insert(name.clone(), of_type);
            }
            let fields = match definition {
                ExtendedType::Object(object) => &object.fields,
                ExtendedType::Interface(interface) => &interface.fields,
                _ => continue,
            };
            for (field, definition) in fields {
                let directives: Vec<&Node<Directive>> = definition.directives.iter().collect();
                let of_field = found.read(&directives, &applies);
                if !of_field.is_empty() {
                    found.fields.insert((name.clone(), field.clone()), of_field);
                }
            }
        }
        found
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn read(
        &mut self,
        directives: &[&Node<Directive>],
        applies: &impl Fn(&str) -> bool,
    ) -> Vec<RequirementId> {
        let mut ids = Vec::new();
        for directive in directives.iter().filter(|directive| !applies(&directive.name)) {
            let lists =
                |argument: &str| directive.specified_argument_by_name(argument).map(|value| lists(value));
            let requirement = match directive.name.as_str() {
                AUTHENTICATED => Requirement::Authenticated,
                REQUIRES_SCOPES => Requirement::Scopes(lists("scopes").unwrap_or_default()),
                POLICY => Requirement::Policies(lists("policies").unwrap_or_default()),
                _ => continue,
            };
            let known = self.all.iter().position(|known| *known == requirement);
            ids.push(RequirementId(known.unwrap_or_else(|| {
                self.all.push(requirement);
                self.all.len() - 1
            })));
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// What a field of an object type wants: of itself, of its type, of what it returns, and of the interfaces that declare it.
    pub fn of_field<'r>(
        &'r self,
        schema: &'r Compiled,
        type_name: &'r Name,
        field: &'r Name,
        returns: &'r Name,
    ) -> impl Iterator<Item = RequirementId> + 'r {
        let interfaces = match schema.types.get(type_name) {
            Some(ExtendedType::Object(object)) => Some(&object.implements_interfaces),
            Some(ExtendedType::Interface(interface)) => Some(&interface.implements_interfaces),
            _ => None,
        };
        let interfaces = interfaces.into_iter().flatten().map(|interface| &interface.name);
        let declaring = interfaces.chain([type_name]);
        let at_fields =
            declaring.filter_map(move |of| self.fields.get(&(of.clone(), field.clone()))).flatten();
        let at_types = [type_name, returns].into_iter().filter_map(|of| self.types.get(of)).flatten();
        at_fields.chain(at_types).copied()
    }

    /// What of all of them does not hold of who asks; none where everything does.
    pub fn unmet(&self, variables: &Variables) -> Option<Unmet> {
        let nobody = Authority::default();
        let authority = variables.authority().map_or(&nobody, |authority| authority);
        let unmet: Box<[bool]> = self.all.iter().map(|requirement| !requirement.holds(authority)).collect();
        unmet.contains(&true).then_some(Unmet(unmet))
    }

    /// Whether a policy that is wanted is none of these.
    pub fn lacks_policy(&self, id: RequirementId, granted: &impl Fn(&str) -> bool) -> bool {
        match &self.all[id.0] {
            Requirement::Policies(any_of) => !any(any_of, granted),
            Requirement::Authenticated | Requirement::Scopes(_) => false,
        }
    }

    /// The error of a field that wants what does not hold.
    pub fn error(&self, ids: impl Iterator<Item = RequirementId>, unmet: &Unmet) -> Option<GraphqlError> {
        let mut found: Option<&Requirement> = None;
        for id in ids.filter(|id| unmet.0[id.0]) {
            let requirement = &self.all[id.0];
            // Who is not known at all is told so first.
            if found.is_none() || *requirement == Requirement::Authenticated {
                found = Some(requirement);
            }
        }
        found.map(Requirement::error)
    }
}

impl Requirement {
    fn holds(&self, authority: &Authority) -> bool {
        match self {
            Self::Authenticated => authority.is_authenticated,
            Self::Scopes(any_of) => any(any_of, &|scope| authority.has_scope(scope)),
            Self::Policies(any_of) => any(any_of, &|policy| authority.has_policy(policy)),
        }
    }

    fn error(&self) -> GraphqlError {
        match self {
            Self::Authenticated => {
                GraphqlError::new(ErrorCode::Unauthenticated, "credentials are needed for this field")
            }
            Self::Scopes(_) => GraphqlError::new(ErrorCode::Forbidden, "a scope is missing for this field"),
            Self::Policies(_) => GraphqlError::new(ErrorCode::Forbidden, "a policy refuses this field"),
        }
    }
}

fn any(any_of: &[Vec<String>], granted: &impl Fn(&str) -> bool) -> bool {
    any_of.iter().any(|all| all.iter().all(|one| granted(one)))
}

/// A list of lists of texts, of which GraphQL lets brackets be left out.
fn lists(value: &ast::Value) -> Vec<Vec<String>> {
    match value {
        ast::Value::List(items) => items.iter().map(|item| texts(item)).collect(),
        other => vec![texts(other)],
    }
}

fn texts(value: &ast::Value) -> Vec<String> {
    match value {
        ast::Value::List(items) => items.iter().flat_map(|item| texts(item)).collect(),
        ast::Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}
