// Templates of URLs gather what differs by a number under one name.
import http from "k6/http";

export const options = { iterations: 3, thresholds: { "http_reqs{name:catalogue}": ["count==3"] } };

export default function () {
  for (const id of [1, 2]) http.get(http.url`http://${__ENV.SHOP}/items/${id}`);
  http.batch([["GET", http.url`http://${__ENV.SHOP}/items/${__ITER}`], { method: "GET", url: `http://${__ENV.SHOP}/json`, params: { tags: { name: "catalogue" } } }]);
}
