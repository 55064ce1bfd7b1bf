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
    budget::ResponseMeter,
    error::{ErrorCode, GraphqlError, Position},
    response::FieldResult,
    variables::Variables,
};

use crate::{
    levels::{Fetch, FieldLevels, Gatherer, Key, KeyPart, Level, LevelRows, MergeKey, plan::Child, resolve},
    plan::RowsKind,
};

const MAX_RESPONSE_BYTES: usize = 1000;

/// Parents 1 to 3: the first has children 10 and 11, the second a child that cannot be written, the third no
/// key. Below the children nothing.
#[derive(Clone)]
struct Fake {
    levels: Rc<FieldLevels<()>>,
    fetched: Rc<RefCell<Vec<String>>>,
}

impl Fetch for Fake {
    type Statement = ();

    fn levels(&self) -> &FieldLevels<()> {
        &self.levels
    }

    fn fetch(
        &self,
        level: usize,
        keys: Arc<[Key]>,
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

fn end_segment(rows: &mut LevelRows, text: &str) {
    rows.text_mut().extend_from_slice(text.as_bytes());
    let end = rows.text_mut().len();
    rows.end_segment(end);
}

fn parents() -> LevelRows {
    let mut rows = LevelRows::new(1);
    for id in 1..=3i64 {
        rows.begin_row(0);
        end_segment(&mut rows, &format!("{{\"id\":{id},\"below\":"));
        end_segment(&mut rows, "}");
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
            if *text == "bad" {
                let end = rows.text_mut().len();
                rows.end_missing_row(0, end);
                rows.push_error(0, GraphqlError::new(ErrorCode::ValueOutOfRange, "bad value"));
            } else {
                end_segment(&mut rows, text);
            }
        }
    }
    rows
}

fn fake(kind: RowsKind) -> Fake {
    let level = |kind, nothing: &str, children| Level {
        statement: (),
        kind,
        nothing: nothing.as_bytes().into(),
        children,
    };
    let child = Child { level: 1, response_key: "below".into() };
    let root = level(RowsKind::List, "[]", vec![child]);
    let below = level(kind, "null", Vec::new());
    Fake { levels: Rc::new(FieldLevels { levels: vec![root, below] }), fetched: Rc::default() }
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

fn answer(
    fake: &Fake,
    gatherer: Option<&Rc<Gatherer>>,
    max: usize,
) -> impl Future<Output = FieldResult> + use<> {
    let (fake, gatherer) = (fake.clone(), gatherer.map(Rc::clone));
    async move {
        let mut result = resolve(fake, Rc::default(), gatherer, ResponseMeter::new(max, None))
            .await
            .unwrap_or_else(FieldResult::failed);
        let errors = result.errors.into_iter();
        result.errors = errors.map(|error| error.of_field("top", Position::default())).collect();
        result
    }
}

fn check(kind: RowsKind, max_response_bytes: usize, expected: &Expect) {
    let result = run(answer(&fake(kind), None, max_response_bytes));
    expected.assert_eq(&describe(&result));
}

#[test]
fn a_row_that_cannot_be_written_takes_a_list_along() {
    check(
        RowsKind::List,
        MAX_RESPONSE_BYTES,
        &expect![[r#"
            no data
            bad value at [Key("top"), Index(1), Key("below"), Index(0)]"#]],
    );
}

#[test]
fn a_row_that_cannot_be_written_leaves_null_in_a_has_one() {
    check(
        RowsKind::One,
        MAX_RESPONSE_BYTES,
        &expect![[r#"
            [{"id":1,"below":10},{"id":2,"below":null},{"id":3,"below":null}]
            bad value at [Key("top"), Index(1), Key("below")]"#]],
    );
}

#[test]
fn a_parent_without_a_key_aggregates_nothing() {
    let result = run(answer(&fake(RowsKind::Aggregate), None, MAX_RESPONSE_BYTES));
    assert_eq!(result.data, None, "the second parent's aggregate is non-null and bad");
}

#[test]
fn an_answer_over_its_limit_is_given_up() {
    check(
        RowsKind::One,
        20,
        &expect![[r#"
            no data
            the answer of this field is larger than 20 bytes (max_response_bytes): ask for fewer rows or columns at [Key("top")]"#]],
    );
}

#[test]
fn a_bucket_serves_all_who_ask_at_the_same_time() {
    let fake = fake(RowsKind::One);
    let gatherer = Rc::new(Gatherer::default());
    let one = || answer(&fake, Some(&gatherer), MAX_RESPONSE_BYTES);
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
    let fake = fake(RowsKind::One);
    let gatherer = Rc::new(Gatherer::default());
    let one = || answer(&fake, Some(&gatherer), MAX_RESPONSE_BYTES);
    let mut first = Box::pin(one());
    let mut second = Box::pin(one());
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    drop(first);
    assert!(run(second).data.is_some());
    assert_eq!(fake.fetched.borrow().len(), 2);
}
