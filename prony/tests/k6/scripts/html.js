// Pages: found by selectors, walked through, read.
import { parseHTML } from "k6/html";
import http from "k6/http";
import { check } from "k6";

export const options = { iterations: 1 };

const shown = (look) => {
  try {
    const value = look();
    return JSON.stringify(value, value && !Array.isArray(value) && typeof value === "object" ? Object.keys(value).sort() : null);
  } catch (error) {
    return `thrown: ${error}`;
  }
};

export default function () {
  const answer = http.get(`http://${__ENV.SHOP}/`);
  const doc = parseHTML(answer.body);
  const seen = {
    title: () => doc.find("head title").text(),
    language: () => doc.find("html").attr("lang"),
    links: () => doc.find("a").map((_, element) => element.attr("href")),
    lead: () => doc.find("p.lead").html(),
    classes: () => [doc.find("h1").is(".big"), doc.find("h1").is(".small")],
    data: () => doc.find("a[data-kind]").data("kind"),
    size: () => doc.find("li").size(),
    first: () => doc.find("li").first().text(),
    last: () => doc.find("li").last().find("a").attr("href"),
    second: () => doc.find("li").eq(1).text(),
    next: () => doc.find("li").first().next().children().text(),
    parent: () => doc.find("li").first().parent().attr("id"),
    closest: () => doc.find("em").closest("body").find("h1").attr("id"),
    none: () => doc.find("video").attr("src"),
    not: () => doc.find("li").not(":first-child").size(),
    filtered: () => doc.find("a").filter("[data-kind]").text(),
    value: () => doc.find("textarea").val(),
    chosen: () => doc.find("select").val(),
    form: () => doc.find("form").serialize(),
    object: () => doc.find("form").serializeObject(),
    list: () => doc.find("form").serializeArray(),
    contents: () => doc.find("p.lead").contents().size(),
    missing: () => doc.find("h1").attr("nope", "else"),
    each: () => { const names = []; doc.find("input").each((index, element) => names.push(`${index}${element.getAttribute("name")}`)); return names; },
    element: () => { const one = doc.find("a").get(0); return [one.nodeName(), one.innerHTML(), one.pathname(), one.nextElementSibling()?.nodeName() ?? null, one.parentElement().nodeName(), one.id(), one.classList()]; },
    is: () => doc.find("ul").has("a").size(),
    slice: () => doc.find("li").slice(1, 3).size(),
    array: () => doc.find("li").toArray().length,
    index: () => doc.find("li").eq(2).index(),
    siblings: () => doc.find("li").eq(1).siblings().size(),
    until: () => doc.find("input").first().nextUntil("select").size(),
  };
  for (const [name, look] of Object.entries(seen)) check(null, { [`${name} is ${shown(look)}`]: () => true });
  check(answer.html(), { "of an answer": (page) => page.find("h1").text() === "Welcome to the shop" });
  check(answer.html("em"), { "of a selector": (em) => em.text() === "everyone" });
}
