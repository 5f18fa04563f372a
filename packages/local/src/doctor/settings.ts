import {
  createClientAddressResolver,
  createProxyMatcher,
  describeUntrustedProxy,
  UNTRUSTED_PROXY_REMEDY,
} from "@board/api/edge/client-address";
import { silentLog } from "@board/core/values/log";
import { listMisspelt } from "@board/core/config/misspelt-settings";
import { listRemoved } from "@board/core/config/removed-settings";
import { listProblems, parseSettings, type Settings } from "@board/core/config/settings";
import { listUntrustedProxies } from "../untrusted-proxies.ts";
import { findSecrets } from "../secrets.ts";
import { type Finding, ok, warning, wrong } from "./finding.ts";

const CHECK = "settings";
type Environment = NodeJS.ProcessEnv;
/** The platform that the settings are for. */
export type Platform = "local" | "lambda";

/** Checks all settings. A local server generates missing secrets itself, but on Lambda they are required. */
export function checkSettings(environment: Environment, edge: Platform): { findings: Finding[]; settings: Settings | null } {
  const { filled, missing } = edge === "local" ? findSecrets(environment) : { filled: environment, missing: [] };
  const problems = listProblems(filled, edge);
  const unknown = [
    ...listMisspelt(environment).map(({ name, meant }) =>
      warning(CHECK, `${name} is not a setting`, `Did you mean ${meant}? docs/settings.md lists all settings.`),
    ),
    ...listRemoved(environment).map(({ name, instead }) => warning(CHECK, `${name} is no longer a setting`, instead)),
  ];
  if (problems.length > 0) {
    const remedy = (problem: string) => `Correct ${problem.split(" ")[0]} in the environment; docs/settings.md lists the rules.`;
    const findings = problems.map((problem) => wrong(CHECK, problem, remedy(problem)));
    return { findings: [...findings, ...unknown], settings: null };
  }
  const settings = parseSettings(filled, edge);
  const { driver } = settings.database;
  const findings = [
    ok(CHECK, `all settings are valid (${edge === "lambda" ? "for Lambda" : "for a local server"}, ${driver})`),
    ...unknown,
  ];
  if (missing.length > 0) findings.push(ok(CHECK, `${missing.join(", ")} will be generated at the first start`));
  if (hasInvalidProxies(settings))
    findings.push(
      warning(
        CHECK,
        "TRUSTED_PROXIES has entries that are ignored",
        "Write each as an address or a CIDR range, comma-separated.",
      ),
    );
  if (edge === "local") findings.push(...checkProxies(settings));
  return { findings, settings };
}

/** Reports untrusted proxies that the last run of a local server noted. */
function checkProxies({ data_dir, trusted_proxies }: Settings): Finding[] {
  const isTrusted = createProxyMatcher(trusted_proxies, silentLog);
  return listUntrustedProxies(data_dir)
    .filter((address) => !isTrusted(address))
    .map((address) => warning(CHECK, describeUntrustedProxy(address), UNTRUSTED_PROXY_REMEDY));
}

function hasInvalidProxies({ trusted_proxies }: Settings): boolean {
  let invalid = false;
  createClientAddressResolver(trusted_proxies, { ...silentLog, warn: () => (invalid = true) });
  return invalid;
}
