// A script that exports nothing to run.
export const options = { iterations: 1 };
