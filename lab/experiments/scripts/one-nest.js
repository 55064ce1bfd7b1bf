// Venues with their meetups: `k6 run -e TARGET=http://127.0.0.1:8080 -e USERS=500 one-nest.js`, or the same with `prony`.
import { ask, limit, rows, upTo } from './study.js';

export { handleSummary, options } from './study.js';

const query = `query queryVenueMeetups($limit: Int!, $offset: Int!, $id_gt: Int!) {
  venues(limit: $limit, offset: $offset, where: { id: { gt: $id_gt } }) {
    id
    name
    postal_code
    meetups(limit: $limit, sort: { id: desc }) {
      id
      title
    }
  }
}`;

export default function () {
  ask(query, { limit, offset: upTo(100), id_gt: upTo(rows) }, 2);
}
