// Hive Gateway before one service, with a token as Prony has it beside: signature, expiry, refusal without one.
import { readFileSync } from "node:fs";
import { createInlineSigningKeyProvider, defineConfig, extractFromHeader } from "@graphql-hive/gateway";

export const gatewayConfig = defineConfig({
  port: Number(process.env.PORT),
  host: "127.0.0.1",
  logging: false,
  landingPage: false,
  graphiql: false,
  jwt: {
    signingKeyProviders: [createInlineSigningKeyProvider(readFileSync(process.env.PUBLIC_KEY, "utf8"))],
    tokenLookupLocations: [extractFromHeader({ name: "authorization", prefix: "Bearer" })],
    tokenVerification: { algorithms: ["RS256"] },
    reject: { missingToken: true, invalidToken: true },
  },
});
