// Runs every audit of the npm package `graphql-http` against a server: `node tests/audit.mjs URL`. Anything but ok is
// a failure.
import { auditServer } from 'graphql-http';

const url = process.argv[2];
if (!url) {
  console.error('usage: node tests/audit.mjs http://127.0.0.1:8080/graphql');
  process.exit(2);
}

const results = await auditServer({ url });
const failed = results.filter((result) => result.status !== 'ok');
for (const { id, name, status, reason } of failed) console.error(`${status} ${id}: ${name}: ${reason}`);
console.log(`${results.length - failed.length} of ${results.length} audits are ok`);
process.exit(failed.length === 0 && results.length > 0 ? 0 : 1);
