// What stands around the functions of a module: it has what they may use, and calls them.
(log) => {
  'use strict';
  const { parse, stringify } = JSON;
  class Refusal extends Error {}
  const text = (value) => (typeof value === 'string' ? value : stringify(value) ?? String(value));
  const writer = (level) => (...values) => log(level, values.map(text).join(' '));
  globalThis.console = Object.freeze({
    debug: writer('debug'),
    log: writer('info'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
  });
  globalThis.refuse = (message, code) => {
    const refusal = new Refusal(String(message));
    refusal.code = code === undefined ? undefined : String(code);
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
