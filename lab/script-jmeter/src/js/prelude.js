// What scripts of a plan see, over the native functions __get, __put, __property, __setProperty, __log, __fact, __change.
(function (global) {
  "use strict";
  const { __get, __put, __property, __setProperty, __log, __fact, __change } = global;
  const text = (value) => (value === null || value === undefined ? "" : String(value));

  // As in JMeter, a variable that is null is none.
  const put = (name, value) => __put(text(name), value === null ? undefined : text(value));
  const vars = {
    get: (name) => __get(text(name)) ?? null,
    put,
    remove: (name) => __put(text(name), undefined),
    getObject: (name) => __get(text(name)) ?? null,
    putObject: put,
    getIteration: () => Number(__get("__jm__iteration") ?? 0),
  };
  const props = {
    get: (name) => __property(text(name)) ?? null,
    getProperty: (name, fallback) => __property(text(name)) ?? fallback ?? null,
    put: (name, value) => __setProperty(text(name), text(value)) ?? null,
    setProperty: (name, value) => __setProperty(text(name), text(value)) ?? null,
  };
  const line = (...parts) => __log(parts.map(text).join(" "));
  const log = { info: line, warn: line, error: line, debug: () => {}, trace: () => {} };
  const OUT = { println: line, print: line };

  // Of the last sample, or of the one that an element makes.
  const sample = {
    getResponseDataAsString: () => __fact("data") ?? "",
    getResponseCode: () => __fact("code") ?? "",
    getResponseMessage: () => __fact("message") ?? "",
    isSuccessful: () => __fact("success") === "true",
    getTime: () => Number(__fact("time") ?? 0),
    getLatency: () => Number(__fact("latency") ?? 0),
    getConnectTime: () => Number(__fact("connect") ?? 0),
    getBytesAsLong: () => Number(__fact("bytes") ?? 0),
    getSampleLabel: () => __fact("name") ?? "",
    getUrlAsString: () => __fact("url") ?? "",
    getURL: () => __fact("url") ?? "",
    getResponseHeaders: () => __fact("responseHeaders") ?? "",
    getRequestHeaders: () => __fact("requestHeaders") ?? "",
    getSamplerData: () => __fact("samplerData") ?? "",
    getContentType: () => __fact("contentType") ?? "",
    getThreadName: () => __fact("threadName") ?? "",
    setSuccessful: (flag) => __change("success", text(flag)),
    setResponseCode: (code) => __change("code", text(code)),
    setResponseMessage: (message) => __change("message", text(message)),
    setResponseCodeOK: () => __change("code", "200"),
    setResponseOK: () => { __change("code", "200"); __change("message", "OK"); __change("success", "true"); },
    setSampleLabel: (label) => __change("label", text(label)),
    setResponseData: (data) => __change("data", text(data)),
    setDataType: (type) => __change("dataType", text(type)),
    setIgnore: () => __change("ignore", "true"),
    setStopThread: (flag) => __change("stopThread", text(flag)),
    setStopTest: (flag) => __change("stopTest", text(flag)),
    setStopTestNow: (flag) => __change("stopTestNow", text(flag)),
    setStartNextThreadLoop: (flag) => __change("startNextLoop", text(flag)),
  };
  const assertion = {
    setFailure: (flag) => __change("failure", text(flag)),
    setFailureMessage: (message) => __change("failureMessage", text(message)),
  };
  const ctx = {
    getThreadNum: () => Number(__fact("threadNumber") ?? 1) - 1,
    getThreadGroup: () => ({ getName: () => __fact("group") ?? "" }),
    getThread: () => ({ getThreadName: () => __fact("threadName") ?? "" }),
    getVariables: () => vars,
    getProperties: () => props,
    getPreviousResult: () => (__fact("prev") ? sample : null),
    getCurrentSampler: () => sampler,
  };
  const sampler = { getName: () => __fact("sampler") ?? "", getThreadName: () => __fact("threadName") ?? "" };

  global.__run = function (source) {
    const parameters = __fact("parameters") ?? "";
    const run = new Function(
      "vars", "props", "log", "OUT", "prev", "ctx", "sampler", "SampleResult", "AssertionResult",
      "Label", "Parameters", "args", "__source",
      "return eval(__source)",
    );
    const value = run(
      vars, props, log, OUT, __fact("prev") ? sample : null, ctx, sampler, sample, assertion,
      __fact("label") ?? "", parameters, parameters === "" ? [] : parameters.split(/ +/), source,
    );
    return text(value);
  };
  // Reads a script without running it. A function's body may return, which a script may not, so both are tried.
  global.__check = function (source) {
    new Function(source);
  };
})(globalThis);
