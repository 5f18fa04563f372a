import { stageSettings } from "./stage.ts";

interface Size {
  memory_mb: number;
  timeout_seconds: number;
  files?: readonly { from: string; to: string }[];
}

/** Arguments that all functions share. */
export const commonFunctionArgs = {
  runtime: "nodejs24.x",
  architecture: "arm64",
  nodejs: {
    minify: true,
    // Without splitting, modules that are imported lazily would be loaded at start. The AWS SDK alone takes 40 ms.
    splitting: true,
    esbuild: {
      // SST would upload a source map per chunk, and only its hosted console uses them.
      sourcemap: false,
      // The library for accounts makes every function load more of Zod at its start, so only stages with accounts bundle it.
      external: process.env.AUTH_MODE === "accounts" ? [] : ["@board/accounts/accounts"],
    },
  },
  logging: { retention: stageSettings($app.stage).log_retention, format: "json" },
} as const;

/**
 * Omits Lambda's lines about each invocation (START, END, REPORT), which were up to a quarter of the logs. Lines about failed
 * invocations stay, as do all lines of the service, which LOG_LEVEL filters.
 */
const LOG_LEVELS = { systemLogLevel: "WARN", applicationLogLevel: "TRACE" };

/**
 * For the `transform` of every function: only Lambda may assume its role. By default SST allows the whole account to do so, for
 * live sessions that run the code on a developer's machine.
 */
export const commonTransform = {
  role: (args) => {
    if (!$dev) args.assumeRolePolicy = aws.iam.assumeRolePolicyForPrincipal({ Service: "lambda.amazonaws.com" });
  },
  function: (args) => {
    args.loggingConfig = $resolve([args.loggingConfig]).apply(([logging]) => ({ ...logging!, ...LOG_LEVELS }));
  },
} satisfies sst.aws.FunctionArgs["transform"];

export const toSizeArgs = ({ memory_mb, timeout_seconds, files = [] }: Size) => ({
  memory: `${memory_mb} MB` as const,
  timeout: `${timeout_seconds} seconds` as const,
  copyFiles: [...files],
});
