// k6/http. Each user has a copy of this text's functions, so they are few; the work is done in `prony:http`.
import native from "prony:http";
import vm from "prony:vm";

let forms;
const prototype = { json: native.json };
for (const name of ["html", "submitForm", "clickLink"]) {
  prototype[name] = function (options) {
    forms ??= native.forms();
    return forms[name](request, this, options);
  };
}

export function request(method, url, body, params) {
  let r = native.submit(method, url, body, params, prototype);
  while (typeof r === "number") {
    if (vm.park()) vm.unwind();
    r = native.result(r, prototype);
  }
  return r;
}

export const get = (url, params) => request("GET", url, null, params);
export const head = (url, params) => request("HEAD", url, null, params);
export const post = (url, body, params) => request("POST", url, body, params);
export const put = (url, body, params) => request("PUT", url, body, params);
export const patch = (url, body, params) => request("PATCH", url, body, params);
export const del = (url, body, params) => request("DELETE", url, body, params);
export const options = (url, body, params) => request("OPTIONS", url, body, params);

export function asyncRequest(method, url, body, params) {
  return new Promise((resolve, reject) => {
    const go = (r) => (typeof r === "number" ? native.listen(r, hear) : resolve(r));
    const hear = (id) => {
      try {
        go(native.result(id, prototype));
      } catch (error) {
        reject(error);
      }
    };
    go(native.submit(method, url, body, params, prototype));
  });
}

export function batch(...requests) {
  let r = native.batch(prototype, ...requests);
  while (typeof r === "number") {
    if (vm.park()) vm.unwind();
    r = native.batchResult(r, prototype);
  }
  return r;
}

export class CookieJar {
  constructor() {
    return native.newJar(new.target.prototype);
  }
}
Object.assign(CookieJar.prototype, native.jar);
export const cookieJar = () => native.userJar(CookieJar.prototype);

export const { url, file, expectedStatuses, setResponseCallback } = native;
export const {
  TLS_1_0,
  TLS_1_1,
  TLS_1_2,
  TLS_1_3,
  OCSP_STATUS_GOOD,
  OCSP_STATUS_REVOKED,
  OCSP_STATUS_SERVER_FAILED,
  OCSP_STATUS_UNKNOWN,
  OCSP_REASON_UNSPECIFIED,
  OCSP_REASON_KEY_COMPROMISE,
  OCSP_REASON_CA_COMPROMISE,
  OCSP_REASON_AFFILIATION_CHANGED,
  OCSP_REASON_SUPERSEDED,
  OCSP_REASON_CESSATION_OF_OPERATION,
  OCSP_REASON_CERTIFICATE_HOLD,
  OCSP_REASON_REMOVE_FROM_CRL,
  OCSP_REASON_PRIVILEGE_WITHDRAWN,
  OCSP_REASON_AA_COMPROMISE,
} = native.constants;

export default {
  request,
  get,
  head,
  post,
  put,
  patch,
  del,
  options,
  asyncRequest,
  batch,
  CookieJar,
  cookieJar,
  url,
  file,
  expectedStatuses,
  setResponseCallback,
  ...native.constants,
};
