// Runs every audit of the npm package `graphql-http` against each kind of endpoint: `node tests/audit.mjs`, or against one
// that is named, `node tests/audit.mjs URL`. Anything but ok is a failure, be it a warning only.
import { auditServer } from 'graphql-http';
import { both, emptyGraph, sample, withExample, withProgram, withSources } from './server.mjs';

const kinds = {
  'a database': (work) => withSources(sample, work),
  'a graph': (work) => withSources(emptyGraph, work),
  'a database and a graph in one': (work) => withSources(both, work),
  'functions, lenient about the content type (donuts)': (work) => withProgram(['example', 'donuts', '--listen', '127.0.0.1:0'], work),
  'functions (music)': (work) => withProgram(['example', 'music', '--listen', '127.0.0.1:0'], work),
  'functions under axum': (work) => withExample('notes', ['127.0.0.1:0'], work),
};

/** One of them wants to know who asks. */
const fetchFn = (url, request) => fetch(url, { ...request, headers: { authorization: 'Bearer Auditor', ...request?.headers } });

async function audit(kind, url) {
  const results = await auditServer({ url: `${url}/graphql`, fetchFn });
  const failures = results.filter((result) => result.status !== 'ok');
  for (const { id, name, status, reason } of failures) console.error(`${kind}: ${status} ${id}: ${name}: ${reason}`);
  console.log(`${kind}: ${results.length - failures.length} audits are ok`);
  return [results.length - failures.length, failures.length];
}

const [given] = process.argv.slice(2);
const counts = given ? [await audit(given, given.replace(/\/+$/, ''))] : [];
for (const [kind, serve] of given ? [] : Object.entries(kinds)) counts.push(await serve((url) => audit(kind, url)));
const [passed, failed] = counts.reduce((sum, count) => [sum[0] + count[0], sum[1] + count[1]], [0, 0]);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
