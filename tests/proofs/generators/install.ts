import { installLocked } from "../gateways/install.ts";

/** Installs the generators apart from this project, which uses none of them but openapi-typescript. */
export default async function install(): Promise<void> {
  await installLocked(import.meta.dirname, "client generators");
}
