// k6/http. Each user has a copy of this text's functions, so they are few; the work is done in `prony:http`.
import native from "prony:http";
import vm from "prony:vm";

const { prototype } = native;

export function request(method, url, body, params) {
  let r = native.submit(method, url, body, params, prototype);
  while (typeof r === "number") {
    if (vm.park()) vm.unwind();
    r = native.result(r, prototype);
  }
  return r;
}

// By a method's name; GET and HEAD have no argument for a body.
function call(method, url, first, second) {
  let r = native.call(method, url, first, second, prototype);
  while (typeof r === "number") {
    if (vm.park()) vm.unwind();
    r = native.result(r, prototype);
  }
  return r;
}

// Bound functions are a third of what closures are.
export const get = call.bind(null, "GET");
export const head = call.bind(null, "HEAD");
export const post = call.bind(null, "POST");
export const put = call.bind(null, "PUT");
export const patch = call.bind(null, "PATCH");
export const del = call.bind(null, "DELETE");
export const options = call.bind(null, "OPTIONS");

export function batch(...requests) {
  let r = native.batch(prototype, ...requests);
  while (typeof r === "number") {
    if (vm.park()) vm.unwind();
    r = native.batchResult(r, prototype);
  }
  return r;
}

export const { url, file, expectedStatuses, setResponseCallback } = native;

// What few scripts use is found on the object beneath, which all users share.
export default {
  __proto__: native.rare,
  request,
  get,
  head,
  post,
  put,
  patch,
  del,
  options,
  batch,
  url,
  file,
  expectedStatuses,
  setResponseCallback,
};
