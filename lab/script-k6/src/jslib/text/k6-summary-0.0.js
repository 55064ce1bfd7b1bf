// The summary as text, as the library wrote it before its version 0.1.0, and as JUnit's XML.
import native from "prony:jslib";

export const textSummary = (data, options) => native.textSummary(JSON.stringify(data), JSON.stringify(options ?? {}), true);
export const jUnit = (data, options) => native.junit(JSON.stringify(data), JSON.stringify(options ?? {}));
