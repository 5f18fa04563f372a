import { stageOf } from "./stage.ts";

interface Size {
  memory_mb: number;
  timeout_seconds: number;
  files?: readonly { from: string; to: string }[];
}

/** What all functions have in common: one runtime, the cheaper architecture, small bundles, logs that end. */
export const common = {
  runtime: "nodejs24.x",
  architecture: "arm64",
  nodejs: {
    minify: true,
    // In one file, what a lazily imported module imports of Node itself is still loaded at the start: 40 ms for the AWS SDK.
    splitting: true,
    // SST would upload a map per chunk, which only its hosted console reads.
    esbuild: { sourcemap: false },
  },
  logging: { retention: stageOf($app.stage).retention },
} as const;

/**
 * For the `transform` of every function: its role is Lambda's alone. SST lets the whole account take it, so that a live
 * session may run the code at home.
 */
export const ownRole = {
  role: (args) => {
    if (!$dev) args.assumeRolePolicy = aws.iam.assumeRolePolicyForPrincipal({ Service: "lambda.amazonaws.com" });
  },
} satisfies sst.aws.FunctionArgs["transform"];

export const sized = ({ memory_mb, timeout_seconds, files = [] }: Size) => ({
  memory: `${memory_mb} MB` as const,
  timeout: `${timeout_seconds} seconds` as const,
  copyFiles: [...files],
});
