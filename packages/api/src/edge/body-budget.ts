import type { Budgets } from "@board/core/config/budgets";
import { DomainError } from "@board/core/values/errors";
import { usedUp } from "@board/core/values/request-limits";

/** A request body, from its first byte until its request has been answered. */
export interface HeldBody {
  readonly address: string;
  bytes: number;
  /** Bytes that were passed on and not kept. They count toward the minimum speed of the body, but not toward the memory limit. */
  passed: number;
  /**
   * Refuses the body. Null before reading starts. Also null after the body is complete, because the request is then being handled.
   */
  refuse: ((error: DomainError) => void) | null;
  /**
   * When reading began, for the time limit; null if only a minimum speed is required. The next two fields store the last check of
   * the speed.
   */
  begun_at: number | null;
  checked_at: number;
  checked_bytes: number;
}

type Limits = Pick<
  Budgets,
  "request_body_bytes" | "request_body_bytes_per_address" | "request_body_seconds" | "request_body_bytes_per_second"
>;

const SWEEP_MS = 1_000;
/**
 * The period over which the speed of a body is measured. With a shorter period, a brief stall of the connection would refuse the
 * body.
 */
const PACE_WINDOW_MS = 5_000;
const RETRY_AFTER = 5;

const tooManyOfAddress = (quota: number) =>
  new DomainError("limited", "Too many request bodies from this address are being received. Try again in a few seconds.", {
    retry_after_seconds: RETRY_AFTER,
    limit: usedUp("request_body_bytes_per_address", quota, RETRY_AFTER, "content-bytes"),
  });
const tooManyInAll = () =>
  new DomainError("overloaded", "Too many request bodies are being received. Try again in a few seconds.", {
    retry_after_seconds: RETRY_AFTER,
  });
const tooSlow = () => new DomainError("body_timeout", "The request body did not arrive in time.");

/**
 * Limits how many bytes of request bodies a process holds, in total and per client address, and how long a body may take. Above a
 * limit, the oldest unfinished body is refused, so that clients that never finish cannot block those that do.
 */
export function createBodyBudget(limits: Limits) {
  const bodies = new Set<HeldBody>();
  const bytesByAddress = new Map<string, number>();
  let total = 0;
  let sweeping: NodeJS.Timeout | undefined;

  const exceeds = (bytes: number, limit: number) => limit > 0 && bytes > limit;
  const bytesOf = (address: string) => bytesByAddress.get(address) ?? 0;

  function change(body: HeldBody, bytes: number): void {
    body.bytes += bytes;
    total += bytes;
    const left = bytesOf(body.address) + bytes;
    if (left === 0) bytesByAddress.delete(body.address);
    else bytesByAddress.set(body.address, left);
  }

  function release(body: HeldBody): void {
    change(body, -body.bytes);
    bodies.delete(body);
  }

  function refuse(body: HeldBody, error: DomainError): void {
    const stop = body.refuse;
    body.refuse = null;
    release(body);
    stop?.(error);
  }

  const unfinished = () => [...bodies].filter((body) => body.refuse !== null);

  /** Finds the oldest unfinished body of the client address whose bodies have the most bytes. */
  function findLargest(): HeldBody | undefined {
    let found: HeldBody | undefined;
    for (const body of unfinished()) if (!found || bytesOf(body.address) > bytesOf(found.address)) found = body;
    return found;
  }

  function sweep(): void {
    const now = performance.now();
    for (const body of unfinished()) {
      const { request_body_seconds, request_body_bytes_per_second } = limits;
      const expired = body.begun_at !== null && request_body_seconds > 0 && now - body.begun_at > request_body_seconds * 1_000;
      const arrived = body.bytes + body.passed;
      const window = now - body.checked_at;
      const stalled = window >= PACE_WINDOW_MS && arrived - body.checked_bytes < (request_body_bytes_per_second * window) / 1_000;
      if (expired || stalled) refuse(body, tooSlow());
      else if (window >= PACE_WINDOW_MS) Object.assign(body, { checked_at: now, checked_bytes: arrived });
    }
    if (bodies.size > 0) return;
    clearInterval(sweeping);
    sweeping = undefined;
  }

  function add(address: string, begun_at: number | null): HeldBody {
    const checked_at = performance.now();
    const body: HeldBody = { address, bytes: 0, passed: 0, refuse: null, begun_at, checked_at, checked_bytes: 0 };
    bodies.add(body);
    sweeping ??= setInterval(sweep, SWEEP_MS).unref();
    return body;
  }

  return {
    open: (address: string): HeldBody => add(address, performance.now()),
    /**
     * Opens a body that is passed on and not kept, such as a file. It may take longer than other bodies, because files can be
     * large.
     */
    openPassing: (address: string): HeldBody => add(address, null),
    pass(body: HeldBody, bytes: number): void {
      body.passed += bytes;
    },
    /** Counts more bytes of a body. As a result, this or another body may be refused. */
    add(body: HeldBody, bytes: number): void {
      change(body, bytes);
      while (exceeds(bytesOf(body.address), limits.request_body_bytes_per_address) && bodies.has(body))
        refuse(
          unfinished().find(({ address }) => address === body.address) ?? body,
          tooManyOfAddress(limits.request_body_bytes_per_address),
        );
      while (exceeds(total, limits.request_body_bytes) && bodies.has(body)) refuse(findLargest() ?? body, tooManyInAll());
    },
    release,
  };
}

export type BodyBudget = ReturnType<typeof createBodyBudget>;
