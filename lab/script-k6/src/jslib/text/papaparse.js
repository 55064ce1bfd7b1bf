// CSV texts, by the names of the npm package papaparse; rows are found natively.
import native from "prony:jslib";

const DATE = /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d(:[0-5]\d(\.\d+)?)?([+-][0-2]\d:[0-5]\d|Z)?$/;
const NUMBER = /^\s*-?(\d+\.?|\.\d+|\d+\.\d+)([eE][-+]?\d+)?\s*$/;

function typed(text) {
  if (text === "true" || text === "TRUE") return true;
  if (text === "false" || text === "FALSE") return false;
  if (NUMBER.test(text) && Math.abs(parseFloat(text)) < 2 ** 53) return parseFloat(text);
  if (DATE.test(text)) return new Date(text);
  return text === "" ? null : text;
}

const isTyped = (config, field) => {
  const wanted = config.dynamicTypingFunction ?? config.dynamicTyping;
  if (typeof wanted === "function") return wanted(field);
  return wanted === true || (wanted !== null && typeof wanted === "object" && (wanted[field] ?? wanted.__parsed_extra) === true);
};

const unique = (names, renamed) => {
  const taken = new Set(names), seen = new Set();
  return names.map((name) => {
    let candidate = name;
    for (let count = 1; seen.has(candidate) || (candidate !== name && taken.has(candidate)); count++) candidate = `${name}_${count}`;
    if (candidate !== name) renamed[candidate] = name;
    seen.add(candidate);
    return candidate;
  });
};

export function parse(input, config = {}) {
  if (config.download || typeof input !== "string") throw new TypeError("papaparse reads texts here: pass what open() gave");
  const text = config.beforeFirstChunk?.(input) || input;
  const delimiter = typeof config.delimiter === "function" ? config.delimiter(text) : config.delimiter;
  const { rows, errors, meta } = JSON.parse(native.csvRows(text, JSON.stringify({ ...config, delimiter })));
  const convert = (value, field) => {
    if (config.transform) value = config.transform(value, field);
    return isTyped(config, field) ? typed(value) : value;
  };
  const data = [];
  if (config.header && rows.length) {
    meta.fields = rows.shift().map((name, index) => config.transformHeader ? config.transformHeader(name, index) : name);
    const renamed = {};
    meta.fields = unique(meta.fields, renamed);
    if (Object.keys(renamed).length) meta.renamedHeaders = renamed;
  }
  rows.forEach((row, index) => {
    if (!meta.fields) return void data.push(row.map((value, column) => convert(value, column)));
    const record = {};
    row.forEach((value, column) => {
      if (column < meta.fields.length) record[meta.fields[column]] = convert(value, meta.fields[column]);
      else (record.__parsed_extra ??= []).push(convert(value, "__parsed_extra"));
    });
    const width = meta.fields.length;
    if (row.length !== width) {
      const [code, what] = row.length < width ? ["TooFewFields", "few"] : ["TooManyFields", "many"];
      const message = `Too ${what} fields: expected ${width} fields but parsed ${row.length}`;
      errors.push({ type: "FieldMismatch", code, message, row: index });
    }
    data.push(record);
  });
  return delivered({ data, errors, meta }, config);
}

function delivered(results, config) {
  if (!config.step) {
    config.chunk?.(results);
    config.complete?.(results);
    return results;
  }
  let aborted = false;
  const parser = { abort: () => { aborted = true; }, pause() {}, resume() {} };
  for (const row of results.data) {
    if (aborted) break;
    config.step({ data: row, errors: [], meta: { ...results.meta, aborted } }, parser);
  }
  const end = { data: [], errors: results.errors, meta: { ...results.meta, aborted } };
  config.complete?.(end);
  return end;
}

export function unparse(input, config = {}) {
  const { delimiter = ",", newline = "\r\n", quoteChar = '"', header = true, skipEmptyLines = false } = config;
  const escapeChar = config.escapeChar ?? quoteChar;
  if (typeof input === "string") input = JSON.parse(input);
  let fields = config.columns, rows = input;
  if (!Array.isArray(input)) {
    fields = input.fields ?? input.data?.fields;
    rows = input.data ?? [];
  }
  rows = rows.map((row) => row ?? []);
  const ofObjects = rows.length > 0 && !Array.isArray(rows[0]) && typeof rows[0] === "object";
  if (ofObjects) fields ??= Object.keys(rows[0]);
  const guard = config.escapeFormulae === true ? /^[=+\-@\t\r].*$/ : config.escapeFormulae;
  const cell = (value, column) => {
    if (value === undefined || value === null) return "";
    let text = value instanceof Date ? JSON.stringify(value).slice(1, 25) : String(value);
    const guarded = guard && typeof value === "string" && guard.test(text);
    if (guarded) text = "'" + text;
    const wanted = typeof config.quotes === "function" ? config.quotes(value, column) : Array.isArray(config.quotes) ? config.quotes[column] : config.quotes;
    const needed = guarded || [delimiter, quoteChar, "\r", "\n", "\ufeff"].some((mark) => text.includes(mark)) || /^ | $/.test(text);
    return wanted || needed ? quoteChar + text.split(quoteChar).join(escapeChar + quoteChar) + quoteChar : text;
  };
  const line = (values) => values.map(cell).join(delimiter);
  const lines = header && fields?.length ? [line(fields)] : [];
  for (const row of rows) {
    const values = ofObjects || !Array.isArray(row) ? fields.map((field) => row[field]) : row;
    const isEmpty = skipEmptyLines === "greedy" ? values.join("").trim() === "" : values.length === 0 || (values.length === 1 && values[0] === "");
    if (skipEmptyLines && isEmpty) continue;
    lines.push(line(values));
  }
  return lines.join(newline);
}

export const RECORD_SEP = "\x1e";
export const UNIT_SEP = "\x1f";
export const BYTE_ORDER_MARK = "\ufeff";
export const BAD_DELIMITERS = ["\r", "\n", '"', BYTE_ORDER_MARK];
export default { parse, unparse, RECORD_SEP, UNIT_SEP, BYTE_ORDER_MARK, BAD_DELIMITERS, WORKERS_SUPPORTED: false };
