// An exception in init code: nothing runs at all.
export const options = { iterations: 1 };
throw new Error("not even begun");
export default function () {}
