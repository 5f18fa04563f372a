import type { Run } from "../types.ts";
import { toDollars, toExactDollars, toShort, toWhole } from "../ui/figures.ts";
import { toPlain } from "../ui/plain.ts";
import { Duration } from "../ui/time.tsx";

const LOOKS: Record<Run["status"], string> = {
  running: "accent",
  submitted: "success",
  released: "",
  blocked: "warning",
  expired: "danger",
  stopped: "danger",
  superseded: "",
};

export function RunStatus({ status }: Pick<Run, "status">) {
  return <span class={`badge ${LOOKS[status]}`}>{status}</span>;
}

export const tokensOf = ({ input_tokens, output_tokens }: Pick<Run["usage"], "input_tokens" | "output_tokens">): number =>
  input_tokens + output_tokens;

/** Shows the duration, tokens and cost of a run. A figure that the agent did not report is left out, because it is not zero. */
export function RunFigures({ run }: { run: Run }) {
  const tokens = tokensOf(run.usage);
  return (
    <span class="muted">
      <Duration from={run.started_at} to={run.ended_at} />
      {tokens > 0 && <span title={`${toWhole(tokens)} tokens`}> · {toShort(tokens)} tokens</span>}
      {run.usage.cost_usd !== null && <span title={toExactDollars(run.usage.cost_usd)}> · {toDollars(run.usage.cost_usd)}</span>}
      {run.client && ` · ${clientOf(run.client)}`}
    </span>
  );
}

function clientOf({ name, version, host }: NonNullable<Run["client"]>): string {
  return toPlain(`${name}${version ? ` ${version}` : ""}${host ? ` on ${host}` : ""}`);
}

const isHttps = (url: string): boolean => URL.canParse(url) && new URL(url).protocol === "https:";

/** Shows what a run has produced. Only an https address becomes a link; any other address is shown as text. */
export function RunLinks({ links }: Pick<Run, "links">) {
  if (links.length === 0) return null;
  return (
    <ul class="run-links" aria-label="Links of the run">
      {links.map(({ kind, url, title }, index) => (
        <li key={index}>
          <span class="muted">{kind.replaceAll("_", " ")}</span>{" "}
          {isHttps(url) ? (
            <a href={url} target="_blank" rel="noopener noreferrer" dir="auto">
              {toPlain(title ?? url)}
            </a>
          ) : (
            <span dir="auto">{toPlain(title ? `${title} (${url})` : url)}</span>
          )}
        </li>
      ))}
    </ul>
  );
}
