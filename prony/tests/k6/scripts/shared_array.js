// Data for all users from files, parsed once; each iteration takes a row, and cannot change it for others.
import { SharedArray } from "k6/data";
import { check } from "k6";
import exec from "k6/execution";
import http from "k6/http";

const rows = (text) => text.trim().split("\n").slice(1).map((line) => {
  const [name, ...rest] = line.split(",");
  return { name, password: rest.join(",") };
});
const users = new SharedArray("users", () => rows(open("users.csv")));
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
