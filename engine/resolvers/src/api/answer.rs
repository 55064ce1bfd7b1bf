//! What functions may answer: the user's types ([`Output`]), and options, lists and results of them ([`Answer`]).

use std::{
    any::{Any, TypeId, type_name},
    sync::Arc,
};

use serde::Serialize;
use serde_json::Value as Json;

use crate::{
    api::{
        error::Error,
        parent::Parent,
        signature::{AnswerForm, AnswerShape},
    },
    execute::plan::{OutputKind, OutputPlan},
    reflect,
    write::{Nulled, Path, Writer},
};

/// A Rust type that stands for a type of the schema: an object, an enum, a scalar, or, with
/// [`concrete`](Output::concrete), an interface or a union. [`outputs!`](crate::outputs) implements it.
///
/// ```
/// # use prony_resolvers::{Concrete, Output};
/// # #[derive(serde::Serialize)] struct Artist { name: String }
/// # #[derive(serde::Serialize)] struct Record { title: String }
/// # prony_resolvers::outputs!(Artist, Record);
/// #[derive(serde::Serialize)]
/// enum Found {
///     Artist(Artist),
///     Record(Record),
/// }
///
/// /// `union Found = Artist | Record`
/// impl Output for Found {
///     const NAME: &'static str = "Found";
///
///     fn concrete(&self) -> &dyn Concrete {
///         match self {
///             Self::Artist(artist) => artist,
///             Self::Record(record) => record,
///         }
///     }
/// }
/// ```
pub trait Output: Serialize + Send + Sync + Sized + 'static {
    /// The name of the type in the schema.
    const NAME: &'static str;

    /// The object itself; for an interface or a union, the one object that it is this time.
    fn concrete(&self) -> &dyn Concrete {
        self
    }

    /// A value to look at before any request comes, where one can be made.
    #[doc(hidden)]
    fn sample() -> Option<Self> {
        None
    }
}

/// Implements [`Output`] for types that are named as in the schema, or `Type as "Name"`.
///
/// Types that also are `Deserialize` or `Default` are compared with the schema when it is built; of others, a
/// missing member is found only by a request for it.
#[macro_export]
macro_rules! outputs {
    ($($ty:ident $(as $name:literal)?),+ $(,)?) => {
        $(impl $crate::Output for $ty {
            const NAME: &'static str = $crate::outputs!(@name $ty $($name)?);

            fn sample() -> ::core::option::Option<Self> {
                #[allow(unused_imports, reason = "which of them applies depends on the type")]
                use $crate::sample::{ByDefault as _, ByDeserializing as _, Not as _};
                (&&&$crate::sample::Of::<$ty>::NEW).sample()
            }
        })+
    };
    (@name $ty:ident) => { stringify!($ty) };
    (@name $ty:ident $name:literal) => { $name };
}

/// An object whose type is known only when it runs.
pub trait Concrete: Parent {
    #[doc(hidden)]
    fn write(&self, plan: &OutputPlan, path: Path<'_>, writer: &mut Writer<'_>) -> Result<(), Nulled>;
}

impl<T: Output> Parent for T {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<T: Output> Concrete for T {
    fn write(&self, plan: &OutputPlan, path: Path<'_>, writer: &mut Writer<'_>) -> Result<(), Nulled> {
        writer.object(self, T::NAME, plan, path)
    }
}

/// What a function may answer: an [`Output`], a scalar, or `Option`, `Vec`, `Arc`, `Result` of an answer.
pub trait Answer: Send + Sync + 'static {
    #[doc(hidden)]
    fn shape() -> AnswerShape;
    /// Calls `visit` with each object, in the order in which [`Answer::write`] writes them.
    #[doc(hidden)]
    fn objects<'a>(&'a self, visit: &mut dyn FnMut(&'a dyn Concrete));
    #[doc(hidden)]
    fn write(&self, plan: &OutputPlan, path: Path<'_>, writer: &mut Writer<'_>) -> Result<(), Nulled>;
}

impl<T: Output> Answer for T {
    fn shape() -> AnswerShape {
        let form = AnswerForm::Named {
            name: T::NAME,
            rust: type_name::<T>(),
            id: TypeId::of::<T>(),
            kind: T::sample().and_then(|sample| reflect::kind_of(&sample)),
        };
        AnswerShape { nullable: false, form }
    }

    fn objects<'a>(&'a self, visit: &mut dyn FnMut(&'a dyn Concrete)) {
        visit(self.concrete());
    }

