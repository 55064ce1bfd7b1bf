//! A result on its way to clients, and what counts its bytes until they are sent.

use std::sync::Arc;

use bytes::Bytes;
use memchr::memchr2;
use prony_graphql::budget::{ResponseBudget, TooLarge};

/// The bytes of a result; its clones share them.
#[derive(Debug, Clone)]
pub(crate) struct ResultPayload {
    pub(super) bytes: Bytes,
    /// Counts them; none where they are few.
    held: Option<Arc<ResponseBudget>>,
    /// Whether others have the same bytes, so that the copy that is written to a client counts anew.
    is_shared: bool,
}

impl ResultPayload {
    /// Of one client, who was charged for it while it was written.
    pub(super) fn of_one(bytes: Bytes, budget: Option<Arc<ResponseBudget>>) -> Self {
        // Kept responses, and those of a shared execution, stay where they are.
        let is_shared = budget.is_none() || !bytes.is_unique();
        let held = budget.filter(|budget| budget.used_bytes() > 0);
        Self { bytes: on_one_line(bytes), held, is_shared }
    }

    /// Of few bytes, which are not counted.
    pub(super) fn short(bytes: Vec<u8>) -> Self {
        Self { bytes: on_one_line(bytes.into()), held: None, is_shared: false }
    }

    /// Of all who get the same: it counts once as long as any of them, or a feed, has it.
    ///
    /// # Errors
    /// There is no room for it beside all other responses of the process.
    pub(super) fn of_all(bytes: Vec<u8>, process: &Arc<ResponseBudget>) -> Result<Self, TooLarge> {
        let held = process.hold(bytes.len())?;
        Ok(Self { bytes: on_one_line(bytes.into()), held, is_shared: true })
    }

    /// What counts the copy that is written to a client, until that is sent.
    ///
    /// # Errors
    /// There is no room for it beside all other responses of the process.
    pub(super) fn hold_copy(
        &self,
        process: &Arc<ResponseBudget>,
    ) -> Result<Option<Arc<ResponseBudget>>, TooLarge> {
        if self.is_shared { process.hold(self.bytes.len()) } else { Ok(self.held.clone()) }
    }
}

/// Sources may write JSON with line breaks between its tokens, which would end a line of server-sent events. Within a
/// text of JSON there are none.
fn on_one_line(json: Bytes) -> Bytes {
    let Some(first) = memchr2(b'\n', b'\r', &json) else { return json };
    let mut json = Vec::from(json);
    let mut from = first;
    while let Some(found) = memchr2(b'\n', b'\r', &json[from..]) {
        json[from + found] = b' ';
        from += found + 1;
    }
    json.into()
}

#[cfg(test)]
mod tests {
    use prony_graphql::budget::{ResponseLimit, ResponseMeter};

    use super::*;

    const MANY: usize = 1 << 20;

    fn process() -> Arc<ResponseBudget> {
        ResponseBudget::new(ResponseLimit::Process, 3 * MANY)
    }

    #[test]
    fn results_stay_on_one_line() {
        let pretty = &b"{\n  \"a\": \"x\\ny\",\r\n  \"b\": []\n}"[..];
        assert_eq!(on_one_line(pretty.into()), &b"{   \"a\": \"x\\ny\",    \"b\": [] }"[..]);
        assert_eq!(on_one_line(Bytes::new()), &b""[..]);
        assert_eq!(on_one_line(Bytes::from_static(b"{}")), &b"{}"[..]);
    }

    #[test]
    fn the_result_of_one_client_counts_once_and_until_it_is_sent() {
        let process = process();
        let operation = process.part(ResponseLimit::Operation, 3 * MANY);
        ResponseMeter::new(3 * MANY, Some(&operation)).check(2 * MANY).expect("there is room");
        let payload = ResultPayload::of_one(vec![b' '; 2 * MANY].into(), Some(operation));
        let copy = payload.hold_copy(&process).expect("its room is its own");
        drop(payload);
        assert_eq!(process.used_bytes(), 2 * MANY, "the copy has not been sent");
        drop(copy);
        assert_eq!(process.used_bytes(), 0);
    }

    #[test]
    fn an_event_counts_once_for_all_and_once_for_each_copy_that_is_not_sent() {
        let process = process();
        let payload = ResultPayload::of_all(vec![b' '; MANY], &process).expect("there is room");
        let others = [payload.clone(), payload.clone()];
        assert_eq!(process.used_bytes(), MANY);
        let copies = others.each_ref().map(|other| other.hold_copy(&process).expect("there is room"));
        assert_eq!(process.used_bytes(), 3 * MANY);
        assert_eq!(payload.hold_copy(&process).map(|_| ()).map_err(TooLarge::max_bytes), Err(3 * MANY));
        assert!(ResultPayload::of_all(vec![b' '; MANY], &process).is_err());
        drop((payload, others));
        assert_eq!(process.used_bytes(), 2 * MANY);
        drop(copies);
        assert_eq!(process.used_bytes(), 0);
    }

    #[test]
    fn a_kept_response_counts_for_each_who_is_sent_it() {
        let process = process();
        let kept = Bytes::from(vec![b' '; MANY]);
        let payload = ResultPayload::of_one(kept.clone(), None);
        let copy = payload.hold_copy(&process).expect("there is room");
        assert_eq!(process.used_bytes(), MANY);
        drop(copy);
        assert_eq!(process.used_bytes(), 0);
    }
}
