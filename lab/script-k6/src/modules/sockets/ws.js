// The blocking WebSocket: connect returns when the socket is closed; its handlers are called within it.
import s from "prony:sockets";
import vm from "prony:vm";

const next = (ids) => {
  for (;;) {
    const event = s.take(ids);
    if (event !== undefined) return event;
    s.wait(ids);
    if (vm.park()) vm.unwind();
  }
};
const goError = (message) => Object.assign(new Error(message), { name: "GoError", error: () => message });

class Socket {
  constructor(id, url) {
    this.id = id;
    this.url = url;
    this.handlers = {};
    this.timers = new Map();
    this.isClosed = false;
  }
  emit(type, ...args) {
    for (const handler of this.handlers[type] ?? []) handler(...args);
  }
  finish(code, isGone = false) {
    if (this.isClosed) return;
    this.isClosed = true;
    if (!isGone) s.close(this.id, code);
    this.emit("close", code);
  }
  later(name, callback, delay, repeats) {
    if (!(delay > 0)) throw goError(`${name} requires a >0 timeout parameter, received ${(+delay).toFixed(2)}`);
    this.timers.set(s.timer(delay), { callback, delay, repeats });
  }
}

function connect(url, ...args) {
  if (args.length < 1 || args.length > 2) throw goError("invalid number of arguments to ws.connect");
  const setup = args.at(-1);
  if (typeof setup !== "function") throw goError("last argument to ws.connect must be a function");
  const params = args.length === 2 ? args[0] : undefined;
  const compression = String(params?.compression ?? "").trim();
  if (compression && compression !== "deflate") {
    throw goError(`unsupported compression algorithm '${compression}', supported algorithm is 'deflate'`);
  }
  const failed = (error) => {
    if (s.throws()) throw goError(error);
    return { url: "", status: 0, headers: {}, body: "", error };
  };
  if (!/^wss?:\/\//i.test(String(url))) return failed("malformed ws or wss URL");
  const id = s.open(String(url), params);
  const opening = next([id]);
  const { status = 0, headers = {}, body = "", error = "" } = opening;
  const response = { url: String(url), status, headers, body, error };
  if (opening.type !== "open") {
    s.end(id);
    const told = failed(opening.error);
    return opening.type === "refused" ? { ...response, url: "", error: "" } : told;
  }
  const socket = new Socket(id, String(url));
  try {
    setup(publicOf(socket));
    socket.emit("open");
    while (!socket.isClosed) handle(socket, next([id, ...socket.timers.keys()]));
  } finally {
    socket.finish(1001);
    s.end(id);
  }
  return response;
}

function handle(socket, event) {
  const timer = socket.timers.get(event.id);
  if (timer) {
    socket.timers.delete(event.id);
    if (timer.repeats) socket.timers.set(s.timer(timer.delay), timer);
    timer.callback();
  } else if (event.type === "close" || event.type === "failed") {
    if (event.error) socket.emit("error", goError(event.error));
    socket.finish(event.code ?? 1001, true);
  } else if (event.data === undefined) {
    socket.emit(event.type);
  } else {
    socket.emit(event.type, event.data);
  }
}

// What scripts see of a socket.
const publicOf = (socket) => ({
  on(type, handler) {
    if (typeof handler === "function") (socket.handlers[type] ??= []).push(handler);
  },
  send(message) {
    if (socket.isClosed || !s.send(socket.id, String(message ?? ""))) socket.emit("error", goError("websocket: close sent"));
  },
  sendBinary(message) {
    if (!(message instanceof ArrayBuffer)) {
      const kind = message === undefined || message === null ? String(message) : message.constructor.name;
      throw goError(`expected ArrayBuffer as argument, received: ${kind}`);
    }
    if (socket.isClosed || !s.send(socket.id, message)) socket.emit("error", goError("websocket: close sent"));
  },
  ping() {
    if (socket.isClosed || !s.ping(socket.id)) socket.emit("error", goError("websocket: close sent"));
  },
  close(code = 1001) { socket.finish(Math.trunc(code)); },
  setTimeout(callback, delay) { socket.later("setTimeout", callback, delay, false); },
  setInterval(callback, delay) { socket.later("setInterval", callback, delay, true); },
});

export { connect };
export default { connect };
