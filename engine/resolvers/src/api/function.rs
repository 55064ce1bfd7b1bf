//! Functions of every form behind one trait: for a root field or for parents, one by one or all at once, at once
//! or waiting.

use std::{any::TypeId, marker::PhantomData, sync::Arc};

use futures_util::future::join_all;
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
};
use serde::de::DeserializeOwned;

use crate::{
    api::{
        answer::{Answer, Output},
        context::Context,
        error::Error,
        parent::Parent,
        signature::{ParentType, Signature},
    },
    execute::{
        guard::{Later, Row, Rows, Scope, guarded, guarded_later},
        input::Input,
        plan::{CallPlan, Resolve},
        rows::Column,
        run::{finish_column, finish_column_later, finish_root, finish_root_later},
    },
    reflect,
};

/// Calls of one function for several parents that wait at the same time.
const MAX_CALLS_AT_ONCE: usize = 64;

/// What differs between the forms of functions.
trait Caller: Send + Sync {
    type Answer: Answer;
    const WAITS: bool;

    fn signature(&self) -> Signature;

    /// For root fields there are no parents, and one row.
    fn now(&self, input: Input<'_>, parents: &[&dyn Parent]) -> Rows<Self::Answer>;

    fn later(
        &self,
        _scope: Scope<'_>,
        input: Input<'_>,
        parents: &[&dyn Parent],
    ) -> impl Future<Output = Rows<Self::Answer>> + Send {
        async move { self.now(input, parents) }
    }
}

impl<T: Caller> Resolve for T {
    fn signature(&self) -> Signature {
        Caller::signature(self)
    }

    fn waits(&self) -> bool {
        T::WAITS
    }

    fn root(&self, scope: Scope<'_>, call: &CallPlan) -> FieldResult {
        finish_root(&self.now(Input::new(&call.arguments, scope.variables), &[]), scope, call)
    }

    fn root_later<'a>(&'a self, scope: Scope<'a>, call: &'a CallPlan) -> Later<'a, FieldResult> {
        Box::pin(async move {
            let rows = self.later(scope, Input::new(&call.arguments, scope.variables), &[]).await;
            finish_root_later(&rows, scope, call).await
        })
    }

    fn column(&self, scope: Scope<'_>, call: &CallPlan, parents: &[&dyn Parent]) -> Column {
        if parents.is_empty() {
            return Column::default();
        }
        finish_column(&self.now(Input::new(&call.arguments, scope.variables), parents), scope, call)
    }

    fn column_later<'a>(
        &'a self,
        scope: Scope<'a>,
        call: &'a CallPlan,
        parents: &'a [&'a dyn Parent],
    ) -> Later<'a, Column> {
        Box::pin(async move {
            if parents.is_empty() {
                return Column::default();
            }
            let rows = self.later(scope, Input::new(&call.arguments, scope.variables), parents).await;
            finish_column_later(&rows, scope, call).await
        })
    }
}

fn parent_type<P: Output>() -> ParentType {
    ParentType { name: P::NAME, rust: std::any::type_name::<P>(), id: TypeId::of::<P>() }
}

pub(crate) fn arguments<A: DeserializeOwned>(input: Input<'_>) -> Row<A> {
    A::deserialize(input).map_err(|error| {
        let message = format!("the arguments do not fit: {error}");
        Box::new(GraphqlError::new(ErrorCode::BadUserInput, message))
    })
}

fn typed<P: 'static>(parent: &dyn Parent) -> Row<&P> {
    parent.as_any().downcast_ref().ok_or_else(|| {
        let detail = format!("a parent of {} is not {}", parent.name(), std::any::type_name::<P>());
        Box::new(Error::masked(detail).to_graphql())
    })
}

/// A result for each parent of a level, in their order: `Vec<A>`, or `Result<Vec<A>, Error>`.
pub trait Batch: Send + 'static {
    type Item: Answer;
    #[doc(hidden)]
    fn items(self) -> Result<Vec<Self::Item>, Error>;
}

impl<T: Answer> Batch for Vec<T> {
    type Item = T;

    fn items(self) -> Result<Self, Error> {
        Ok(self)
    }
}

impl<A: Answer> Batch for Result<Vec<A>, Error> {
    type Item = A;

    fn items(self) -> Self {
        self
    }
}

/// Rows of a batch, if it has as many as there are parents.
fn batch_rows<B: Batch>(answered: Row<B>, parents: usize) -> Rows<B::Item> {
    let items = match answered.map(Batch::items) {
        Ok(Ok(items)) => items,
        Ok(Err(error)) => return Rows::failed(parents, &error.to_graphql()),
        Err(error) => return Rows::failed(parents, &error),
    };
    if items.len() != parents {
        let detail = format!("a batch function answered {} rows for {parents} parents", items.len());
        return Rows::failed(parents, &Error::masked(detail).to_graphql());
    }
    Rows::Many(items.into_iter().map(Ok).collect())
}

