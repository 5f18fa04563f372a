// Builds the command line, without dependencies, into dist or into the folder in the argument.
import { readFileSync } from "node:fs";
import path from "node:path";
import { bundlePackage } from "../../scripts/bundle-package.mjs";
import { commandLine } from "./bundle-options.mjs";

const root = import.meta.dirname;
const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));

await bundlePackage(root, process.argv[2] ?? path.join(root, "dist"), { bin: { board: "board.js" } }, commandLine(version));
