//! The published study's three queries, with limit 50, and their best equivalents as JSON-producing SQL.

/// One query of the study.
pub(crate) struct StudyQuery {
    pub(crate) name: &'static str,
    pub(crate) graphql: &'static str,
    /// For `pgbench -M prepared`: `:g` is the lower bound of the key, `:o` the offset.
    pub(crate) sql: &'static str,
    /// For PostGraphile 5 with its filter plugin; the same variables.
    pub(crate) postgraphile: &'static str,
}

pub(crate) const QUERIES: [StudyQuery; 3] = [
    StudyQuery {
        name: "venues",
        graphql: "query queryVenues($limit: Int!, $offset: Int!, $id_gt: Int!) { venues(limit: $limit, offset: $offset, where: { id: { gt: $id_gt } }) { id name postal_code } }",
        sql: r#"SELECT '[' || coalesce(string_agg(concat('{"id":', id, ',"name":', to_json(name), ',"postal_code":', to_json(postal_code), '}'), ','), '') || ']' FROM (SELECT * FROM venues WHERE id > :g ORDER BY id LIMIT 50 OFFSET :o) t;"#,
        postgraphile: "query q($limit: Int!, $offset: Int!, $id_gt: Int!) { allVenuesList(first: $limit, offset: $offset, filter: { rowId: { greaterThan: $id_gt } }) { rowId name postalCode } }",
    },
    StudyQuery {
        name: "venues and meetups",
        graphql: "query queryVenueMeetups($limit: Int!, $offset: Int!, $id_gt: Int!) { venues(limit: $limit, offset: $offset, where: { id: { gt: $id_gt } }) { id name postal_code meetups(limit: $limit, sort: { id: desc }) { id title } } }",
        sql: r#"SELECT '[' || coalesce(string_agg(concat('{"id":', id, ',"name":', to_json(name), ',"postal_code":', to_json(postal_code), ',"meetups":[', (SELECT string_agg(concat('{"id":', id, ',"title":', to_json(title), '}'), ',') FROM (SELECT id, title FROM meetups WHERE venue_id = t.id ORDER BY id DESC LIMIT 50) m), ']}'), ','), '') || ']' FROM (SELECT * FROM venues WHERE id > :g ORDER BY id LIMIT 50 OFFSET :o) t;"#,
        postgraphile: "query q($limit: Int!, $offset: Int!, $id_gt: Int!) { allVenuesList(first: $limit, offset: $offset, filter: { rowId: { greaterThan: $id_gt } }) { rowId name postalCode meetupsByVenueIdList(first: $limit, orderBy: ROW_ID_DESC) { rowId title } } }",
    },
    StudyQuery {
        name: "meetups and members",
        graphql: "query queryMeetupsWithMembers($limit: Int!, $offset: Int!, $id_gt: Int!) { meetups(limit: $limit, offset: $offset, where: { id: { gt: $id_gt } }) { id title meetups_members(limit: $limit) { member { id email } } } }",
        sql: r#"SELECT '[' || coalesce(string_agg(concat('{"id":', id, ',"title":', to_json(title), ',"meetups_members":[', (SELECT string_agg(concat('{"member":', (SELECT concat('{"id":', id, ',"email":', to_json(email), '}') FROM members WHERE id = b.member_id), '}'), ',') FROM (SELECT * FROM meetups_members WHERE meetup_id = t.id ORDER BY meetup_id, member_id LIMIT 50) b), ']}'), ','), '') || ']' FROM (SELECT * FROM meetups WHERE id > :g ORDER BY id LIMIT 50 OFFSET :o) t;"#,
        postgraphile: "query q($limit: Int!, $offset: Int!, $id_gt: Int!) { allMeetupsList(first: $limit, offset: $offset, filter: { rowId: { greaterThan: $id_gt } }) { rowId title meetupsMembersByMeetupIdList(first: $limit) { memberByMemberId { rowId email } } } }",
    },
];

/// A wrk script that posts the query with the study's random variables: offset 0 to 100, key above 0 to
/// 100,000. Lines starting with `status` after the run count answers with errors.
pub(crate) fn wrk_script(graphql: &str) -> String {
    format!(
        r#"
local query = "{graphql}"
local next_seed = 1
function setup(thread) thread:set("seed", next_seed); next_seed = next_seed + 1 end
function init(args) math.randomseed(seed) end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
function request()
  local body = '{{"query":"' .. query .. '","variables":{{"limit":50,"offset":' .. math.random(0, 100) ..
    ',"id_gt":' .. math.random(0, 100000) .. '}}}}'
  return wrk.format(nil, nil, nil, body)
end
"#
    )
}