    fn write(&self, plan: &OutputPlan, path: Path<'_>, writer: &mut Writer<'_>) -> Result<(), Nulled> {
        match &plan.kind {
            OutputKind::Object(_) => writer.object(self, T::NAME, plan, path),
            OutputKind::Abstract(_) => self.concrete().write(plan, path, writer),
            OutputKind::Leaf(_) | OutputKind::List(_) => writer.value(self, plan, path),
        }
    }
}

impl<A: Answer> Answer for Option<A> {
    fn shape() -> AnswerShape {
        AnswerShape { nullable: true, ..A::shape() }
    }

    fn objects<'a>(&'a self, visit: &mut dyn FnMut(&'a dyn Concrete)) {
        if let Some(answer) = self {
            answer.objects(visit);
        }
    }

    fn write(&self, plan: &OutputPlan, path: Path<'_>, writer: &mut Writer<'_>) -> Result<(), Nulled> {
        match self {
            Some(answer) => answer.write(plan, path, writer),
            None => writer.null(plan, path),
        }
    }
}

impl<A: Answer> Answer for Result<A, Error> {
    fn shape() -> AnswerShape {
        A::shape()
    }

    fn objects<'a>(&'a self, visit: &mut dyn FnMut(&'a dyn Concrete)) {
        if let Ok(answer) = self {
            answer.objects(visit);
        }
    }

    fn write(&self, plan: &OutputPlan, path: Path<'_>, writer: &mut Writer<'_>) -> Result<(), Nulled> {
        match self {
            Ok(answer) => answer.write(plan, path, writer),
            Err(error) => writer.fail(error.to_graphql(), plan, path),
        }
    }
}

impl<T: Answer> Answer for Arc<T> {
    fn shape() -> AnswerShape {
        T::shape()
    }

    fn objects<'a>(&'a self, visit: &mut dyn FnMut(&'a dyn Concrete)) {
        T::objects(self, visit);
    }

    fn write(&self, plan: &OutputPlan, path: Path<'_>, writer: &mut Writer<'_>) -> Result<(), Nulled> {
        T::write(self, plan, path, writer)
    }
}

fn write_list<'a, A: Answer>(
    items: impl Iterator<Item = &'a A>,
    plan: &OutputPlan,
    path: Path<'_>,
    writer: &mut Writer<'_>,
) -> Result<(), Nulled> {
    let OutputKind::List(item_plan) = &plan.kind else {
        return writer.complete(plan, path, |writer| {
            writer.nonsense("a list may not stand here", plan.position, path)
        });
    };
    writer.complete(plan, path, |writer| {
        writer.out.push(b'[');
        let mut items = items.enumerate();
        while let Some((index, item)) = items.next() {
            if index > 0 {
                writer.out.push(b',');
            }
            if let Err(nulled) = item.write(item_plan, path.index(index), writer) {
                // Functions have answered for those behind it as well, and for the objects of the next list behind these.
                items.for_each(|(_, left)| left.objects(&mut |object| writer.skip(object.name(), item_plan)));
                return Err(nulled);
            }
        }
        writer.out.push(b']');
        Ok(())
    })
}

macro_rules! lists {
    ($($ty:ty),+) => { $(
        impl<A: Answer> Answer for $ty {
            fn shape() -> AnswerShape {
                AnswerShape { nullable: false, form: AnswerForm::List(Box::new(A::shape())) }
            }

            fn objects<'a>(&'a self, visit: &mut dyn FnMut(&'a dyn Concrete)) {
                for item in self.iter() {
                    item.objects(visit);
                }
            }

            fn write(
                &self,
                plan: &OutputPlan,
                path: Path<'_>,
                writer: &mut Writer<'_>,
            ) -> Result<(), Nulled> {
                write_list(self.iter(), plan, path, writer)
            }
        }
    )+ };
}

lists!(Vec<A>, Arc<[A]>, &'static [A]);

macro_rules! scalars {
    ($($ty:ty: $name:literal, $kind:expr;)+) => { $(
        impl Output for $ty {
            const NAME: &'static str = $name;

            fn sample() -> Option<Self> {
                $kind
            }
        }
    )+ };
}

scalars! {
    String: "String", Some(Self::default());
    &'static str: "String", Some("");
    Box<str>: "String", Some(Self::default());
    Arc<str>: "String", Some(Self::from(""));
    bool: "Boolean", Some(false);
    i8: "Int", Some(0);
    u8: "Int", Some(0);
    i16: "Int", Some(0);
    u16: "Int", Some(0);
    i32: "Int", Some(0);
    u32: "Int", Some(0);
    i64: "Int", Some(0);
    u64: "Int", Some(0);
    usize: "Int", Some(0);
    f32: "Float", Some(0.0);
    f64: "Float", Some(0.0);
    Json: "JSON", None;
}
