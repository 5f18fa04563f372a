import type { SoulName } from "./soul-name.ts";

/** A source of souls. A remote one throws `unavailable` when it fails and no earlier answer is cached. */
export interface SoulDirectory {
  /** Every soul, in the directory's order. */
  list(): Promise<readonly SoulName[]>;
  /** The markdown of a soul; null when the directory has no soul of that name. */
  find(name: SoulName): Promise<string | null>;
  /** Addresses of a soul's page and of its markdown. They are absolute, or paths while BASE_URL is unset. */
  pageUrl(name: SoulName): string;
  markdownUrl(name: SoulName): string;
}
