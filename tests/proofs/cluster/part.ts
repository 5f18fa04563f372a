/** Runs parts of a test in separate processes, so that the work of one part does not delay the answers that another measures. */
import { fork } from "node:child_process";
import { once } from "node:events";

/** What a part can do. Arguments and results are copied between the processes. */
// oxlint-disable-next-line typescript/no-explicit-any -- each part has its own arguments
type Methods = Record<string, (...args: any[]) => unknown>;

export interface Part<M extends Methods> {
  call<Name extends keyof M & string>(name: Name, ...args: Parameters<M[Name]>): Promise<Awaited<ReturnType<M[Name]>>>;
  /** The processor time that its process has used, in milliseconds. */
  processorTime(): Promise<number>;
  stop(): Promise<void>;
}

interface Order {
  number: number;
  name: string;
  args: unknown[];
}

type Outcome = { number: number; value: unknown } | { number: number; error: string };

const PROCESSOR_TIME = "processor time";

/** Starts a file that calls `serveAsPart`. */
export function startPart<M extends Methods>(file: string): Part<M> {
  const child = fork(file, { stdio: ["ignore", "inherit", "inherit", "ipc"], execArgv: [] });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let orders = 0;
  child.on("message", (outcome: Outcome) => {
    const waiter = waiting.get(outcome.number)!;
    waiting.delete(outcome.number);
    if ("error" in outcome) waiter.reject(new Error(`${file}: ${outcome.error}`));
    else waiter.resolve(outcome.value);
  });
  child.once("exit", () => waiting.forEach((waiter) => waiter.reject(new Error(`${file} ended early`))));
  function order(name: string, args: unknown[]): Promise<unknown> {
    const waiter = Promise.withResolvers<unknown>();
    waiting.set(++orders, waiter);
    child.send({ number: orders, name, args } satisfies Order);
    return waiter.promise;
  }
  return {
    call: (name, ...args) => order(name, args) as ReturnType<Part<M>["call"]>,
    processorTime: () => order(PROCESSOR_TIME, []) as Promise<number>,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

export function serveAsPart(methods: Methods): void {
  const processorTime = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  const run = async ({ number, name, args }: Order): Promise<Outcome> => {
    try {
      return { number, value: await (name === PROCESSOR_TIME ? processorTime() : methods[name]!(...args)) };
    } catch (error) {
      return { number, error: String(error) };
    }
  };
  process.on("message", (order: Order) => void run(order).then((outcome) => process.send!(outcome)));
  process.on("disconnect", () => process.exit());
}
