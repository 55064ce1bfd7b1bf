// gRPC: what waits parks the user; streams are told of what comes by the iteration's loop of events.
import g from "prony:grpc";
import vm from "prony:vm";

const goError = (message) => Object.assign(new Error(message), { name: "GoError" });

// As k6 rejects promises: no Error, but an object that says its text.
const rejection = (error) => {
  const text = String(error?.message ?? error);
  return Object.defineProperty({ error: () => text }, "toString", { value: () => text });
};

const wait = (id, client) => {
  for (;;) {
    const taken = g.take(id, client);
    if (taken !== undefined) return taken;
    g.wait(id);
    if (vm.park()) vm.unwind();
  }
};

// Numbers that JSON does not have are texts in messages.
const finite = (_, value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);

const begin = (client, method, args) => {
  const call = g.prepare(client, false, String(method ?? ""), args[1]);
  if (args.length < 1) throw goError("request cannot be nil");
  if (args[0] === undefined || args[0] === null) throw new TypeError("Cannot convert undefined or null to object");
  let message;
  try {
    message = JSON.stringify(args[0], finite);
  } catch (error) {
    throw goError(`unable to normalize number strings: ${error.message}`);
  }
  return g.invoke(call, message ?? "null");
};

export class Client {
  #held = g.client();

  load(importPaths, ...files) { return g.load(this.#held, importPaths, files.map(String)); }
  loadProtoset(path) { return g.loadProtoset(this.#held, String(path)); }

  connect(address, params) {
    wait(g.connect(this.#held, String(address), params));
    if (g.connected(this.#held)) {
      for (let version = 0; !wait(g.reflect(this.#held, version), this.#held); version++);
    }
    return true;
  }

  invoke(method, ...args) { return wait(begin(this.#held, method, args)); }

  asyncInvoke(method, ...args) {
    return new Promise((resolve, reject) => {
      const rejecting = (work) => {
        try {
          return work();
        } catch (error) {
          reject(rejection(error));
        }
      };
      const id = rejecting(() => begin(this.#held, method, args));
      if (id === undefined) return;
      g.listen(id, () => {
        const response = rejecting(() => g.take(id));
        if (response !== undefined) resolve(response);
      });
    });
  }

  healthCheck(service) { return { status: wait(g.health(this.#held, String(service ?? ""))) }; }
  close() { g.close(this.#held); }

  static held(client) {
    if (client === undefined || client === null) throw goError("invalid GRPC Stream's client: empty gRPC client");
    if (typeof client !== "object" || !(#held in client)) throw goError("invalid GRPC Stream's client: not a gRPC client");
    return client.#held;
  }
}
const heldBy = Client.held;
delete Client.held;

export class Stream {
  #id;
  #method;
  #isOpen = true;
  #listeners = { data: [], error: [], end: [], status: [] };

  constructor(client, method, params) {
    this.#method = String(method);
    this.#id = g.stream(g.prepare(heldBy(client), true, this.#method, params));
    g.listen(this.#id, () => {
      for (const [type, data, text] of g.take(this.#id) ?? []) this.#emit(type, data, text);
    });
  }

  on(type, listener) {
    if (typeof listener !== "function") throw goError(`handler for "${type}" event isn't a callable function`);
    const listeners = Object.hasOwn(this.#listeners, type) ? this.#listeners[type] : undefined;
    if (listeners) listeners.push(listener);
    else g.warn(`can't register ${type} event handler: unknown GRPC stream's event type: ${type}`, "");
  }

  write(message) {
    if (!this.#isOpen) return;
    if (message === undefined || message === null) g.warn("can't send empty message", this.#method);
    else g.write(this.#id, JSON.stringify(message) ?? "null");
  }

  end() {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    g.end(this.#id);
  }

  #emit(type, data = {}, text = "") {
    const listeners = this.#listeners[type];
    const metadata = { ts: Math.floor(Date.now() / 1000) };
    if (type === "error" && listeners.length === 0) {
      g.warn(`no handlers for error registered, but an error happened: ${text}`, this.#method);
    }
    for (const listener of listeners) listener(data, metadata);
  }
}

const STATUSES = ["OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists",
  "PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal",
  "Unavailable", "DataLoss", "Unauthenticated"];
export const [StatusOK, StatusCanceled, StatusUnknown, StatusInvalidArgument, StatusDeadlineExceeded, StatusNotFound,
  StatusAlreadyExists, StatusPermissionDenied, StatusResourceExhausted, StatusFailedPrecondition, StatusAborted,
  StatusOutOfRange, StatusUnimplemented, StatusInternal, StatusUnavailable, StatusDataLoss,
  StatusUnauthenticated] = STATUSES.keys();
export const [HealthCheckUnknown, HealthCheckServing, HealthCheckNotServing, HealthCheckServiceUnkown] = [0, 1, 2, 3];

export default {
  Client, Stream, HealthCheckUnknown, HealthCheckServing, HealthCheckNotServing, HealthCheckServiceUnkown,
  ...Object.fromEntries(STATUSES.map((name, code) => [`Status${name}`, code])),
};
