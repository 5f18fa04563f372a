import path from "node:path";

const file = process.argv[1] ?? "";
const isNpx = process.env["npm_command"] === "exec";

/** What a person types to run this program again. */
export const PROGRAM = isNpx ? "npx board" : "board";

/** What runs it from any folder. Outside of its clone, npx would fetch a package of the same name from the registry. */
export const programAnywhere: string = !isNpx && path.basename(file) === "board" ? "board" : file;
