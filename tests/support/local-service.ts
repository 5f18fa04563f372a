/** The service as an operator starts it, with the means to sign in. */
import { call, type CallOptions } from "./http.ts";
import { type Program, readToken, startProgram } from "./program.ts";

export interface LocalService extends Program {
  url: string;
  token: string;
  call(method: string, path: string, options?: CallOptions): ReturnType<typeof call>;
}

export async function startLocalService(folder: string, environment: Record<string, string> = {}): Promise<LocalService> {
  const program = startProgram("main", { DATA_DIR: folder, PORT: "0", LOG_LEVEL: "error", ...environment });
  const [, url] = await program.waitForOutput(/ready at (http:\S+)/);
  const token = environment["LOCAL_AUTH_TOKEN"] ?? (await readToken(program));
  return Object.assign(program, {
    url: url!,
    token,
    call: (method: string, target: string, options?: CallOptions) =>
      call((at, init) => fetch(url + at, init), method, target, { token, ...options }),
  });
}
