// Makes venues: `k6 run -e TARGET=http://127.0.0.1:8080 -e USERS=500 create.js`, or the same with `prony`.
import { ask } from './study.js';

export { handleSummary, options } from './study.js';

const query = `mutation createVenue($name: String!, $postal_code: String!) {
  createVenue(name: $name, postal_code: $postal_code) {
    id
  }
}`;

const letters = 'abcdefghijklmnopqrstuvwxyz';

function name() {
  return Array.from({ length: 8 }, () => letters[Math.floor(Math.random() * letters.length)]).join('');
}

export default function () {
  const text = name();
  ask(query, { name: text, postal_code: text }, 1);
}
