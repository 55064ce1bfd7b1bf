// Bodies of multipart forms: text and binary parts, as one array of bytes.
const encode = (text) => Uint8Array.from(unescape(encodeURIComponent(text)), (c) => c.charCodeAt(0));
const escape = (text) => String(text).replace(/\r\n|\r|\n/g, "%0D%0A").replace(/"/g, "%22");

const bytesOf = (data) => {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return Array.isArray(data) && data.every((byte) => typeof byte === "number") ? Uint8Array.from(data) : encode(String(data));
};

export class FormData {
  constructor() {
    this.boundary = "----PronyFormBoundary" + Math.random().toString(36).slice(2);
    this.parts = [];
  }

  append(name, value, filename) {
    this.parts.push({ name, value, filename });
  }

  // A value is a text, bytes, or `{ data, filename, content_type }` as of http.file().
  body() {
    const pieces = [];
    for (const { name, value, filename } of this.parts) {
      const isFile = typeof value === "object" && value !== null && "data" in value;
      const data = isFile ? value.data : value;
      const file = filename ?? value?.filename;
      const type = value?.content_type ?? (file === undefined ? undefined : "application/octet-stream");
      let head = `--${this.boundary}\r\nContent-Disposition: form-data; name="${escape(name)}"`;
      if (file !== undefined) head += `; filename="${escape(file)}"`;
      if (type !== undefined) head += `\r\nContent-Type: ${type}`;
      pieces.push(encode(head + "\r\n\r\n"), bytesOf(data), encode("\r\n"));
    }
    pieces.push(encode(`--${this.boundary}--\r\n`));
    const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    pieces.reduce((at, piece) => (whole.set(piece, at), at + piece.length), 0);
    return whole.buffer;
  }
}

export default FormData;
