import type { Context } from "./context.ts";

/**
 * State that an app keeps in memory across requests, created at first use. The state belongs to `ctx.http`, because every app has
 * exactly one; so apps in the same process, as in tests, do not share state. Inside a transaction, the state is the same.
 */
export function memoPerApp<T>(create: () => T): (ctx: Pick<Context, "http">) => T {
  const memos = new WeakMap<Context["http"], { value: T }>();
  return ({ http }) => {
    let memo = memos.get(http);
    if (memo === undefined) memos.set(http, (memo = { value: create() }));
    return memo.value;
  };
}
