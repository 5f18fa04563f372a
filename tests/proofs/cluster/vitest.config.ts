import { proofConfig } from "../load/vitest-config.ts";

export default proofConfig(import.meta.dirname, { testTimeout: 900_000 });
