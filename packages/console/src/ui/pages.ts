import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../api.ts";
import { type Resource, useRetry } from "../resource.ts";

interface Pages<Item> extends Resource<{ items: readonly Item[] }> {
  /** Shows the next items; null when there are no more. */
  more: (() => void) | null;
}

/** Reads a long list from its beginning, one part at a time. When a value in `keys` changes, it starts again. */
export function usePages<Item>(
  open: (signal: AbortSignal) => AsyncGenerator<Item>,
  keys: readonly unknown[],
  size: number,
): Pages<Item> {
  /** The items read so far. It has one item more than is shown, so that "more" is offered only if there is more. */
  const [read, setRead] = useState<readonly Item[] | null>(null);
  const [wanted, setWanted] = useState(size);
  const [error, setError] = useState<string | null>(null);
  const [round, setRound] = useState(0);
  const source = useRef<AsyncGenerator<Item> | null>(null);
  const reading = useRef<AsyncGenerator<Item> | null>(null);

  const readUpTo = async (count: number, before: readonly Item[], from: AsyncGenerator<Item>) => {
    // Two reads of one generator would each get only some of its items.
    if (reading.current === from) return;
    reading.current = from;
    const items = [...before];
    try {
      while (items.length <= count) {
        const { value, done } = await from.next();
        if (done) break;
        items.push(value);
      }
      if (source.current !== from) return;
      setError(null);
      setRead(items);
      setWanted(count);
    } catch (reason) {
      if (source.current !== from) return;
      // A generator that has thrown only says that it has ended, so the list must be read again from its beginning.
      source.current = null;
      setError(messageOf(reason));
    } finally {
      if (reading.current === from) reading.current = null;
    }
  };
  useEffect(() => {
    setRead(null);
    setError(null);
  }, keys);
  useEffect(() => {
    const stop = new AbortController();
    const from = open(stop.signal);
    source.current = from;
    void readUpTo(size, [], from);
    return () => {
      source.current = null;
      stop.abort();
    };
  }, [...keys, round]);

  useRetry(error, () => setRound(round + 1));

  return {
    data: read && { items: read.slice(0, wanted) },
    error,
    reload: async () => setRound(round + 1),
    more: read && read.length > wanted && source.current ? () => void readUpTo(wanted + size, read, source.current!) : null,
  };
}
