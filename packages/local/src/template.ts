import { errorText } from "@board/core/values/log";
import { makeTemplate } from "./template-database.ts";
import { exitWithError } from "./terminal.ts";

/** Part of `npm run build`: makes the packed database from which first starts begin. */
makeTemplate().catch((error: unknown) => exitWithError(`The template database cannot be made: ${errorText(error)}`));
