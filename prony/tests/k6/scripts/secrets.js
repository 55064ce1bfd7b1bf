// with: --secret-source=mock=default,token=s3cret,other=value
// Secrets: given by their source, and refused where there is none of a name.
import secrets from "k6/secrets";
import http from "k6/http";
import { check } from "k6";

export const options = { iterations: 2 };

export default async function () {
  const token = await secrets.get("token");
  check(http.get(`http://${__ENV.SHOP}/echo`, { headers: { "X-Token": token } }).json("headers"), { "is sent": (h) => h["x-token"] === "s3cret" });
  let refused = false;
  try {
    await secrets.get("nothing");
  } catch (error) {
    refused = true;
  }
  check(refused, { "no such secret": (r) => r });
}
