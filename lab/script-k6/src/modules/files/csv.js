// Records of a file that k6/experimental/fs has opened. All users share those of parse().
import native from "prony:files";
import { SharedArray } from "k6/data";
import { heldBy } from "k6/experimental/fs";

function records(file, options, what, isStreamed) {
  const held = heldBy(file);
  if (held === undefined) throw new TypeError(`${what} failed; reason: the first argument must be a file that fs.open() gave`);
  const { delimiter = ",", skipFirstLine = false, fromLine = null, toLine = null, asObjects = false } = options ?? {};
  if (typeof delimiter !== "string" || [...delimiter].length !== 1) throw new TypeError(`${what} failed; reason: delimiter must be a single character`);
  const name = native.keepRecords(held, JSON.stringify({ delimiter, skipFirstLine, fromLine, toLine, asObjects, isStreamed }));
  return new SharedArray(name, () => []);
}

export async function parse(file, options) {
  if (!native.isInit()) throw new Error("csv.parse() failed; reason: it must be called in the init context");
  return records(file, options, "csv.parse()", false);
}

export class Parser {
  #records;
  #next = 0;

  constructor(file, options) {
    this.#records = records(file, options, "csv.Parser", true);
  }

  async next() {
    if (this.#next >= this.#records.length) return { done: true, value: undefined };
    const value = JSON.parse(JSON.stringify(this.#records[this.#next++]));
    // A faulty record is a text that says so.
    if (typeof value === "string") throw new Error(`csv.Parser.next() failed; reason: ${value}`);
    return { done: false, value };
  }
}

export default { parse, Parser };
