//! Objects of a response, whose members each have what stands before them.

/// Ends an object. What stands before its first member begins it, and it has none where `@skip` and `@include` leave all out.
pub(super) fn end_object(out: &mut Vec<u8>, is_empty: bool) {
    let end: &[u8] = if is_empty { b"{}" } else { b"}" };
    out.extend_from_slice(end);
}
