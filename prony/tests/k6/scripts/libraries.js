// Libraries that scripts import by URL, and modules of the script's own.
import { randomIntBetween, randomItem, randomString, uuidv4, findBetween, normalDistributionStages } from "https://jslib.k6.io/k6-utils/1.4.0/index.js";
import { URL, URLSearchParams } from "https://jslib.k6.io/url/1.0.0/index.js";
import { FormData } from "https://jslib.k6.io/formdata/0.0.2/index.js";
import http from "k6/http";
import { check } from "k6";
import { price } from "./lib/prices.js";

export const options = { iterations: 2 };

export default function () {
  const number = randomIntBetween(3, 5);
  const stages = normalDistributionStages(10, 20, 3);
  check(null, {
    "between": () => number >= 3 && number <= 5,
    "an item": () => ["a", "b"].includes(randomItem(["a", "b"])),
    "letters": () => randomString(8).length === 8 && /^[xy]{4}$/.test(randomString(4, "xy")),
    "a UUID": () => /^[0-9a-f-]{36}$/.test(uuidv4()),
    "found": () => findBetween("<a>text</a>", "<a>", "</a>") === "text",
    "stages": () => stages.length === 5 && stages[0].target !== undefined,
    "an own module": () => price("hammer") === 12.5,
  });
  const address = new URL(`http://${__ENV.SHOP}/echo`);
  address.searchParams.append("a", "1");
  address.searchParams.append("b", "two");
  const answer = http.get(address.toString());
  check(answer.json("query"), { "a query": (query) => query.a === "1" && query.b === "two" });
  check(new URLSearchParams([["k", "v"]]).toString(), { "parameters": (text) => text === "k=v" });
  const form = new FormData();
  form.append("field", "value");
  form.append("file", http.file("text", "text.txt", "text/plain"));
  const sent = http.post(`http://${__ENV.SHOP}/echo`, form.body(), { headers: { "Content-Type": `multipart/form-data; boundary=${form.boundary}` } });
  check(sent.json(), { "parts": (echo) => echo.parts === 2 });
}
