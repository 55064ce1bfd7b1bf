// The readable streams of the Streams Standard (https://streams.spec.whatwg.org/) as far as k6 has them: default controllers and
// readers; no byte streams, tee or pipes. Names of functions within are those of the standard.
const notSupported = (what) => Object.assign(new Error(`NotSupportedError:${what} is not supported yet`), { name: "GoError" });
const isObject = (value) => typeof value === "object" && value !== null;
const ignore = () => {};

export class CountQueuingStrategy {
  constructor(...args) {
    if (args.length !== 1) throw new TypeError("CountQueuingStrategy takes a single argument");
    if (!isObject(args[0])) throw new TypeError("CountQueuingStrategy argument must be an object");
    const { highWaterMark } = args[0];
    if (highWaterMark === undefined || highWaterMark === null) {
      throw new TypeError("CountQueuingStrategy argument must have 'highWaterMark' property");
    }
    Object.defineProperty(this, "highWaterMark", { value: highWaterMark, enumerable: true });
    Object.defineProperty(this, "size", { value: () => 1, enumerable: true });
  }
}

const strategyOf = (given) => {
  const { highWaterMark, size } = isObject(given) ? given : {};
  const mark = highWaterMark ?? 1;
  if (typeof mark !== "number" || !(mark >= 0)) throw new RangeError("highWaterMark must be a non-negative number");
  if (size !== undefined && size !== null && typeof size !== "function") throw new TypeError("size must be a function");
  return { highWaterMark: mark, size: size ?? (() => 1) };
};

// The state of a stream, its controller and its reader, which scripts do not see.
const states = new WeakMap();
const stateOf = (stream, what) => {
  const state = states.get(stream);
  if (state === undefined) throw new TypeError(what);
  return state;
};

const canCloseOrEnqueue = (state) => !state.closeRequested && state.state === "readable";
const desiredSize = (state) => {
  if (state.state === "errored") return null;
  return state.state === "closed" ? 0 : state.highWaterMark - state.queueSize;
};
const resetQueue = (state) => {
  state.queue = [];
  state.queueSize = 0;
};
const clearAlgorithms = (state) => {
  state.pull = state.cancel = state.size = undefined;
};

const close = (state) => {
  state.state = "closed";
  const { reader } = state;
  if (reader === undefined) return;
  reader.resolve();
  for (const request of reader.requests.splice(0)) request.resolve({ value: undefined, done: true });
};

const error = (state, reason) => {
  if (state.state !== "readable") return;
  resetQueue(state);
  clearAlgorithms(state);
  state.state = "errored";
  state.storedError = reason;
  const { reader } = state;
  if (reader === undefined) return;
  reader.reject(reason);
  for (const request of reader.requests.splice(0)) request.reject(reason);
};

const callPullIfNeeded = (state) => {
  const isAsked = state.reader !== undefined && state.reader.requests.length > 0;
  const shouldPull = canCloseOrEnqueue(state) && state.started && (isAsked || desiredSize(state) > 0);
  if (!shouldPull) return;
  if (state.pulling) {
    state.pullAgain = true;
    return;
  }
  state.pulling = true;
  let pulled;
  try {
    pulled = Promise.resolve(state.pull(state.controller));
  } catch (reason) {
    pulled = Promise.reject(reason);
  }
  pulled.then(() => {
    state.pulling = false;
    if (state.pullAgain) {
      state.pullAgain = false;
      callPullIfNeeded(state);
    }
  }, (reason) => error(state, reason));
};

const cancel = (state, reason) => {
  if (state.state === "closed") return Promise.resolve();
  if (state.state === "errored") return Promise.reject(state.storedError);
  close(state);
  resetQueue(state);
  const algorithm = state.cancel;
  clearAlgorithms(state);
  try {
    return Promise.resolve(algorithm(reason)).then(ignore);
  } catch (thrown) {
    return Promise.reject(thrown);
  }
};

