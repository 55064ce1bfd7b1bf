// HTTPS whose certificate nobody trusts, where that is allowed.
import http from "k6/http";
import { check } from "k6";

export const options = { iterations: 2, insecureSkipTLSVerify: true };

export default function () {
  const response = http.get(`https://${__ENV.SECURE_SHOP}/json`);
  check(response, { [`${response.tls_version} ${response.proto}`]: (r) => r.status === 200 && r.timings.tls_handshaking >= 0 });
}
