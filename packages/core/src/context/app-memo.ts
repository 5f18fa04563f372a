import type { Context } from "./context.ts";

/**
 * Returns a function that gets the state of an app, which is created at first use and kept across requests. The state is stored
 * per `ctx.http`, because every app has a separate `http`. So apps in one process, as in tests, share no state.
 */
export function memoPerApp<T>(create: () => T): (ctx: Pick<Context, "http">) => T {
  const memos = new WeakMap<Context["http"], { value: T }>();
  return ({ http }) => {
    let memo = memos.get(http);
    if (memo === undefined) memos.set(http, (memo = { value: create() }));
    return memo.value;
  };
}
