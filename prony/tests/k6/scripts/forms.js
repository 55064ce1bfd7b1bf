// Forms: encoded, with files, and those of a page, which are found, filled in and sent; links that are followed.
import http from "k6/http";
import { check } from "k6";

const BASE = `http://${__ENV.SHOP}`;
const letter = open("letter.txt", "b");

export const options = { iterations: 2 };

export default function () {
  const encoded = http.post(`${BASE}/echo`, { name: "a b", mail: "a@b.c", many: ["1", "2"] });
  check(encoded.json(), {
    "encoded": (e) => e.form.name === "a b" && e.form.mail === "a@b.c",
    "its type": (e) => e.headers["content-type"] === "application/x-www-form-urlencoded",
  });
  const parts = http.post(`${BASE}/echo`, { field: "value", file: http.file(letter, "letter.txt", "text/plain") });
  check(parts.json(), {
    "two parts": (e) => e.parts === 2,
    "its boundary": (e) => e.headers["content-type"].startsWith("multipart/form-data; boundary="),
  });
  const home = http.get(`${BASE}/`);
  const inside = home.submitForm({ formSelector: "#login", fields: { login: "admin", password: "123" } });
  check(inside, {
    "logged in": (r) => r.html("h2").text() === "Welcome, admin!",
    "was sent on": (r) => r.url.endsWith("/my/messages"),
  });
  const link = home.clickLink({ selector: "a:contains('catalogue')" });
  check(link, { "a link": (r) => r.json("total") === 3 });
  const lost = home.clickLink({ selector: "a[data-kind=broken]" });
  check(lost, { "a broken link": (r) => r.status === 404 });
}