class ReadableStreamDefaultController {
  #state;
  constructor(state) { this.#state = state; }
  get desiredSize() { return desiredSize(this.#state); }

  close() {
    const state = this.#state;
    if (!canCloseOrEnqueue(state)) throw new TypeError("cannot close or enqueue");
    state.closeRequested = true;
    if (state.queue.length > 0) return;
    clearAlgorithms(state);
    close(state);
  }

  enqueue(chunk) {
    const state = this.#state;
    if (!canCloseOrEnqueue(state)) throw new TypeError("cannot close or enqueue");
    const request = state.reader?.requests.shift();
    if (request !== undefined) {
      request.resolve({ value: chunk, done: false });
    } else {
      try {
        const size = Number(state.size.call(undefined, chunk));
        if (!(size >= 0) || size === Infinity) throw new RangeError("size must be a finite, non-NaN number");
        state.queue.push({ chunk, size });
        state.queueSize += size;
      } catch (reason) {
        error(state, reason);
        throw reason;
      }
    }
    callPullIfNeeded(state);
  }

  error(reason) { error(this.#state, reason); }
}

export class ReadableStream {
  constructor(source, strategy) {
    const { highWaterMark, size } = strategyOf(strategy);
    if (source !== undefined && !isObject(source)) throw new TypeError("underlyingSource must be an object");
    const type = source?.type;
    if (type !== undefined && String(type) !== "bytes") throw new TypeError("invalid underlying source type");
    if (type !== undefined) throw notSupported("'bytes' stream");
    const algorithm = (name) => {
      const given = source?.[name];
      if (given === undefined) return () => undefined;
      if (typeof given !== "function") throw new TypeError(`underlyingSource.[[${name}]] must be a function`);
      return (argument) => given.call(source, argument);
    };
    const start = algorithm("start");
    const state = {
      state: "readable", storedError: undefined, reader: undefined, highWaterMark, size, queue: [], queueSize: 0,
      started: false, closeRequested: false, pulling: false, pullAgain: false, pull: algorithm("pull"), cancel: algorithm("cancel"),
    };
    state.controller = new ReadableStreamDefaultController(state);
    states.set(this, state);
    Promise.resolve(start(state.controller)).then(() => {
      state.started = true;
      callPullIfNeeded(state);
    }, (reason) => error(state, reason));
  }

  get locked() { return stateOf(this, "not a ReadableStream").reader !== undefined; }

  cancel(reason) {
    if (this.locked) return Promise.reject(new TypeError("cannot cancel a locked stream"));
    return cancel(stateOf(this), reason);
  }

  getReader(options) {
    const mode = options?.mode;
    if (mode === undefined) return new ReadableStreamDefaultReader(this);
    if (String(mode) !== "byob") throw new TypeError("options.mode is not 'byob'");
    throw notSupported("'byob' mode");
  }

  tee() { throw notSupported("'tee()'"); }
}

export class ReadableStreamDefaultReader {
  #state;
  #reader;
  #closed;

  constructor(...args) {
    if (args.length !== 1) throw new TypeError("ReadableStreamDefaultReader takes a single argument");
    const state = stateOf(args[0], "ReadableStreamDefaultReader argument must be a ReadableStream");
    if (state.reader !== undefined) throw new TypeError("stream is locked");
    const reader = { requests: [] };
    this.#closed = new Promise((resolve, reject) => Object.assign(reader, { resolve, reject }));
    this.#closed.catch(ignore);
    this.#state = state;
    this.#reader = reader;
    state.reader = reader;
    if (state.state === "closed") reader.resolve();
    if (state.state === "errored") reader.reject(state.storedError);
  }

  get closed() { return this.#closed; }

  read() {
    const state = this.#state;
    if (state === undefined) return Promise.reject(new TypeError("stream is undefined"));
    if (state.state === "closed") return Promise.resolve({ value: undefined, done: true });
    if (state.state === "errored") return Promise.reject(state.storedError);
    if (state.queue.length === 0) {
      const read = new Promise((resolve, reject) => this.#reader.requests.push({ resolve, reject }));
      callPullIfNeeded(state);
      return read;
    }
    const { chunk, size } = state.queue.shift();
    state.queueSize = Math.max(0, state.queueSize - size);
    if (state.closeRequested && state.queue.length === 0) {
      clearAlgorithms(state);
      close(state);
    } else {
      callPullIfNeeded(state);
    }
    return Promise.resolve({ value: chunk, done: false });
  }

  cancel(reason) {
    if (this.#state === undefined) return Promise.reject(new TypeError("stream is undefined"));
    return cancel(this.#state, reason);
  }

  releaseLock() {
    const state = this.#state;
    if (state === undefined) return;
    if (state.state === "readable") {
      this.#reader.reject(new TypeError("stream is readable"));
    } else {
      this.#closed = Promise.reject(new TypeError("stream is not readable"));
      this.#closed.catch(ignore);
    }
    state.reader = this.#state = undefined;
    for (const request of this.#reader.requests.splice(0)) request.reject(new TypeError("reader released"));
  }
}

export default { ReadableStream, CountQueuingStrategy, ReadableStreamDefaultReader };
