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
    // Without splitting, Node modules of lazily imported code would be loaded at start: 40 ms for the AWS SDK.
    splitting: true,
    // SST would upload a source map per chunk, which only its hosted console uses.
    esbuild: { sourcemap: false },
  },
  logging: { retention: stageSettings($app.stage).log_retention, format: "json" },
} as const;

/**
 * Lambda's lines about each invocation (START, END, REPORT) are left out: they were up to a quarter of the logs. Those of invocations
 * that failed stay, as do all lines of the service, which LOG_LEVEL filters.
 */
const LOG_LEVELS = { systemLogLevel: "WARN", applicationLogLevel: "TRACE" };

/**
 * For the `transform` of every function: only Lambda may assume its role. By default SST allows the whole account, so that
 * a live session can run the code on a developer's machine.
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
