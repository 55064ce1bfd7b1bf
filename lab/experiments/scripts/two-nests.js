// Meetups with their members: `k6 run -e TARGET=http://127.0.0.1:8080 -e USERS=500 two-nests.js`, or the same with `prony`.
import { ask, limit, rows, upTo } from './study.js';

export { handleSummary, options } from './study.js';

const query = `query queryMeetupsWithMembers($limit: Int!, $offset: Int!, $id_gt: Int!) {
  meetups(limit: $limit, offset: $offset, where: { id: { gt: $id_gt } }) {
    id
    title
    meetups_members(limit: $limit) {
      member {
        id
        email
      }
    }
  }
}`;

export default function () {
  ask(query, { limit, offset: upTo(100), id_gt: upTo(rows) }, 2);
}
