// TypeScript: types, enums, generics, a class with parameter properties, a module with types.
import http, { type RefinedResponse, type ResponseType } from "k6/http";
import { check } from "k6";
import type { Options } from "k6/options";
import { Basket, type Item } from "./lib/basket.ts";

enum Kind { Cheap = "cheap", Dear = "dear" }

export const options: Options = { vus: 1, iterations: 2 };

function first<T>(list: readonly T[]): T | undefined {
  return list[0];
}

export default function (): void {
  const answer: RefinedResponse<ResponseType | undefined> = http.get(`http://${__ENV.SHOP}/json`);
  const items = answer.json("items") as unknown as Item[];
  const basket = new Basket("ann", items);
  check(basket, {
    "a class": (one: Basket) => one.owner === "ann" && one.total() === 112,
    "an enum": () => basket.kind(first(items)!) === Kind.Cheap && basket.kind(items[1] as Item) === Kind.Dear,
    "a satisfied type": () => ({ id: 1 } satisfies Partial<Item>).id === 1,
  });
}
