// What keeps a request from its response, by code and by tags.
import http from "k6/http";
import { check } from "k6";

export const options = { iterations: 1 };

export default function () {
  for (const [what, ask] of Object.entries({
    refused: () => http.get("http://127.0.0.1:1/"),
    timeout: () => http.get(`http://${__ENV.SHOP}/delay/3000`, { timeout: "100ms" }),
    redirects: () => http.get(`http://${__ENV.SHOP}/redirect/4`, { redirects: 1 }),
    status: () => http.get(`http://${__ENV.SHOP}/status/503`),
    client: () => http.get(`http://${__ENV.SHOP}/status/404`),
  })) {
    const response = ask();
    check(response, { [`${what}: ${response.status} ${response.error_code}`]: () => true });
  }
}
