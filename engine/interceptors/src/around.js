// What stands around the functions of a module: it has what they may use, and calls them.
(log) => {
  'use strict';
  const { parse, stringify } = JSON;
  class Refusal extends Error {}
  // What is logged never fails a call: a value may have no JSON, such as one that contains itself, and no text either.
  const text = (value) => {
    try {
      if (typeof value === 'string') return value;
      if (value instanceof Error) return String(value);
      return stringify(value) ?? String(value);
    } catch {
      return typeof value === 'object' ? '[object]' : String(value);
    }
  };
  const writer = (level) => (...values) => log(level, values.map(text).join(' ').toWellFormed());
  globalThis.console = Object.freeze({
    debug: writer('debug'),
    log: writer('info'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
  });
  globalThis.refuse = (message, code) => {
    const refusal = new Refusal(String(message));
    refusal.code = code === undefined || code === null ? undefined : String(code);
    throw refusal;
  };
  return async (call, values, context) => {
    try {
      const given = parse(values);
      const about = parse(context);
      const results = [];
      for (const value of given) {
        const result = await call(value, about);
        results.push(result === undefined ? value : result);
      }
      return '+' + stringify(results);
    } catch (error) {
      if (error instanceof Refusal) return '-' + stringify({ message: error.message, code: error.code });
      throw error;
    }
  };
};
