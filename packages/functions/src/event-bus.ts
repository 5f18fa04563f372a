import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from "@aws-sdk/client-eventbridge";
import type { BoardEvent } from "@board/core/context/event-body";
import { BusError, type EventBus } from "@board/core/context/event-bus";
import { errorText } from "@board/core/values/log";
import { awsClientOptions } from "./aws-client.ts";

/** The `source` that customers match in their rules, together with the type. */
const SOURCE = "board-coordination";
/** The limits of one PutEvents call. */
const MAX_ENTRIES = 10;
const MAX_BYTES = 256 * 1024 - 1;
/**
 * How long an event waits for other events to share its call, because the jobs of a batch do not start at exactly the same time.
 */
const BATCH_WINDOW_MS = 20;
/** The limits are short, because a bus that does not respond must not delay the other jobs of a batch. */
const LIMITS = { connect_ms: 1_000, request_ms: 2_000, attempts: 2 };

/** An event that waits for the next call to PutEvents. */
interface PendingEntry {
  entry: PutEventsRequestEntry;
  resolve: () => void;
  reject: (error: BusError) => void;
}

interface EventBusOptions {
  /** Name or ARN of the event bus. */
  name: string;
  /** Address of the service; the default is EventBridge in the region of the environment. */
  endpoint?: string;
}

/**
 * Creates a bus on EventBridge or a compatible service. Events that are published within a short time share one call. Each
 * event succeeds or fails individually, and all of them fail when the call fails.
 */
export function createEventBus({ name, endpoint }: EventBusOptions): EventBus {
  const client = new EventBridgeClient({
    ...(endpoint ? { endpoint } : {}),
    ...awsClientOptions(LIMITS),
  });
  let pending: PendingEntry[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const batch = pending;
    pending = [];
    bytes = 0;
    if (batch.length > 0) void putEntries(client, batch);
  }

  return {
    publish(event) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const entry = toEntry(name, event);
      const size = entryBytes(entry);
      if (bytes + size > MAX_BYTES) flush();
      pending.push({ entry, resolve, reject });
      bytes += size;
      if (pending.length === MAX_ENTRIES) flush();
      else timer ??= setTimeout(flush, BATCH_WINDOW_MS);
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

/** Returns the size of an entry as EventBridge counts it: 14 bytes for the time, plus the UTF-8 lengths of the strings. */
const entryBytes = ({ Source = "", DetailType = "", Detail = "" }: PutEventsRequestEntry): number =>
  14 + Buffer.byteLength(Source) + Buffer.byteLength(DetailType) + Buffer.byteLength(Detail);

async function putEntries(client: EventBridgeClient, batch: readonly PendingEntry[]): Promise<void> {
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
