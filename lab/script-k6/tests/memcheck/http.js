// Requests whose responses are read as text, as JSON and as bytes, one and many at a time. `cargo xtask valgrind` runs it.
import http from 'k6/http';
import { check, group } from 'k6';

export const options = { vus: 5, iterations: 40, thresholds: { checks: ['rate==1'] } };

const TARGET = __ENV.TARGET;
const PARAMS = { headers: { 'Content-Type': 'application/json' } };

export default function () {
  group('one', () => {
    const response = http.post(`${TARGET}/graphql`, JSON.stringify({ query: '{ __typename }' }), PARAMS);
    check(response, {
      'is 200': (r) => r.status === 200,
      'is JSON': (r) => typeof r.json('data.__typename') === 'string',
      'has headers': (r) => r.headers['Content-Type'].includes('json'),
    });
  });
  const [text, bytes, nowhere] = http.batch([
    ['GET', `${TARGET}/health`],
    ['GET', `${TARGET}/health`, null, { responseType: 'binary' }],
    ['GET', `${TARGET}/nowhere`],
  ]);
  check(null, {
    'text is text': () => text.body.length > 0,
    'bytes are bytes': () => new Uint8Array(bytes.body).length > 0,
    'nothing is nowhere': () => nowhere.status === 404,
    'a long body is sent': () => http.post(`${TARGET}/graphql`, 'x'.repeat(300000), PARAMS).status === 400,
  });
}
