// Which statuses are failures: by request, for all, and not at all.
import http from "k6/http";

const url = (status) => `http://${__ENV.SHOP}/status/${status}`;
export const options = { iterations: 2, thresholds: { http_req_failed: ["rate<1"], "http_req_failed{expected_response:true}": ["rate==0"] } };

export default function () {
  http.get(url(404));
  http.get(url(404), { responseCallback: http.expectedStatuses(404) });
  http.get(url(200), { responseCallback: http.expectedStatuses({ min: 400, max: 499 }, 500) });
  http.get(url(500), { responseCallback: null });
  http.setResponseCallback(http.expectedStatuses(500));
  http.get(url(500));
  http.get(url(200));
}
