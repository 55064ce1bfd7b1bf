//! What a server says of its own services (`grpc.reflection.v1`), asked for one thing after another over one stream.

use prost::Message as _;
use prost_types::FileDescriptorProto;
use std::collections::{BTreeSet, VecDeque};

/// The versions that are tried, the later only where a server does not know the one before.
pub(super) const SERVICES: [&str; 2] =
    ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"];
/// A server that has more does not end.
const FILES_MAX: usize = 10_000;

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct ReflectionRequest {
    #[prost(string, tag = "3")]
    file_by_filename: String,
    #[prost(string, tag = "4")]
    file_containing_symbol: String,
    #[prost(string, tag = "7")]
    list_services: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct ReflectionResponse {
    #[prost(message, optional, tag = "4")]
    files: Option<Files>,
    #[prost(message, optional, tag = "6")]
    services: Option<Services>,
    #[prost(message, optional, tag = "7")]
    error: Option<Error>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    file: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Services {
    #[prost(message, repeated, tag = "1")]
    service: Vec<Service>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Service {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Error {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Question {
    Services,
    Service(String),
    File(String),
}

/// What is asked, and what is known so far.
#[derive(Debug, Clone)]
pub(super) struct Reflection {
    asked: Question,
    waiting: VecDeque<Question>,
    /// Of files that were asked for or have come.
    names: BTreeSet<String>,
    services: BTreeSet<String>,
    files: Vec<Vec<u8>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReflectionStep {
    /// A message to send.
    Ask(Vec<u8>),
    /// All files, each a `FileDescriptorProto`.
    Whole(Vec<Vec<u8>>),
}

impl Reflection {
    /// The first message to send.
    pub(super) fn new() -> (Self, Vec<u8>) {
        let reflection = Self {
            asked: Question::Services,
            waiting: VecDeque::new(),
            names: BTreeSet::new(),
            services: BTreeSet::new(),
            files: Vec::new(),
        };
        let first = reflection.request();
        (reflection, first)
    }

    fn request(&self) -> Vec<u8> {
        let request = match &self.asked {
            Question::Services => {
                ReflectionRequest { list_services: "*".to_owned(), ..ReflectionRequest::default() }
            }
            Question::Service(name) => {
                ReflectionRequest { file_containing_symbol: name.clone(), ..ReflectionRequest::default() }
            }
            Question::File(name) => {
                ReflectionRequest { file_by_filename: name.clone(), ..ReflectionRequest::default() }
            }
        };
        request.encode_to_vec()
    }

    /// Takes the response to what was asked.
    pub(super) fn take(&mut self, message: &[u8]) -> Result<ReflectionStep, String> {
        let response = ReflectionResponse::decode(message).map_err(|error| error.to_string())?;
        if let Some(error) = response.error {
            let text = error.message;
            match &self.asked {
                Question::Services => return Err(format!("can't list services: {text}")),
                Question::Service(name) => {
                    return Err(format!("can't get method on service {name:?}: {text}"));
                }
                // Without it, what depends on it says so.
                Question::File(_) => {}
            }
        }
        let services = response.services.unwrap_or_default().service.into_iter();
        self.waiting.extend(services.map(|service| Question::Service(service.name)));
        for file in response.files.unwrap_or_default().file {
            self.take_file(file)?;
        }
        Ok(self.next())
    }

    fn take_file(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        let file = FileDescriptorProto::decode(bytes.as_slice()).map_err(|error| error.to_string())?;
        if self.files.len() >= FILES_MAX {
            return Err(format!("the server has more than {FILES_MAX} files"));
        }
        let is_asked = matches!(&self.asked, Question::File(name) if name == file.name());
        if !self.names.insert(file.name().to_owned()) && !is_asked {
            return Ok(());
        }
        let package = file.package();
        let full =
            |name: &str| if package.is_empty() { name.to_owned() } else { format!("{package}.{name}") };
        self.services.extend(file.service.iter().map(|service| full(service.name())));
        self.waiting.extend(file.dependency.iter().cloned().map(Question::File));
        self.files.push(bytes);
        Ok(())
    }

    fn next(&mut self) -> ReflectionStep {
        while let Some(question) = self.waiting.pop_front() {
            let is_new = match &question {
                Question::Services => true,
                Question::Service(name) => !self.services.contains(name),
                Question::File(name) => self.names.insert(name.clone()),
            };
            if is_new {
                self.asked = question;
                return ReflectionStep::Ask(self.request());
            }
        }
        ReflectionStep::Whole(std::mem::take(&mut self.files))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost_types::ServiceDescriptorProto;

    fn file(name: &str, services: &[&str], dependencies: &[&str]) -> Vec<u8> {
        let service =
            |name: &&str| ServiceDescriptorProto { name: Some((*name).to_owned()), ..Default::default() };
        let file = FileDescriptorProto {
            name: Some(name.to_owned()),
            package: Some("p".to_owned()),
            service: services.iter().map(service).collect(),
            dependency: dependencies.iter().map(|name| (*name).to_owned()).collect(),
            ..FileDescriptorProto::default()
        };
        file.encode_to_vec()
    }

    fn response(files: &[Vec<u8>]) -> Vec<u8> {
        ReflectionResponse { files: Some(Files { file: files.to_vec() }), ..ReflectionResponse::default() }
            .encode_to_vec()
    }

    fn asked(next: &ReflectionStep) -> (String, String) {
        let ReflectionStep::Ask(bytes) = next else { panic!("{next:?}") };
        let request = ReflectionRequest::decode(bytes.as_slice()).unwrap();
        (request.file_containing_symbol, request.file_by_filename)
    }

    #[test]
    fn services_then_files_that_others_depend_on_are_asked_for_once() {
        let (mut reflection, first) = Reflection::new();
        assert_eq!(ReflectionRequest::decode(first.as_slice()).unwrap().list_services, "*");
        let service = |name: &str| Service { name: name.to_owned() };
        let services = Services { service: vec![service("p.A"), service("p.B"), service("p.C")] };
        let listed =
            ReflectionResponse { services: Some(services), ..ReflectionResponse::default() }.encode_to_vec();
        assert_eq!(asked(&reflection.take(&listed).unwrap()), ("p.A".to_owned(), String::new()));
        let both = file("ab.proto", &["A", "B"], &["shared.proto"]);
        let next = reflection.take(&response(&[both])).unwrap();
        assert_eq!(asked(&next), ("p.C".to_owned(), String::new()), "B is known by then");
        let next = reflection.take(&response(&[file("c.proto", &["C"], &["shared.proto"])])).unwrap();
        assert_eq!(asked(&next), (String::new(), "shared.proto".to_owned()));
        let ReflectionStep::Whole(files) =
            reflection.take(&response(&[file("shared.proto", &[], &[])])).unwrap()
        else {
            panic!("nothing is left to ask")
        };
        assert_eq!(files.len(), 3);
    }

    #[test]
    fn an_error_says_what_was_asked() {
        let (mut reflection, _) = Reflection::new();
        let error = Some(Error { code: 7, message: "no".to_owned() });
        let refused = ReflectionResponse { error, ..ReflectionResponse::default() }.encode_to_vec();
        assert_eq!(reflection.take(&refused), Err("can't list services: no".to_owned()));
    }
}
