import { errorText } from "@board/core/values/log";
import { makeTemplate } from "./template-database.ts";
import { exitWithError } from "./terminal.ts";

/** Part of `npm run build`. It creates the packed database that first starts unpack. */
makeTemplate().catch((error: unknown) => exitWithError(`The template database cannot be made: ${errorText(error)}`));
