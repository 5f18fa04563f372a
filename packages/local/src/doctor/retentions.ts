import { RETENTIONS } from "@board/api/work/retentions";
import type { Context } from "@board/core/context/context";
import { hasOverdueRows } from "@board/core/db/retention";
import { type Finding, ok, warning } from "./finding.ts";

const CHECK = "retention";
const REMEDY = 'Check that the schedules run: docs/operating.md, "A schedule fails".';

/** Checks that old rows are removed. Rows of an embedded database wait until its service runs. */
export async function checkRetentions({ db, settings }: Pick<Context, "db" | "settings">): Promise<Finding[]> {
  if (settings.database.driver === "pglite") return [];
  const ctx = { db, settings, now: () => new Date() };
  const findings: Finding[] = [];
  for (const [name, retention] of Object.entries(RETENTIONS))
    if (await hasOverdueRows(ctx, retention)) findings.push(warning(CHECK, `${name} have not been removed for a day`, REMEDY));
  return findings.length > 0 ? findings : [ok(CHECK, "old rows are removed in time")];
}
