// Rows of a CSV file, parsed once for all users, and one by one.
import { open } from "k6/experimental/fs";
import csv from "k6/experimental/csv";
import { check } from "k6";
import { scenario } from "k6/execution";

let file;
let rows;
(async function () {
  file = await open("users.csv");
  rows = await csv.parse(file, { delimiter: ",", skipFirstLine: true });
})();

export const options = { vus: 2, iterations: 4 };

export default async function () {
  const row = rows[scenario.iterationInTest % rows.length];
  check(row, { "has a name": ([name]) => ["ann", "ben", "cat"].includes(name) });
  const parser = new csv.Parser(file, { asObjects: true });
  let count = 0;
  for (;;) {
    const { done, value } = await parser.next();
    if (done) break;
    count += 1;
    check(value, { "by column": (one) => one.name.length === 3 });
  }
  check(count, { [`${count} rows`]: () => true });
}
