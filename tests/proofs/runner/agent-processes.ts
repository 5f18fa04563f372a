/** Reads the environment and the arguments that the processes of a coding agent were started with. Linux shows these in /proc. */
import { readdirSync, readFileSync } from "node:fs";

const POLL_MS = 20;

export interface ProcessWatch {
  /** Environment and arguments of each process that was seen, by its number and arguments. */
  seen: Map<string, string>;
  stop(): void;
}

/**
 * Watches the processes that a runner starts in a separate session: the agent and its descendants, including those that left its
 * group. The git programs that the runner itself starts stay in the runner's session and are not watched.
 */
export function watchProcesses(runner_pid: number, home: string): ProcessWatch {
  const seen = new Map<string, string>();
  const agents = new Set<number>();
  const session = statOf(runner_pid)!.session;
  const look = () => {
    const processes = listProcesses();
    for (const { pid, parent, session: own } of processes) {
      const isAgent = parent === runner_pid && own === pid;
      const isBelow = agents.has(parent);
      const isOrphan = own !== session && environmentOf(pid).includes(`HOME=${home}\0`);
      if (isAgent || isBelow || isOrphan) agents.add(pid);
      if (agents.has(pid)) note(pid);
    }
  };
  const note = (pid: number) => {
    const [environment, line] = [environmentOf(pid), argumentsOf(pid)];
    if (environment !== "" || line !== "")
      seen.set(`${pid} ${line.replaceAll("\0", " ").slice(0, 200)}`, `${environment}${line}`);
  };
  const timer = setInterval(look, POLL_MS);
  return { seen, stop: () => clearInterval(timer) };
}

export const environmentOf = (pid: number): string => read(pid, "environ");
const argumentsOf = (pid: number): string => read(pid, "cmdline");

/** Lists processes by number. Parents usually come before their children, because process numbers grow until they start over. */
const listProcesses = () =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .toSorted((one, other) => one - other)
    .flatMap((pid) => statOf(pid) ?? []);

function statOf(pid: number): { pid: number; parent: number; session: number } | null {
  const text = read(pid, "stat");
  const words = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return text === "" ? null : { pid, parent: Number(words[1]), session: Number(words[3]) };
}

/** Reads a file of a process in /proc. The text is empty if the process has ended. */
function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
