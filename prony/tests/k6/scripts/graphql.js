// GraphQL over a database, as it is often measured: variables, a Rate of errors, stages of a few users.
import http from "k6/http";
import { check, sleep } from "k6";
import { Rate } from "k6/metrics";

const errors = new Rate("errors");
export const options = { vus: 3, iterations: 9, thresholds: { errors: ["rate<0.1"], checks: ["rate>0.9"] } };

const query = "query Albums($first: Int) { albums(first: $first) { id title } }";

export default function () {
  const body = JSON.stringify({ query, variables: { first: 5 } });
  const answer = http.post(`http://${__ENV.SHOP}/graphql`, body, { headers: { "Content-Type": "application/json" }, tags: { name: "albums" } });
  const { data } = answer.json();
  errors.add(answer.status !== 200 || !data);
  check(answer, { "five albums": (r) => r.json("data.albums.#") === 5 && r.json().data.albums[4].title === "album 5" });
  sleep(0.01);
}
