// Requests in their barest form.
import native from "prony:plain-http";
import vm from "prony:vm";

export function get(url) {
  const id = native.submit("GET", String(url));
  if (vm.park()) vm.unwind();
  return native.result(id);
}

export default { get };
