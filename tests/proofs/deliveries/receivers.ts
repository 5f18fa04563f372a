/** Receivers of subscriptions that fail in every way that a receiver can. Each has its own path on one server. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type ReceivedMessage, startReceiver } from "../../support/receiver.ts";
import type { Random } from "../load/random.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(code, headers).end();

const FAULTS = {
  error: status(500),
  busy: status(429, { "retry-after": "600" }),
  redirect: status(307, { location: "/redirected" }),
  garbage: (_request, response) => void response.socket!.end("220 mail.example ESMTP\r\n"),
  cut: (_request, response) => void response.socket!.destroy(),
  silence: () => {},
} satisfies Record<string, Answer>;
type Fault = keyof typeof FAULTS;

/** The probability of each fault of a receiver that fails now and then. Silence takes time, so it is rare. */
const FAULT_RATES: Readonly<Record<Fault, number>> = {
  error: 0.06,
  busy: 0.02,
  redirect: 0.03,
  garbage: 0.03,
  cut: 0.04,
  silence: 0.004,
};

/** The kinds of behaviour of the receivers, each with its share of the changes. */
export const BEHAVIOURS = {
  unsteady: 0.806,
  error: 0.06,
  redirect: 0.03,
  garbage: 0.04,
  cut: 0.04,
  gone: 0.02,
  silence: 0.004,
} as const;
export type Behaviour = keyof typeof BEHAVIOURS | "steady";

export interface FaultyReceivers {
  urlOf(behaviour: Behaviour): string;
  /** The messages of a receiver in their order. */
  messagesOf(behaviour: Behaviour): ReceivedMessage[];
  /** Ids of the events that a receiver accepted. */
  acceptedBy(behaviour: Behaviour): ReadonlySet<string>;
  /** Messages that followed a redirect. */
  redirected(): number;
  readonly faults: Readonly<Record<Fault, number>>;
  close(): Promise<void>;
}

export async function startFaultyReceivers(random: Random): Promise<FaultyReceivers> {
  const receiver = await startReceiver();
  const { origin } = new URL(receiver.url);
  const faults: Record<Fault, number> = { error: 0, busy: 0, redirect: 0, garbage: 0, cut: 0, silence: 0 };
  const accepted = new Map<string, Set<string>>();
  const pathOf = (behaviour: string) => `/${behaviour}`;

  function drawFault(): Fault | null {
    let drawn = random();
    for (const [fault, rate] of Object.entries(FAULT_RATES) as [Fault, number][]) if ((drawn -= rate) < 0) return fault;
    return null;
  }

  receiver.answer = (request, response) => {
    const behaviour = request.url!.slice(1) as Behaviour;
    if (behaviour === "gone") return status(410)(request, response);
    const fault = behaviour === "unsteady" ? drawFault() : behaviour === "steady" ? null : behaviour;
    if (fault !== null) {
      faults[fault] += 1;
      return FAULTS[fault](request, response);
    }
    const ids = accepted.get(behaviour) ?? new Set();
    accepted.set(behaviour, ids.add(String(request.headers["webhook-id"])));
    status(204)(request, response);
  };

  return {
    urlOf: (behaviour) => origin + pathOf(behaviour),
    messagesOf: (behaviour) => receiver.messages.filter(({ path }) => path === pathOf(behaviour)),
    acceptedBy: (behaviour) => accepted.get(behaviour) ?? new Set(),
    redirected: () => receiver.messages.filter(({ path }) => path === "/redirected").length,
    faults,
    close: () => receiver.close(),
  };
}
