// Runs every audit of the npm package `graphql-http`: `node tests/audit.mjs [URL]`. Anything but ok is a failure, be it
// a warning only.
import { auditServer } from 'graphql-http';
import { withServer } from './server.mjs';

const failed = await withServer(process.argv[2], async (url) => {
  const results = await auditServer({ url: `${url}/graphql` });
  const failures = results.filter((result) => result.status !== 'ok');
  for (const { id, name, status, reason } of failures) console.error(`${status} ${id}: ${name}: ${reason}`);
  console.log(`${results.length - failures.length} passed, ${failures.length} failed`);
  return failures.length > 0 || results.length === 0;
});
process.exit(failed ? 1 : 0);
