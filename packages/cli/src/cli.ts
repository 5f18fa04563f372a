import type { Command } from "commander";
import { createOutput, type Output } from "./output.ts";
import { type GlobalOptions, openSession, type Session } from "./session.ts";

/** What the process provides to commands. */
export interface Host {
  environment: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
}

/** The host of a command, with its session and output. */
export interface Run extends Host {
  output: Output;
  options: GlobalOptions;
  openSession: () => Promise<Session>;
}

export type AddCommands = (program: Command, host: Host) => void;

/** Prepares the run of a parsed command. */
export function startRun(command: Command, host: Host): Run {
  const options = command.optsWithGlobals<GlobalOptions>();
  return {
    ...host,
    options,
    output: createOutput(host.stdout, options.json === true, host.environment),
    openSession: () => openSession(options, host.environment),
  };
}

/** Reads standard input to its end. Throws when it has more than `max` bytes. */
export async function readInput(stdin: NodeJS.ReadStream, max = 4_000_000): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of stdin) {
    parts.push(Buffer.from(part as Uint8Array));
    size += parts.at(-1)!.length;
    if (size > max) throw new Error(`Standard input has more than ${max} bytes.`);
  }
  return Buffer.concat(parts);
}

/** Returns a text argument. `-` reads the text from standard input. */
export async function readText(stdin: NodeJS.ReadStream, text: string): Promise<string> {
  return text === "-" ? (await readInput(stdin)).toString("utf8") : text;
}