/// A function with its context; `M` stands for its form and types.
struct Bound<C, F, M> {
    context: Context<C>,
    function: F,
    form: PhantomData<fn() -> M>,
}

impl<C, F, M> Bound<C, F, M> {
    fn new(context: Context<C>, function: F) -> Self {
        Self { context, function, form: PhantomData }
    }
}

/// The forms: `(context, arguments)`, `(context, parent, arguments)`, `(context, parents, arguments)`.
#[doc(hidden)]
#[derive(Debug)]
pub struct AtRoot<A, R>(PhantomData<(A, R)>);
#[doc(hidden)]
#[derive(Debug)]
pub struct OfParent<P, A, R>(PhantomData<(P, A, R)>);
#[doc(hidden)]
#[derive(Debug)]
pub struct OfParents<P, A, B>(PhantomData<(P, A, B)>);
#[doc(hidden)]
#[derive(Debug)]
pub struct Waiting<M, T>(PhantomData<(M, T)>);

macro_rules! function_trait {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        pub trait $name<C, M>: Sized {
            #[doc(hidden)]
            fn bind(self, context: Context<C>) -> Bind;
        }
    };
}

/// A function on its way into a schema.
#[doc(hidden)]
pub struct Bind(pub(crate) Arc<dyn Resolve>);

impl std::fmt::Debug for Bind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Bind")
    }
}

function_trait! {
    /// `Fn(&Context, Arguments) -> Answer` for a root field, `Fn(&Context, &Parent, Arguments) -> Answer` for a
    /// field of another type. Arguments are any `DeserializeOwned` struct, or `()`.
    #[diagnostic::on_unimplemented(
        message = "this is no function for a field",
        label = "its arguments or its answer do not fit",
        note = "a root field wants `Fn(&Context, Arguments) -> Answer`, a field of another type `Fn(&Context, &Parent, Arguments) -> Answer`",
        note = "arguments are one value that serde reads, `(): ()` where there are none; an answer's own types are named in `outputs!`"
    )]
    FieldFunction
}
function_trait! {
    /// `Fn(&Context, &[&Parent], Arguments) -> Batch`: called once for all parents of a level.
    #[diagnostic::on_unimplemented(
        message = "this is no function for a field",
        label = "its arguments or its answer do not fit",
        note = "a batch wants `Fn(&Context, &[&Parent], Arguments) -> Vec<Answer>`, or a `Result` of that",
        note = "arguments are one value that serde reads, `(): ()` where there are none; an answer's own types are named in `outputs!`"
    )]
    BatchFunction
}
function_trait! {
    /// `Fn(Arc<Context>, Arguments) -> Future` for a root field, `Fn(Arc<Context>, Parent, Arguments) -> Future`
    /// for a field of another type, whose parents are cloned.
    #[diagnostic::on_unimplemented(
        message = "this is no function for a field",
        label = "its arguments or its answer do not fit",
        note = "a root field wants `Fn(Arc<Context>, Arguments) -> impl Future<Output = Answer> + Send`, a field of another type `Fn(Arc<Context>, Parent, Arguments) -> …`",
        note = "arguments are one value that serde reads, `(): ()` where there are none; an answer's own types are named in `outputs!`"
    )]
    AsyncFieldFunction
}
function_trait! {
    /// `Fn(Arc<Context>, Vec<Parent>, Arguments) -> Future`: called once for all parents of a level, clones of
    /// them.
    #[diagnostic::on_unimplemented(
        message = "this is no function for a field",
        label = "its arguments or its answer do not fit",
        note = "a batch wants `Fn(Arc<Context>, Vec<Parent>, Arguments) -> impl Future<Output = Vec<Answer>> + Send`, or a `Result` of that",
        note = "arguments are one value that serde reads, `(): ()` where there are none; an answer's own types are named in `outputs!`"
    )]
    AsyncBatchFunction
}

pub(crate) fn signature<A: DeserializeOwned, R: Answer>(parent: Option<ParentType>) -> Signature {
    Signature { parent, arguments: reflect::arguments::<A>(), answer: R::shape(), is_event: false }
}

impl<C, F, A, R> Caller for Bound<C, F, AtRoot<A, R>>
where
    C: Send + Sync + 'static,
    F: Fn(&C, A) -> R + Send + Sync + 'static,
    A: DeserializeOwned + 'static,
    R: Answer,
{
    type Answer = R;
    const WAITS: bool = false;

    fn signature(&self) -> Signature {
        signature::<A, R>(None)
    }

    fn now(&self, input: Input<'_>, _parents: &[&dyn Parent]) -> Rows<R> {
        let row = self.context.get(input.variables()).and_then(|context| {
            let arguments = arguments(input)?;
            guarded(|| (self.function)(context, arguments))
        });
        Rows::One([row])
    }
}

