import { clientAddress } from "@board/api/address";
import { silent } from "@board/core/log";
import { findProblems, parseSettings, type Settings } from "@board/core/settings";
import { findSecrets } from "../secrets.ts";
import { type Finding, ok, warning, wrong } from "./finding.ts";

const CHECK = "settings";
type Environment = NodeJS.ProcessEnv;
/** Where the service runs whose settings these are. */
export type Edge = "local" | "lambda";

/** Everything that is wrong with the settings, by name. A local server makes secrets itself that a Lambda needs. */
export function checkSettings(environment: Environment, edge: Edge): { findings: Finding[]; settings: Settings | null } {
  const { filled, missing } = edge === "local" ? findSecrets(environment) : { filled: environment, missing: [] };
  const problems = findProblems(filled, edge);
  if (problems.length > 0) {
    const remedy = (problem: string) => `Correct ${problem.split(" ")[0]} in the environment; docs/settings.md has the rule.`;
    return { findings: problems.map((problem) => wrong(CHECK, problem, remedy(problem))), settings: null };
  }
  const settings = parseSettings(filled, edge);
  const { driver } = settings.database;
  const findings = [ok(CHECK, `all are usable (${edge === "lambda" ? "as on Lambda" : "as for a local server"}, ${driver})`)];
  if (missing.length > 0) findings.push(ok(CHECK, `${missing.join(", ")}: made at the first start`));
  if (skipsProxies(settings))
    findings.push(
      warning(
        CHECK,
        "TRUSTED_PROXIES has entries that are skipped",
        "Write each as an address or a CIDR range, comma-separated.",
      ),
    );
  return { findings, settings };
}

function skipsProxies({ trusted_proxies }: Settings): boolean {
  let skipped = false;
  clientAddress(trusted_proxies, { ...silent, warn: () => (skipped = true) });
  return skipped;
}
