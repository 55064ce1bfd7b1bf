//! Requests as text: all that never changes is rendered once, values go into its slots.

use prony_model::Plan;
use prony_model::data::template::Template;
use prony_model::data::variable::{Drawn, ValueOf};
use prony_model::plan::request::{AnswerCheck, Request};
use prony_model::plan::target::Target;
use prony_model::plan::wire::Connections;
use prony_model::program::Keep;
use std::io::Write as _;

pub(crate) const USER_AGENT: &str = concat!("prony/", env!("CARGO_PKG_VERSION"));

/// For requests without slots.
const NO_VALUES: [Drawn<'static>; 0] = [];

/// One named request, ready to be written.
#[derive(Debug)]
pub(crate) struct Prepared {
    form: RequestForm,
    /// The plan's variables that it takes values from.
    pub(crate) variables: Vec<usize>,
    /// Index into the plan's targets.
    pub(crate) target: usize,
    pub(crate) is_head: bool,
    /// What must be seen of an answer to judge it.
    pub(crate) keep: Keep,
}

#[derive(Debug)]
enum RequestForm {
    Fixed(Vec<u8>),
    WithoutBody {
        head: Template,
    },
    /// The head ends within the `Content-Length` line.
    WithBody {
        head: Template,
        body: Template,
    },
}

impl Prepared {
    pub(crate) fn all(plan: &Plan) -> Vec<Self> {
        let requests = plan.requests().iter().enumerate();
        requests.map(|(index, request)| Self::new(plan, index, request)).collect()
    }

    fn new(plan: &Plan, index: usize, request: &Request) -> Self {
        let variables = request.variables();
        let mut head = head(plan.connections(), &plan.targets()[plan.target_of(index)].target, request);
        let form = match &request.body {
            None => {
                if ["POST", "PUT", "PATCH"].contains(&request.method.as_str()) {
                    head.push_text(b"Content-Length: 0\r\n");
                }
                head.push_text(b"\r\n");
                RequestForm::WithoutBody { head }
            }
            Some(body) => {
                head.push_text(b"Content-Length: ");
                RequestForm::WithBody { head, body: body.clone() }
            }
        };
        let form = if variables.is_empty() { RequestForm::Fixed(form.bytes()) } else { form };
        Self {
            form,
            variables,
            target: plan.target_of(index),
            is_head: request.method == "HEAD",
            keep: request.keep(),
        }
    }

    /// Appends the text with these values to `out`; `body` is memory to use again.
    pub(crate) fn write(&self, values: &impl ValueOf, body: &mut Vec<u8>, out: &mut Vec<u8>) {
        self.form.write(values, body, out);
    }
}

impl RequestForm {
    fn bytes(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.write(&NO_VALUES, &mut Vec::new(), &mut text);
        text
    }

    fn write(&self, values: &impl ValueOf, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        match self {
            Self::Fixed(bytes) => out.extend_from_slice(bytes),
            Self::WithoutBody { head } => head.render(values, out),
            Self::WithBody { head, body } => {
                scratch.clear();
                body.render(values, scratch);
                head.render(values, out);
                write!(out, "{}\r\n\r\n", scratch.len()).expect("writing into memory does not fail");
                out.extend_from_slice(scratch);
            }
        }
    }
}

/// Request line and headers, each line ended.
fn head(connections: Connections, target: &Target, request: &Request) -> Template {
    let mut head = Template::fixed(format!("{} {}", request.method, target.path_prefix));
    head.push(&request.path);
    head.push_text(b" HTTP/1.1\r\n");
    let is_graphql = request.check == AnswerCheck::GraphQl;
    let mut defaults = vec![("Host", target.authority()), ("User-Agent", USER_AGENT.to_owned())];
    if is_graphql {
        defaults.push(("Content-Type", "application/json".to_owned()));
        defaults.push(("Accept", "application/graphql-response+json, application/json;q=0.9".to_owned()));
    }
    if connections == Connections::Fresh {
        defaults.push(("Connection", "close".to_owned()));
    }
    for (name, value) in defaults {
        if !request.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
            head.push_text(format!("{name}: {value}\r\n").as_bytes());
        }
    }
    for (name, value) in &request.headers {
        head.push_text(format!("{name}: ").as_bytes());
        head.push(value);
        head.push_text(b"\r\n");
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use prony_model::{BodyDraft, LoadModel, Nanos, PlanDraft, RequestDraft, Target, Variable};

    #[test]
    fn requests_are_rendered_with_their_length() {
        let load = LoadModel::constant(1, Nanos::from_secs(1));
        let mut draft = PlanDraft::new("t", Target::parse("http://[::1]:8080/api/").unwrap(), load);
        draft.variables = vec![Variable::range("n", 7, 7)];
        let given = serde_json::json!({"id": "${n}"}).as_object().unwrap().clone();
        let mut post = RequestDraft::get("post", "/p?n=${n}");
        (post.method, post.body) = ("POST".to_owned(), BodyDraft::Text("n=${n}".to_owned()));
        post.headers = vec![("user-agent".to_owned(), "me ${n}".to_owned())];
        draft.requests = vec![
            RequestDraft::get("get", "/g"),
            RequestDraft::graphql("q", "/graphql", "query($id: Int) { a }", given),
            post,
        ];
        let plan = draft.check().unwrap();
        let shown: Vec<_> = Prepared::all(&plan)
            .iter()
            .map(|prepared| {
                let mut text = Vec::new();
                prepared.write(&[Drawn::Integer(7)], &mut Vec::new(), &mut text);
                String::from_utf8(text).unwrap()
            })
            .collect();
        expect![[r#"
            GET /api/g HTTP/1.1
            Host: [::1]:8080
            User-Agent: prony/0.1.0


            ---
            POST /api/graphql HTTP/1.1
            Host: [::1]:8080
            User-Agent: prony/0.1.0
            Content-Type: application/json
            Accept: application/graphql-response+json, application/json;q=0.9
            Content-Length: 54

            {"query":"query($id: Int) { a }","variables":{"id":7}}
            ---
            POST /api/p?n=7 HTTP/1.1
            Host: [::1]:8080
            user-agent: me 7
            Content-Length: 3

            n=7"#]]
        .assert_eq(&shown.join("\n---\n").replace('\r', ""));
    }
}
