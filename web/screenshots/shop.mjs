// The shop that the pictures show: a database, a plan of its customers, and a sensor of its cold room.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DATABASE = `
  CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(100) NOT NULL, country VARCHAR(2) NOT NULL);
  CREATE TABLE products (id INTEGER PRIMARY KEY, name VARCHAR(100) NOT NULL, price REAL NOT NULL);
  CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id), ordered_at TIMESTAMP NOT NULL);
  CREATE TABLE order_lines (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id),
    product_id INTEGER NOT NULL REFERENCES products (id), quantity INTEGER NOT NULL);
  CREATE INDEX orders_of ON orders (customer_id);
  CREATE INDEX lines_of ON order_lines (order_id);
  INSERT INTO customers VALUES (1, 'Ada', 'GB'), (2, 'Grace', 'US'), (3, 'Emmy', 'DE'), (4, 'Mary', 'GB'), (5, 'Sofia', 'SE');
  WITH RECURSIVE n (i) AS (SELECT 6 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
  INSERT INTO customers SELECT i, 'Customer ' || i, substr('GBUSDEFRSE', 1 + i % 5 * 2, 2) FROM n;
  INSERT INTO products VALUES (1, 'Espresso', 2.8), (2, 'Croissant', 1.9), (3, 'Rye bread', 4.5), (4, 'Butter', 3.2), (5, 'Plum jam', 5.4);
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
  INSERT INTO orders SELECT i, 1 + i % 500, datetime('2026-01-01', '+' || (i * 37) || ' minutes') FROM n;
  INSERT INTO order_lines SELECT 2 * id, id, 1 + id % 5, 1 + id % 3 FROM orders;
  INSERT INTO order_lines SELECT 2 * id + 1, id, 1 + (id + 2) % 5, 1 FROM orders;`;

/** Makes the database, whose source is its name. */
export function makeShop(folder) {
  const path = join(folder, 'shop.db');
  execFileSync('sqlite3', [path, DATABASE]);
  return `sqlite:${path}`;
}

export const QUERY = `query Customers {
  customers(
    where: {country: {eq: "GB"}}
    limit: 2
  ) {
    name
    orders_aggregate { count }
    orders(sort: {id: desc}, limit: 1) {
      ordered_at
      order_lines {
        quantity
        product { name price }
      }
    }
  }
}`;

/** Customers who look around, and buy now and then. */
export const plan = (target, users, duration, thresholds = 'thresholds = ["p95<50ms", "errors<1%"]\n') => `name = "shop"
target = "${target}"
stages = [{ duration = "5s", users = ${users} }, { duration = "${duration}", users = ${users} }]
think_time = { min = "50ms", max = "150ms" }
${thresholds}observe = ["host:local"]

[[requests]]
name = "list"
weight = 6
graphql = { query = "{ products(sort: {name: asc}) { name price } }" }

[[requests]]
name = "orders"
weight = 3
graphql = { query = "{ customers(limit: 20) { name orders { ordered_at order_lines { quantity product { name } } } } }" }

[[requests]]
name = "country"
graphql = { query = "{ customers(where: {country: {eq: \\"SE\\"}}, limit: 50) { name orders_aggregate { count } } }" }
`;

/** Ten minutes of the same shop as JMeter would write them: the first buyers wait for a cache, and for a minute orders fail. */
export function writeSamples(folder, name) {
  const requests = [['list', 18, 6], ['orders', 55, 3], ['country', 30, 1]];
  const labels = requests.flatMap(([label, took, share]) => Array(share).fill([label, took]));
  const row = (_, index) => {
    const [label, took] = labels[(index * 7) % labels.length];
    const [minute, chance] = [index / 1_200, ((index * 7_919) % 1_000) / 1_000];
    const isFailed = label === 'orders' && minute >= 6 && minute < 7 && chance < 0.3;
    const elapsed = Math.round((took + took * chance ** 8 * 6) * (1 + 2 * Math.exp(-minute * 2)) + (isFailed ? 800 : 0));
    const [code, message] = isFailed ? [503, 'Service Unavailable'] : [200, 'OK'];
    return [START + index * 50, elapsed, label, code, message, `Customers 1-${1 + (index % 8)}`, !isFailed, 1_800, 320, 8, 8, Math.max(elapsed - 3, 1), 0].join();
  };
  const head = 'timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,sentBytes,grpThreads,allThreads,Latency,Connect';
  writeFileSync(join(folder, name), [head, ...Array.from({ length: 12_000 }, row), ''].join('\n'));
}

/** A file of the plan. */
export function writePlan(folder, name, ...about) {
  writeFileSync(join(folder, name), plan(...about));
}

const START = Date.UTC(2026, 4, 6);
const MINUTES = 1440;

/** A day of the cold room, by the minute: the compressor comes and goes, and the door stands open once. */
export async function fillColdRoom(url) {
  const door = (minutes) => (minutes < 0 ? 0 : Math.min(minutes / 12, Math.exp((12 - minutes) / 35)));
  const at = (minute) => 4 + 0.8 * Math.sin(minute / 7) + 5 * door(minute - 600);
  const instance = (_, minute) => ({ type: 'Property', value: Math.round(at(minute) * 100) / 100, observedAt: new Date(START + minute * 60_000).toISOString() });
  const body = JSON.stringify({ id: 'ColdRoom:1', type: 'ColdRoom', temperature: Array.from({ length: MINUTES }, instance) });
  const response = await fetch(`${url}/ngsi-ld/v1/temporal/entities`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  if (!response.ok) throw new Error(`the cold room cannot be notified: ${response.status} ${await response.text()}`);
}
