// The summary as text and as JUnit's XML; both are written natively.
import native from "prony:jslib";

export const textSummary = (data, options) => native.textSummary(JSON.stringify(data), JSON.stringify(options ?? {}), false);
export const jUnit = (data, options) => native.junit(JSON.stringify(data), JSON.stringify(options ?? {}));
