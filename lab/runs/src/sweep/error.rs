//! Why a sweep cannot be made, or did not come to its end.

use super::payload::PayloadError;
use super::target::TargetError;
use crate::kind::OpenError;
use crate::many::ManyError;
use prony_model::plan::PlanFaults;
use prony_model::sweep::SpaceError;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error(transparent)]
    Space(#[from] SpaceError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Plan(#[from] PlanFaults),
    #[error(transparent)]
    Payload(#[from] PayloadError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Many(#[from] ManyError),
    #[error(
        "a script on standard input can be read once only, and each combination reads it anew; write it to a file"
    )]
    StandardInput,
    #[error("no combination is asked for; write for example --users 50,100,200")]
    NoCombinations,
    #[error(
        "scenario `{scenario}` starts requests at a rate, so its users are not its load; leave --users out and sweep the rest, \
         or write a plan with `users`"
    )]
    UsersOfARate { scenario: String },
    #[error(
        "{users} users cannot be shared among {scenarios} scenarios; leave out what is below {scenarios}"
    )]
    TooFew { users: u32, scenarios: usize },
    #[error(
        "`{name}` is a setting of the target, and nothing starts the target; write for example \
         --target-start 'java -Xmx{{{place}}} -jar shop.jar'"
    )]
    NoTargetCommand { name: String, place: String },
    #[error(
        "`{name}` changes nothing: {{{place}}} stands neither in --target-start nor in --target-stop or --gc-log"
    )]
    NoPlace { name: String, place: String },
    #[error(
        "{} holds another sweep: {differences}; write the same again, or leave --resume out for a new one",
        folder.display()
    )]
    Different { folder: PathBuf, differences: String },
    #[error("cannot go on with {}: {cause}", path.display())]
    Account { path: PathBuf, cause: String },
}
