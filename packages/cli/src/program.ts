import path from "node:path";

const file = process.argv[1] ?? "";
const isNpx = process.env["npm_command"] === "exec";

/** The command that a person types to run this program again. */
export const PROGRAM = isNpx ? "npx board" : "board";

/**
 * The command that runs this program from any folder. Outside of its clone, npx would download another package with this name.
 */
export const programAnywhere: string = !isNpx && path.basename(file) === "board" ? "board" : file;
