//! Levels over an in-memory fetch: splicing, missing rows, nulls that rise, and buckets.

use std::{
    cell::RefCell,
    rc::Rc,
    sync::Arc,
    task::{Context, Waker},
};

use expect_test::{Expect, expect};
use futures_util::future::{FutureExt, LocalBoxFuture, join_all};
use prony_graphql::{
    error::{ErrorCode, GraphqlError, Position},
    response::FieldResult,
    variables::Variables,
};

use crate::nest::{
    Child, ChildKind, Fetch, Gatherer, Key, KeyPart, Level, LevelRows, LevelSource, Limits, MergeKey,
    NestPlan, resolve,
};
use crate::{
    model::{ColumnId, TableId},
    plan::{AggregateKind, AggregateOutput, AggregatePlan, Filter},
};

const LIMITS: Limits = Limits { max_response_bytes: 1000 };

/// Parents 1 to 3: the first has children 10 and 11, the second a child that cannot be written, the third no
/// key. Below the children nothing.
#[derive(Clone, Default)]
struct Fake {
    fetched: Rc<RefCell<Vec<String>>>,
}

impl Fetch for Fake {
    fn fetch(
        &self,
        level: usize,
        keys: Rc<[Key]>,
        _variables: Rc<Variables>,
    ) -> LocalBoxFuture<'static, Result<Rc<LevelRows>, GraphqlError>> {
        self.fetched.borrow_mut().push(format!("{level}: {} keys", keys.len()));
        let rows = if level == 0 { parents() } else { children(&keys) };
        async move { Ok(Rc::new(rows)) }.boxed_local()
    }

    fn merge_key(&self, level: usize, _variables: &Variables) -> Result<MergeKey, GraphqlError> {
        Ok(MergeKey(Box::new([level as u8])))
    }
}

fn parents() -> LevelRows {
    let mut rows = LevelRows::new(1);
    for id in 1..=3i64 {
        rows.begin_row(0);
        rows.text_mut().extend_from_slice(format!("{{\"id\":{id},\"below\":").as_bytes());
        rows.end_segment();
        rows.text_mut().push(b'}');
        rows.end_segment();
        rows.push_key((id < 3).then(|| Box::from([KeyPart::Integer(id)])));
    }
    rows
}

fn children(keys: &[Key]) -> LevelRows {
    let mut rows = LevelRows::new(0);
    for (index, key) in keys.iter().enumerate() {
        let written: &[&str] = if **key == [KeyPart::Integer(1)] { &["10", "11"] } else { &["bad"] };
        for text in written {
            rows.begin_row(index);
            rows.text_mut().extend_from_slice(text.as_bytes());
            rows.end_segment();
            if *text == "bad" {
                rows.push_error(GraphqlError::new(ErrorCode::ValueOutOfRange, "bad value"), true);
            }
        }
    }
    rows
}

fn plan(kind: ChildKind) -> Arc<NestPlan> {
    let level = |source, children| Level { table: TableId(0), key_columns: Vec::new(), source, children };
    let child = Child {
        level: 1,
        response_key: "below".into(),
        position: Position::default(),
        kind,
        parent_columns: vec![ColumnId(0)],
    };
    let count = AggregateOutput {
        response_key: "count".into(),
        position: Position::default(),
        kind: AggregateKind::Count,
    };
    let below = match kind {
        ChildKind::Aggregate => LevelSource::Aggregate(AggregatePlan {
            table: TableId(0),
            filter: Filter::everything(),
            outputs: vec![count],
        }),
        ChildKind::Many | ChildKind::One => {
            LevelSource::One { outputs: Vec::new(), filter: Filter::everything() }
        }
    };
    let root = level(LevelSource::One { outputs: Vec::new(), filter: Filter::everything() }, vec![child]);
    let levels = vec![root, level(below, Vec::new())];
    Arc::new(NestPlan { response_key: "top".into(), position: Position::default(), levels })
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = Box::pin(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

fn describe(result: &FieldResult) -> String {
    let data = result.data.as_ref().map_or("no data".into(), |data| String::from_utf8_lossy(data));
    let errors = result.errors.iter().map(|error| format!("\n{error} at {:?}", error.path));
    format!("{data}{}", errors.collect::<String>())
}

fn check(kind: ChildKind, limits: Limits, expected: &Expect) {
    let fake = Fake::default();
    let result = run(resolve(&fake, plan(kind), Rc::default(), None, limits));
    expected.assert_eq(&describe(&result));
}

#[test]
fn a_row_that_cannot_be_written_takes_a_list_along() {
    check(
        ChildKind::Many,
        LIMITS,
        &expect![[r#"
            no data
            bad value at [Key("top"), Index(1), Key("below"), Index(0)]"#]],
    );
}

#[test]
fn a_row_that_cannot_be_written_leaves_null_in_a_has_one() {
    check(
        ChildKind::One,
        LIMITS,
        &expect![[r#"
            [{"id":1,"below":10},{"id":2,"below":null},{"id":3,"below":null}]
            bad value at [Key("top"), Index(1), Key("below")]"#]],
    );
}

#[test]
fn a_parent_without_a_key_aggregates_nothing() {
    let fake = Fake::default();
    let plan = plan(ChildKind::Aggregate);
    let tree_less = run(resolve(&fake, plan, Rc::default(), None, LIMITS));
    assert_eq!(tree_less.data, None, "the second parent's aggregate is non-null and bad");
}

#[test]
fn an_answer_over_its_limit_is_given_up() {
    check(
        ChildKind::One,
        Limits { max_response_bytes: 20 },
        &expect![[r#"
            no data
            the answer of this field is larger than 20 bytes (max_response_bytes): ask for fewer rows or columns at [Key("top")]"#]],
    );
}

#[test]
fn a_bucket_serves_all_who_ask_at_the_same_time() {
    let fake = Fake::default();
    let gatherer = Rc::new(Gatherer::default());
    let one = || resolve(&fake, plan(ChildKind::One), Rc::default(), Some(Rc::clone(&gatherer)), LIMITS);
    let abandoned = one();
    drop(abandoned);
    let results = run(join_all((0..5).map(|_| one())));
    assert!(results.iter().all(|result| describe(result) == describe(&results[0])));
    assert_eq!(*fake.fetched.borrow(), ["0: 1 keys", "1: 2 keys"]);
    run(one());
    assert_eq!(fake.fetched.borrow().len(), 4, "a later operation reads again");
}

#[test]
fn a_bucket_survives_the_operation_that_opened_it() {
    let fake = Fake::default();
    let gatherer = Rc::new(Gatherer::default());
    let one = || resolve(&fake, plan(ChildKind::One), Rc::default(), Some(Rc::clone(&gatherer)), LIMITS);
    let mut first = Box::pin(one());
    let mut second = Box::pin(one());
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    drop(first);
    assert!(run(second).data.is_some());
    assert_eq!(fake.fetched.borrow().len(), 2);
}
