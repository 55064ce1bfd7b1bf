// Venues: `k6 run -e TARGET=http://127.0.0.1:8080 -e USERS=500 no-nest.js`, or the same with `prony`.
import { ask, limit, rows, upTo } from './study.js';

export { handleSummary, options } from './study.js';

const query = `query queryVenues($limit: Int!, $offset: Int!, $id_gt: Int!) {
  venues(limit: $limit, offset: $offset, where: { id: { gt: $id_gt } }) {
    id
    name
    postal_code
  }
}`;

export default function () {
  ask(query, { limit, offset: upTo(100), id_gt: upTo(rows) }, 2);
}
