import { proofConfig } from "../load/vitest-config.ts";

/** A thousand kills take half an hour. KILLS sets another number. */
export default proofConfig(import.meta.dirname, { testTimeout: 7_200_000 });
