// Files in forms, and forms in plain.
import http from "k6/http";
import { check } from "k6";

const letter = open("letter.txt", "b");
export const options = { iterations: 2 };

export default function () {
  const BASE = `http://${__ENV.SHOP}/echo`;
  const form = http.post(BASE, { name: "ann", letter: http.file(letter, "letter.txt", "text/plain") });
  check(form.json(), { "two parts": (echo) => echo.parts === 2 });
  const plain = http.post(BASE, { name: "ann & ben", count: 3, yes: true });
  check(plain.json("form"), { [`a form: ${JSON.stringify(Object.entries(plain.json("form")).sort())}`]: () => true });
  const bytes = http.post(BASE, letter, { headers: { "Content-Type": "application/octet-stream" } });
  check(bytes.json(), { "bytes as they are": (echo) => echo.length === letter.byteLength });
}
