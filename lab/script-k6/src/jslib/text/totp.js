// Time-based one-time passwords (RFC 6238), by the names of jslib's totp.
import crypto from "k6/crypto";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const STEP_SECONDS = 30;

function base32(text) {
  const bytes = [];
  let bits = 0, value = 0;
  for (const letter of text.toUpperCase().replace(/[\s=]/g, "")) {
    const index = ALPHABET.indexOf(letter);
    if (index < 0) throw new Error(`Invalid base32 character: ${letter}`);
    value = (value << 5) | index;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((value >> bits) & 255);
    }
  }
  return new Uint8Array(bytes);
}

export class TOTP {
  constructor(secret, digits = 6) {
    this.secret = secret;
    this.digits = digits;
  }

  async gen(at = Date.now()) {
    const counter = new DataView(new ArrayBuffer(8));
    counter.setBigUint64(0, BigInt(Math.floor(at / 1000 / STEP_SECONDS)));
    const mac = new Uint8Array(crypto.hmac("sha1", base32(this.secret).buffer, counter.buffer, "binary"));
    const from = mac[mac.length - 1] & 15;
    const number = new DataView(mac.buffer).getUint32(from) & 0x7fffffff;
    return String(number % 10 ** this.digits).padStart(this.digits, "0");
  }

  async verify(password) {
    return (await this.gen()) === String(password);
  }
}

export default TOTP;
