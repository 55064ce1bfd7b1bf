// What all users share (`x.instance`, `x.scenario`, `x.test`) looks at the user that runs; the rest is each user's own.
import x from "prony:execution";

export const { instance, scenario, test, namedVu: vu } = x;

let own;

export default {
  get instance() { x.require("instance"); return x.instance; },
  get scenario() { x.require("scenario"); return x.scenario; },
  get test() { return x.test; },
  get vu() { x.require("vu"); return (own ??= x.makeVu()); },
};
