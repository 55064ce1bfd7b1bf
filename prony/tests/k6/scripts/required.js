// Modules by require, and values that they share within a user.
const http = require("k6/http");
const { check } = require("k6");

let calls = 0;
exports.options = { iterations: 2, vus: 1 };

exports.default = function () {
  calls += 1;
  check(http.get(`http://${__ENV.SHOP}/json`), { "a response": (r) => r.status === 200, "a value of its user": () => calls === __ITER + 1 });
};
