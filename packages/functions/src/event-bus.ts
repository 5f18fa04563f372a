import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from "@aws-sdk/client-eventbridge";
import type { BoardEvent } from "@board/core/board-event/detail";
import { BusError, type EventBus } from "@board/core/bus";
import { errorText } from "@board/core/log";

/** What rules of customers match, beside the type. */
const SOURCE = "board-coordination";
/** What one call takes. */
const MAX_ENTRIES = 10;
const MAX_BYTES = 256 * 1024 - 1;
/** How long an event waits for others to go with it: the jobs of one batch are leased one after the other. */
const GATHER_MS = 20;
/** A bus that does not answer must not hold up the other jobs of a batch. */
const CONNECT_MS = 1_000;
const REQUEST_MS = 2_000;

/** An event that is to go with the next call. */
interface Waiting {
  entry: PutEventsRequestEntry;
  resolve: () => void;
  reject: (error: BusError) => void;
}

export interface EventBusOptions {
  /** Name or ARN of the event bus. */
  name: string;
  /** Address of the service; by default that of EventBridge in the environment's region. */
  endpoint?: string;
}

/**
 * An event bus of EventBridge, or of whatever speaks its protocol. Events that are published at about the same time go in
 * one call; each is then taken or not by itself, and all fail with a call that fails.
 */
export function createEventBus({ name, endpoint }: EventBusOptions): EventBus {
  const client = new EventBridgeClient({
    ...(endpoint ? { endpoint } : {}),
    maxAttempts: 2,
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: REQUEST_MS, throwOnRequestTimeout: true },
  });
  let waiting: Waiting[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const batch = waiting;
    waiting = [];
    bytes = 0;
    if (batch.length > 0) void put(client, batch);
  }

  return {
    publish(event) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const entry = toEntry(name, event);
      const size = sizeOf(entry);
      if (bytes + size > MAX_BYTES) flush();
      waiting.push({ entry, resolve, reject });
      bytes += size;
      if (waiting.length === MAX_ENTRIES) flush();
      else timer ??= setTimeout(flush, GATHER_MS);
      return promise;
    },
  };
}

const toEntry = (EventBusName: string, event: BoardEvent): PutEventsRequestEntry => ({
  EventBusName,
  Source: SOURCE,
  DetailType: event.type,
  Time: new Date(event.occurred_at),
  Detail: JSON.stringify(event),
});

/** What EventBridge counts of an entry: a time as 14 bytes, texts as their UTF-8. */
const sizeOf = ({ Source = "", DetailType = "", Detail = "" }: PutEventsRequestEntry): number =>
  14 + Buffer.byteLength(Source) + Buffer.byteLength(DetailType) + Buffer.byteLength(Detail);

async function put(client: EventBridgeClient, batch: readonly Waiting[]): Promise<void> {
  try {
    const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: batch.map(({ entry }) => entry) }));
    for (const [index, { resolve, reject }] of batch.entries()) {
      const { EventId, ErrorCode = "no answer", ErrorMessage = "" } = Entries[index] ?? {};
      if (EventId) resolve();
      else reject(new BusError(`The event bus did not take the event: ${ErrorCode} ${ErrorMessage}`.trim()));
    }
  } catch (error) {
    const reason = error instanceof Error ? error.name : "Error";
    for (const { reject } of batch) reject(new BusError(`The event bus failed: ${reason} ${errorText(error)}`.trim()));
  }
}
