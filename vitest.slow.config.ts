import { defineConfig } from "vitest/config";
import suite, { SLOW_FILES } from "./vitest.config.ts";

/** The rest of the suite, `npm run test:slow`. */
export default defineConfig({ test: { ...suite.test, include: SLOW_FILES, exclude: [] } });
