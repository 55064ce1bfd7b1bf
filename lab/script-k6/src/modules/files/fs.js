// Files as k6/experimental/fs has them: opened in init code, their bytes shared by all users, each with a place of its own.
import native from "prony:files";

export const SeekMode = Object.freeze({ Start: 0, Current: 1, End: 2 });

const error = (name, message) => Object.assign(new Error(message), { name });

class File {
  #held;
  #offset = 0;

  constructor(held) {
    this.#held = held;
    this.path = native.path(held);
  }

  async stat() {
    return { name: native.name(this.#held), size: native.size(this.#held) };
  }

  async read(into) {
    if (!(into instanceof Uint8Array)) throw error("TypeError", "read() failed; reason: the buffer argument must be a Uint8Array");
    if (into.length === 0) throw error("TypeError", "read() failed; reason: the buffer argument must not be empty");
    if (this.#offset >= native.size(this.#held)) return null;
    const bytes = new Uint8Array(native.slice(this.#held, this.#offset, into.length));
    into.set(bytes);
    this.#offset += bytes.length;
    return bytes.length;
  }

  async seek(offset, whence) {
    if (!Number.isSafeInteger(offset)) throw error("TypeError", "seek() failed; reason: the offset argument must be an integer");
    const size = native.size(this.#held);
    const from = { [SeekMode.Start]: 0, [SeekMode.Current]: this.#offset, [SeekMode.End]: size }[whence];
    if (from === undefined) throw error("TypeError", "seek() failed; reason: the whence argument must be a SeekMode");
    if (from + offset < 0) throw error("TypeError", "seek() failed; reason: the offset is before the start of the file");
    if (from + offset > size) throw error("TypeError", "seek() failed; reason: the offset is beyond the end of the file");
    this.#offset = from + offset;
    return this.#offset;
  }

  // For k6/experimental/csv.
  static heldBy(file) {
    return typeof file === "object" && file !== null && #held in file ? file.#held : undefined;
  }
}

// No name of k6's.
export const heldBy = File.heldBy;

export async function open(path) {
  if (!native.isInit()) {
    throw error("ForbiddenError", "open() failed; reason: opening a file in the VU context is forbidden; open it in the init context");
  }
  if (path === undefined || path === null || path === "") {
    throw error("TypeError", "open() failed; reason: the path argument must not be empty");
  }
  return new File(native.open(String(path)));
}

export default { open, SeekMode };
