// The WebSocket of browsers, on the iteration's loop of events.
import s from "prony:sockets";

const goError = (message) => Object.assign(new Error(message), { name: "GoError" });
const bytesOf = (part) => {
  if (part instanceof Blob) return part._bytes;
  if (part instanceof ArrayBuffer) return new Uint8Array(part);
  if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
  return undefined;
};

export class Blob {
  constructor(parts = [], options = {}) {
    const pieces = [...parts].map((part) => {
      const bytes = typeof part === "string" ? s.utf8(part) : bytesOf(part);
      if (bytes === undefined) throw goError(`failed to process [blobParts]: unsupported type: ${typeof part}`);
      return bytes;
    });
    const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    pieces.reduce((at, piece) => (bytes.set(piece, at), at + piece.length), 0);
    Object.defineProperty(this, "_bytes", { value: bytes });
    this.type = String(options.type ?? "");
  }
  get size() { return this._bytes.length; }
  async arrayBuffer() { return this._bytes.slice().buffer; }
  async bytes() { return this._bytes.slice(); }
  async text() { return s.text(this._bytes); }
  slice(start, end, type = "") { return new Blob([this._bytes.slice(start, end)], { type }); }
  toString() { return "[object Blob]"; }
}

const TYPES = ["open", "message", "error", "close", "ping", "pong"];

export class WebSocket {
  #id;
  #state = 0;
  #url;
  #protocol = "";
  #extensions = "";
  #binaryType = "blob";
  #listeners = {};
  #closing = {};

  constructor(url, protocols, params) {
    if (url === undefined || url === null) throw goError("WebSocket requires a url");
    this.#url = String(url);
    const scheme = this.#url.split(":")[0];
    if (scheme !== "ws" && scheme !== "wss") {
      throw goError(`WebSocket requires url with scheme ws or wss, but got "${this.#url.includes(":") ? scheme : ""}"`);
    }
    const fragment = this.#url.split("#")[1];
    if (fragment) throw goError(`WebSocket requires no url fragment, but got "${fragment}"`);
    for (const name of Object.keys(params ?? {})) {
      if (!["headers", "tags", "jar", "compression"].includes(name)) throw goError(`unknown WebSocket's option ${name}`);
    }
    if (params?.compression !== undefined && String(params.compression).trim() !== "deflate") {
      throw goError(`unsupported compression algorithm '${params.compression}', supported algorithm is 'deflate'`);
    }
    const wanted = protocols === undefined || protocols === null ? [] : [].concat(protocols).map(String);
    this.#id = s.open(this.#url, params, wanted, true);
    s.listen(this.#id, () => this.#hear(s.take([this.#id])));
  }

  get url() { return this.#url; }
  get readyState() { return this.#state; }
  get bufferedAmount() { return 0; }
  get protocol() { return this.#protocol; }
  get extensions() { return this.#extensions; }
  get binaryType() { return this.#binaryType; }
  set binaryType(type) {
    if (type !== "blob" && type !== "arraybuffer") {
      throw goError(`unknown binaryType ${type}, the supported ones are "blob" and "arraybuffer"`);
    }
    this.#binaryType = type;
  }

  addEventListener(type, listener) {
    if (typeof listener !== "function") throw goError(`handler for event type "${type}" isn't a callable function`);
    if (TYPES.includes(type)) (this.#listeners[type] ??= []).push(listener);
  }

  send(message) {
    this.#requireOpen();
    const data = typeof message === "string" ? message : bytesOf(message);
    if (data === undefined) throw goError(`unsupported send type ${typeof message}`);
    s.send(this.#id, data);
  }

  ping() {
    this.#requireOpen();
    s.ping(this.#id, true);
  }

  close(code = 0, reason = "") {
    if (this.#state > 1) return;
    if (code !== 0 && code !== 1000 && !(code >= 3000 && code <= 4999)) {
      throw goError(`InvalidAccessError: Failed to execute 'close' on 'WebSocket': The close code must be either 1000, or between 3000 and 4999. ${code} is neither`);
    }
    if (s.utf8(String(reason)).length > 123) {
      throw goError("SyntaxError: Failed to execute 'close' on 'WebSocket': The message must not be greater than 123 bytes");
    }
    this.#state = 2;
    this.#closing = { code: code || 1000 };
    s.close(this.#id, code || 1000, String(reason), true);
  }

  #requireOpen() {
    if (this.#state !== 1) throw goError("InvalidStateError");
  }

  #emit(type, fields) {
    const event = { type, target: this, timestamp: Date.now(), ...fields };
    const own = this[`on${type}`];
    if (typeof own === "function") own.call(this, event);
    for (const listener of this.#listeners[type] ?? []) listener.call(this, event);
  }

  #hear(event) {
    switch (event.type) {
      case "open":
        if (this.#state !== 0) return;
        this.#state = 1;
        this.#protocol = event.protocol;
        this.#extensions = event.extensions;
        this.#emit("open");
        break;
      case "message":
      case "binaryMessage":
        if (this.#state === 1) this.#emit("message", { data: this.#data(event), origin: this.#url });
        break;
      case "ping":
      case "pong":
        this.#emit(event.type);
        break;
      default:
        this.#end(event);
    }
  }

  #data({ type, data }) {
    return type === "binaryMessage" && this.#binaryType === "blob" ? new Blob([data]) : data;
  }

  #end({ type, code, reason = "", error }) {
    const wasOpen = this.#state === 1 || this.#state === 2;
    this.#state = 3;
    if (wasOpen) s.end(this.#id);
    if (error && !(type === "close" && this.#closing.code)) this.#emit("error", { error });
    this.#emit("close", { reason, ...this.#closing, ...(type === "close" ? { code } : {}) });
  }
}
for (const [name, state] of [["CONNECTING", 0], ["OPEN", 1], ["CLOSING", 2], ["CLOSED", 3]]) {
  WebSocket[name] = WebSocket.prototype[name] = state;
}

export default { WebSocket, Blob };