impl<C, F, P, A, R> Caller for Bound<C, F, OfParent<P, A, R>>
where
    C: Send + Sync + 'static,
    F: Fn(&C, &P, A) -> R + Send + Sync + 'static,
    P: Output,
    A: DeserializeOwned + 'static,
    R: Answer,
{
    type Answer = R;
    const WAITS: bool = false;

    fn signature(&self) -> Signature {
        signature::<A, R>(Some(parent_type::<P>()))
    }

    fn now(&self, input: Input<'_>, parents: &[&dyn Parent]) -> Rows<R> {
        let row = |parent: &&dyn Parent| {
            let context = self.context.get(input.variables())?;
            let (parent, arguments) = (typed(*parent)?, arguments(input)?);
            guarded(|| (self.function)(context, parent, arguments))
        };
        Rows::Many(parents.iter().map(row).collect())
    }
}

impl<C, F, P, A, B> Caller for Bound<C, F, OfParents<P, A, B>>
where
    C: Send + Sync + 'static,
    F: Fn(&C, &[&P], A) -> B + Send + Sync + 'static,
    P: Output,
    A: DeserializeOwned + 'static,
    B: Batch,
{
    type Answer = B::Item;
    const WAITS: bool = false;

    fn signature(&self) -> Signature {
        signature::<A, B::Item>(Some(parent_type::<P>()))
    }

    fn now(&self, input: Input<'_>, parents: &[&dyn Parent]) -> Rows<B::Item> {
        let typed = parents.iter().map(|parent| typed(*parent)).collect::<Row<Vec<&P>>>();
        let answered = typed.and_then(|parents| {
            let (context, arguments) = (self.context.get(input.variables())?, arguments(input)?);
            guarded(|| (self.function)(context, &parents, arguments))
        });
        batch_rows(answered, parents.len())
    }
}

fn never_now() -> ! {
    unreachable!("a plan with a function that waits is awaited")
}

impl<C, F, A, T> Caller for Bound<C, F, Waiting<AtRoot<A, T::Output>, T>>
where
    C: Send + Sync + 'static,
    F: Fn(Arc<C>, A) -> T + Send + Sync + 'static,
    A: DeserializeOwned + Send + 'static,
    T: Future<Output: Answer> + Send + 'static,
{
    type Answer = T::Output;
    const WAITS: bool = true;

    fn signature(&self) -> Signature {
        signature::<A, T::Output>(None)
    }

    fn now(&self, _input: Input<'_>, _parents: &[&dyn Parent]) -> Rows<T::Output> {
        never_now()
    }

    async fn later(&self, scope: Scope<'_>, input: Input<'_>, _parents: &[&dyn Parent]) -> Rows<T::Output> {
        let begun = self.context.share(scope.variables).and_then(|context| {
            let arguments = arguments(input)?;
            guarded(|| (self.function)(context, arguments))
        });
        Rows::One([finish_one(scope, begun).await])
    }
}

impl<C, F, P, A, T> Caller for Bound<C, F, Waiting<OfParent<P, A, T::Output>, T>>
where
    C: Send + Sync + 'static,
    F: Fn(Arc<C>, P, A) -> T + Send + Sync + 'static,
    P: Output + Clone,
    A: DeserializeOwned + Send + 'static,
    T: Future<Output: Answer> + Send + 'static,
{
    type Answer = T::Output;
    const WAITS: bool = true;

    fn signature(&self) -> Signature {
        signature::<A, T::Output>(Some(parent_type::<P>()))
    }

    fn now(&self, _input: Input<'_>, _parents: &[&dyn Parent]) -> Rows<T::Output> {
        never_now()
    }

    async fn later(&self, scope: Scope<'_>, input: Input<'_>, parents: &[&dyn Parent]) -> Rows<T::Output> {
        let begin = |parent: &dyn Parent| {
            let context = self.context.share(scope.variables)?;
            let (parent, arguments) = (typed::<P>(parent)?, arguments(input)?);
            guarded(|| (self.function)(context, parent.clone(), arguments))
        };
        let mut rows = Vec::with_capacity(parents.len());
        for some in parents.chunks(MAX_CALLS_AT_ONCE) {
            let calls: Vec<Row<T>> = some.iter().map(|parent| begin(*parent)).collect();
            rows.extend(join_all(calls.into_iter().map(|call| finish_one(scope, call))).await);
        }
        Rows::Many(rows)
    }
}

