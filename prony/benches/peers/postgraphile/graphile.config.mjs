// PostGraphile as its users run it in production, with plain lists instead of connections (which cost more),
// and as many PostgreSQL connections as Prony has beside it.
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { makePgService } from "postgraphile/adaptors/pg";
import { PostGraphileConnectionFilterPreset } from "postgraphile-plugin-connection-filter";

export default {
  extends: [PostGraphileAmberPreset, PostGraphileConnectionFilterPreset],
  pgServices: [
    makePgService({
      connectionString: process.env.DATABASE_URL,
      schemas: ["public"],
      poolConfig: { max: Number(process.env.CONNECTIONS ?? 8) },
    }),
  ],
  schema: { defaultBehavior: "+list -connection" },
  grafserv: { port: Number(process.env.PORT), host: "127.0.0.1", graphiql: false, watch: false },
};
