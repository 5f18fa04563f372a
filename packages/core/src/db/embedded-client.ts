import { setImmediate } from "node:timers/promises";
import { PGlite, type PGliteOptions } from "@electric-sql/pglite";
import { DatabaseConnectError } from "./pool.ts";

/** What PGlite's WebAssembly module offers beyond its types. */
interface Module {
  _PostgresMainLoopOnce: (this: void) => void;
  stackRestore: (this: void, pointer: number) => void;
}

/** The status with which PostgreSQL leaves a statement that failed, and goes on. */
const STATEMENT_FAILED = 100;

/**
 * PGlite that fails instead of hanging. PostgreSQL crashes when it cannot write its log, for example on a full disk, and PGlite
 * then calls it again without end, which blocks the process. After a crash every call throws; the files stay valid.
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

  /** PGlite's loop ignores exceptions of the statement but not of `stackRestore`, which it calls after each of them. */
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
   * Lets the event loop turn once before each statement. Statements block it and otherwise follow each other without a turn,
   * of which each accepts one connection: with many at once, a new one waited for seconds.
   */
  override _runExclusiveQuery<T>(run: () => Promise<T>): Promise<T> {
    return super._runExclusiveQuery(async () => {
      await setImmediate();
      return run();
    });
  }

  /** After a crash it only closes the files. */
  override async close(): Promise<void> {
    await (this.#hasCrashed ? this.#closeFiles() : super.close());
  }

  /** They may be closed already. */
  async #closeFiles(): Promise<void> {
    await this.fs?.closeFs().catch(() => {});
  }
}

const crashed = () => new DatabaseConnectError(new Error("The embedded database has crashed and is not open again yet"));
