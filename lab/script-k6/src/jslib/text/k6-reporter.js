// The summary as one page of HTML, written natively.
import native from "prony:jslib";

export const htmlReport = (data, options = {}) => native.htmlReport(JSON.stringify(data), JSON.stringify(options ?? {}));
