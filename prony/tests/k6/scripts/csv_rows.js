// Rows of a CSV file for all users, parsed once by papaparse; each iteration takes one.
import papaparse from "https://jslib.k6.io/papaparse/5.1.1/index.js";
import { SharedArray } from "k6/data";
import { check } from "k6";
import exec from "k6/execution";
import http from "k6/http";

const users = new SharedArray("users", () => papaparse.parse(open("users.csv"), { header: true, skipEmptyLines: true }).data);
const goods = new SharedArray("goods", () => JSON.parse(open("./goods.json")).goods);

export const options = { scenarios: { rows: { executor: "shared-iterations", vus: 3, iterations: 9 } } };

export default function () {
  const user = users[exec.scenario.iterationInTest % users.length];
  check(users, {
    "all rows": (all) => all.length === 3,
    "as an array": (all) => all.map((one) => one.name).join() === "ann,ben,cat" && [...all].length === 3,
    "cannot be changed": (all) => { try { all[0] = {}; } catch (error) { return true; } return false; },
  });
  check(goods, { "rows are frozen": (all) => { try { all[0].name = "else"; } catch (error) { return all[0].name === "spade"; } return false; } });
  const answer = http.post(`http://${__ENV.SHOP}/echo`, { login: user.name, password: user.password });
  check(answer.json("form"), { "is sent": (form) => form.login === user.name && form.password === user.password });
}
