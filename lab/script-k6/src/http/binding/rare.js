// The parts of k6/http that few scripts use; loaded at a user's first look at one of them.
import native from "prony:http";

const { prototype } = native;

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

export class CookieJar {
  constructor() {
    return native.newJar(new.target.prototype);
  }
}
Object.assign(CookieJar.prototype, native.jar);
export const cookieJar = () => native.userJar(CookieJar.prototype);
