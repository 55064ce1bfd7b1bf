// Small helpers of the library k6-utils, by its names.
import { check as checkNow } from "k6";
import { randomBytes } from "k6/crypto";
import execution from "k6/execution";

export const randomIntBetween = (min, max) => Math.floor(Math.random() * (max - min + 1)) + min;
export const randomItem = (list) => list[Math.floor(Math.random() * list.length)];

export function randomString(length, charset = "abcdefghijklmnopqrstuvwxyz") {
  let text = "";
  while (length-- > 0) text += charset[Math.floor(Math.random() * charset.length)];
  return text;
}

export function uuidv4(secure = false) {
  const bytes = secure ? new Uint8Array(randomBytes(16)) : Uint8Array.from({ length: 16 }, () => Math.random() * 256);
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = Array.from(bytes, (byte) => (byte + 256).toString(16).slice(1)).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export function findBetween(content, left, right, repeat = false) {
  const found = [];
  for (let at = 0; ; ) {
    const start = content.indexOf(left, at);
    const end = start < 0 ? -1 : content.indexOf(right, start + left.length);
    if (end < 0) return repeat ? found : "";
    const text = content.substring(start + left.length, end);
    if (!repeat) return text;
    found.push(text);
    at = end + right.length;
  }
}

// A bell of stages: a sixth of the time up to two deviations from the peak, a sixth down from there.
export function normalDistributionStages(maxVus, durationSeconds, numberOfStages = 10) {
  const height = (step) => Math.exp(-0.5 * (4 * step / numberOfStages - 2) ** 2);
  const steps = Array.from({ length: numberOfStages + 1 }, (_, step) => height(step));
  const peak = Math.max(...steps);
  const edge = Math.ceil(durationSeconds / 6) + "s";
  const middle = Math.ceil(4 * durationSeconds / (6 * numberOfStages)) + "s";
  const stages = steps.map((share, step) => ({ duration: step ? middle : edge, target: Math.round(maxVus * share / peak) }));
  return [...stages, { duration: edge, target: 0 }];
}

const UNITS = { d: 864e5, h: 36e5, m: 6e4, s: 1e3, ms: 1 };

export function parseDuration(text) {
  if (typeof text === "number") return text;
  const parts = [...String(text).matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g)];
  if (parts.map((part) => part[0]).join("") !== String(text) || !parts.length) {
    throw new Error(`${text} is not a duration: write for example 1m30s`);
  }
  return parts.reduce((sum, [, amount, unit]) => sum + amount * UNITS[unit], 0);
}

function currentScenario() {
  const scenario = execution.test.options.scenarios?.[execution.scenario.name];
  if (!Array.isArray(scenario?.stages)) {
    throw new Error("only ramping-vus and ramping-arrival-rate scenarios have stages");
  }
  return scenario;
}

export function getCurrentStageIndex() {
  const { stages } = currentScenario();
  let left = Date.now() - execution.scenario.startTime;
  for (let index = 0; index < stages.length; index++) {
    left -= parseDuration(stages[index].duration);
    if (left < 0) return index;
  }
  return stages.length - 1;
}

export const tagWithCurrentStageIndex = () => {
  execution.vu.metrics.tags.stage = getCurrentStageIndex();
};

export const tagWithCurrentStageProfile = () => {
  const scenario = currentScenario();
  const index = getCurrentStageIndex();
  const before = index ? scenario.stages[index - 1].target : (scenario.startVUs ?? scenario.startRate ?? 0);
  const step = scenario.stages[index].target - before;
  execution.vu.metrics.tags.stage_profile = step > 0 ? "ramp-up" : step < 0 ? "ramp-down" : "steady";
};

// As `check` of k6, for values and conditions that may be promises too.
export function check(value, conditions, tags) {
  if (typeof value?.then === "function") return value.then((value) => check(value, conditions, tags));
  const results = Object.entries(conditions).map(([name, test]) => [name, typeof test === "function" ? test(value) : test]);
  const decide = (results) => checkNow(value, Object.fromEntries(results.map(([name, ok]) => [name, () => ok])), tags);
  if (!results.some(([, result]) => typeof result?.then === "function")) return decide(results);
  return Promise.all(results.map(async ([name, result]) => [name, await result])).then(decide);
}
