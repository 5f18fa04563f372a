import type { Auth } from "./auth.ts";

/** How often the library is created for a request. The second attempt finds the row that another process has inserted. */
const MAX_ATTEMPTS = 2;

/**
 * Returns a function that creates the library once, and again after a failure. The library inserts a row when it is created, and
 * would remember a failure forever: of two processes that start at the same time, one would never sign anybody in.
 */
export function createOpener(create: () => Auth): () => Promise<Auth> {
  let current: Auth | null = null;
  return async () => {
    for (let attempt = 1; ; attempt++) {
      const auth = (current ??= create());
      try {
        await auth.$context;
        return auth;
      } catch (error) {
        if (current === auth) current = null;
        if (attempt === MAX_ATTEMPTS) throw error;
      }
    }
  };
}
