import path from "node:path";

/** The name of the npm package that contains this program, or null in a clone and in the bundle without the service. */
declare const PACKAGE: string | undefined;

const file = process.argv[1] ?? "";
const isNpx = process.env["npm_command"] === "exec";

/** The name under which npm installs this program together with the service, or null. */
export const PUBLISHED_AS: string | null = typeof PACKAGE === "undefined" ? null : PACKAGE;

/** The command that a person types to run this program again. */
export const PROGRAM = isNpx ? `npx ${PUBLISHED_AS ?? "board"}` : "board";

/**
 * The arguments that run this program from any folder. `npx board` works only in a clone: elsewhere npx would download another
 * package.
 */
export const programAnywhere: readonly string[] =
  (isNpx && PUBLISHED_AS !== null) || (!isNpx && path.basename(file) === "board") ? PROGRAM.split(" ") : [file];
