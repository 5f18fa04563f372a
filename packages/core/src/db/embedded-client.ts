import { setImmediate } from "node:timers/promises";
import { PGlite, type PGliteOptions } from "@electric-sql/pglite";
import { DatabaseConnectError } from "./pool.ts";

/** Functions of PGlite's WebAssembly module that its types leave out. */
interface Module {
  _PostgresMainLoopOnce: (this: void) => void;
  stackRestore: (this: void, pointer: number) => void;
}

/**
 * The exit status after a failed statement. PostgreSQL keeps running after it. Any other status means that PostgreSQL has
 * crashed.
 */
const STATEMENT_FAILED = 100;

/**
 * A PGlite that fails instead of hanging. PostgreSQL crashes when it cannot write its log, for example on a full disk. PGlite
 * would then call PostgreSQL again in an endless loop. Here every call after a crash throws. The files stay valid.
 */
export class EmbeddedClient extends PGlite {
  #hasCrashed = false;

  static async open(options: PGliteOptions): Promise<EmbeddedClient> {
    const client = new EmbeddedClient(options);
    try {
      await client.waitReady;
    } catch (error) {
      await client.#closeFiles();
      throw error;
    }
    client.#leaveAfterCrash();
    return client;
  }

  get hasCrashed(): boolean {
    return this.#hasCrashed;
  }

  /**
   * Stops PGlite after a crash. PGlite's loop catches exceptions of a statement and then calls `stackRestore` outside the catch
   * block, so an exception from `stackRestore` ends the loop.
   */
  #leaveAfterCrash(): void {
    const module = this.mod as unknown as Module;
    const { _PostgresMainLoopOnce: runStatement, stackRestore } = module;
    module._PostgresMainLoopOnce = () => {
      try {
        runStatement();
      } catch (error) {
        if ((error as { status?: number }).status !== STATEMENT_FAILED) this.#hasCrashed = true;
        throw error;
      }
    };
    module.stackRestore = (pointer) => {
      stackRestore(pointer);
      if (this.#hasCrashed) throw crashed();
    };
  }

  override execProtocolRawSync(message: Uint8Array): Uint8Array {
    if (this.#hasCrashed) throw crashed();
    return super.execProtocolRawSync(message);
  }

  override async execProtocolStream(...args: Parameters<PGlite["execProtocolStream"]>): ReturnType<PGlite["execProtocolStream"]> {
    try {
      return await super.execProtocolStream(...args);
    } catch (error) {
      if ((error as { severity?: string }).severity === "PANIC") this.#hasCrashed = true;
      throw error;
    }
  }

  /**
   * Lets the event loop run once before each statement. A statement blocks the event loop, and each iteration of the loop accepts
   * only one connection. Without the pause, a new connection would wait for seconds behind many statements.
   */
  override _runExclusiveQuery<T>(run: () => Promise<T>): Promise<T> {
    return super._runExclusiveQuery(async () => {
      await setImmediate();
      return run();
    });
  }

  /** Closes the client. After a crash, PostgreSQL cannot shut down properly, so only the files are closed. */
  override async close(): Promise<void> {
    await (this.#hasCrashed ? this.#closeFiles() : super.close());
  }

  /** Closes the files. Errors are ignored, because the files may be closed already. */
  async #closeFiles(): Promise<void> {
    await this.fs?.closeFs().catch(() => {});
  }
}

const crashed = () => new DatabaseConnectError(new Error("The embedded database has crashed and is not open again yet"));
