// The parts of a response that look into its page; loaded when a user first needs them.
import { parseHTML } from "k6/html";
import { request } from "k6/http";
import native from "prony:http";

const goError = (message) => Object.assign(new Error(message), { name: "GoError" });

export function html(response, selector) {
  const page = parseHTML(native.text(response), response.url);
  return selector === undefined ? page : page.find(selector);
}

export function submitForm(response, options) {
  const { formSelector = "form", submitSelector = '[type="submit"]', fields, params } = options ?? {};
  const form = html(response, String(formSelector));
  if (form.size() === 0) {
    throw goError(`no form found for selector '${formSelector}' in response '${response.url}'`);
  }
  const method = (form.attr("method") ?? "GET").toUpperCase();
  const action = native.resolve(response.url, form.attr("action") ?? response.url);
  const values = form.serializeObject();
  const submit = form.find(String(submitSelector));
  const [name, value] = [submit.attr("name"), submit.val()];
  if (name !== undefined && value !== undefined) values[name] = value;
  Object.assign(values, fields);
  if (method === "GET") return request(method, native.withQuery(action, values), null, params);
  return request(method, action, values, params);
}

export function clickLink(response, options) {
  const { selector = "a[href]", params } = options ?? {};
  const link = html(response, String(selector));
  if (link.size() === 0) {
    throw goError(`no element found for selector '${selector}' in response '${response.url}'`);
  }
  const href = link.attr("href");
  if (href === undefined) {
    throw goError(`no valid href attribute value found on element '${selector}' in response '${response.url}'`);
  }
  return request("GET", native.resolve(response.url, href), null, params);
}
