import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "postgresql",
  schema: ["./packages/core/src/**/*.sql.ts", "./packages/accounts/src/*.sql.ts"],
  out: "./migrations",
  migrations: { prefix: "timestamp" },
});