async fn finish_one<T: Future + Send>(scope: Scope<'_>, begun: Row<T>) -> Row<T::Output> {
    match begun {
        Ok(call) => guarded_later(scope, call).await,
        Err(error) => Err(error),
    }
}

impl<C, F, P, A, T> Caller for Bound<C, F, Waiting<OfParents<P, A, T::Output>, T>>
where
    C: Send + Sync + 'static,
    F: Fn(Arc<C>, Vec<P>, A) -> T + Send + Sync + 'static,
    P: Output + Clone,
    A: DeserializeOwned + Send + 'static,
    T: Future<Output: Batch> + Send + 'static,
{
    type Answer = <T::Output as Batch>::Item;
    const WAITS: bool = true;

    fn signature(&self) -> Signature {
        signature::<A, Self::Answer>(Some(parent_type::<P>()))
    }

    fn now(&self, _input: Input<'_>, _parents: &[&dyn Parent]) -> Rows<Self::Answer> {
        never_now()
    }

    async fn later(&self, scope: Scope<'_>, input: Input<'_>, parents: &[&dyn Parent]) -> Rows<Self::Answer> {
        let typed = parents.iter().map(|parent| typed::<P>(*parent).cloned()).collect::<Row<Vec<P>>>();
        let begun = typed.and_then(|parents| {
            let (context, arguments) = (self.context.share(scope.variables)?, arguments(input)?);
            guarded(|| (self.function)(context, parents, arguments))
        });
        batch_rows(finish_one(scope, begun).await, parents.len())
    }
}

impl<C, F, A, R> FieldFunction<C, AtRoot<A, R>> for F
where
    C: Send + Sync + 'static,
    F: Fn(&C, A) -> R + Send + Sync + 'static,
    A: DeserializeOwned + 'static,
    R: Answer,
{
    fn bind(self, context: Context<C>) -> Bind {
        Bind(Arc::new(Bound::<C, F, AtRoot<A, R>>::new(context, self)))
    }
}

impl<C, F, P, A, R> FieldFunction<C, OfParent<P, A, R>> for F
where
    C: Send + Sync + 'static,
    F: Fn(&C, &P, A) -> R + Send + Sync + 'static,
    P: Output,
    A: DeserializeOwned + 'static,
    R: Answer,
{
    fn bind(self, context: Context<C>) -> Bind {
        Bind(Arc::new(Bound::<C, F, OfParent<P, A, R>>::new(context, self)))
    }
}

impl<C, F, P, A, B> BatchFunction<C, OfParents<P, A, B>> for F
where
    C: Send + Sync + 'static,
    F: Fn(&C, &[&P], A) -> B + Send + Sync + 'static,
    P: Output,
    A: DeserializeOwned + 'static,
    B: Batch,
{
    fn bind(self, context: Context<C>) -> Bind {
        Bind(Arc::new(Bound::<C, F, OfParents<P, A, B>>::new(context, self)))
    }
}

impl<C, F, A, T> AsyncFieldFunction<C, Waiting<AtRoot<A, T::Output>, T>> for F
where
    C: Send + Sync + 'static,
    F: Fn(Arc<C>, A) -> T + Send + Sync + 'static,
    A: DeserializeOwned + Send + 'static,
    T: Future<Output: Answer> + Send + 'static,
{
    fn bind(self, context: Context<C>) -> Bind {
        Bind(Arc::new(Bound::<C, F, Waiting<AtRoot<A, T::Output>, T>>::new(context, self)))
    }
}

impl<C, F, P, A, T> AsyncFieldFunction<C, Waiting<OfParent<P, A, T::Output>, T>> for F
where
    C: Send + Sync + 'static,
    F: Fn(Arc<C>, P, A) -> T + Send + Sync + 'static,
    P: Output + Clone,
    A: DeserializeOwned + Send + 'static,
    T: Future<Output: Answer> + Send + 'static,
{
    fn bind(self, context: Context<C>) -> Bind {
        Bind(Arc::new(Bound::<C, F, Waiting<OfParent<P, A, T::Output>, T>>::new(context, self)))
    }
}

impl<C, F, P, A, T> AsyncBatchFunction<C, Waiting<OfParents<P, A, T::Output>, T>> for F
where
    C: Send + Sync + 'static,
    F: Fn(Arc<C>, Vec<P>, A) -> T + Send + Sync + 'static,
    P: Output + Clone,
    A: DeserializeOwned + Send + 'static,
    T: Future<Output: Batch> + Send + 'static,
{
    fn bind(self, context: Context<C>) -> Bind {
        Bind(Arc::new(Bound::<C, F, Waiting<OfParents<P, A, T::Output>, T>>::new(context, self)))
    }
}
